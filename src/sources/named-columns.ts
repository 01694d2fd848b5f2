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
  return { ...source, columns: named, warnings: [...(source.warnings ?? []), text] }
}
