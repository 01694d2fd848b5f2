// Guesses how a CSV file is to be read, from its first bytes: encoding and delimiter, each with its reason. Promise kept here: no
// cell of the file is in a reason. Messages and `init` use it; a reader never does (decision 80).

import { isAscii, isUtf8 } from 'node:buffer'
import { byteOrderMark, unfinishedBytes, wideEncoding } from './bytes.ts'
import { isWestern, likelyEncoding, otherEncodings } from './western.ts'

/** More bytes than these are not looked at. */
export const SNIFFED_BYTES_MAX = 65_536
const RECORDS_MAX = 2_000

/** In the order of preference where several fit equally well: texts have commas more often than the others. */
const DELIMITERS = ['\t', '|', ';', ',']
const DEFAULT_DELIMITER = ','
/** A first line that names the delimiter for spreadsheets, without its end. */
export const SEPARATOR_LINE = /^"?sep=(.)"?(?=[\r\n])/i
/** A delimiter fits if so many of the rows have as many cells as the header. */
const AGREEING_MIN = 0.5

/** How a CSV file is probably to be read. */
export interface CsvGuess {
  readonly delimiter: string
  /** In the names of the WHATWG Encoding Standard. */
  readonly encoding: string
  /** Whether the file begins with a byte order mark, which names the encoding. */
  readonly byteOrderMark: boolean
  /** Whether nothing speaks against either. */
  readonly certain: boolean
  /** What is only likely. */
  readonly unsure: readonly ('delimiter' | 'encoding')[]
  /** Why, for people; without a cell of the file. */
  readonly reasons: { readonly delimiter: string; readonly encoding: string }
}

interface Guess {
  readonly value: string
  readonly isSure: boolean
  readonly reason: string
}

/**
 * @param head the first SNIFFED_BYTES_MAX bytes of the text, unzipped; fewer are the whole file
 * @param quote the character around cells; null: none
 */
export function sniffCsv(head: Buffer, quote: string | null = '"'): CsvGuess {
  const isCut = head.length >= SNIFFED_BYTES_MAX
  const sample = head.subarray(0, SNIFFED_BYTES_MAX)
  const mark = byteOrderMark(sample)
  const encoding =
    mark === null
      ? guessEncoding(sample, isCut)
      : { value: mark.encoding, isSure: true, reason: 'its byte order mark says so' }
  const text = textOf(sample.subarray(mark?.bytes ?? 0), encoding.value)
  const delimiter = guessDelimiter(text, quote, isCut)
  return {
    delimiter: delimiter.value,
    encoding: encoding.value,
    byteOrderMark: mark !== null,
    certain: delimiter.isSure && encoding.isSure,
    unsure: [
      ...(delimiter.isSure ? [] : (['delimiter'] as const)),
      ...(encoding.isSure ? [] : (['encoding'] as const)),
    ],
    reasons: { delimiter: delimiter.reason, encoding: encoding.reason },
  }
}

/** Enough of the text to count cells: what is above ASCII may be wrong. */
const textOf = (bytes: Buffer, encoding: string): string =>
  encoding.startsWith('utf-16') ? new TextDecoder(encoding).decode(bytes) : bytes.toString('latin1')

function guessEncoding(sample: Buffer, isCut: boolean): Guess {
  const wide = wideEncoding(sample)
  if (wide !== null)
    return { value: wide, isSure: true, reason: 'every second byte of its text is NUL' }
  const whole = isCut ? sample.subarray(0, sample.length - unfinishedBytes(sample)) : sample
  if (whole.includes(0))
    return { value: 'utf-8', isSure: false, reason: 'it has NUL bytes, which no text has' }
  if (isUtf8(whole)) {
    const reason = isAscii(whole) ? 'it has ASCII only' : 'its bytes are valid UTF-8'
    return { value: 'utf-8', isSure: true, reason }
  }
  if (isMostlyUtf8(whole))
    return {
      value: 'utf-8',
      isSure: false,
      reason: 'most of its letters are UTF-8 and some are not, so it has more than one encoding',
    }
  const isSure = isWestern(whole)
  return {
    value: isSure ? 'windows-1252' : likelyEncoding(whole),
    isSure,
    reason: isSure
      ? 'its bytes are not UTF-8, and all are letters and signs of windows-1252'
      : `its bytes are not UTF-8, and windows-1252 gives odd letters: it may be ${otherEncodings(whole)}`,
  }
}

/** Whether more characters above ASCII are UTF-8 than are not. */
function isMostlyUtf8(text: Buffer): boolean {
  let good = 0
  let bad = 0
  for (let at = 0; at < text.length;) {
    const length =
      text[at]! < 0x80
        ? 1
        : [2, 3, 4].find(
            (bytes) => at + bytes <= text.length && isUtf8(text.subarray(at, at + bytes)),
          )
    if (length === undefined) bad += 1
    else if (length > 1) good += 1
    at += length ?? 1
  }
  return good > bad
}

/** How a delimiter cuts the text. */
interface Cut {
  readonly delimiter: string
  /** Cells of the header. */
  readonly cells: number
  readonly rows: number
  /** The share of rows with as many cells as the header. */
  readonly agreeing: number
}

const nameOf = (delimiter: string): string => (delimiter === '\t' ? 'the tab' : `\`${delimiter}\``)

function guessDelimiter(text: string, quote: string | null, isCut: boolean): Guess {
  const stated = SEPARATOR_LINE.exec(text)?.[1]
  if (stated !== undefined)
    return { value: stated, isSure: true, reason: 'its first line, `sep=`, says so' }
  const cuts = DELIMITERS.map((delimiter) => cutBy(text, { delimiter, quote, isCut })).filter(
    ({ cells }) => cells > 1,
  )
  if (cuts.length === 0)
    return { value: DEFAULT_DELIMITER, isSure: true, reason: 'its header has one column' }
  const fitting = cuts.filter(({ agreeing }) => agreeing >= AGREEING_MIN)
  const [best, second] = (fitting.length > 0 ? fitting : cuts).toSorted(
    (a, b) => b.agreeing - a.agreeing || b.cells - a.cells,
  )
  const { delimiter, cells, rows, agreeing } = best!
  const name = nameOf(delimiter)
  const reason =
    rows === 0
      ? `${name} gives ${cells} columns`
      : `${name} gives ${cells} columns, in the header and in ${Math.floor(agreeing * 100)} % of the rows`
  if (fitting.length === 1) return { value: delimiter, isSure: true, reason }
  const other = second === undefined ? '' : `; ${nameOf(second.delimiter)} gives ${second.cells}`
  return { value: delimiter, isSure: false, reason: `${reason}${other}` }
}

function cutBy(
  text: string,
  dialect: { delimiter: string; quote: string | null; isCut: boolean },
): Cut {
  const [cells = 0, ...rows] = cellCounts(text, dialect)
  const agreeing = rows.filter((count) => count === cells).length
  return {
    delimiter: dialect.delimiter,
    cells,
    rows: rows.length,
    agreeing: rows.length === 0 ? 1 : agreeing / rows.length,
  }
}

/** Cells of each record; without the last one if the text is cut in it. */
function cellCounts(
  text: string,
  { delimiter, quote, isCut }: { delimiter: string; quote: string | null; isCut: boolean },
): number[] {
  const counts: number[] = []
  let cells = 1
  let isBlank = true
  let isCellStart = true
  let isQuoted = false
  const endRecord = () => {
    if (!isBlank) counts.push(cells)
    cells = 1
    isBlank = isCellStart = true
  }
  for (let at = 0; at < text.length && counts.length < RECORDS_MAX; at += 1) {
    const character = text[at]
    if (isQuoted) {
      if (character !== quote) continue
      if (text[at + 1] === quote) at += 1
      else isQuoted = false
    } else if (character === '\n' || character === '\r') endRecord()
    else {
      isBlank = false
      isQuoted = character === quote && isCellStart
      isCellStart = character === delimiter
      if (isCellStart) cells += 1
    }
  }
  if (!isCut || counts.length === 0) endRecord()
  return counts
}
