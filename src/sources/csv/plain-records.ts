// Records that are plain, which nearly all are: read in a third of the time that csv-parse takes. Promise kept here: what is not
// plain is not read here, nor anything behind it: csv-parse decides what it is, or what is wrong with it.

import { isAscii } from 'node:buffer'
import type { SourceRow } from '../source.ts'

const LF = 10
const CR = 13
/** Instead of the place where a record ends: its end is not here yet, or it is not plain. */
const UNFINISHED = -1
const STRANGE = -2
/** A long cell with line breaks would be read again with each of its pieces: csv-parse goes on where it was. */
const BEGUN_MAX = 8
const BREAK = /[\r\n]/
const NOT_ASCII = /[\x80-\xff]/

/** Line breaks within cells. */
export function breaksOf(cells: readonly string[]): number {
  let breaks = 0
  for (const cell of cells) breaks += cell.match(/\r\n|\r|\n/g)?.length ?? 0
  return breaks
}

export interface PlainDialect {
  readonly delimiter: string
  readonly quote: string | null
  /** Bytes of a record, with delimiters and quotes. */
  readonly recordBytesMax: number
  /** Whether a record may have that many cells. */
  readonly mayHave: (cells: number, columns: number) => boolean
  /** Whether the first record is a row as well. Default: no. */
  readonly isHeadless?: boolean
}

/** How far the records are read. */
export interface RecordPlace {
  readonly header: readonly string[] | undefined
  readonly headerLine: number
  readonly ordinal: number
  /** Of the next record, or of an empty line before it. */
  readonly line: number
}

/** Whether the marks are one byte each. */
export const isPlainDialect = ({ delimiter, quote }: PlainDialect): boolean =>
  delimiter <= '\x7f' && (quote ?? '') <= '\x7f'

/** Plain records of a text that comes in pieces. */
export class PlainRecords {
  readonly #dialect: PlainDialect
  readonly #delimiter: number
  readonly #quote: number
  /** The greatest code that is no plain character of a cell. */
  readonly #mark: number
  // Bytes as characters: those of UTF-8 beyond ASCII are decoded cell by cell.
  #text = ''
  #hasOthers = false
  /** Of what has come: a record may end there once more has come, or it is the first half of a break. */
  #endsWithBreak = false
  #cells: string[] = []
  #hasBreaks = false
  #isStopped = false
  /** How often the record at the front was read from its beginning, and did not end. */
  #begun = 0
  #place = {
    header: undefined as readonly string[] | undefined,
    headerLine: 1,
    ordinal: 0,
    line: 1,
  }

  constructor(dialect: PlainDialect) {
    this.#dialect = dialect
    this.#delimiter = dialect.delimiter.charCodeAt(0)
    this.#quote = dialect.quote === null ? -1 : dialect.quote.charCodeAt(0)
    this.#mark = Math.max(this.#delimiter, this.#quote, LF, CR)
  }

  get place(): RecordPlace {
    return this.#place
  }

  /** Whether a record has come that is not plain: it begins the rest. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** What is not read. */
  get rest(): Buffer {
    return Buffer.from(this.#text, 'latin1')
  }

  /** The rows that `piece` completes, up to one that is not plain. */
  read(piece: Buffer): SourceRow[] {
    const come = piece.toString('latin1')
    const text = this.#text + come
    this.#hasOthers ||= !isAscii(piece)
    if (!this.#mayEnd(come)) {
      this.#text = text
      this.#isStopped = this.#isTooLong(text.length)
      return []
    }
    const place = this.#place
    const rows: SourceRow[] = []
    let at = 0
    for (;;) {
      const blank = blankAt(text, at)
      at += blank
      if (blank > 0) {
        place.line += 1
        continue
      }
      const end = this.#recordAt(text, at)
      this.#begun = end === UNFINISHED && at === 0 ? this.#begun + 1 : 0
      const isLong = this.#begun > BEGUN_MAX || this.#isTooLong(text.length - at)
      this.#isStopped = end === STRANGE || (end < 0 && isLong)
      if (end < 0) break
      const row = this.#note()
      if (row !== null) rows.push(row)
      at = end
    }
    this.#text = text.slice(at)
    return rows
  }

  /**
   * Whether a record may end in this piece. Where none can, nothing is read again: a long record would be read from its beginning with
   * each of its pieces.
   */
  #mayEnd(come: string): boolean {
    const isBegun = this.#text !== ''
    const hasBreak = this.#endsWithBreak || BREAK.test(come)
    if (come !== '') this.#endsWithBreak = come.endsWith('\r') || come.endsWith('\n')
    return !isBegun || hasBreak
  }

  #isTooLong(bytes: number): boolean {
    return bytes > this.#dialect.recordBytesMax
  }

  /** Notes the record that was read last. Returns it, unless it is the header. */
  #note(): SourceRow | null {
    const place = this.#place
    const { line } = place
    const cells = this.#hasOthers ? this.#cells.map(decoded) : this.#cells
    place.line = line + 1 + (this.#hasBreaks ? breaksOf(cells) : 0)
    if (place.header === undefined) {
      place.header = cells
      place.headerLine = line
      if (this.#dialect.isHeadless !== true) return null
    }
    place.ordinal += 1
    return { ordinal: place.ordinal, line, cells }
  }

  /** Reads the record at `start`. Returns where the next one begins. */
  #recordAt(text: string, start: number): number {
    const cells: string[] = (this.#cells = [])
    this.#hasBreaks = false
    let at = start
    // A cell each time.
    for (;;) {
      at = text.charCodeAt(at) === this.#quote ? this.#quotedAt(text, at) : this.#bareAt(text, at)
      if (at < 0) return at
      const code = text.charCodeAt(at)
      at += 1
      if (code === this.#delimiter) {
        if (!this.#mayGoOn(cells.length + 1)) return STRANGE
        continue
      }
      if (code === CR && at === text.length) return UNFINISHED
      if (code === CR && text.charCodeAt(at) === LF) at += 1
      else if (code !== LF) return STRANGE
      const columns = this.#place.header?.length ?? cells.length
      const isPlain = this.#dialect.mayHave(cells.length, columns) && !this.#isTooLong(at - start)
      return isPlain ? at : STRANGE
    }
  }

  /** Whether a record may have that many cells and more. */
  #mayGoOn(cells: number): boolean {
    const columns = this.#place.header?.length
    return columns === undefined || cells <= columns || this.#dialect.mayHave(cells, columns)
  }

  /** Reads a cell without quotes. Returns where it ends. */
  #bareAt(text: string, start: number): number {
    const { length } = text
    let at = start
    for (; at < length; at++) {
      const code = text.charCodeAt(at)
      if (code > this.#mark) continue
      if (code === this.#delimiter || code === LF || code === CR) break
      if (code === this.#quote) return STRANGE
    }
    if (at === length) return UNFINISHED
    this.#cells.push(text.slice(start, at))
    return at
  }

  /** The same for a cell in quotes: a quote in it is doubled. */
  #quotedAt(text: string, open: number): number {
    const quote = this.#dialect.quote!
    let cell = ''
    for (let from = open + 1; ;) {
      const close = text.indexOf(quote, from)
      if (close === -1 || close + 1 === text.length) return UNFINISHED
      if (text.charCodeAt(close + 1) !== this.#quote) {
        cell += text.slice(from, close)
        this.#hasBreaks ||= BREAK.test(cell)
        this.#cells.push(cell)
        return close + 1
      }
      cell += text.slice(from, close + 1)
      from = close + 2
    }
  }
}

/** The length of an empty line; 0 if there is none. */
function blankAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code === LF) return 1
  return code === CR && text.charCodeAt(at + 1) === LF ? 2 : 0
}

const decoded = (cell: string): string =>
  NOT_ASCII.test(cell) ? Buffer.from(cell, 'latin1').toString('utf8') : cell
