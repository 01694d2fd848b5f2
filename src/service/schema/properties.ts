// Properties (section 2.3), compiled from their definitions into closures that check a value.
// Promise kept here: writes and filters obey what the schema says about a property.

import { PREFIX, type PropertyWire } from '../../contract/index.ts'
import { FIELD_TYPES, type FieldType, type Scalar, type StoredValue } from './field-types.ts'

/** The definition of a property; absent members have the defaults of section 2.3. */
export interface PropertyDefinition {
  readonly name: string
  /** Name of a field type. */
  readonly field_type: string
  readonly label?: string | undefined
  readonly writability?: PropertyWire['writability'] | undefined
  /** Default: true for `multi_select`, which is always multi-value, and false for every other. */
  readonly is_multi?: boolean | undefined
  readonly is_unique?: boolean | undefined
  /** Required for `select` and `multi_select`, and for no other. */
  readonly options?:
    | readonly (string | { value: string; label: string; description?: string | undefined })[]
    | undefined
  /** The value in a new record if the property is left out. A unique property has none. */
  readonly default_value?: unknown
  readonly description?: string | undefined
}

export interface CompiledProperty {
  readonly name: string
  readonly wire: PropertyWire
  readonly field: FieldType
  /** The form of a valid value, for messages. */
  readonly expected: string
  /** The stored form of a value that is written: null clears, undefined if it is invalid. */
  readonly parse: (raw: unknown) => StoredValue | undefined
  /** In stored form; null if there is none. */
  readonly defaultValue: StoredValue
}

/** The field types whose values are options. */
export const CHOICES: ReadonlySet<string> = new Set(['select', 'multi_select'])

/** `svc_first_name` is labelled `First name`. */
export function defaultLabel(name: string): string {
  const bare = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name
  const words = bare.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** @throws Error if the definition contradicts itself: with what was expected */
export function compileProperty(definition: PropertyDefinition): CompiledProperty {
  const {
    name,
    field_type,
    is_multi = field_type === 'multi_select',
    is_unique = false,
    writability = 'writable',
  } = definition
  const field = FIELD_TYPES.get(field_type)
  if (!field)
    throw new Error(`field_type: one of ${[...FIELD_TYPES.keys()].join(', ')} was expected`)
  if (field_type === 'multi_select' && !is_multi) {
    throw new Error('is_multi: true was expected for multi_select')
  }
  const options = (definition.options ?? []).map((option) =>
    typeof option === 'string'
      ? { value: option, label: defaultLabel(option), description: '' }
      : { ...option, description: option.description ?? '' },
  )
  const values = options.map(({ value }) => value)
  const isChoice = CHOICES.has(field_type)
  if (isChoice !== values.length > 0) {
    throw new Error(
      `options: ${isChoice ? 'at least one was' : 'none were'} expected for ${field_type}`,
    )
  }
  // Each text only once in memory, however many records hold it.
  const allowed = new Map(values.map((value) => [value, value]))
  if (allowed.size < values.length) throw new Error('options: a value is there twice')
  const one: FieldType['parse'] = isChoice
    ? (raw) => (typeof raw === 'string' ? allowed.get(raw) : undefined)
    : field.parse
  const each = isChoice ? `one of ${values.join(', ')}` : field.expected
  const expected = is_multi ? `a list, each value ${each}` : each
  const parse: CompiledProperty['parse'] = is_multi
    ? (raw) => parseList(raw, one)
    : (raw) => (raw === null ? null : one(raw))
  const defaultValue = parse(definition.default_value ?? null)
  if (defaultValue === undefined) throw new Error(`default_value: ${expected} was expected`)
  if (is_unique && defaultValue !== null) {
    throw new Error(
      'default_value: a unique property cannot have one, because a second record would have the same value',
    )
  }
  return {
    name,
    field,
    expected,
    parse,
    defaultValue,
    wire: {
      name,
      label: definition.label ?? defaultLabel(name),
      field_type,
      writability,
      operators: field.wire.operators,
      is_multi,
      is_unique,
      options,
      description: definition.description ?? '',
      default_value: defaultValue,
    },
  }
}

/** An empty list is "no value", as null is. */
function parseList(raw: unknown, one: FieldType['parse']): StoredValue | undefined {
  if (raw === null) return null
  if (!Array.isArray(raw)) return undefined
  const values: Scalar[] = []
  for (const item of raw) {
    const value = one(item)
    if (value === undefined) return undefined
    values.push(value)
  }
  return values.length === 0 ? null : values
}
