// A query over the rows of a CSV file: what it may read, that each row knows its line, one order of rows, and where it is wrong.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { placedMapping } from '../../../config/index.ts'
import { SourceError } from '../../../src/core/errors.ts'
import { createSourceOpeners } from '../../../src/resources/openers.ts'
import { openSource } from '../../../src/sources/index.ts'
import type { Source } from '../../../src/sources/source.ts'
import { openTextTables } from '../../../src/warehouses/index.ts'
import { soakTest } from '../../runs.ts'

const folder = mkdtempSync(join(tmpdir(), 'records-sync-csv-sql-'))
afterAll(() => rmSync(folder, { recursive: true }))
const openers = createSourceOpeners({ configFile: '/none', env: {} }, () =>
  Promise.reject(new Error('not asked')),
)

let files = 0
function fileWith(content: string | Buffer): string {
  const path = join(folder, `file-${++files}.csv`)
  writeFileSync(path, content)
  return path
}

const PEOPLE = 'id,name,born\n1,Ada,1815\n2,"Alan\nTuring",1912\n\n3,,\n4,Ada,1900\n'

interface Options {
  readonly tables?: Record<string, string>
  readonly nulls?: string[]
  readonly delimiter?: string
  readonly encoding?: string
}

const open = (csv: string, sql: string, options: Options = {}): Promise<Source> =>
  openSource(
    { name: 'people', import: { from: { csv, sql, ragged: 'reject', ...options } } },
    openers,
  )

/** The columns, and the lines with their cells. */
async function answerOf(csv: string, sql: string, options: Options = {}) {
  const source = await open(csv, sql, options)
  try {
    const rows: unknown[] = []
    for await (const chunk of source.chunks(2))
      for (const { ordinal, line, cells } of chunk) {
        expect(ordinal).toBe(rows.length + 1)
        rows.push([line, ...cells])
      }
    return { columns: source.columns, rows, summary: source.summary() }
  } finally {
    await source.close()
  }
}

async function errorOf(work: Promise<unknown>): Promise<SourceError> {
  const error = await work.then(
    () => null,
    (caught: unknown) => caught,
  )
  if (error instanceof SourceError) return error
  throw new Error('expected a SourceError', { cause: error })
}

describe('rows', () => {
  it('are those of the file as texts, each with its line', async () => {
    expect(await answerOf(fileWith(PEOPLE), 'SELECT * FROM rows')).toMatchObject({
      columns: ['id', 'name', 'born'],
      rows: [
        [2, '1', 'Ada', '1815'],
        [3, '2', 'Alan\nTuring', '1912'],
        [6, '3', '', ''],
        [7, '4', 'Ada', '1900'],
      ],
      summary: { rows: 4 },
    })
  })

  it('of a group know its first line; those of one row all know it', async () => {
    const path = fileWith(PEOPLE)
    const groups = `SELECT name, count(*) AS people, min(_line) AS _line FROM rows GROUP BY name`
    expect((await answerOf(path, groups)).rows).toEqual([
      [2, 'Ada', '2'],
      [3, 'Alan\nTuring', '1'],
      [6, '', '1'],
    ])
    const parts = `SELECT unnest([born, id]) AS part, _line FROM rows WHERE id = '1'`
    expect((await answerOf(path, parts)).rows).toEqual([
      [2, '1815'],
      [2, '1'],
    ])
  })

  it('are in the order of the lines, or in that of ORDER BY', async () => {
    const path = fileWith(PEOPLE)
    const newest = `SELECT _line, id FROM rows QUALIFY row_number() OVER (PARTITION BY name ORDER BY born DESC) = 1`
    expect((await answerOf(path, newest)).rows).toEqual([
      [3, '2'],
      [6, '3'],
      [7, '4'],
    ])
    const byName = 'SELECT _line, id FROM rows ORDER BY name DESC, _line LIMIT 2'
    expect((await answerOf(path, byName)).rows).toEqual([
      [3, '2'],
      [2, '1'],
    ])
  })

  it('are read by the rules of the source', async () => {
    const bytes = Buffer.from('id;name\n1;Müller\n2;-\n', 'latin1')
    const options = { delimiter: ';', encoding: 'windows-1252', nulls: ['-'] }
    expect((await answerOf(fileWith(bytes), 'FROM rows', options)).rows).toEqual([
      [2, '1', 'Müller'],
      [3, '2', ''],
    ])
    const ragged = await errorOf(answerOf(fileWith('a,b\n1,2\n3\n4,5\n'), 'FROM rows'))
    expect(ragged).toMatchObject({ code: 'csv_ragged_row', line: 3 })
  })

  it('join other files that the configuration names', async () => {
    const countries = fileWith('code,country\n1,Germany\n2,Austria\n')
    const sql = `SELECT _line, id, country FROM rows LEFT JOIN countries ON code = id WHERE id < '4'`
    const { rows } = await answerOf(fileWith(PEOPLE), sql, { tables: { countries } })
    expect(rows).toEqual([
      [2, '1', 'Germany'],
      [3, '2', 'Austria'],
      [6, '3', null],
    ])
  })

  it('whatever the cells are, they arrive as they are', async () => {
    const cell = fc
      .string({ unit: 'binary', maxLength: 20 })
      .filter((text) => !/[\0\r\ufeff]|\p{Surrogate}/u.test(text))
    // A row of empty cells is none.
    const filled = cell.map((text) => `x${text}`)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, filled), { maxLength: 8 }), async (cells) => {
        const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
        const lines = cells.map(([a, b]) => `${quoted(a)},${quoted(b)}`)
        const { rows } = await answerOf(
          fileWith(['a,"B c"', ...lines, ''].join('\n')),
          'SELECT "B c", a, _line FROM rows',
        )
        expect(rows.map((row) => (row as unknown[]).slice(1))).toEqual(
          cells.map(([a, b]) => [b, a]),
        )
      }),
      { numRuns: 15 },
    )
  })

  it('the digest is that of the files and of the query', async () => {
    const digestOf = async (content: string, sql: string, country: string) =>
      (
        await answerOf(fileWith(content), sql, {
          tables: { countries: fileWith(`code\n${country}\n`) },
        })
      ).summary.digest
    const sql = 'SELECT * FROM rows'
    const digest = await digestOf(PEOPLE, sql, 'DE')
    expect(await digestOf(PEOPLE, sql, 'DE')).toBe(digest)
    expect(await digestOf(`${PEOPLE}5,x,y\n`, sql, 'DE')).not.toBe(digest)
    expect(await digestOf(PEOPLE, `${sql} WHERE true`, 'DE')).not.toBe(digest)
    expect(await digestOf(PEOPLE, sql, 'AT')).not.toBe(digest)
  })
})

describe('what is refused', () => {
  const path = fileWith(PEOPLE)
  it.each<readonly string[]>([
    ['SELECT id FROM rows', 'query_line', 'the answer has no column _line'],
    ['SELECT id, 0 AS _line FROM rows', 'query_line', 'row 1 of the answer has no line'],
    ['SELECT id, NULL AS _line FROM rows', 'query_line', 'row 1 of the answer has no line'],
    ['SELECT _line, id FROM rows ORDER BY name', 'query_order', 'must end with _line'],
    ['SELECT _line, id FROM rows LIMIT 1', 'query_order', 'has a LIMIT and no ORDER BY'],
    ['SELECT _line, id AS a, name AS a FROM rows', 'query_header', 'have the same name "a"'],
    ['SELECT _line, nme FROM rows', 'query_refused', 'DuckDB refuses it (Binder Error), at line 1'],
    ['SELECT _line FROM row', 'query_refused', 'DuckDB refuses it (Catalog Error)'],
    ['SELECT 1; SELECT 2', 'query_refused', 'the query is 2 statements'],
    ["COPY rows TO '/tmp/x.csv'", 'query_refused', 'the query is of the kind COPY'],
    ['INSTALL httpfs', 'query_refused', 'expected one SELECT'],
    ["ATTACH '/tmp/x.db'", 'query_refused', 'expected one SELECT'],
    [
      "SELECT 1 AS _line, * FROM read_csv('/etc/passwd')",
      'query_refused',
      'the query reads files; expected a query over: rows',
    ],
    ["SELECT 1 AS _line, * FROM '/etc/passwd.csv'", 'query_refused', 'the query reads files'],
    [
      "SELECT 1 AS _line, * FROM read_csv('https://example.com/a.csv')",
      'query_refused',
      'the query reads files',
    ],
    [
      "SELECT 1 AS _line, content FROM read_text('/etc/passwd')",
      'query_refused',
      'the query reads files',
    ],
    ["SELECT _line, getenv('HOME') AS a FROM rows", 'query_refused', ''],
    [
      "SELECT _line, 'a' || chr(0) AS a FROM rows",
      'csv_nul',
      'row 1 of the answer, which begins in',
    ],
    ['SELECT _line, [name, chr(0)] AS a FROM rows', 'csv_nul', 'a NUL character in column a'],
    ...[
      "SELECT _line, current_setting('temp_directory') AS a FROM rows",
      "SELECT _line, (SELECT current_setting('secret_directory')) AS a FROM rows",
      'SELECT 1 AS _line, value FROM duckdb_settings()',
      'SELECT 1 AS _line, path FROM duckdb_databases()',
      'SELECT 1 AS _line, setting FROM pg_settings',
      'SELECT 1 AS _line, setting FROM pg_catalog.pg_settings',
      'SELECT 1 AS _line, * FROM PRAGMA_DATABASE_LIST',
      'SELECT 1 AS _line, * FROM (SHOW DATABASES)',
    ].map((sql) => [sql, 'query_refused', 'asks DuckDB for its tables or settings']),
  ])('%s', async (sql = '', code, expected = '') => {
    const error = await errorOf(answerOf(path, sql))
    expect(error.code).toBe(code)
    expect(error.message).toContain(expected)
    expect(error.message).toContain(path)
    // No cell is quoted.
    expect(error.message).not.toContain('Turing')
  })

  it('a query that fails on a cell quotes none', async () => {
    const error = await errorOf(answerOf(path, 'SELECT _line, name::INTEGER AS a FROM rows'))
    expect(error.code).toBe('query_refused')
    expect(error.message).not.toContain('Ada')
  })

  it.each([
    ['id,_line\n1,2\n', 'column 2 of the header is called _line'],
    ['id,Name,NAME\n1,2,3\n', 'columns 2 and 3 of the header differ in capitals only'],
  ])('%j', async (content, expected) => {
    const error = await errorOf(open(fileWith(content), 'FROM rows'))
    expect(error).toMatchObject({ code: 'csv_column', line: 1 })
    expect(error.message).toContain(expected)
  })

  it('a file that is missing, also one of `tables`', async () => {
    const none = join(folder, 'none.csv')
    expect((await errorOf(open(none, 'FROM rows'))).code).toBe('csv_missing')
    const error = await errorOf(open(path, 'FROM rows', { tables: { none } }))
    expect(error.message).toContain('none.csv')
  })
})

it.each([
  ['      sql: SELECT _line, nme FROM rows', 'records-sync.yaml:6:26: '],
  ["      sql: 'SELECT _line, nme FROM rows'", 'records-sync.yaml:6:27: '],
  ['      sql: |\n        SELECT _line,\n          nme FROM rows', 'records-sync.yaml:8:11: '],
  ['      sql: "SELECT _line,\\n nme FROM rows"', 'records-sync.yaml:6:12: '],
])('a wrong name is at its place in the configuration: %s', async (setting, expected) => {
  const config = join(mkdtempSync(join(folder, 'config-')), 'records-sync.yaml')
  const lines = ['syncs:', '  people:', '   import:', '    from:', '      csv: a.csv', setting]
  writeFileSync(config, `${lines.join('\n')}\n`)
  const { sql } = parse(`${setting}\n`) as { sql: string }
  const error = await errorOf(open(fileWith(PEOPLE), sql))
  const placed = (await placedMapping(error.of('people'), config, {})) as SourceError
  expect(placed.message).toContain(expected)
})

soakTest('what does not fit into memory goes to a folder that is gone afterwards', async () => {
  const tables = await openTextTables('test', 'none')
  const ofProcess = new RegExp(`^records-sync-tmp-.*-${process.pid}-`)
  const folders = () =>
    readdirSync(tmpdir())
      .filter((name) => ofProcess.test(name))
      .flatMap((name) => readdirSync(join(tmpdir(), name)))
      .filter((name) => name.startsWith('tables-'))
  await tables.create('rows', [{ name: '_line', isWhole: true }, { name: 'a' }])
  // Random, so that no form of compression makes it small: 40 × 1,000 × 20,000 characters are 800 MB, more than the memory.
  const text = () =>
    Array.from({ length: 1_000 }, () => Math.random().toString(36).slice(2)).join('')
  const long = Array.from({ length: 100 }, text)
  let line = 1n
  await tables.fill(
    'rows',
    (async function* () {
      for (let chunk = 0; chunk < 70; chunk++) {
        await Promise.resolve()
        yield Array.from(
          { length: 1_000 },
          (_, at) => [++line, `${line}${long[at % 100]!}`] as const,
        )
      }
    })(),
  )
  const reading = await tables.read('SELECT _line, a FROM rows', '_line')
  let rows = 0
  for await (const chunk of reading.chunks(1_000)) {
    expect(chunk[0]![1]).toBe(`${rows + 2}${long[0]!}`)
    rows += chunk.length
  }
  expect(rows).toBe(70_000)
  expect(folders()).toHaveLength(1)
  await tables.close()
  expect(folders()).toEqual([])
})
