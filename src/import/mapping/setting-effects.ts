// Settings that say nothing at their place: of another type of property, or of a column whose cells need none. Promise kept here: a
// setting that does not apply is an error with its line, before the first row.

import { KIND_TEXT, type ColumnKind } from '../../core/domain/column-kind.ts'
import { mappedColumns } from '../../core/domain/mapped-columns.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import { readsAs } from './coerce.ts'

interface Applies {
  /** Types that a property is read as. */
  readonly types: readonly string[]
  /** What the cells of its column are. Default: texts. */
  readonly kinds?: readonly ColumnKind[]
}

const NUMBERS: Applies = { types: ['number', 'currency'] }
const DAYS: Applies = { types: ['date', 'datetime'] }
const ALL_KINDS = Object.keys(KIND_TEXT) as ColumnKind[]

/** Where the settings of a type apply. */
const APPLIES: Partial<Readonly<Record<keyof PropertyMapping, Applies>>> = {
  format: DAYS,
  window: DAYS,
  language: DAYS,
  epoch: { ...DAYS, kinds: ['text', 'number'] },
  zone: { types: ['datetime'], kinds: ['text', 'local_time'] },
  decimal: NUMBERS,
  thousands: NUMBERS,
  symbol: NUMBERS,
  negative: NUMBERS,
  unit: { types: ['currency'], kinds: ALL_KINDS },
  unit_column: { types: ['currency'], kinds: ALL_KINDS },
  true: { types: ['boolean'], kinds: ['text', 'number'] },
  false: { types: ['boolean'], kinds: ['text', 'number'] },
}

/** Settings that make a text of any cell. */
const CHANGING = ['columns', 'pattern', 'case', 'map', 'prefix', 'suffix'] as const
/** Types whose values have no capitals. */
const WITHOUT_LETTERS = ['number', 'currency', 'boolean', 'date', 'datetime']

/** What is wrong with the settings of a mapping, and with which. */
export function withoutEffect(
  name: string,
  mapping: PropertyMapping,
  { fieldType, valueType }: { readonly fieldType: string; readonly valueType: string },
  kindOf: (column: string) => ColumnKind | undefined,
): readonly { readonly setting: string; readonly message: string }[] {
  const type = readsAs(mapping.type ?? fieldType, valueType)
  const found: { setting: string; message: string }[] = []
  const wrong = (setting: string, why: string) =>
    void found.push({ setting, message: `${setting} of ${name} has no effect: ${why}` })
  const isChanged = CHANGING.some((setting) => mapping[setting] !== undefined)
  const [column] = mappedColumns(mapping)
  // A text of any cell is read as texts are.
  const kind = column === undefined || isChanged ? undefined : kindOf(column)
  for (const [setting, { types, kinds = ['text'] }] of Object.entries(APPLIES)) {
    if (mapping[setting as keyof PropertyMapping] === undefined) continue
    if (!types.includes(type))
      wrong(setting, `the property is read as ${type}, and the setting is for ${types.join(', ')}`)
    else if (kind !== undefined && !kinds.includes(kind))
      wrong(setting, `column "${column}" of the source has ${KIND_TEXT[kind]}; remove it`)
  }
  if (mapping.split !== undefined && kind !== undefined && kind !== 'text')
    wrong('split', `column "${column}" of the source has ${KIND_TEXT[kind]}; remove it`)
  if (mapping.case !== undefined && mapping.map === undefined && WITHOUT_LETTERS.includes(type))
    wrong('case', `the property is read as ${type}, whatever the letters of its cells`)
  return found
}
