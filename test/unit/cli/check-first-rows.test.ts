// `check --rows`: each cell next to the value that a run would send, on a terminal or as JSON, and what is wrong with a mapping where it
// is written.

import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { plan } from '../../../src/cli/commands/plan.ts'
import { testMappings } from '../../../src/cli/commands/test.ts'
import { createContext, reportError } from '../../../src/cli/shared/context.ts'
import { mappedProject } from './mapped-project.ts'
import { said } from './said.ts'

const MAPPINGS = [
  'svc_external_id: id',
  'svc_last_name: { columns: [first, last] }',
  'svc_job_title: { column: country, case: upper, map: ./countries.csv }',
  'svc_phone: { column: phone, phone: DE }',
  'svc_source: { value: fair }',
]

/** A project with this import; its `properties` begin in line 11. */
const project = (mappings: readonly string[] = MAPPINGS): Promise<string> =>
  mappedProject('svc_contact', mappings, {
    'contacts.csv': [
      'id,first,last,country,phone',
      'C-1, Ada ,Lovelace,de,030 1234567',
      'C-2,Alan,Turing,fr,12',
      'C-3,Grace',
      'C-4,Mary,,at,\n',
    ].join('\n'),
    'countries.csv': 'code,name\nDE,Germany\nAT,Austria\n',
  })

/** The same with a query over its file. */
async function queriedProject(sql: string): Promise<string> {
  const config = await project()
  const text = readFileSync(config, 'utf8')
  const from = `{ csv: ./contacts.csv, sql: "${sql}" }`
  writeFileSync(config, text.replace('{ csv: ./contacts.csv }', from))
  return config
}

/** What `check --rows` prints at a terminal. */
async function shown(config: string, rows: number, isScreen: boolean) {
  const out: string[] = []
  const context = createContext(
    { config, json: false },
    {
      isScreen,
      out: (line = '') => void out.push(...line.split('\n')),
      err: (line = '') => void out.push(line),
      live: () => {},
      endLive: () => {},
      style: (_, text) => text,
    },
  )
  const code = await check(context, { operations: false, rows }).catch((error: unknown) =>
    reportError(error, context),
  )
  return { code, text: out.join('\n') }
}

test('cells stand next to their values, and what is wrong next to its cell', async () => {
  const config = await project()
  const { code, text } = await shown(config, 3, true)
  expect(code).toBe(0)
  expect(text).toContain('sent    people, line 2\n')
  expect(text).toMatch(/first \+ last +Ada +\+ Lovelace +svc_last_name +Ada Lovelace\n/)
  expect(text).toMatch(/country +de +svc_job_title +Germany\n/)
  expect(text).toMatch(/phone +030 1234567 +svc_phone +\[\+49301234567\]\n/)
  expect(text).toMatch(/– +– +svc_source +fair\n/)
  expect(text).toContain('aside   people, line 3\n')
  expect(text).toMatch(/fr +svc_job_title +not_in_map: expected one of the 2 values in the first/)
  expect(text).toMatch(/12 +svc_phone +not_a_phone: expected one valid telephone number of DE/)
  expect(text).toContain('aside   people, line 4: row_ragged: the row has 2 cells; expected 5')
  expect(text).not.toContain('line 5')
})

/** The project, with another file; what `check --rows 1` finds and prints as JSON. */
async function checked(config: string, content: string, more: { queryMs?: number } = {}) {
  writeFileSync(join(dirname(config), 'contacts.csv'), content)
  const { code, out } = await said(
    config,
    (context) => check(context, { operations: false, rows: 1, ...more }),
    true,
  )
  const { findings, first_rows: rows } = JSON.parse(out.join('')) as {
    findings: { subject: string; ok: boolean; message: string; warnings?: string[] }[]
    first_rows: { properties: { property: string; cells: string[]; cut: boolean }[] }[]
  }
  return { code, rows, sync: findings.find(({ subject }) => subject === 'sync people')! }
}

test('a long cell is cut in JSON too, and says so', async () => {
  const config = await project()
  const { code, rows } = await checked(
    config,
    `id,first,last,country,phone\nC-1,${'é'.repeat(400_000)},L,de,\n`,
  )
  expect(code).toBe(0)
  const [{ properties }] = rows as [(typeof rows)[0]]
  const name = properties.find(({ property }) => property === 'svc_last_name')!
  expect(name.cut).toBe(true)
  expect(name.cells[0]).toBe(`${'é'.repeat(10_000)}… (cut; 400,000 characters)`)
  expect(JSON.stringify(rows).length).toBeLessThan(50_000)
  expect(properties.find(({ property }) => property === 'svc_external_id')!.cut).toBe(false)
})

test('a row that is too large for a run is refused', async () => {
  const config = await queriedProject(
    'SELECT * REPLACE (repeat(last, if(_line = 3, 9000000, 1)) AS last) FROM rows',
  )
  const { code, sync } = await checked(
    config,
    'id,first,last,country,phone\nC-1,A,B,de,\nC-2,A,B,de,\n',
  )
  expect(code).toBe(2)
  expect(sync.ok).toBe(false)
  expect(sync.message).toContain('Row 2 (line 3): its cells and what is sent of them take')
})

test('a query without an end is stopped, and the finding says what to do', async () => {
  const config = await queriedProject(
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i % 7 + 1 FROM n) SELECT * REPLACE ((SELECT max(i) FROM n)::VARCHAR AS phone) FROM rows',
  )
  const { sync, rows } = await checked(config, 'id,first,last,country,phone\nC-1,A,B,de,\n', {
    queryMs: 4_000,
  })
  expect((sync.warnings ?? [sync.message]).join()).toContain(
    'had not ended after 4 s, and was stopped',
  )
  expect(rows).toEqual([])
})

test('JSON has the same, and elsewhere nothing is shown', async () => {
  const config = await project()
  const { code, out } = await said(
    config,
    (context) => check(context, { operations: false, rows: 10 }),
    true,
  )
  expect(code).toBe(0)
  const { first_rows: rows } = JSON.parse(out.join('')) as {
    first_rows: { line: number; ok: boolean; properties: unknown[] }[]
  }
  expect(rows.map(({ line, ok }) => [line, ok])).toEqual([
    [2, true],
    [3, false],
    [4, false],
    [5, true],
  ])
  expect(rows[0]!.properties[1]).toEqual({
    property: 'svc_last_name',
    columns: ['first', 'last'],
    cells: [' Ada ', 'Lovelace'],
    value: 'Ada Lovelace',
    reason: null,
    detail: null,
    cut: false,
  })
  expect(rows[3]!.properties[3]).toMatchObject({ property: 'svc_phone', value: '(not sent)' })
  const piped = await shown(config, 3, false)
  expect(piped).toMatchObject({ code: 0, text: expect.stringContaining('Lovelace') })
  const without = await said(config, (context) => check(context, { operations: false }), true)
  expect(without.out.join('')).not.toContain('first_rows')
})

test('check, plan and test name the same mistake, with its place', async () => {
  const good = await project()
  await said(good, (context) => check(context, { operations: false, saveSchema: true }))
  const text = readFileSync(good, 'utf8')
  const mistakes = [
    [
      "svc_source: { column: last, pattern: '(?=x)' }",
      ':15:46: pattern of svc_source: it cannot be',
    ],
    [
      'svc_source: { column: last, case: lower, map: { X: y } }',
      ':15:60: `X` in map of svc_source is',
    ],
    ['svc_source: { column: last, map: ./none.csv }', 'none.csv: there is no such file'],
  ] as const
  const tests = '    tests:\n      - { name: A row, row: { id: C-1 }, expect: {} }\n'
  for (const [mapping, expected] of mistakes) {
    writeFileSync(good, text.replace('svc_source: { value: fair }', mapping) + tests)
    for (const command of [
      (context: Parameters<typeof check>[0]) => check(context, { operations: false }),
      (context: Parameters<typeof check>[0]) => plan(context, 'people'),
      (context: Parameters<typeof check>[0]) => testMappings(context, [], {}),
    ]) {
      const { code, out, err } = await said(good, command)
      expect(code).toBe(2)
      expect([...out, ...err].join(' ').replaceAll(/\s+/g, ' ')).toContain(expected)
    }
  }
})

test('a test of a mapping goes through every step', async () => {
  const config = await project()
  await said(config, (context) => check(context, { operations: false, saveSchema: true }))
  writeFileSync(
    config,
    `${readFileSync(config, 'utf8')}    tests:
      - name: An Austrian
        row: { id: C-9, first: Ada, last: Lovelace, country: at, phone: "+43 1 234567" }
        expect: { svc_last_name: Ada Lovelace, svc_job_title: Austria, svc_phone: "+431234567" }
      - name: A country that the list lacks
        row: { id: C-9, country: it }
        reject: not_in_map in country
`,
  )
  const { code, out } = await said(config, (context) => testMappings(context, [], {}))
  expect(out.join('\n')).toContain('2 tests: 2 passed, 0 failed')
  expect(code).toBe(0)
})
