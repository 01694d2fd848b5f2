// Whether the first line of a file names its columns, or is a row of data already. Promise kept here: no cell is in the reason.

import type { Target } from '../mapping/target.ts'
import { columnFacts, fittingShare, type ColumnFacts, type SourceSample } from './columns.ts'
import { KIND_MIN } from './reading.ts'
import { isKnownName, sharedPrefix } from './words.ts'

interface Kind {
  readonly what: string
  readonly fits: (text: string) => boolean
  /** Whether hardly any name of a column looks so. */
  readonly isSure: boolean
}

const kind = (what: string, form: RegExp, isSure: boolean): Kind => ({
  what,
  fits: (text) => form.test(text.trim()),
  isSure,
})

/** The first that fits counts. */
const KINDS: readonly Kind[] = [
  kind('an e-mail address', /^[^\s@]+@[^\s@]+\.[^\s@]+$/, true),
  kind('a URL', /^https?:\/\/\S+$/i, true),
  kind('a UUID', /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i, true),
  kind('a phone number', /^\+\d[\d\s()./-]{5,}$/, true),
  kind('a date', /^\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?$|^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}$/, false),
  kind('a number', /^[+-]?\p{Sc}?\s?\d[\d.,' ]*\s?\p{Sc}?$/u, false),
]

/** `C-100` and `C-101` have one shape. */
const shapeOf = (text: string): string =>
  text
    .trim()
    .replaceAll(/\p{N}+/gu, '9')
    .replaceAll(/\p{Lu}+/gu, 'A')
    .replaceAll(/[\p{Ll}\p{Lo}]+/gu, 'a')

/** What kind of data a name is, as the cells below it are; null: none. */
function dataKind(facts: ColumnFacts): Kind | null {
  const { name } = facts
  const below = (fits: (text: string) => boolean) => fittingShare(facts, fits) >= KIND_MIN
  const found = KINDS.find(({ fits }) => fits(name))
  // The address of a person stands in no header, whatever is below it.
  if (found) return found === KINDS[0] || below(found.fits) ? found : null
  const shape = shapeOf(name)
  const isId =
    shape.includes('9') && !/[#\s]/.test(name) && below((text) => shapeOf(text) === shape)
  return isId ? { what: 'an id as below it', fits: () => true, isSure: false } : null
}

/** Rows that show what columns hold. */
const ROWS_LOOKED_AT = 200

/** Why the first line may be no header; null: it names the columns. */
export function headerDoubt(
  { columns, rows }: SourceSample,
  targets: readonly Target[],
): string | null {
  const facts = columnFacts({ columns, rows: rows.slice(0, ROWS_LOOKED_AT) })
  const found = facts.flatMap((one) => dataKind(one) ?? [])
  if (found.length === 0) return null
  const isSure = found.some((one) => one.isSure)
  if (!isSure) {
    const names = targets.flatMap(({ schema }) => schema.properties)
    const prefix = sharedPrefix(names.map(({ name }) => name))
    if (columns.some((name) => isKnownName(name, names, prefix))) return null
  }
  const kinds = [...new Set(found.map(({ what }) => what))]
  return `the first line looks like data: of its ${columns.length} cells, ${found.length} ${found.length === 1 ? 'is' : 'are'} ${kinds.join(', ')}`
}
