// Converts bytes of any encoding to UTF-8, strictly. Promise kept here: a byte that does not fit is an error with its line, never
// U+FFFD, and NUL never passes.

import { isAscii, isUtf8 } from 'node:buffer'
import { excerptOf, type CsvFault } from './faults.ts'

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

/** Converts pieces to UTF-8; `undefined` is the end of the input. `null`: some byte does not fit. */
type Step = (piece: Buffer | undefined) => Buffer | null

/**
 * The canonical name of an encoding, as in the WHATWG standard, where iso-8859-1 is windows-1252.
 * @throws SourceError csv_encoding_unknown
 */
export function encodingOf(label: string, fault: CsvFault): string {
  try {
    return new TextDecoder(label, { fatal: true }).encoding
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
  const mark =
    head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf
      ? { encoding: 'utf-8', bytes: 3 }
      : head[0] === 0xff && head[1] === 0xfe
        ? { encoding: 'utf-16le', bytes: 2 }
        : head[0] === 0xfe && head[1] === 0xff
          ? { encoding: 'utf-16be', bytes: 2 }
          : { encoding: wanted ?? 'utf-8', bytes: 0 }
  if (wanted !== undefined && mark.encoding !== wanted)
    throw fault(
      'csv_encoding',
      `the file begins with the byte order mark of ${mark.encoding}; expected ${wanted}, as configured`,
      { line: 1 },
    )
  const first = head.subarray(0, mark.bytes)
  let { bytes } = mark
  while (mark.bytes > 0 && head.subarray(bytes, bytes + mark.bytes).equals(first))
    bytes += mark.bytes
  return { encoding: mark.encoding, bytes }
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
          : looksLike1252(text.subarray(bad))
            ? '; the file looks like windows-1252: write `encoding: windows-1252` under `from`'
            : ''
      yield good
      throw fault('csv_encoding', `bytes here are not utf-8; ${expected}${hint}`, {
        line: line + breaksIn(text, bad, afterCr),
      })
    }
    const nul = text.indexOf(0)
    if (nul !== -1) {
      const hint = looksLikeUtf16(text)
        ? ': the file looks like utf-16le; write `encoding: utf-16le` under `from`'
        : ` (is it ${encoding}?)`
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

/** Bytes at the end that begin a UTF-8 character and do not complete it: 0 to 3. */
function unfinishedBytes(text: Buffer): number {
  for (let back = 1; back <= 3 && back <= text.length; back += 1) {
    const byte = text[text.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? back : 0
  }
  return 0
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

/** Bytes that have no character in windows-1252. */
const UNDEFINED_IN_1252 = [0x81, 0x8d, 0x8f, 0x90, 0x9d]

const looksLike1252 = (text: Buffer): boolean =>
  !text.some((byte) => byte === 0 || UNDEFINED_IN_1252.includes(byte))

/** Whether nearly every second byte is NUL, as in Latin text with two bytes a character. */
function looksLikeUtf16(text: Buffer): boolean {
  const head = text.subarray(0, 1_024)
  let nuls = 0
  for (let at = 1; at < head.length; at += 2) if (head[at] === 0) nuls += 1
  return head.length > 3 && nuls * 4 > head.length
}

/** Line breaks (LF, CR or CRLF) in the first `end` bytes; `afterCr`: the byte before them was CR. */
function breaksIn(text: Buffer, end: number, afterCr: boolean): number {
  let breaks = 0
  for (let at = text.indexOf(LF); at !== -1 && at < end; at = text.indexOf(LF, at + 1))
    if (at === 0 ? !afterCr : text[at - 1] !== CR) breaks += 1
  for (let at = text.indexOf(CR); at !== -1 && at < end; at = text.indexOf(CR, at + 1)) breaks += 1
  return breaks
}
