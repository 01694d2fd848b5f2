// `init` from a file and a service, as an example, and as a starter: what it writes passes `check`, and it overwrites nothing.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { initFromFile, syncName } from '../../../src/cli/commands/init-file.ts'
import { init, type InitCommandOptions } from '../../../src/cli/commands/init.ts'
import { plan } from '../../../src/cli/commands/plan.ts'
import type { Asker } from '../../../src/cli/shared/questions.ts'
import { startService } from '../../../src/service/index.ts'
import { startOtherService } from '../../other-service/index.ts'
import { folder, project } from './init-scene.ts'
import { said } from './said.ts'

const UMASK = 0o022

const german = Buffer.from(
  [
    'Kundennr;Vorname;Nachname;E-Mail;Geburtsdatum;Ort',
    'K1;Jürgen;Groß;juergen@example.de;31.12.1980;Köln',
    'K2;Änne;Müller;aenne@example.de;01.02.1975;Düren',
    'K3;Jörg;Weiß;keine Adresse;03.04.1966;Münster',
    '',
  ].join('\r\n'),
  'latin1',
)

test('a file and a service become a configuration that passes check, and a plan', async () => {
  const { config, write, run, passes, service } = await project()
  const { code, out } = await run(write('Kunden.csv', german), {})
  expect({ code, out }).toMatchObject({ code: 0 })
  const text = readFileSync(config, 'utf8')
  expect(text).toContain('from: { csv: ./Kunden.csv, delimiter: ";", encoding: windows-1252 }')
  expect(text).toContain('key: { file: ./crm.key }')
  expect(text).toContain('matching_property: svc_external_id')
  expect(text).toContain('svc_birthday: { column: Geburtsdatum, format: DD.MM.YYYY }')
  expect(text).toContain('#   "Ort": no property has such a name')
  expect(text).not.toContain(service.key)
  expect(statSync(config).mode & 0o777).toBe(0o644)
  const shown = out.join('\n')
  expect(shown).toContain('Plan of kunden (nothing was written)')
  expect(text).toMatch(/# svc_email: E-Mail # .*1 row does not fit; for 2 rows, against 1/)
  expect(shown).toMatch(/to send +3\n/)
  expect(shown).toContain('records-sync -c')
  expect(service.records('svc_contact')).toEqual([])
  await passes()
  const again = await run(write('Kunden.csv', german))
  expect(again.code).toBe(2)
  expect(again.err.join(' ')).toContain('the sync kunden reads')
  expect(again.err.join(' ')).toContain('it was left as it is')
  expect(readFileSync(config, 'utf8')).toBe(text)
})

test('with --json all of it is one line', async () => {
  const { config, write, run } = await project()
  const { code, out } = await run(write('Kunden.csv', german), {}, true)
  expect({ code, lines: out.length }).toEqual({ code: 0, lines: 1 })
  expect(JSON.parse(out[0]!)).toMatchObject({
    config,
    sync: 'kunden',
    object_type: 'svc_contact',
    matching_property: 'svc_external_id',
    left: [{ column: 'Ort' }],
    plan: { rows_read: 3, rows: { pending: 3, rejected: 0 } },
  })
})

test('without a service it is that of dev: its plan is made although dev does not run', async () => {
  const dir = folder()
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(
    join(dir, 'companies.csv'),
    'id,company,domain\n1,Acme,acme.example\n2,Globex,globex.example\n',
  )
  const { code, out } = await said(config, (context) =>
    init(context, join(dir, 'companies.csv'), { yes: true }, UMASK),
  )
  expect({ code, out }).toMatchObject({ code: 0 })
  expect(readFileSync(config, 'utf8')).toMatch(
    /service: "\$\{RECORDS_URL:-http:\/\/127\.0\.0\.1:8080\}".*\n.*dev\.key/,
  )
  expect(out.join('\n')).toMatch(/to send +2\n/)
  const checked = await said(config, (context) => check(context, { operations: false }))
  expect(checked.out.join(' ').replace(/ +/g, ' ')).toContain('"records-sync dev"')
})

test('what it cannot do it says, and writes nothing', async () => {
  const { config, write, run, service } = await project()
  const rows = write('rows.csv', 'first name,last name\nA,B\nA,B\nA,C\n')
  const cases: [string, Partial<InitCommandOptions>, RegExp][] = [
    [rows, {}, /no column says which record of svc_contact a row is/],
    [
      write('mails.csv', 'first name,e mail\nA,a@example.com\nB,a@example.com\nC,\n'),
      {},
      /--matching-property "svc_email=e mail": of 3 rows, 1 row has none and 1 row repeats one/,
    ],
    [rows, { matchingProperty: 'svc_external_id' }, /expected PROPERTY=COLUMN/],
    [rows, { key: service.key }, /--key: expected file:PATH, env:NAME or command:COMMAND/],
    [rows, { key: `file:${service.key}` }, /--key: there is no such file; expected its path/],
    [rows, { key: 'env:NO_SUCH_VARIABLE' }, /NO_SUCH_VARIABLE` is not set/],
    [rows, { service: 'http://crm.example.com' }, /--service: expected an https URL/],
    [rows, { objectType: 'svc_contacts' }, /did you mean `svc_contact`\?/],
    [write('other.csv', 'qwe,rtz\n1,2\n'), {}, /no column fits a property of project, svc_call/],
    [write('head.csv', 'id,name\n'), {}, /has no row/],
    [write('pandas.csv', ',name\n0,A\n'), {}, /no column says which record/],
    ['nowhere.csv', {}, /there is no such file/],
  ]
  for (const [file, options, message] of cases) {
    const { code, out, err } = await run(file, options)
    expect([...out, ...err].join('\n')).toMatch(message)
    expect([...out, ...err].join('\n')).not.toContain(service.key)
    expect(code).not.toBe(0)
    expect(existsSync(config)).toBe(false)
  }
})

/** Answers in order; `said` is called with each question. */
const answers = (given: string[], questions: string[] = []): Asker => ({
  async ask(question, guess = '') {
    questions.push(question)
    const answer = given.shift()
    if (answer === undefined) throw new Error(`no answer for ${question}`)
    return answer || guess
  },
  secret: async () => '',
  close: () => {},
})

test('a person is asked for what the file does not show, with the guess as default', async () => {
  const { service, dir, config, write, passes } = await project()
  const file = write(
    'contacts.csv',
    'id,first name,birthday,lifetime value\n1,A,03/04/1990,10\n2,B,05/06/1991,20\n',
  )
  const questions: string[] = []
  const asker = answers(
    [`${service.url}/rest/v1/`, 'svc_key_abc', join(dir, 'crm.key'), 'contact', '', '2', 'eur'],
    questions,
  )
  const { code, out } = await said(config, (context) =>
    initFromFile(context, file, {}, { umask: UMASK, asker }),
  )
  expect({ code, out }).toMatchObject({ code: 0 })
  const text = readFileSync(config, 'utf8')
  expect(text).toMatch(/^ {8}svc_birthday: \{ column: birthday, format: MM\/DD\/YYYY \}/m)
  expect(text).toMatch(/^ {8}svc_lifetime_value: \{ column: "?lifetime value"?, unit: EUR \}/m)
  expect(out.join('\n')).toContain('1 DD/MM/YYYY, 2 MM/DD/YYYY?')
  expect(questions).toHaveLength(7)
  await passes()
})

test('zones, separators and currencies are asked for one after the other', async () => {
  const { config, write, passes, text, service, dir } = await project()
  const file = write(
    'contacts.csv',
    'id,first name,last contact,lifetime value\n1,A,3/4/2024 14:22,1.234\n2,B,5/6/2024 09:00,33.500\n',
  )
  const options = { service: service.url, key: `file:${join(dir, 'crm.key')}` }
  const asker = answers(['svc_contact', '1', 'Berlin', 'Europe/Berlin', '1', 'usd'])
  const { code, out } = await said(config, (context) =>
    initFromFile(context, file, options, { umask: UMASK, asker }),
  )
  expect({ code, out }).toMatchObject({ code: 0 })
  expect(out.join('\n')).toContain('expected a time zone such as Europe/Berlin')
  expect(text()).toContain(
    'svc_last_contacted_at: { column: last contact, format: D/M/YYYY, zone: Europe/Berlin }',
  )
  expect(text()).toContain(
    'svc_lifetime_value: { column: lifetime value, decimal: ",", thousands: ".", unit: USD }',
  )
  expect(text()).toContain('and the times have no zone; answered in "init"')
  expect(out.join('\n')).toMatch(/to send +2\n/)
  await passes()
})

test('without a person what is not certain waits in a comment, and the plan is of the rest', async () => {
  const { config, write, run, passes } = await project()
  const file = write('contacts.csv', 'id,first name,birthday\n1,A,03/04/1990\n2,B,05/06/1991\n')
  expect(await run(file)).toMatchObject({ code: 0 })
  expect(readFileSync(config, 'utf8')).toMatch(
    /^ {8}# svc_birthday: \{ column: birthday, format: DD\/MM\/YYYY \}/m,
  )
  await passes()
})

test('a service with other names of types and properties: the mapping says what the cells are', async () => {
  const service = await startOtherService({ prefix: 'acme__', fieldTypes: 'other', paths: 'other' })
  onTestFinished(() => service.close())
  const dir = folder()
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  writeFileSync(
    join(dir, 'people.csv'),
    'ID,First Name,E-Mail,Subscribed,Birth date,Stage,Revenue EUR,Tags\n1,A,a@x.example,yes,31.12.1990,open,1.5,red|blue\n2,B,b@x.example,no,01.02.1991,new,2.25,green\n',
  )
  const options = { yes: true, service: service.url, key: `file:${join(dir, 'key')}` }
  const { code, out } = await said(
    config,
    (context) => init(context, join(dir, 'people.csv'), options, UMASK),
    true,
  )
  expect({ code, out }).toMatchObject({ code: 0 })
  const { properties, plan: planned } = JSON.parse(out[0]!)
  expect(planned).toMatchObject({ rows: { pending: 2, rejected: 0 } })
  expect(
    Object.fromEntries(
      properties.map((one: { property: string; settings: object }) => [one.property, one.settings]),
    ),
  ).toEqual({
    acme__external_id: {},
    acme__first_name: {},
    acme__email: { type: 'email' },
    acme__subscribed: {},
    acme__birth_date: { type: 'date', format: 'DD.MM.YYYY' },
    acme__stage: { type: 'select' },
    acme__revenue: { type: 'currency', unit: 'EUR' },
    acme__tags: { type: 'select', split: '|' },
  })
  expect(await said(config, (context) => check(context, { operations: false }))).toMatchObject({
    code: 0,
  })
})

test('the example runs as it is: 18 of its 20 rows, and two planted mistakes', async () => {
  const service = await startService()
  onTestFinished(() => service.close())
  const dir = folder()
  const made = (name: string) =>
    said(join(dir, 'records-sync.yaml'), (context) =>
      init(context, undefined, { yes: false, example: join(dir, name) }, UMASK),
    )
  expect(await made('try')).toMatchObject({ code: 0 })
  const config = join(dir, 'try', 'records-sync.yaml')
  mkdirSync(join(dir, 'try', '.records-sync'))
  writeFileSync(join(dir, 'try', '.records-sync', 'dev.key'), service.key, { mode: 0o600 })
  vi.stubEnv('RECORDS_URL', service.url)
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(await said(config, (context) => check(context, { operations: false }))).toMatchObject({
    code: 0,
  })
  const planned = async (sync: string) =>
    JSON.parse((await said(config, (context) => plan(context, sync), true)).out[0]!)
  expect(await planned('companies')).toMatchObject({
    rows_read: 6,
    rows: { pending: 5 },
    rejects: [{ reason: 'not_an_amount' }],
  })
  expect(await planned('contacts')).toMatchObject({
    rows_read: 8,
    rows: { pending: 7 },
    rejects: [{ reason: 'not_an_email' }],
  })
  expect(await planned('deals')).toMatchObject({
    rows_read: 6,
    rows: { pending: 6 },
    rejects: [],
  })
  const text = readFileSync(config, 'utf8')
  expect((await made('try')).err.join(' ')).toContain('it was left as it is')
  expect(readFileSync(config, 'utf8')).toBe(text)
})

test('the steps that it prints are commands, with options that they have', async () => {
  const { write, run, dir } = await project()
  const config = join(dir, 'other.yaml')
  const options = { yes: true }
  const file = write('Kunden.csv', german)
  const made = [
    await run(file),
    await said(config, (context) => init(context, file, options, UMASK)),
    await said(join(dir, 'third.yaml'), (context) => init(context, undefined, options, UMASK)),
    await said(join(dir, 'x.yaml'), (context) =>
      init(context, undefined, { yes: true, example: join(dir, 'try') }, UMASK),
    ),
  ]
  const steps = made.flatMap(({ out }) =>
    [...out.join('\n').matchAll(/records-sync (?:-c \S+ )?((?:dev -- )?)([a-z]+)([^\n]*)/g)]
      .filter(([, before, command]) => before !== '' || command !== 'dev')
      .map(([, , command, rest]) => ({ command: command!, rest: rest! })),
  )
  expect(steps.map(({ command }) => command)).toEqual(
    expect.arrayContaining(['run', 'check', 'rejects', 'retry']),
  )
  const main = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url))
  const helps = new Map<string, string>()
  for (const { command, rest } of steps) {
    if (!helps.has(command)) {
      const help = execFileSync(process.execPath, [main, command, '--help'], { encoding: 'utf8' })
      helps.set(command, help)
    }
    expect(helps.get(command)).toContain(`Usage: records-sync ${command} `)
    for (const [option] of rest.matchAll(/--[a-z]+(?:-[a-z]+)*/g))
      expect(helps.get(command)).toContain(option)
  }
})

test.each([
  ['contacts.csv', 'contacts'],
  ['/tmp/Kunden Größe 2026-01.csv.gz', 'kunden_grosse_2026_01'],
  ['2026.csv', 'rows_2026'],
  ['名前.csv', 'rows'],
])('the sync of %s is %s', (file, name) => {
  expect(syncName(file)).toBe(name)
})

test.each([
  ['one row', 1, 3],
  ['300 columns', 20, 300],
])('a file of %s', async (_, rows, columns) => {
  const { write, run, passes, text } = await project()
  const names = [
    'id',
    'first name',
    'email',
    ...Array.from({ length: columns - 3 }, (_, i) => `field ${i}`),
  ]
  const row = (index: number) =>
    names.map((name) => (name === 'email' ? `a${index}@example.com` : `${name} ${index}`)).join()
  const csv = [names.join(), ...Array.from({ length: rows }, (_, index) => row(index))].join('\n')
  const { code, out } = await run(write('contacts.csv', csv))
  expect({ code, out: out.slice(0, 5) }).toMatchObject({ code: 0 })
  expect(text()).toMatch(/^ {8}svc_email: email/m)
  expect(out.join('\n')).toMatch(new RegExp(`to send +${rows}\n`))
  await passes()
})

test('a large file is read at its beginning, and its plan is left to a person', async () => {
  const { write, run, text } = await project()
  const rows = Array.from({ length: 20_000 }, (_, i) => `${i},A,${'x'.repeat(3_500)}\n`)
  // Behind the rows that are looked at there may be anything.
  const file = write('contacts.csv', `id,first name,notes\n${rows.join('')}"torn`)
  const { code, out } = await run(file)
  expect({ code, out }).toMatchObject({ code: 0 })
  expect(out.join('\n')).toMatch(/The file is large: records-sync .*plan contacts reads all of it/)
  expect(text()).toContain('svc_notes: notes')
  const json = await run(file, {}, true)
  expect(json.code).toBe(2)
})
