// What the columns of a file are called. Promise kept here: each has a name of its own, and none is called by a name that another one
// has as well.

import type { CsvFault } from './faults.ts'

/** By their number, where a file does not name them. */
export const numberedColumns = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `#${index + 1}`)

/**
 * A column without a name is called by its number, `#3`. Columns that share a name are called by their order, `name#1` and `name#2`.
 * Those without a name at the end are none: a delimiter ends the header.
 * @throws SourceError csv_header
 */
export function columnNames(header: readonly string[], fault: CsvFault, line: number): string[] {
  const isNamed = (name: string) => name.trim() !== ''
  const width = header.findLastIndex(isNamed) + 1
  if (width === 0)
    throw fault(
      'csv_header',
      'this line names no column; expected the header, or `header: N` under `from` with the number of its line',
      { line, column: 1 },
    )
  const named = header.slice(0, width)
  const counts = new Map<string, number>()
  for (const name of named) counts.set(name, (counts.get(name) ?? 0) + 1)
  const met = new Map<string, number>()
  const names = named.map((name, index) => {
    if (!isNamed(name)) return `#${index + 1}`
    if (counts.get(name) === 1) return name
    const order = (met.get(name) ?? 0) + 1
    met.set(name, order)
    return `${name}#${order}`
  })
  const seen = new Map<string, number>()
  names.forEach((name, index) => {
    const earlier = seen.get(name)
    if (earlier === undefined) seen.set(name, index)
    else
      throw fault(
        'csv_header',
        `columns ${earlier + 1} and ${index + 1} of the header would both be called ${JSON.stringify(name)}; rename one of them`,
        { line, column: index + 1 },
      )
  })
  return names
}
