// A CSV file of two columns: what cells hold, and what they become. It is read as the source's own file is, with the same delimiter,
// quotes and encoding.

import { openCsv } from './index.ts'
import { csvFaults } from './faults.ts'
import { marksOf, type CsvMarks } from './settings.ts'

/** Rows of a file, all of which are kept in memory. */
const ROWS_MAX = 100_000
const CHARS_MAX = 16 * 1_048_576
const CHUNK_ROWS = 1_000

/**
 * The pairs of a file, in its order; null: an empty second cell.
 * @param same makes the form in which first cells are compared: each form occurs once
 * @throws SourceError as `openCsv`; csv_pairs with the line of what is wrong
 */
export async function readCsvPairs(
  path: string,
  marks: Partial<CsvMarks>,
  same: (text: string) => string,
): Promise<ReadonlyMap<string, string | null>> {
  const fault = csvFaults(path)
  const source = await openCsv({ path, ...marksOf(marks), ragged: 'refuse' })
  try {
    const { columns } = source
    if (columns.length !== 2)
      throw fault(
        'csv_pairs',
        `the file has ${columns.length} column${columns.length === 1 ? '' : 's'}; expected two, what a cell holds and what it becomes, with the delimiter, quotes and encoding of \`from\``,
        { line: 1 },
      )
    const pairs = new Map<string, string | null>()
    const lines = new Map<string, number>()
    let chars = 0
    for await (const rows of source.chunks(CHUNK_ROWS))
      for (const { line, cells } of rows) {
        const [from, to] = cells as readonly [string, string]
        const key = same(from)
        if (key.trim() === '')
          throw fault(
            'csv_pairs',
            'the first cell is empty; an empty cell is not looked up, `default` of the mapping is for it',
            { line, column: 1 },
          )
        const earlier = lines.get(key)
        if (earlier !== undefined)
          throw fault(
            'csv_pairs',
            `the first cell is that of line ${earlier} too; expected it once`,
            {
              line,
              column: 1,
            },
          )
        chars += key.length + to.length
        if (pairs.size >= ROWS_MAX || chars > CHARS_MAX)
          throw fault(
            'csv_pairs',
            `the file has more than ${ROWS_MAX} rows, or 16 Mi characters; join it by a query instead (\`sql\` under \`from\`)`,
            { line },
          )
        lines.set(key, line)
        pairs.set(key, to.trim() === '' ? null : to)
      }
    if (pairs.size === 0) throw fault('csv_pairs', 'the file has no rows; expected at least one')
    return pairs
  } finally {
    await source.close()
  }
}
