// `init` for a second file: its sync is added to the configuration that is there, which stays as it is otherwise.

import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { project } from './init-scene.ts'

const contacts = 'id,first name,email\n1,A,a@example.com\n2,B,b@example.com\n'
const companies = 'company_id,name,domain\n1,Acme,acme.example\n2,Globex,globex.example\n'

test('the connection is not asked for again, and each line that was there stays', async () => {
  const { write, run, bare, passes, text, config } = await project()
  await run(write('contacts.csv', contacts))
  write(
    'records-sync.yaml',
    `# ours\n${text().replace('    # schedule', '    # the night is better\n    # schedule')}\n# the end\nledger:   { sqlite:   ./.records-sync/own.db } # kept\n`,
  )
  chmodSync(config, 0o640)
  const before = text()
  const { code, out } = await bare(write('companies.csv', companies))
  expect({ code, out }).toMatchObject({ code: 0 })
  expect(out.join('\n')).toMatch(/Added sync companies to .*: 3 properties/)
  expect(out.join('\n')).toMatch(/to send +2\n/)
  const lines = text().split('\n')
  expect(before.split('\n').every((line) => lines.includes(line))).toBe(true)
  const kept = lines.filter((_, index) => index < lines.indexOf('  companies:'))
  expect(before.startsWith(kept.join('\n'))).toBe(true)
  expect(before.endsWith(lines.slice(lines.indexOf('# the end')).join('\n'))).toBe(true)
  expect(text().match(/service:/g)).toHaveLength(1)
  expect(statSync(config).mode & 0o777).toBe(0o640)
  await passes()
})

test('another service is another connection; more than one have to be told apart', async () => {
  const first = await project()
  const other = await project()
  const { write, run, bare, passes, text, dir } = first
  await run(write('contacts.csv', contacts))
  const added = await run(write('companies.csv', companies), { service: other.service.url })
  // The key is of the first service: nothing is written.
  expect(added.code).not.toBe(0)
  expect(text()).not.toContain('companies')
  write('other.key', other.service.key)
  chmodSync(`${dir}/other.key`, 0o600)
  const given = { service: other.service.url, key: `file:${dir}/other.key` }
  expect(await bare(write('companies.csv', companies), given)).toMatchObject({ code: 0 })
  expect(text()).toMatch(/^ {2}crm_2:\n {4}service: .*\n {4}key: \{ file: \.\/other\.key \}/m)
  expect(text()).toMatch(/^ {4}to: crm_2$|^ {6}to: crm_2$/m)
  await passes()
  const unsure = await bare(write('people.csv', contacts))
  expect(unsure.err.join(' ')).toContain('expected one of the connections of')
  expect(unsure.err.join(' ')).toContain('`crm`, `crm_2`')
  const named = await bare(write('people.csv', contacts), { service: 'crm' })
  expect(named).toMatchObject({ code: 0 })
  const again = await bare(write('people 2.csv', contacts), { service: first.service.url })
  expect(again).toMatchObject({ code: 0 })
  expect(text()).toMatch(/^ {2}people_2:$/m)
})

test('the same service with the same key is the same connection, however the key is named', async () => {
  const { service, write, run, passes, text, dir } = await project()
  await run(write('contacts.csv', contacts))
  expect(await run(write('companies.csv', companies))).toMatchObject({ code: 0 })
  expect(await run(write('people.csv', contacts), { service: `${service.url}/` })).toMatchObject({
    code: 0,
  })
  expect(text().match(/service:/g)).toHaveLength(1)
  write('other.key', service.key)
  chmodSync(`${dir}/other.key`, 0o600)
  const key = `file:${dir}/other.key`
  expect(await run(write('more.csv', contacts), { key })).toMatchObject({ code: 0 })
  expect(text()).toMatch(/^ {2}crm_2:$/m)
  await passes()
})

test.each([
  ['four spaces', (text: string) => text.replaceAll(/^( +)/gm, '$1$1')],
  ['CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
  [
    'no sync yet',
    (text: string) => `${text.slice(0, text.indexOf('syncs:'))}syncs: {} # none yet\n`,
  ],
])('a file with %s is added to in its own way', async (_, changed) => {
  const { write, run, bare, passes, text } = await project()
  await run(write('contacts.csv', contacts))
  const before = changed(text())
  write('records-sync.yaml', before)
  expect(await bare(write('companies.csv', companies))).toMatchObject({ code: 0 })
  expect(text().startsWith(before.trimEnd().replace(' {} #', ' #'))).toBe(true)
  if (before.includes('\r\n')) expect(text()).not.toMatch(/[^\r]\n/)
  await passes()
})

test('where nothing can be added, the block to paste is shown, and the file stays', async () => {
  const { write, run, bare, passes, text, dir } = await project()
  await run(write('contacts.csv', contacts))
  const head = text().slice(0, text().indexOf('syncs:'))
  const from = 'import: { from: { csv: ./x.csv }, to: crm, object_type: svc_contact'
  const before = `${head}syncs: { x: { ${from}, matching_property: svc_name, properties: { svc_name: a } } } }\n`
  const file = write('records-sync.yaml', before)
  const { code, out } = await bare(write('companies.csv', companies))
  expect(code).toBe(2)
  expect(text()).toBe(before)
  const line = head.split('\n').length
  const at = out.findIndex((one) => one.startsWith(`Paste this into "syncs", ${file}:${line}, `))
  expect(at).toBeGreaterThan(0)
  write('records-sync.yaml', `${head}syncs:\n${out.slice(at + 1).join('\n')}\n`)
  await passes()
  expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

test('a configuration that does not load is mended first', async () => {
  const { write, bare, text, config } = await project()
  write('records-sync.yaml', 'connections: {}\nsynks: {}\n')
  const { code, err } = await bare(write('companies.csv', companies))
  expect({ code, text: err.join(' ') }).toMatchObject({
    code: 2,
    text: expect.stringContaining(`${config}:2:1: unknown key`),
  })
  expect(text()).toBe('connections: {}\nsynks: {}\n')
  expect(existsSync(`${config}.tmp`)).toBe(false)
})
