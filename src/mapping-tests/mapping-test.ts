// A test of a mapping, ready to run: what is written, checked against the columns of the source and the properties of the mapping.

import type { ImportSync, WrittenText, WrittenTest, WrittenValue } from '../../config/index.ts'
import type { Issue } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import { suggestWord } from '../core/suggest.ts'
import { sourceOf } from '../sources/index.ts'
import type { SourceRow } from '../sources/source.ts'

/** Tests of one sync. */
export const TESTS_MAX = 100_000

/** One thing that is expected to be wrong with a row. */
export interface ExpectedError {
  readonly reason: string
  /** Column or property; null: whichever. */
  readonly where: string | null
}

export interface MappingTest {
  readonly name: string
  /** Where it is written. */
  readonly file: string
  readonly line: number
  readonly row: SourceRow
  /** What is sent, by property; null: the row is set aside. */
  readonly values: ReadonlyMap<string, WrittenText> | null
  /** What is wrong with a row that is set aside. */
  readonly errors: readonly ExpectedError[]
}

/** What the names in a test are checked against. */
export interface TestedSync {
  readonly sync: ImportSync
  /** Those of the source. */
  readonly columns: readonly string[]
}

/** The issue of a column that the source does not have; null if it does. */
export const columnIssue = ({ sync, columns }: TestedSync, name: string): string | null =>
  columns.includes(name)
    ? null
    : `column "${name}" is not in the source of sync ${sync.name}${suggestWord(name, columns, 'columns')}`

/** The issue of a property that the mapping does not write; null if it does. */
export function propertyIssue({ sync }: TestedSync, name: string): string | null {
  const mapped = Object.keys(sync.import.properties)
  return mapped.includes(name)
    ? null
    : `property ${name} is not mapped by sync ${sync.name}, so it is never sent${suggestWord(name, mapped, 'mapped properties')}`
}

/** `not_a_date`, `not_a_date in born` */
export function readExpectedError(
  tested: TestedSync,
  text: string,
): ExpectedError | { readonly issue: string } {
  const [, reason, where = null] = /^\s*([a-z][a-z0-9_]*)(?: in (.+?))?\s*$/.exec(text) ?? []
  if (reason === undefined)
    return {
      issue:
        'expected a reason such as `not_a_date`, or `not_a_date in COLUMN`; `records-sync test` prints those that it finds',
    }
  const isKnown = where === null || Object.hasOwn(tested.sync.import.properties, where)
  const issue = isKnown ? null : columnIssue(tested, where)
  return issue === null ? { reason, where } : { issue }
}

/** The row of a source with these cells; a column without one has an empty cell. */
export function rowOf(
  { sync, columns }: TestedSync,
  ordinal: number,
  cells: ReadonlyMap<string, Json>,
): SourceRow {
  const { from } = sync.import
  const none = sourceOf(from).cellOf(from, null, '') ?? null
  return { ordinal, line: ordinal, cells: columns.map((name) => cells.get(name) ?? none) }
}

/** A test of the configuration; adds to `issues` what is wrong with it. */
export function mappingTestOf(
  tested: TestedSync,
  written: WrittenTest,
  { file, ordinal, issues }: { file: string; ordinal: number; issues: Issue[] },
): MappingTest {
  const complain = (message: string | null, place: WrittenTest['place']) => {
    if (message !== null) issues.push({ message, ...place })
  }
  const cells = new Map<string, Json>()
  for (const value of written.row) {
    complain(columnIssue(tested, value.name), value.place)
    const cell = cellOf(tested, value)
    if (cell === undefined)
      complain(
        `a cell of this source is a text, not a list or a mapping; put it in quotes`,
        value.place,
      )
    else cells.set(value.name, cell)
  }
  for (const { name, place } of written.expect ?? []) complain(propertyIssue(tested, name), place)
  const errors = written.reject.flatMap(({ text, place }) => {
    const read = readExpectedError(tested, text)
    if (!('issue' in read)) return [read]
    complain(read.issue, place)
    return []
  })
  return {
    name: written.name,
    file,
    line: written.place.line,
    row: rowOf(tested, ordinal, cells),
    values: written.expect && new Map(written.expect.map(({ name, text }) => [name, text])),
    errors,
  }
}

function cellOf({ sync }: TestedSync, { value, text }: WrittenValue): Json | undefined {
  const { from } = sync.import
  return sourceOf(from).cellOf(from, value, typeof text === 'string' ? text : '')
}
