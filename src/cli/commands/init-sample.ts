// The first rows of a CSV file, read as a run would read them, with the delimiter and the encoding that its first bytes show.

import { resolve } from 'node:path'
import { SourceError } from '../../core/errors.ts'
import { formatNumber } from '../../core/format.ts'
import type { DraftImport } from '../../../config/index.ts'
import { doubtOf, type GuessEvidence, type SourceSample } from '../../import/index.ts'
import { readHead } from '../../sources/csv/head.ts'
import { headerBelow } from '../../sources/csv/header-line.ts'
import { quotesSetting } from '../../sources/csv/hints.ts'
import { openCsv } from '../../sources/csv/index.ts'
import { LinesAbove } from '../../sources/csv/lines.ts'
import { sniffCsv } from '../../sources/csv/sniff.ts'
import { damagedRows, endsWithTotals, nullWords } from './init-cells.ts'

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
  /** What `from` would need if guesses hold that are not certain, and the sample was read with; null: all are. */
  readonly waiting: { readonly dialect: Dialect; readonly reason: string } | null
  /** What a person should know of the rows, one line each. */
  readonly warnings: readonly string[]
  readonly isWhole: boolean
  /** Rows with too few or too many cells, which are not in the sample. */
  readonly ragged: number
  /** How many of them, the last ones that were read, have one cell. */
  readonly notes: number
}

/** A setting that the file seems to need. */
export interface DialectGuess {
  readonly settings: Dialect
  readonly reason: string
  readonly evidence: GuessEvidence
}

const guessed = (settings: Dialect, reason: string, others: readonly string[] = []) => ({
  settings,
  reason,
  evidence: { for: 0, against: 0, others },
})

const allOf = (guesses: readonly DialectGuess[]): Dialect =>
  Object.assign({}, ...guesses.map(({ settings }) => settings)) as Dialect

const reasonOf = (guesses: readonly DialectGuess[]): string =>
  guesses
    .map(({ reason }) => reason)
    .filter((one) => one !== '')
    .join('; ')

/**
 * @param chosen what a person has said already, which needs no guess
 * @throws SourceError as a run would, and csv_rows if the file has a header and no rows
 */
export async function readCsvSample(path: string, chosen: Dialect = {}): Promise<CsvSample> {
  const file = resolve(path)
  const head = await readHead(file)
  if (/^\W{0,3}sep=./i.test(head.subarray(0, 16).toString('latin1')))
    throw new SourceError(
      'csv_header',
      `${file}:1: this line, \`sep=\`, is for Excel alone; remove it: the first line names the columns`,
      { line: 1 },
    )
  const header = headerGuess(head, chosen)
  const { header: line = 1 } = allOf(header)
  const marks = marksOf(new LinesAbove(typeof line === 'number' ? line - 1 : 0).skip(head), chosen)
  const first = [...header, ...marks, guessed(chosen, '')]
  const { rows, more } = await readAsItCan(file, allOf(first), head)
  const shape = [...first, ...more]
  const nulls = nullGuesses(rows)
  const totals = chosen.footer === undefined ? totalsGuess(rows, allOf(shape)) : []
  const guesses = [...shape, ...nulls, ...totals]
  const read = nulls.length === 0 ? rows : await firstRows(file, allOf([...shape, ...nulls]))
  const certain = guesses.filter(({ evidence }) => doubtOf(evidence) === null)
  return {
    ...read,
    rows: totals.length === 0 ? read.rows : read.rows.slice(0, -1),
    dialect: allOf(certain),
    reason: reasonOf(certain),
    waiting:
      certain.length === guesses.length
        ? null
        : {
            dialect: allOf(guesses),
            reason: reasonOf(guesses.filter((one) => !certain.includes(one))),
          },
    warnings: [...read.warnings, ...damageWarnings(read)],
  }
}

function nullGuesses(sample: SourceSample): DialectGuess[] {
  const words = nullWords(sample)
  const certain = words.filter((one) => one.isCertain).map(({ word }) => word)
  const doubted = words.filter((one) => !one.isCertain)
  const named = doubted.map(({ word, rows }) => `${word} in ${formatNumber(rows)} rows`).join(', ')
  return [
    ...(certain.length > 0
      ? [guessed({ nulls: certain }, `${certain.join(' and ')} in a cell means no value`)]
      : []),
    ...(doubted.length > 0
      ? [
          guessed(
            { nulls: [...certain, ...doubted.map(({ word }) => word)] },
            `${named} may mean no value`,
            ['a word may be a value'],
          ),
        ]
      : []),
  ]
}

const totalsGuess = (sample: SourceSample & { isWhole: boolean }, { footer = 0 }: Dialect) =>
  sample.isWhole && endsWithTotals(sample)
    ? [
        guessed({ footer: footer + 1 }, 'the last row looks like totals, and no data', [
          'it may be a row of data',
        ]),
      ]
    : []

function damageWarnings(sample: SourceSample): string[] {
  const rows = damagedRows(sample)
  return rows === 0
    ? []
    : [
        `${formatNumber(rows)} ${rows === 1 ? 'row has' : 'rows have'} letters that were damaged before: UTF-8 was read as windows-1252 when the file was made. Export it again as UTF-8`,
      ]
}

/** The line of the header, where lines with one cell each are above it. */
function headerGuess(head: Buffer, chosen: Dialect): DialectGuess[] {
  const line = chosen.header === undefined ? headerBelow(head) : null
  return line === null
    ? []
    : [guessed({ header: line }, `line ${line} is the header: lines above it have one cell each`)]
}

/** Delimiter and encoding, by the first bytes. */
function marksOf(head: Buffer, chosen: Dialect): DialectGuess[] {
  const guess = sniffCsv(head)
  const { delimiter, encoding, unsure, reasons } = guess
  const others = (what: 'delimiter' | 'encoding') => (unsure.includes(what) ? [reasons[what]] : [])
  const isDefault = guess.byteOrderMark || encoding === 'utf-8'
  const found: DialectGuess[] = []
  if (chosen.delimiter === undefined && (delimiter !== ',' || unsure.includes('delimiter')))
    found.push(guessed({ delimiter }, reasons.delimiter, others('delimiter')))
  if (chosen.encoding === undefined && (!isDefault || unsure.includes('encoding'))) {
    found.push(
      isDefault
        ? guessed({}, reasons.encoding)
        : guessed({ encoding }, reasons.encoding, others('encoding')),
    )
  }
  return found
}

/** The rows, with what it takes to read a report with notes at its end, or quotes that mean nothing. */
async function readAsItCan(file: string, dialect: Dialect, head: Buffer) {
  const first = await attempt(() => firstRows(file, dialect))
  if (!(first instanceof SourceError)) return { rows: first, more: [] }
  for (const find of [footerOf, shortRowsOf, marksAroundOf, quotesOf]) {
    const more = await find(file, dialect, first, head)
    const rows = more && (await attempt(() => firstRows(file, { ...dialect, ...more.settings })))
    if (more && rows && !(rows instanceof SourceError)) return { rows, more: [more] }
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
): Promise<DialectGuess | null> {
  if (code !== 'csv_ragged_row') return null
  const read = await attempt(() => firstRows(file, { ...dialect, footer: FOOTER_MIN }))
  if (read instanceof SourceError || read.columns.length < 2) return null
  const footer = read.notes + FOOTER_MIN
  return guessed(
    { footer },
    `the last ${footer} rows have one cell each, as the notes of a report: no data`,
  )
}

/** A short row at the end, of a file that has more of them: empty cells were left out. */
async function shortRowsOf(
  file: string,
  dialect: Dialect,
  { code }: SourceError,
): Promise<DialectGuess | null> {
  if (code !== 'csv_ragged_row') return null
  const padded = { ...dialect, ragged: 'pad' as const }
  const read = await attempt(() => firstRows(file, padded))
  if (read instanceof SourceError || read.ragged > 0) return null
  return guessed({ ragged: 'pad' }, 'rows are short where empty cells were left out at their end', [
    'the last row may be cut off',
  ])
}

/** Quotes with a backslash before them, or with space around them. */
async function marksAroundOf(
  _file: string,
  dialect: Dialect,
  { code }: SourceError,
  head: Buffer,
): Promise<DialectGuess | null> {
  const found =
    code === 'csv_quote' || code === 'csv_quote_unclosed' ? quotesSetting(head, dialect) : null
  if (found === null) return null
  const { escape } = found
  return guessed(
    escape === undefined ? { skip_space: true } : { escape },
    escape === undefined
      ? 'space stands between delimiters and quotes'
      : 'quotes inside cells have a backslash before them',
  )
}

/** Where no name of a column is in quotes, those in cells may be part of them. */
async function quotesOf(
  file: string,
  dialect: Dialect,
  { code }: SourceError,
): Promise<DialectGuess | null> {
  if (!['csv_quote', 'csv_quote_unclosed'].includes(code)) return null
  const plain = { ...dialect, quote: null }
  const read = await attempt(() => firstRows(file, plain))
  if (read instanceof SourceError || read.columns.some((name) => name.includes('"'))) return null
  if (read.ragged > 0) return null
  return guessed(
    { quote: null },
    'quotes inside cells are not doubled, so all of them are part of their cells',
  )
}

async function firstRows(path: string, dialect: CsvSample['dialect']) {
  const source = await openCsv({ path, ...dialect })
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
    return { columns, rows, ragged, notes, isWhole, warnings: source.warnings ?? [] }
  } finally {
    await source.close()
  }
}
