// Columns by the names that an import gives them. Promise kept here: a column that looks like its name is that column, and two columns
// that look the same are none.

import { joinWords } from '../core/suggest.ts'
import { seenText } from '../core/look.ts'
import type { Source } from './source.ts'

/** The source with each column called as in `names`, where it looks the same and no other one does. */
export function withNames(source: Source, names: readonly string[]): Source {
  // Records have the names of properties, which the service knows by their letters.
  if (source.records !== undefined) return source
  const { columns } = source
  const wanted = new Map(
    names.filter((name) => !columns.includes(name)).map((name) => [seenText(name), name]),
  )
  if (wanted.size === 0) return source
  const looks = columns.map(seenText)
  const named = columns.map((column, index) => {
    const isAlone = looks.indexOf(looks[index]!) === looks.lastIndexOf(looks[index]!)
    return isAlone ? (wanted.get(looks[index]!) ?? column) : column
  })
  const taken = named.filter((name, index) => name !== columns[index])
  if (taken.length === 0) return source
  const text = `the header has spaces, characters that cannot be seen, or another form of Unicode in ${joinWords(taken)}, and is read without`
  return {
    ...source,
    columns: named,
    // A source may add to them while it is read.
    get warnings() {
      return [...(source.warnings ?? []), text]
    },
  }
}

/**
 * The source with times that have no zone as they are, for columns that a mapping reads in a zone: of themselves they count as UTC.
 * @param zoned columns with a `zone`
 */
export function withLocalTimes(source: Source, zoned: readonly string[]): Source {
  const { columns, kinds = [] } = source
  const isLocal = columns.map((name, at) => kinds[at] === 'local_time' && zoned.includes(name))
  if (!isLocal.includes(true)) return source
  return {
    ...source,
    get warnings() {
      return source.warnings ?? []
    },
    async *chunks(rowsMax, signal) {
      for await (const rows of source.chunks(rowsMax, signal))
        yield rows.map((row) => ({
          ...row,
          cells: row.cells.map((cell, at) =>
            isLocal[at] === true && typeof cell === 'string' ? cell.replace(/Z$/, '') : cell,
          ),
        }))
    },
  }
}
