// What stands around the records of a file, and is none of them: lines before the header, the line that names the delimiter for
// spreadsheets, and the end mark of DOS. Promise kept here: lines keep their numbers.

import { encodingLabel, type CsvSettings } from './settings.ts'
import { SEPARATOR_LINE, sniffCsv } from './sniff.ts'

const LF = 10
const CR = 13
/** Ctrl-Z. */
const END_MARK = 0x1a
const SEPARATOR_LINE_MAX = 16

/** `sep=;` in the first line is for spreadsheets alone. Its line stays, as an empty one. */
export function withoutSeparatorLine(text: Buffer): Buffer {
  const start = text.subarray(0, SEPARATOR_LINE_MAX).toString('latin1')
  const length = SEPARATOR_LINE.exec(start)?.[0].length ?? 0
  return text.subarray(length)
}

/** The lines before the header: what is on them is taken away, their ends stay. */
export class LinesAbove {
  #left: number
  #afterCr = false

  constructor(lines: number) {
    this.#left = lines
  }

  skip(text: Buffer): Buffer {
    if (this.#left === 0) return this.#afterCr ? this.#withoutLf(text) : text
    let at = 0
    let skipped = 0
    for (; at < text.length && this.#left > 0; at += 1) {
      const code = text[at]
      if (code === LF && this.#afterCr) this.#afterCr = false
      else if (code === LF || code === CR) {
        this.#afterCr = code === CR
        this.#left -= 1
        skipped += 1
      } else this.#afterCr = false
    }
    const rest =
      this.#left === 0 && this.#afterCr ? this.#withoutLf(text.subarray(at)) : text.subarray(at)
    return Buffer.concat([Buffer.alloc(skipped, LF), rest])
  }

  /** The second half of the last line's end. */
  #withoutLf(text: Buffer): Buffer {
    if (text.length > 0) this.#afterCr = false
    return text[0] === LF ? text.subarray(1) : text
  }
}

/** Programs of DOS end a file with Ctrl-Z, or fill its last block with it. */
export async function* withoutEndMark(
  texts: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let held = 0
  for await (const text of texts) {
    let end = text.length
    while (end > 0 && text[end - 1] === END_MARK) end -= 1
    if (end > 0) {
      yield held === 0
        ? text.subarray(0, end)
        : Buffer.concat([Buffer.alloc(held, END_MARK), text.subarray(0, end)])
      held = 0
    } else if (text.length === 0) yield text
    held += text.length - end
  }
}

/** Lines that may name the columns. */
const LINES_MAX = 100

/** The number of the first line that has all of the names, in whatever order; null if none has. */
export function lineWith(
  head: Buffer,
  names: readonly string[],
  { delimiter = ',', quote = '"', encoding }: Pick<CsvSettings, 'delimiter' | 'quote' | 'encoding'>,
): number | null {
  const label = encodingLabel(encoding ?? sniffCsv(head, quote).encoding)
  const lines = new TextDecoder(label).decode(head).split(/\r\n|\r|\n/, LINES_MAX)
  const bare = (cell: string) => {
    const text = cell.trim()
    const isQuoted =
      quote !== null && text.length > 1 && text.startsWith(quote) && text.endsWith(quote)
    return isQuoted ? text.slice(1, -1).replaceAll(quote + quote, quote) : text
  }
  const found = lines.findIndex((line) => {
    const cells = new Set(line.split(delimiter).map(bare))
    return names.every((name) => cells.has(name.trim()))
  })
  return found === -1 ? null : found + 1
}
