// The first rows of a file, as `check` reads them: what is wrong with a small one is seen before a run is.

import { formatNumber } from '../../core/format.ts'
import type { compileMapping } from '../../import/index.ts'
import type { Source, SourceRow } from '../../sources/source.ts'

/** Rows that are read: all of most files, and a second or two of a large one. */
const ROWS_MAX = 200_000
const CHUNK_ROWS = 1_000

/** Makes items of rows, as a run does. */
type Mapping = Pick<ReturnType<typeof compileMapping>, 'map' | 'notes'>

/** What is said where so many rows cannot be sent; `isPart`: they are the first of more. */
export function noneValidText(rows: number, { of = rows, isPart = false } = {}): string {
  const among = `${isPart ? 'the first ' : ''}${formatNumber(of)} rows`
  const some =
    rows === of ? `all ${isPart ? 'of ' : ''}${among}` : `${formatNumber(rows)} of ${among}`
  const all = of === 1 ? 'the only row' : some
  return `${all} would be set aside as invalid`
}

/** How many of the rows are invalid, and what is wrong with most of these. */
export function invalidRows(rows: readonly SourceRow[], mapping: Mapping) {
  const found = new Map<string, number>()
  let invalid = 0
  for (const row of rows) {
    const item = mapping.map(row)
    if (item.valid) continue
    invalid += 1
    const where = item.column === null ? '' : ` in ${item.column}`
    const text = `${item.reason}${where}: ${item.detail}`
    found.set(text, (found.get(text) ?? 0) + 1)
  }
  const [most] = [...found].toSorted(([, a], [, b]) => b - a)
  return { rows: rows.length, invalid, most: most?.[0] ?? '' }
}

/** That more than half of the rows are invalid, in words; null if they are not. */
export const mostlyInvalidText = (
  { rows, invalid, most }: ReturnType<typeof invalidRows>,
  isPart: boolean,
): string | null =>
  invalid * 2 > rows ? `${noneValidText(invalid, { of: rows, isPart })}, most often ${most}` : null

/** The first rows, as many as there are up to `count`. */
export async function firstRows(source: Source, count: number): Promise<readonly SourceRow[]> {
  const rows: SourceRow[] = []
  for await (const chunk of source.chunks(Math.min(count, CHUNK_ROWS))) {
    rows.push(...chunk.slice(0, count - rows.length))
    if (rows.length >= count) break
  }
  return rows
}

/**
 * What a person should know of the first rows. `failed`: why a run of the file is no use.
 * @param note gets the rows that are read, in chunks
 * @throws SourceError if the file ends before them and is not well formed
 */
export async function firstRowsWarnings(
  source: Source,
  mapping: Mapping,
  note: (rows: readonly SourceRow[]) => void = () => {},
  signal?: AbortSignal,
): Promise<{ readonly warnings: readonly string[]; readonly failed: string | null }> {
  let rows = 0
  let ragged = 0
  let first: number | undefined
  let tried: (ReturnType<typeof invalidRows> & { readonly notes: readonly string[] }) | undefined
  for await (const chunk of source.chunks(CHUNK_ROWS, signal)) {
    for (const { cells, line } of chunk) {
      if (cells.length === source.columns.length) continue
      ragged += 1
      first ??= line
    }
    // Rows that are shown are mapped once more, and not counted again.
    tried ??= { ...invalidRows(chunk, mapping), notes: mapping.notes() }
    note(chunk)
    rows += chunk.length
    if (rows >= ROWS_MAX) break
  }
  if (tried === undefined) return { warnings: ['the source has no rows'], failed: null }
  const among = rows >= ROWS_MAX ? ` of the first ${formatNumber(rows)}` : ''
  const those = ragged === 1 ? '1 row has' : `${formatNumber(ragged)} rows have`
  const raggedText = `${those}${among} too few or too many cells, the first on line ${first}: set aside as row_ragged`
  return {
    warnings: [...tried.notes, ...(ragged === 0 ? [] : [raggedText])],
    failed: mostlyInvalidText(tried, tried.rows < rows),
  }
}
