// The first rows of a CSV file, read as a run would read them, with the delimiter and the encoding that its first bytes show.

import { resolve } from 'node:path'
import { SourceError, SyncError } from '../../core/errors.ts'
import type { SourceSample } from '../../import/index.ts'
import { readHead } from '../../sources/csv/head.ts'
import { openCsv } from '../../sources/csv/index.ts'
import { sniffCsv } from '../../sources/csv/sniff.ts'

/** Enough to see repeated keys, and soon read. */
const ROWS_MAX = 10_000
const CHARS_MAX = 16_777_216
const CHUNK_ROWS = 1_000

export interface CsvSample extends SourceSample {
  /** What `from` needs besides the path; what is the default is left out. */
  readonly dialect: { readonly delimiter?: string; readonly encoding?: string }
  /** Why, in a few words; empty if all is the default. */
  readonly reason: string
  readonly isWhole: boolean
  /** Rows with too few or too many cells, which are not in the sample. */
  readonly ragged: number
}

/**
 * @throws SourceError as a run would, and csv_rows if the file has a header and no rows
 */
export async function readCsvSample(path: string): Promise<CsvSample> {
  const file = resolve(path)
  const head = await readHead(file)
  if (/^\W{0,3}sep=./i.test(head.subarray(0, 16).toString('latin1')))
    throw new SourceError(
      'csv_header',
      `${file}:1: this line, \`sep=\`, is for Excel alone; remove it: the first line names the columns`,
      { line: 1 },
    )
  const guess = sniffCsv(head)
  const isDefault = guess.byteOrderMark || guess.encoding === 'utf-8'
  const dialect = {
    ...(guess.delimiter !== ',' && { delimiter: guess.delimiter }),
    ...(!isDefault && { encoding: guess.encoding }),
  }
  const reasons = [
    ...('delimiter' in dialect || guess.unsure.includes('delimiter')
      ? [guess.reasons.delimiter]
      : []),
    ...('encoding' in dialect || guess.unsure.includes('encoding') ? [guess.reasons.encoding] : []),
  ]
  const rows = await firstRows(file, dialect)
  return { ...rows, dialect, reason: reasons.join('; ') }
}

async function firstRows(path: string, dialect: CsvSample['dialect']) {
  const source = await openCsv({ path, ...dialect }).catch((error: unknown) => {
    throw withHint(error)
  })
  try {
    const { columns } = source
    const rows: SourceSample['rows'][number][] = []
    let ragged = 0
    let chars = 0
    let isWhole = true
    for await (const chunk of source.chunks(CHUNK_ROWS)) {
      for (const { cells } of chunk) {
        if (cells.length !== columns.length) ragged += 1
        else rows.push(cells)
        for (const cell of cells) chars += String(cell).length
      }
      if (rows.length + ragged < ROWS_MAX && chars < CHARS_MAX) continue
      isWhole = false
      break
    }
    if (rows.length === 0)
      throw new SourceError(
        'csv_rows',
        `${path}: the file has no row with a cell for each column; expected some, to see what the columns hold`,
      )
    return { columns, rows, ragged, isWhole }
  } finally {
    await source.close()
  }
}

/** An index of pandas is the usual column without a name. */
function withHint(error: unknown): unknown {
  const isNameless =
    error instanceof SyncError && /column 1 of the header has no name/.test(error.message)
  if (!isNameless) return error
  return new SyncError(
    error.code,
    `${error.message} (is it the index of pandas? \`to_csv(…, index=False)\` leaves it out)`,
  )
}
