// The first rows of a file, as `check` reads them: what is wrong with a small one is seen before a run is.

import { formatNumber } from '../../core/format.ts'
import type { Source } from '../../sources/source.ts'

/** Rows that are read: all of most files, and a second or two of a large one. */
const ROWS_MAX = 200_000
const CHUNK_ROWS = 1_000

/**
 * What a person should know of the first rows.
 * @throws SourceError if the file ends before them and is not well formed
 */
export async function firstRowsWarnings(source: Source): Promise<readonly string[]> {
  let rows = 0
  let ragged = 0
  let first: number | undefined
  for await (const chunk of source.chunks(CHUNK_ROWS)) {
    for (const { cells, line } of chunk) {
      if (cells.length === source.columns.length) continue
      ragged += 1
      first ??= line
    }
    rows += chunk.length
    if (rows >= ROWS_MAX) break
  }
  if (rows === 0) return ['the source has no rows']
  if (ragged === 0) return []
  const those = ragged === 1 ? '1 row has' : `${formatNumber(ragged)} rows have`
  const among = rows >= ROWS_MAX ? ` of the first ${formatNumber(rows)}` : ''
  return [
    `${those}${among} too few or too many cells, the first on line ${first}: set aside as row_ragged`,
  ]
}
