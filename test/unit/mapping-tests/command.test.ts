// `records-sync test`: what passes, what fails and how it is shown, and what the saved schema holds.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig, STARTER_CONFIG } from '../../../config/index.ts'
import { check } from '../../../src/cli/commands/check.ts'
import { testMappings } from '../../../src/cli/commands/test.ts'
import { startService } from '../../../src/service/index.ts'
import { said } from '../cli/said.ts'
import { COLUMNS, mappingScene } from './scene.ts'

const WHOLE = `- name: every kind of value
  row:
    id: " P-1 "
    name: Ada
    email: a@x.example;b@x.example
    born: 10.12.1985
    amount: 1200.50
    currency: EUR
    score: 4,5
    news: ja
    tags: press | event
    stage: customer
    notes: text
  expect:
    svc_external_id: P-1
    svc_first_name: Ada
    svc_email: [a@x.example, b@x.example]
    svc_birthday: 1985-12-10
    svc_lifetime_value: { amount: 1200.50, unit: EUR }
    svc_score: 4.5
    svc_subscribed: true
    svc_tags: press | event
    svc_lifecycle_stage: customer
    svc_notes: text
    svc_source: csv
- name: what an empty cell does
  row: { id: P-2 }
  expect: { svc_first_name: (not sent), svc_notes: (cleared), svc_source: csv }
- name: cells are taken as they are written
  row: { id: 0012, name: 1.50 }
  expect: { svc_external_id: "0012", svc_first_name: "1.50" }
- name: so is what is expected
  row: { id: "0012", name: "1.50" }
  expect: { svc_external_id: 0012, svc_first_name: 1.50 }
- name: all that is wrong
  row: { born: 1985-12-10, amount: 1, currency: euro }
  reject: [key_missing in id, not_a_date in svc_birthday, unit_unknown]`

test('a mapping that does what its tests say passes; the saved schema is all that it needs', async () => {
  const s = await mappingScene({ tests: WHOLE })
  expect(await s.save()).toMatchObject({ code: 0 })
  const { code, tests, passed, warnings, schema } = await s.report()
  expect({ code, passed, warnings, days: schema.days }).toEqual({
    code: 0,
    passed: 5,
    warnings: [],
    days: 0,
  })
  expect(tests.map(({ line }) => line)).toEqual([23, 48, 51, 54, 57])
  const { out } = await s.run()
  expect(out.slice(0, 7)).toEqual([
    'people',
    'passed  every kind of value',
    'passed  what an empty cell does',
    'passed  cells are taken as they are written',
    'passed  so is what is expected',
    'passed  all that is wrong',
    '5 tests: 5 passed, 0 failed',
  ])
  expect(out[7]).toMatch(/^Schema of http:.*, org \d+, saved less than a day ago, at /)
})

test('no service is asked, and no row of a test is in a sync as it is stored', async () => {
  const service = await startService()
  const s = await mappingScene({ tests: WHOLE, service })
  await s.save()
  await service.close()
  rmSync(s.path('rows.csv'))
  expect(await s.report()).toMatchObject({ code: 0, passed: 5 })
  const { syncs } = await loadConfig(s.config, {})
  expect(Object.keys(syncs['people']!)).toEqual(['name', 'kind', 'import'])
  expect(JSON.stringify(syncs)).not.toContain('a@x.example')
})

test('cells of a query may be numbers, lists and no value', async () => {
  const s = await mappingScene({
    tests: `- name: cells of a database
  row: { id: 12, email: [a@x.example, b@x.example], score: 4.5, news: true, born: null, notes: null }
  expect:
    svc_external_id: 12
    svc_email: [a@x.example, b@x.example]
    svc_score: 4.50
    svc_subscribed: (not sent)
    svc_birthday: (not sent)
    svc_notes: (cleared)
- file: ./tests.csv`,
  })
  await s.save()
  s.write('tests.csv', 'id,score,expect svc_score\n1,"4,5",4.5\n')
  const text = s.readFile('records-sync.yaml')
  s.write(
    'records-sync.yaml',
    `warehouses:\n  lake: { duckdb: ./missing.duckdb }\n${text.replace('{ csv: ./rows.csv }', '{ query: SELECT 1, warehouse: lake }')}`,
  )
  const { tests } = await s.report()
  expect(tests.map(({ differences }) => differences)).toEqual([
    [{ property: 'svc_subscribed', column: 'news', expected: '(not sent)', got: 'true' }],
    [],
  ])
})

test('what fails is shown by property: expected, got, and its column', async () => {
  const s = await mappingScene({
    tests: `- name: values
  row: { id: P-1, email: a@x.example, amount: 1200.5, currency: EUR, news: nein, tags: "" }
  expect:
    svc_external_id: p-1
    svc_email: [a@x.example, b@x.example]
    svc_lifetime_value: 1200.51 EUR
    svc_subscribed: true
    svc_tags: (cleared)
    svc_notes: (not sent)
    svc_source: CSV
- name: accepted
  row: { id: P-2 }
  reject: not_a_date in born
- name: set aside
  row: { id: P-3, born: 1985-12-10, score: 4.5 }
  expect: { svc_birthday: 1985-12-10 }
- name: for another reason
  row: { born: 1985-12-10 }
  reject: [not_a_date in stage, key_missing]
- name: for more
  row: { id: P-5, born: 1985-12-10, score: 4.5 }
  reject: not_a_date
- name: for less
  row: { id: P-5, score: 4.5 }
  reject: [not_a_number, not_a_date]`,
  })
  await s.save()
  const { code, tests } = await s.report()
  expect(code).toBe(1)
  const day = 'reject: not_a_date in born: expected a day of the calendar as DD.MM.YYYY'
  const number =
    'reject: not_a_number in score: expected a plain decimal number such as 1234,50, without other separators'
  expect(
    tests.map(({ differences }) =>
      differences.map(({ property, column, expected, got }) => [property, column, expected, got]),
    ),
  ).toEqual([
    [
      ['svc_external_id', 'id', 'p-1', 'P-1'],
      ['svc_email', 'email', '[a@x.example, b@x.example]', '[a@x.example]'],
      ['svc_lifetime_value', 'amount', '1200.51 EUR', '1200.5 EUR'],
      ['svc_subscribed', 'news', 'true', 'false'],
      ['svc_tags', 'tags', '(cleared)', '(not sent)'],
      ['svc_notes', 'notes', '(not sent)', '(cleared)'],
      ['svc_source', null, 'CSV', 'csv'],
    ],
    [[null, null, 'reject: not_a_date in born', '(accepted)']],
    [
      ['svc_birthday', 'born', '1985-12-10', day],
      ['svc_score', 'score', '(accepted)', expect.stringContaining(number)],
    ],
    [['svc_birthday', 'born', 'reject: not_a_date in stage', day]],
    [['svc_score', 'score', '(nothing else wrong)', expect.stringContaining(number)]],
    [[null, null, 'reject: not_a_date', '(no such error)']],
  ])
  const { out } = await s.run()
  const shown = out.join('\n')
  expect(shown).toContain(`failed  accepted (`)
  expect(shown).toMatch(/svc_lifetime_value +1200\.51 EUR +1200\.5 EUR +amount/)
  expect(shown).toContain('6 tests: 0 passed, 6 failed')
})

test('a file has a test in each row, in the dialect of the source', async () => {
  const s = await mappingScene({ tests: '- file: ./tests.csv' })
  await s.save()
  s.write(
    'tests.csv',
    [
      'test,id,email,news,expect svc_email,expect svc_subscribed,expect svc_notes,reject',
      'two,P-1,a@x.example;b@x.example,ja,a@x.example;b@x.example,TRUE,(cleared),',
      ',P-2,,,,,(cleared),',
      'no key and no address,,nobody,,,,,key_missing in id; not_an_email in email',
      'wrong,P-3,,nein,,true,(cleared),',
      '',
    ].join('\n'),
  )
  const { code, tests } = await s.report()
  expect(code).toBe(1)
  expect(tests.map(({ name, ok, line }) => [name, ok, line])).toEqual([
    ['two', true, 2],
    ['line 3', true, 3],
    ['no key and no address', true, 4],
    ['wrong', false, 5],
  ])
  expect((await s.report([], { name: 'two' })).tests.map(({ name }) => name)).toEqual(['two'])
})

test('JUnit XML: a suite for each sync, a failure for each test, no letter that XML lacks', async () => {
  const s = await mappingScene({
    tests: `- name: "a < b & \\"c\\" \\x01"
  row: { id: P-1, name: "<Ada>" }
  expect: { svc_first_name: "A\\x02 & B" }
- { name: fine, row: { id: P-1 }, expect: {} }`,
  })
  await s.save()
  const file = s.path('report.xml')
  expect(await s.run([], { junit: file })).toMatchObject({ code: 1 })
  const xml = s.readFile('report.xml')
  const plain = xml.replaceAll(/time(?:stamp)?="[^"]*"/g, '').replaceAll(/file="[^"]*\//g, 'file="')
  expect(plain).toContain(
    '<testsuites name="records-sync test" tests="2" failures="1" errors="0" >',
  )
  expect(plain).toContain('<testsuite name="people" tests="2" failures="1" errors="0" skipped="0"')
  expect(plain).toContain(
    '<testcase classname="people" name="a &lt; b &amp; &quot;c&quot; \ufffd" file="records-sync.yaml" line="23"',
  )
  expect(plain).toContain(
    '<failure message="svc_first_name from column name: expected A\ufffd &amp; B, got &lt;Ada&gt;"',
  )
  expect(plain).toMatch(/name="fine" file="records-sync.yaml" line="26" *\/>/)
  // A report of an earlier run is not left in the place of one that could not begin.
  rmSync(s.path('records-sync.service-schema.json'))
  expect(await s.run([], { junit: file })).toMatchObject({ code: 2 })
  expect(s.readFile('report.xml')).toMatch(
    /tests="1" failures="0" errors="1"[^]*there is no saved schema/,
  )
})

test('the saved schema has no key, no row and no person, and says how old it is', async () => {
  const s = await mappingScene({ tests: WHOLE })
  s.write('rows.csv', `${COLUMNS}\nsecret-row,Ada,,,,,,,,,\n`)
  const saved = s.path('elsewhere.json')
  expect(await s.save(saved)).toMatchObject({ code: 0 })
  const text = s.readFile('elsewhere.json')
  for (const word of [s.service.key, 'secret-row', 'principal', 'display_name'])
    expect(text).not.toContain(word)
  const schema = JSON.parse(text) as { saved_at: string }
  const before = (days: number) => new Date(Date.now() - days * 86_400_000 - 1_000).toISOString()
  s.write('old.json', JSON.stringify({ ...schema, saved_at: before(40) }))
  const old = await s.report([], { schema: s.path('old.json') })
  expect(old).toMatchObject({ code: 0, schema: { days: 40 } })
  expect(old.warnings).toEqual([
    expect.stringMatching(
      /^the schema is 40 days old; `records-sync .*check --save-schema .*old\.json` reads it again$/,
    ),
  ])
  s.write('old.json', text.replaceAll(s.service.url, 'https://other.example'))
  expect((await s.report([], { schema: s.path('old.json') })).warnings).toEqual([
    'the schema is that of https://other.example, and connection crm is set to another service',
  ])
})

test('a schema is saved whole or not at all', async () => {
  const s = await mappingScene({ tests: WHOLE })
  await s.save()
  const before = s.readFile('records-sync.service-schema.json')
  rmSync(s.path('rows.csv'))
  const { code, out } = await s.save()
  expect(code).toBe(2)
  expect(out.join(' ').replaceAll(/ +/g, ' ')).toContain(
    'schema: not saved, because source or service of people could not be read, see above',
  )
  expect(s.readFile('records-sync.service-schema.json')).toBe(before)
})

test.each([
  ['the example of the demo', () => exampleFolder('crm'), 6],
  ['the first example', () => exampleFolder('first'), 2],
  ['the starter', () => starterFolder(), 2],
])('the tests of %s pass, and fail where its mapping is changed', async (_, made, count) => {
  const service = await startService()
  onTestFinished(() => service.close())
  const dir = made()
  const config = join(dir, 'records-sync.yaml')
  const text = readFileSync(config, 'utf8')
    .replaceAll(/"?'?\$\{RECORDS_URL[^}]*\}'?"?/g, service.url)
    .replace("'${RECORDS_API_KEY}'", '{ file: ./crm.key }')
    .replace('.records-sync/dev.key', './crm.key')
  writeFileSync(join(dir, 'crm.key'), service.key, { mode: 0o600 })
  writeFileSync(config, text)
  const saved = await said(config, (context) =>
    check(context, { operations: false, saveSchema: true }),
  )
  expect(saved).toMatchObject({ code: 0 })
  const run = () => said(config, (context) => testMappings(context, [], {}), true)
  const { code, out } = await run()
  expect({ code, ...(JSON.parse(out[0]!) as object) }).toMatchObject({ code: 0, passed: count })
  const changed = text.replace(
    /svc_email: \{ column: email, split: "?'?;"?'? \}/,
    'svc_email: email',
  )
  expect(changed).not.toBe(text)
  writeFileSync(config, changed)
  expect(await run()).toMatchObject({ code: 1 })
})

function emptyFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-example-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

function exampleFolder(name: string): string {
  const dir = emptyFolder()
  const example = new URL(`../../../config/examples/${name}/`, import.meta.url)
  cpSync(fileURLToPath(example), dir, { recursive: true })
  return dir
}

function starterFolder(): string {
  const dir = emptyFolder()
  writeFileSync(join(dir, 'records-sync.yaml'), STARTER_CONFIG)
  writeFileSync(
    join(dir, 'contacts.csv'),
    'id,first_name,last_name,email\nC-1,Ada,Lovelace,ada@example.com\n',
  )
  return dir
}
