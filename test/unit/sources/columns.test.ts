// A source has at most 10,000 columns, in whatever form they come; below that, work grows with the columns and not with their square.

import { gzipSync } from 'node:zlib'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SourceError } from '../../../src/core/errors.ts'
import type { Proposal } from '../../../src/import/index.ts'
import { proposalLines } from '../../../src/cli/views/proposal.ts'
import { openCsv, type CsvOptions } from '../../../src/sources/csv/index.ts'
import { checkColumns } from '../../../src/sources/query/index.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`)

interface Form {
  readonly of: string
  bytes(columns: readonly string[]): Buffer | string
  readonly options?: Omit<CsvOptions, 'path'>
}

const lines = (columns: readonly string[], mark = ',', end = '\n') =>
  [columns, columns].map((cells) => cells.join(mark) + end).join('')

const FORMS: readonly Form[] = [
  { of: 'plain', bytes: (columns) => lines(columns) },
  { of: 'in quotes', bytes: (columns) => lines(columns.map((name) => `"${name}"`)) },
  { of: 'with breaks in quotes', bytes: (columns) => lines(columns.map((name) => `"${name}\n"`)) },
  { of: 'with tabs', bytes: (columns) => lines(columns, '\t'), options: { delimiter: '\t' } },
  { of: 'with semicolons', bytes: (columns) => lines(columns, ';'), options: { delimiter: ';' } },
  { of: 'with CRLF', bytes: (columns) => lines(columns, ',', '\r\n') },
  { of: 'with CR', bytes: (columns) => lines(columns, ',', '\r') },
  { of: 'after a mark of UTF-8', bytes: (columns) => `\uFEFF${lines(columns)}` },
  { of: 'in UTF-16', bytes: (columns) => Buffer.from(`\uFEFF${lines(columns)}`, 'utf16le') },
  { of: 'after empty lines', bytes: (columns) => `\n\n${lines(columns)}` },
  { of: 'zipped', bytes: (columns) => gzipSync(lines(columns)) },
  { of: 'without rows', bytes: (columns) => columns.join(',') },
  { of: 'without quotes', bytes: (columns) => lines(columns), options: { quote: null } },
  {
    of: 'with a footer',
    bytes: (columns) => `${lines(columns)}total\n`,
    options: { footer: 1 },
  },
  {
    of: 'with a short row',
    bytes: (columns) => `${lines(columns)}"a"
${lines(columns)}`,
  },
]

const sources = FORMS.flatMap((form) =>
  [1, 10_000, 10_001, 60_000].map((count) => [form.of, count, form] as const),
)

test.each(sources)('a file %s with %i columns', async (_, count, { bytes, options }) => {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-columns-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'wide.csv')
  writeFileSync(path, bytes(names(count)))
  const opened = openCsv({ path, ...options })
  if (count <= 10_000) {
    const source = await opened
    expect(source.columns).toHaveLength(count)
    return await source.close()
  }
  const error = await opened.then(
    () => null,
    (caught: unknown) => caught,
  )
  expect(error).toBeInstanceOf(SourceError)
  expect(error).toMatchObject({ code: 'csv_header' })
  const shown = count.toLocaleString('en-US')
  expect(String((error as Error).message)).toMatch(
    new RegExp(`wide\\.csv:\\d+:1: the header has ${shown} columns; expected 10,000 at most$`),
  )
})

test.each([10_000, 10_001, 1_000_000])('a query with %i columns', (count) => {
  const fault = (code: string, problem: string) => new SourceError(code as 'query_header', problem)
  const check = () => checkColumns(names(count), fault as never)
  if (count <= 10_000) expect(check).not.toThrow()
  else expect(check).toThrow(`the answer has ${count.toLocaleString('en-US')} columns; expected`)
})

test('each column of a proposal is looked at a few times, however many there are', () => {
  const columns = names(10_000)
  let looks = 0
  const left = columns.map((column) => ({
    reason: 'no property has such a name',
    get column() {
      looks += 1
      return column
    },
  }))
  const proposal = {
    objectType: 'svc_contact',
    typeReason: '0 columns fit',
    otherTypes: [],
    key: null,
    keyReason: '',
    otherKeys: [],
    nearKeys: [],
    properties: [],
    open: [],
    left,
  } satisfies Proposal
  const shown = proposalLines(proposal, columns)
  expect(shown.filter((line) => line.includes('no property has such a name'))).toHaveLength(10_000)
  expect(looks).toBeLessThanOrEqual(3 * columns.length)
})
