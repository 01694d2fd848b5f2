// A CSV file of tests: the columns of a source, and behind them what is expected. It is read as the source's own files are, with the
// same delimiter, quotes and encoding, so that rows can be copied from one into the other.

import { ConfigError, type Issue } from '../core/errors.ts'
import { suggestNearest } from '../core/suggest.ts'
import { openCsv } from '../sources/csv/index.ts'
import { marksOf } from '../sources/csv/settings.ts'
import { sourceOf } from '../sources/index.ts'
import type { SourceRow } from '../sources/source.ts'
import {
  columnIssue,
  propertyIssue,
  readExpectedError,
  rowOf,
  TESTS_MAX,
  type MappingTest,
  type TestedSync,
} from './mapping-test.ts'
import { NOT_SENT, type WrittenText } from '../../config/index.ts'

const NAME_COLUMN = 'test'
const REJECT_COLUMN = 'reject'
const EXPECT = 'expect '
const CHUNK_ROWS = 1_000
const ISSUES_MAX = 50

/** What each column of a file is: that of a source, or an expectation. */
interface Layout {
  readonly name: number
  readonly reject: number
  readonly cells: readonly { readonly at: number; readonly column: string }[]
  readonly values: readonly { readonly at: number; readonly property: string }[]
}

/**
 * The tests of a file.
 * @param first number of the first row among all tests of the sync
 * @throws SourceError if the file cannot be read, ConfigError with each thing that is wrong in it
 */
export async function readTestFile(
  tested: TestedSync,
  file: string,
  first: number,
): Promise<MappingTest[]> {
  const { from } = tested.sync.import
  const marks = marksOf('csv' in from ? from : {})
  const source = await openCsv({ path: file, ...marks, ragged: 'refuse' })
  try {
    const layout = layoutOf(tested, file, source.columns)
    const tests: MappingTest[] = []
    const issues: Issue[] = []
    for await (const chunk of source.chunks(CHUNK_ROWS)) {
      for (const row of chunk)
        tests.push(testOf(tested, layout, row, { file, ordinal: first + tests.length, issues }))
      if (first + tests.length > TESTS_MAX)
        throw new ConfigError(file, `the sync has more than ${TESTS_MAX} tests; expected fewer`)
      if (issues.length >= ISSUES_MAX) break
    }
    if (issues.length > 0) throw new ConfigError(file, issues.slice(0, ISSUES_MAX))
    if (tests.length === 0)
      throw new ConfigError(file, 'the file has no row; expected a test in each row')
    return tests
  } finally {
    await source.close()
  }
}

function layoutOf(tested: TestedSync, file: string, header: readonly string[]): Layout {
  const issues: Issue[] = []
  const at = { line: 1 }
  const cells: { at: number; column: string }[] = []
  const values: { at: number; property: string }[] = []
  for (const [index, name] of header.entries()) {
    const isOwn = name === NAME_COLUMN || name === REJECT_COLUMN || name.startsWith(EXPECT)
    if (isOwn && tested.columns.includes(name))
      issues.push({
        message: `the source has a column "${name}" too, so it is not clear which one is meant; write these tests in the configuration`,
        ...at,
      })
    else if (name.startsWith(EXPECT)) {
      const property = name.slice(EXPECT.length).trim()
      values.push({ at: index, property })
      const message = propertyIssue(tested, property)
      if (message !== null) issues.push({ message, ...at, column: index + 1 })
    } else if (!isOwn) {
      cells.push({ at: index, column: name })
      const message = columnIssue(tested, name)
      if (message !== null)
        issues.push({ message: `${message}${ownHint(name, header)}`, ...at, column: index + 1 })
    }
  }
  const layout = { name: header.indexOf(NAME_COLUMN), reject: header.indexOf(REJECT_COLUMN) }
  if (issues.length === 0 && values.length === 0 && layout.reject < 0)
    issues.push({
      message: `nothing is expected: add a column \`${EXPECT}PROPERTY\`, such as \`${EXPECT}${tested.sync.import.matching_property}\`, or \`${REJECT_COLUMN}\``,
      ...at,
    })
  if (issues.length > 0) throw new ConfigError(file, issues)
  return { ...layout, cells, values }
}

/** Where a column looks like an expectation that is written otherwise, or the header is not cut where it should be. */
function ownHint(name: string, header: readonly string[]): string {
  if (header.length === 1) return '; the file is read as that of the source, with its delimiter'
  if (/^expect/i.test(name))
    return `; what is expected stands in columns such as \`${EXPECT}svc_email\``
  return suggestNearest(name, [NAME_COLUMN, REJECT_COLUMN])
}

function testOf(
  tested: TestedSync,
  layout: Layout,
  { cells, line }: SourceRow,
  { file, ordinal, issues }: { file: string; ordinal: number; issues: Issue[] },
): MappingTest {
  const cellAt = (at: number) => (at < 0 ? '' : String(cells[at]))
  const { from } = tested.sync.import
  const driver = sourceOf(from)
  const given = layout.cells.map(({ at, column }) => {
    const text = cellAt(at)
    return [column, driver.cellOf(from, text === '' ? null : text, text) ?? null] as const
  })
  const reject = cellAt(layout.reject).trim()
  const expected = layout.values.filter(({ at }) => cellAt(at) !== '')
  if (reject !== '' && expected.length > 0)
    issues.push({
      message: `this row expects both \`${REJECT_COLUMN}\` and ${EXPECT}${expected[0]!.property}; leave one of them empty`,
      line,
    })
  const errors =
    reject === '' ? [] : reject.split(';').map((part) => readExpectedError(tested, part))
  for (const error of errors) if ('issue' in error) issues.push({ message: error.issue, line })
  const values = layout.values.map(({ at, property }): [string, WrittenText] => [
    property,
    cellAt(at) === '' ? NOT_SENT : cellAt(at),
  ])
  return {
    name: cellAt(layout.name).trim() || `line ${line}`,
    file,
    line,
    row: rowOf(tested, ordinal, new Map(given)),
    values: reject === '' ? new Map(values) : null,
    errors: errors.flatMap((error) => ('issue' in error ? [] : [error])),
  }
}
