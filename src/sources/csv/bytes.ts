// What bytes alone say of their encoding.

const MARKS = [
  { encoding: 'utf-8', mark: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', mark: [0xff, 0xfe] },
  { encoding: 'utf-16be', mark: [0xfe, 0xff] },
]

/** The encoding that the byte order mark at the start names, and the length of the mark with its repetitions; null: none. */
export function byteOrderMark(head: Buffer): { encoding: string; bytes: number } | null {
  const isAt = (mark: readonly number[], at: number) =>
    mark.every((byte, index) => head[at + index] === byte)
  const found = MARKS.find(({ mark }) => isAt(mark, 0))
  if (found === undefined) return null
  let bytes = found.mark.length
  while (isAt(found.mark, bytes)) bytes += found.mark.length
  return { encoding: found.encoding, bytes }
}

/** Bytes at the end that begin a UTF-8 character and do not complete it: 0 to 3. */
export function unfinishedBytes(text: Buffer): number {
  for (let back = 1; back <= 3 && back <= text.length; back += 1) {
    const byte = text[text.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? back : 0
  }
  return 0
}

/** The UTF-16 in which every second byte of Latin text is NUL, or nearly so; null: neither. */
export function wideEncoding(text: Buffer): 'utf-16le' | 'utf-16be' | null {
  const head = text.subarray(0, 1_024)
  const nuls = [0, 0]
  for (let at = 0; at < head.length; at += 1) if (head[at] === 0) nuls[at % 2]! += 1
  const isWide = (side: 0 | 1) => head.length > 3 && nuls[side]! * 4 > head.length
  if (isWide(1) && nuls[0]! * 4 < nuls[1]!) return 'utf-16le'
  return isWide(0) && nuls[1]! * 4 < nuls[0]! ? 'utf-16be' : null
}
