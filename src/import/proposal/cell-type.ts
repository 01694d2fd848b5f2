// What the cells of a property have to be, whatever the service calls its field type: `day` and `date` are one. A type that a run
// would not know by its name is then named in the mapping.

import type { FieldTypeWire, PropertyWire } from '../../contract/index.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import { COERCIONS, jsonShapeOf } from '../mapping/coerce.ts'
import { wordsOfName } from './words.ts'

type NamedType = NonNullable<PropertyMapping['type']>

export interface CellType {
  /** A field type that a run knows, or a shape of JSON. */
  readonly type: string
  /** What the mapping has to say of it. */
  readonly setting: { readonly type?: NamedType }
}

/** Words of other services; the first type that has one of them counts. */
const WORDS: readonly (readonly [NamedType, readonly string[]])[] = [
  ['datetime', ['datetime', 'timestamp', 'instant', 'time', 'moment']],
  ['date', ['date', 'day']],
  ['email', ['email', 'mail']],
  ['phone', ['phone', 'tel', 'telephone']],
  ['url', ['url', 'uri', 'link', 'web', 'website']],
  ['user', ['user', 'owner', 'person']],
]

export function cellTypeOf(
  { field_type: name, options }: PropertyWire,
  fieldTypes: readonly FieldTypeWire[],
): CellType {
  if (Object.hasOwn(COERCIONS, name)) return { type: name, setting: {} }
  const fieldType = fieldTypes.find((one) => one.name === name)
  const shape = jsonShapeOf(fieldType?.value_type ?? 'string')
  const named = (type: NamedType): CellType => ({ type, setting: { type } })
  if (shape === 'number' || shape === 'integer' || shape === 'boolean')
    return { type: shape, setting: {} }
  if (shape === 'object' && fieldType!.units.length > 0) return named('currency')
  if (shape === 'object' || shape === 'array') return { type: shape, setting: {} }
  if (options.length > 0) return named('select')
  const words = new Set([name, fieldType?.value_type ?? ''].flatMap(wordsOfName))
  const [type] = WORDS.find(([, known]) => known.some((word) => words.has(word))) ?? []
  return type === undefined ? { type: 'string', setting: {} } : named(type)
}
