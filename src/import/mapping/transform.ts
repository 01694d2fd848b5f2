// What becomes of a cell before it is read by its type: columns are put together, then trim, pattern, case, map, prefix and suffix,
// then default (decision 138). Each value of a list goes through it alone. Promise kept here: it is pure, an empty cell stays empty until
// `default`, and a cell that a step does not know is refused unless `else` says something else.

import { joinSome } from '../../core/format.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import { isBlank, seenText } from '../../core/look.ts'
import { isNotACell } from '../../core/not-a-cell.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import { partsOf, trimmed } from './cell-parts.ts'
import { sourceCellText, type Coerced } from './coerce.ts'
import { MATCHED_CHARS_MAX, type Extract } from './patterns.ts'
import { titleCase } from './title-case.ts'
import type { CellMap } from './tools.ts'

/** Settings that change a text: where one is set, white space around a cell is no part of it. */
const CHANGING = ['columns', 'pattern', 'case', 'map', 'prefix', 'suffix'] as const

/** What the settings of a mapping stand for. */
export interface TransformationParts {
  readonly mapping: PropertyMapping
  /** Of the columns that are put together; of one column alone. */
  readonly indexes: readonly number[]
  readonly isMulti: boolean
  readonly extract: Extract | null
  readonly map: CellMap | null
}

/** The cell that is read, from the cells of a row: null if it is empty, a list for a property with several values. */
export type Transformation = (cells: readonly Json[]) => Coerced

type Refused = Coerced & { readonly ok: false }
/** One text becomes another; null: an empty cell. */
type Step = (text: string) => Refused | string | null

const refuse = (reason: string, expected: string): Refused => ({ ok: false, reason, expected })

const CASES = {
  lower: (text: string) => text.toLowerCase(),
  upper: (text: string) => text.toUpperCase(),
  title: titleCase,
}

export const isTrimmed = (mapping: PropertyMapping): boolean =>
  mapping.trim ?? CHANGING.some((setting) => mapping[setting] !== undefined)

/** What the steps before `map` make of a text that `pattern` does not change: a key of `map` that is otherwise is never met. */
export const beforeMap = (mapping: PropertyMapping, text: string): string => {
  const look = seenText(text)
  return seenText(mapping.case === undefined ? look : CASES[mapping.case](look))
}

/** What stands around a text in the end. */
export const withAffixes = ({ prefix = '', suffix = '' }: PropertyMapping, text: string): string =>
  prefix + text + suffix

const KEYS_SHOWN = 20

function stepsOf({ mapping, extract, map }: TransformationParts): Step[] {
  const { case: letters, else: otherwise = 'reject', pattern } = mapping
  const steps: Step[] = []
  const unknown = (text: string, refused: Refused) =>
    otherwise === 'keep' ? text : otherwise === 'empty' ? null : refused
  if (isTrimmed(mapping)) steps.push(trimmed)
  if (extract !== null) {
    const unmatched = refuse(
      'pattern_not_matched',
      `a text that matches the pattern ${pattern}, of at most ${MATCHED_CHARS_MAX} characters`,
    )
    steps.push((text) => {
      const found = extract(text)
      return found === null ? unknown(text, unmatched) : found
    })
  }
  if (letters !== undefined) steps.push(CASES[letters])
  if (map !== null) {
    const keys = [...map.keys()]
    const unlisted = refuse(
      'not_in_map',
      typeof mapping.map === 'string'
        ? `one of the ${keys.length} values in the first column of the file of \`map\``
        : `one of ${joinSome(keys, KEYS_SHOWN)}`,
    )
    steps.push((text) => {
      const found = map.get(seenText(text))
      return found === undefined ? unknown(text, unlisted) : found
    })
  }
  if ((mapping.prefix ?? mapping.suffix) !== undefined)
    steps.push((text) => withAffixes(mapping, text))
  return steps
}

const NOT_A_TEXT = refuse(
  'not_a_text',
  'a text, a number, or true or false: the mapping changes its text before it is read',
)

/** One value after the steps: a number that none of them changes stays a number; null: it is empty. */
function changedBy(steps: readonly Step[], part: Json): Refused | { readonly value: Json } {
  if (part === null || (typeof part === 'string' && isBlank(part))) return NOTHING
  if (steps.length === 0) return { value: part }
  if (Array.isArray(part) || isJsonObject(part)) return NOT_A_TEXT
  const before = sourceCellText(part)
  let text = before
  for (const step of steps) {
    const changed = step(text)
    if (changed !== null && typeof changed !== 'string') return changed
    // No later step gives an empty cell a prefix, or looks it up.
    if (changed === null || isBlank(changed)) return NOTHING
    text = changed
  }
  return { value: text === before ? part : text }
}

const NOTHING = { value: null }

/** Puts the cells of several columns together. */
function joiner(
  mapping: PropertyMapping,
  indexes: readonly number[],
): (cells: readonly Json[]) => Refused | { readonly value: Json } {
  const trims = isTrimmed(mapping)
  const { join = ' ' } = mapping
  return (cells) => {
    const texts: string[] = []
    for (const index of indexes) {
      const cell = cells[index] ?? ''
      if (Array.isArray(cell) || isJsonObject(cell) || isNotACell(cell)) return NOT_A_TEXT
      const text = sourceCellText(cell)
      if (!isBlank(text)) texts.push(trims ? trimmed(text) : text)
    }
    return { value: texts.join(join) }
  }
}

/** Null if the mapping changes no cell. */
export function compileTransformation(parts: TransformationParts): Transformation | null {
  const { mapping, indexes, isMulti } = parts
  const { default: fallback, split, columns } = mapping
  const steps = stepsOf(parts)
  if (steps.length === 0 && fallback === undefined && columns === undefined) return null
  const [index] = indexes
  const joined = columns === undefined ? null : joiner(mapping, indexes)
  const instead: Json =
    fallback === undefined ? null : isMulti ? [...partsOf(fallback, split)] : fallback
  return (cells) => {
    const read = joined === null ? { value: cells[index!] ?? null } : joined(cells)
    if ('ok' in read) return read
    const cell = read.value
    const values: Json[] = []
    for (const part of isMulti || Array.isArray(cell) ? partsOf(cell, split) : [cell]) {
      const changed = changedBy(steps, part)
      if ('ok' in changed) return changed
      if (changed.value !== null) values.push(changed.value)
    }
    const [only = instead] = values
    return { ok: true, value: values.length > 1 || (isMulti && values.length > 0) ? values : only }
  }
}
