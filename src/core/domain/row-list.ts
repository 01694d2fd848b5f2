// Lists of rows, as people write them.

const PARTS_MAX = 1_000

/** `3,7-12` as ranges with both ends included, of rows from 1 on; null if the text is not such a list. */
export function parseRows(text: string): readonly (readonly [number, number])[] | null {
  const parts = text.split(',').map((part) => /^\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?$/.exec(part))
  if (parts.length > PARTS_MAX) return null
  const ranges: [number, number][] = []
  for (const part of parts) {
    if (!part) return null
    const first = Number(part[1])
    const last = Number(part[2] ?? part[1])
    if (first < 1 || last < first) return null
    ranges.push([first, last])
  }
  return ranges
}
