// The first rows of a CSV file, read as a run would read them, with the delimiter and the encoding that its first bytes show.

import { resolve } from 'node:path'
import { SourceError, SyncError } from '../../core/errors.ts'
import type { DraftImport } from '../../../config/index.ts'
import type { SourceSample } from '../../import/index.ts'
import { readHead } from '../../sources/csv/head.ts'
import { openCsv } from '../../sources/csv/index.ts'
import { sniffCsv } from '../../sources/csv/sniff.ts'

/** Enough to see repeated keys, and soon read. */
const ROWS_MAX = 10_000
const CHARS_MAX = 16_777_216
const CHUNK_ROWS = 1_000

type Dialect = Omit<DraftImport['csv'], 'csv'>

export interface CsvSample extends SourceSample {
  /** What `from` needs besides the path; what is the default is left out. */
  readonly dialect: Dialect
  /** Why, in a few words; empty if all is the default. */
  readonly reason: string
  readonly isWhole: boolean
  /** Rows with too few or too many cells, which are not in the sample. */
  readonly ragged: number
  /** How many of them, the last ones that were read, have one cell. */
  readonly notes: number
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
  const { rows, more } = await readAsItCan(file, dialect)
  const nulls = nullsOf(rows.rows)
  if (nulls.length === 0)
    return { ...rows, dialect: more.dialect, reason: [...reasons, ...more.reasons].join('; ') }
  const found = { ...more.dialect, nulls }
  const why = `${nulls.join(' and ')} in a cell means no value`
  return {
    ...(await firstRows(file, found)),
    dialect: found,
    reason: [...reasons, ...more.reasons, why].join('; '),
  }
}

interface Found {
  readonly dialect: Dialect
  readonly reasons: readonly string[]
}

/** The rows, with what it takes to read a report with notes at its end, or quotes that mean nothing. */
async function readAsItCan(file: string, dialect: Dialect) {
  const first = await attempt(() => firstRows(file, dialect))
  if (!(first instanceof SourceError)) return { rows: first, more: { dialect, reasons: [] } }
  for (const find of [footerOf, quotesOf]) {
    const more = await find(file, dialect, first)
    const rows = more && (await attempt(() => firstRows(file, more.dialect)))
    if (more && rows && !(rows instanceof SourceError)) return { rows, more }
  }
  throw first
}

async function attempt<T>(work: () => Promise<T>): Promise<T | SourceError> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SourceError) return error
    throw error
  }
}

/** At least so many rows of one cell are notes: one alone may be a row that was cut off. */
const FOOTER_MIN = 2

/** The rows at the end that have one cell each, of several. */
async function footerOf(
  file: string,
  dialect: Dialect,
  { code }: SourceError,
): Promise<Found | null> {
  if (code !== 'csv_ragged_row') return null
  const read = await attempt(() => firstRows(file, { ...dialect, footer: FOOTER_MIN }))
  if (read instanceof SourceError || read.columns.length < 2) return null
  const footer = read.notes + FOOTER_MIN
  return {
    dialect: { ...dialect, footer },
    reasons: [`the last ${footer} rows have one cell each, as the notes of a report: no data`],
  }
}

/** Where no name of a column is in quotes, those in cells may be part of them. */
async function quotesOf(
  file: string,
  dialect: Dialect,
  { code }: SourceError,
): Promise<Found | null> {
  if (!['csv_quote', 'csv_quote_unclosed'].includes(code)) return null
  const plain = { ...dialect, quote: null }
  const read = await attempt(() => firstRows(file, plain))
  if (read instanceof SourceError || read.columns.some((name) => name.includes('"'))) return null
  if (read.ragged > 0) return null
  return {
    dialect: plain,
    reasons: ['quotes inside cells are not doubled, so all of them are part of their cells'],
  }
}

/** Words of databases for no value; `NULL` may be a name once. */
function nullsOf(rows: SourceSample['rows']): string[] {
  const count = (text: string) => rows.flat().filter((cell) => cell === text).length
  return [...(count('\\N') > 0 ? ['\\N'] : []), ...(count('NULL') > 1 ? ['NULL'] : [])]
}

async function firstRows(path: string, dialect: CsvSample['dialect']) {
  const source = await openCsv({ path, ...dialect }).catch((error: unknown) => {
    throw withHint(error)
  })
  try {
    const { columns } = source
    const rows: SourceSample['rows'][number][] = []
    let ragged = 0
    let notes = 0
    let chars = 0
    let isWhole = true
    for await (const chunk of source.chunks(CHUNK_ROWS)) {
      for (const { cells } of chunk) {
        if (cells.length !== columns.length) ragged += 1
        else rows.push(cells)
        notes = cells.length === 1 && columns.length > 1 ? notes + 1 : 0
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
    return { columns, rows, ragged, notes, isWhole }
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
