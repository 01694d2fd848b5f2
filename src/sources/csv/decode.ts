// Converts bytes of any encoding to UTF-8, strictly. Promise kept here: a byte that does not fit is an error with its line, never
// U+FFFD, and NUL never passes.

import { isAscii, isUtf8 } from 'node:buffer'
import { byteOrderMark, unfinishedBytes, wideEncoding } from './bytes.ts'
import { excerptOf, type CsvFault } from './faults.ts'
import { encodingLabel } from './settings.ts'
import { isWestern, otherEncodings } from './western.ts'

const ENCODINGS = ['utf-8', 'utf-16le', 'windows-1252', 'iso-8859-1'] as const
const EMPTY = Buffer.alloc(0)
const LF = 10
const CR = 13
/** Bytes at the start in which byte order marks are searched: some programs write one before the existing one. */
const HEAD_BYTES = 12

/** The characters of 0x80 to 0x9F in windows-1252. Some releases of Node.js decode them as ISO 8859-1, so this file does it. */
const WINDOWS_1252 =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
  '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178'

const looksLike = (encoding: string): string =>
  `; the file looks like ${encoding}: write \`encoding: ${encoding}\` under \`from\``

/** What to write for a text that is not UTF-8. */
function encodingHint(text: Buffer): string {
  const wide = wideEncoding(text)
  if (wide !== null) return looksLike(wide)
  if (isWestern(text)) return looksLike('windows-1252')
  return `; it may be ${otherEncodings(text)}: write the one that shows names as they are as \`encoding\` under \`from\``
}

/** Converts pieces to UTF-8; `undefined` is the end of the input. `null`: some byte does not fit. */
type Step = (piece: Buffer | undefined) => Buffer | null

/**
 * The canonical name of an encoding, as in the WHATWG standard, where iso-8859-1 is windows-1252.
 * @throws SourceError csv_encoding_unknown
 */
export function encodingOf(label: string, fault: CsvFault): string {
  try {
    return new TextDecoder(encodingLabel(label), { fatal: true }).encoding
  } catch {
    throw fault(
      'csv_encoding_unknown',
      `encoding ${excerptOf(label)} is not known; expected one of ${ENCODINGS.join(', ')}, or another label of the WHATWG Encoding Standard`,
    )
  }
}

/**
 * Yields the text as UTF-8 without its byte order mark.
 * @param encoding a label; undefined: from the byte order mark, else UTF-8
 * @throws SourceError csv_encoding, csv_encoding_unknown, csv_nul
 */
export async function* decodeText(
  pieces: AsyncIterable<Buffer>,
  encoding: string | undefined,
  fault: CsvFault,
): AsyncGenerator<Buffer, void, undefined> {
  const wanted = encoding === undefined ? undefined : encodingOf(encoding, fault)
  let check: ((piece: Buffer | undefined) => Iterable<Buffer>) | undefined
  let head: Buffer = EMPTY
  for await (const piece of pieces) {
    if (check !== undefined) {
      yield* check(piece)
      continue
    }
    head = Buffer.concat([head, piece])
    if (head.length < HEAD_BYTES) continue
    const mark = markOf(head, wanted, fault)
    check = checkerOf(mark.encoding, fault)
    yield* check(head.subarray(mark.bytes))
  }
  if (check === undefined) {
    const mark = markOf(head, wanted, fault)
    check = checkerOf(mark.encoding, fault)
    yield* check(head.subarray(mark.bytes))
  }
  yield* check(undefined)
}

/** The encoding that applies, and the length of the byte order mark with its repetitions. */
function markOf(
  head: Buffer,
  wanted: string | undefined,
  fault: CsvFault,
): { encoding: string; bytes: number } {
  const mark = byteOrderMark(head) ?? { encoding: wanted ?? 'utf-8', bytes: 0 }
  if (wanted !== undefined && mark.encoding !== wanted)
    throw fault(
      'csv_encoding',
      `the file begins with the byte order mark of ${mark.encoding}; expected ${wanted}, as configured`,
      { line: 1 },
    )
  return mark
}

/**
 * A step that throws: it knows the line at which each piece begins. It first yields what comes before a wrong byte, so that the
 * reader of the text knows in which column the byte is.
 */
function checkerOf(
  encoding: string,
  fault: CsvFault,
): (piece: Buffer | undefined) => Generator<Buffer, void, undefined> {
  const step = encoding === 'utf-8' ? utf8Step() : otherStep(encoding)
  let line = 1
  let afterCr = false
  let hasOthers = false
  return function* (piece) {
    const text = step(piece)
    const expected = `expected ${encoding} throughout, or another "encoding"`
    // Only UTF-8 shows exactly where it is broken; for other encodings only the line at which the piece begins is known.
    if (text === null)
      throw fault('csv_encoding', `bytes here or further on are not ${encoding}; ${expected}`, {
        line,
      })
    if (encoding === 'utf-8' && !isUtf8(text)) {
      const bad = firstBadByte(text)
      const good = text.subarray(0, bad)
      hasOthers ||= !isAscii(good)
      const isEnd = piece === undefined && bad + 3 >= text.length
      const hint = isEnd
        ? ' (was the file cut off?)'
        : hasOthers
          ? '; other bytes before them are, so the file has more than one encoding'
          : encodingHint(text)
      yield good
      throw fault('csv_encoding', `bytes here are not utf-8; ${expected}${hint}`, {
        line: line + breaksIn(text, bad, afterCr),
      })
    }
    const nul = text.indexOf(0)
    if (nul !== -1) {
      const wide = wideEncoding(text)
      const hint = wide === null ? ` (is it ${encoding}?)` : looksLike(wide)
      yield text.subarray(0, nul)
      throw fault('csv_nul', `a NUL byte; expected text without NUL${hint}`, {
        line: line + breaksIn(text, nul, afterCr),
      })
    }
    line += breaksIn(text, text.length, afterCr)
    if (text.length > 0) afterCr = text[text.length - 1] === CR
    hasOthers ||= encoding === 'utf-8' && !isAscii(text)
    yield text
  }
}

/** Passes UTF-8 on, cut between characters. */
function utf8Step(): Step {
  let rest: Buffer = EMPTY
  return (piece) => {
    const text = rest.length === 0 ? (piece ?? EMPTY) : Buffer.concat([rest, piece ?? EMPTY])
    const cut = piece === undefined ? text.length : text.length - unfinishedBytes(text)
    rest = text.subarray(cut)
    return text.subarray(0, cut)
  }
}

function otherStep(encoding: string): Step {
  if (encoding === 'windows-1252')
    return (piece) =>
      Buffer.from(
        (piece ?? EMPTY)
          .toString('latin1')
          .replace(/[\x80-\x9f]/g, (c) => WINDOWS_1252[c.charCodeAt(0) - 0x80] ?? c),
      )
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  return (piece) => {
    try {
      return Buffer.from(decoder.decode(piece, { stream: piece !== undefined }))
    } catch {
      return null
    }
  }
}

/** Where the first character begins that is not UTF-8. */
function firstBadByte(text: Buffer): number {
  let start = 0
  let end = text.length
  // Bisects: a part that begins well and is cut between characters is good.
  while (end - start > 4) {
    let middle = (start + end) >> 1
    middle -= unfinishedBytes(text.subarray(start, middle))
    if (middle <= start) break
    if (isUtf8(text.subarray(start, middle))) start = middle
    else end = middle
  }
  for (let at = start; at < text.length;) {
    const length = [1, 2, 3, 4].find((bytes) => isUtf8(text.subarray(at, at + bytes)))
    if (length === undefined) return at
    at += length
  }
  return text.length
}

/** Line breaks (LF, CR or CRLF) in the first `end` bytes; `afterCr`: the byte before them was CR. */
function breaksIn(text: Buffer, end: number, afterCr: boolean): number {
  let breaks = 0
  for (let at = text.indexOf(LF); at !== -1 && at < end; at = text.indexOf(LF, at + 1))
    if (at === 0 ? !afterCr : text[at - 1] !== CR) breaks += 1
  for (let at = text.indexOf(CR); at !== -1 && at < end; at = text.indexOf(CR, at + 1)) breaks += 1
  return breaks
}
