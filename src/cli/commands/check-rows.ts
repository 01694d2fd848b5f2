// The first rows of a file, as `check` reads them: what is wrong with a small one is seen before a run is.

import { formatNumber } from '../../core/format.ts'
import type { compileMapping } from '../../import/index.ts'
import type { Source, SourceRow } from '../../sources/source.ts'

/** Rows that are read: all of most files, and a second or two of a large one. */
const ROWS_MAX = 200_000
const CHUNK_ROWS = 1_000

/** Makes items of rows, as a run does. */
type Mapping = Pick<ReturnType<typeof compileMapping>, 'map'>

/** The warning where no row of so many can be sent; `isPart`: they are the first of more. */
export function noneValidText(rows: number, isPart = false): string {
  const some = `all ${isPart ? 'of the first ' : ''}${formatNumber(rows)} rows`
  const all = rows === 1 ? 'the only row' : some
  return `${all} would be set aside as invalid`
}

/** What is wrong with most of the rows, if something is wrong with all of them; else null. */
function mostWrong(rows: readonly SourceRow[], mapping: Mapping): string | null {
  const found = new Map<string, number>()
  for (const row of rows) {
    const item = mapping.map(row)
    if (item.valid) return null
    const where = item.column === null ? '' : ` in ${item.column}`
    const text = `${item.reason}${where}: ${item.detail}`
    found.set(text, (found.get(text) ?? 0) + 1)
  }
  const [most] = [...found].toSorted(([, a], [, b]) => b - a)
  return most?.[0] ?? null
}

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
 * What a person should know of the first rows.
 * @param note gets the rows that are read, in chunks
 * @throws SourceError if the file ends before them and is not well formed
 */
export async function firstRowsWarnings(
  source: Source,
  mapping: Mapping,
  note: (rows: readonly SourceRow[]) => void = () => {},
  signal?: AbortSignal,
): Promise<readonly string[]> {
  let rows = 0
  let ragged = 0
  let first: number | undefined
  let tried: { readonly rows: number; readonly wrong: string | null } | undefined
  for await (const chunk of source.chunks(CHUNK_ROWS, signal)) {
    for (const { cells, line } of chunk) {
      if (cells.length === source.columns.length) continue
      ragged += 1
      first ??= line
    }
    note(chunk)
    tried ??= { rows: chunk.length, wrong: mostWrong(chunk, mapping) }
    rows += chunk.length
    if (rows >= ROWS_MAX) break
  }
  if (rows === 0) return ['the source has no rows']
  const among = rows >= ROWS_MAX ? ` of the first ${formatNumber(rows)}` : ''
  const those = ragged === 1 ? '1 row has' : `${formatNumber(ragged)} rows have`
  return [
    ...(tried && tried.wrong !== null ? [triedText(tried.rows, rows, tried.wrong)] : []),
    ...(ragged === 0
      ? []
      : [
          `${those}${among} too few or too many cells, the first on line ${first}: set aside as row_ragged`,
        ]),
  ]
}

const triedText = (tried: number, rows: number, wrong: string): string =>
  `${noneValidText(tried, tried < rows)}, most often ${wrong}`
