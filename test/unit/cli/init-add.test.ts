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

const accounts = 'Id,Name\nA-1001,Acme\nA-1002,Globex\nA-1003,Initech\n'

test.each<[string, string, string, RegExp | null]>([
  ['all values are keys', 'AccountId', 'A-1001 A-1002 A-1001', /for 3 rows, against 0/],
  ['some cells are empty', 'AccountId', 'A-1001  A-1003', /for 2 rows, against 0/],
  ['capitals differ', 'Konto', 'a-1001 a-1002 A-1003', /for 3 rows, against 0/],
  ['several in a cell', 'Firmen', 'A-1001;A-1002 A-1003 A-1002', /split: ";"/],
  ['other values', 'AccountId', 'B-1 B-2 B-3', null],
  ['half are other values', 'AccountId', 'A-1001 B-2 B-3', null],
])('a column of keys of another sync is a link that waits: %s', async (_, name, cells, shown) => {
  const { write, run, bare, passes, text } = await project()
  await run(write('companies.csv', accounts))
  const rows = cells.split(' ').map((cell, at) => `D${at},Deal ${at},${cell}\n`)
  const { code, out, err } = await bare(
    write('deals.csv', `Deal ID,Deal Name,${name}\n${rows.join('')}`),
  )
  expect({ code, out, err }).toMatchObject({ code: 0 })
  const [, line] = / {4}# (links: .*\]).*\n/.exec(text()) ?? []
  expect(line === undefined).toBe(shown === null)
  if (shown === null) return
  expect(text()).toMatch(shown)
  expect(line).toMatch(
    /association: svc_deal_company, to: svc_company, by: svc_external_id, column: \w+/,
  )
  expect(text()).not.toMatch(/A-100/i)
  write('records-sync.yaml', text().replace('    # links:', '    links:'))
  await passes()
})

test('a column that may be a link is no active line of another property', async () => {
  const { write, run, bare, text } = await project()
  await run(write('contacts.csv', 'Email,First name\na@example.com,A\nb@example.com,B\n'))
  await bare(
    write(
      'deals.csv',
      'Deal ID,Deal Name,Contact Email\nD1,One,a@example.com\nD2,Two,b@example.com\n',
    ),
  )
  expect(text()).toMatch(/# links: \[\{ association: svc_deal_contact, .* by: svc_email/)
  expect(text()).toMatch(/^ {8}# svc_email: Contact Email/m)
})

test('small numbers are keys by chance: the name has to say so', async () => {
  const { write, run, bare, text } = await project()
  await run(write('companies.csv', 'Id,Name\n1,Acme\n2,Globex\n3,Initech\n'))
  await bare(write('deals.csv', 'Deal ID,Deal Name,Score,Company\nD1,One,1,2\nD2,Two,3,1\n'))
  expect(text()).toMatch(/# links: \[\{ [^}]*column: Company \}\]/)
  expect(text()).toMatch(/^ {8}svc_score: Score/m)
})

test('the column of currencies is in the table', async () => {
  const { write, run } = await project()
  const file = write(
    'deals.csv',
    'Deal ID,Deal Name,Amount,CurrencyIsoCode\nD1,One,12.50,EUR\nD2,Two,3.00,USD\n',
  )
  const { out } = await run(file)
  expect(out.join('\n')).toMatch(/CurrencyIsoCode +svc_deal_value +the currency of its amounts/)
})
