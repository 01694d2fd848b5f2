// What a setting is other than a text, a number or a mapping: a path, the place of a secret, a name, a choice. Its schema says so, and
// what is done with all of them follows from the schema: no list elsewhere can lack one.

import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../core/json.ts'

/** Keys and indexes from the top of the configuration to a value. */
export type Path = readonly PropertyKey[]

export type Mark =
  /** A path relative to the folder of the configuration, except the word `except`. `isKey`: the file holds a key. */
  | {
      readonly is: 'path'
      readonly except?: string | undefined
      readonly isKey?: boolean | undefined
    }
  /** Where a secret is, such as a `URL`. What is written there keeps its variables until the secret is read. */
  | { readonly is: 'secret'; readonly what: string }
  /** The name of a member of a section. */
  | { readonly is: 'name'; readonly of: 'connections' | 'warehouses' | 'syncs' }
  /** A mapping that takes exactly one of these. */
  | { readonly is: 'choice'; readonly among: readonly ChoicePart[] }

/** Complains about the value at a path, or about its key. */
export type Complain = (path: Path, message: string, at?: 'key' | 'value') => void

export interface ChoicePart {
  /** The setting that chooses it. */
  readonly name: string
  /** The settings that only it has. */
  readonly settings?: z.ZodRawShape
  /** Those other than `name` that it cannot do without. */
  readonly needs?: readonly string[]
  /** What its settings mean for each other, as they are written: a value may have any shape. Paths begin below the mapping. */
  check?(given: JsonObject, complain: Complain): void
}

/** Zod copies them when `.describe()` copies a schema. */
const MARKS = z.registry<{ readonly mark: unknown }>()

export function marked<T extends z.ZodType>(schema: T, mark: Mark): T {
  MARKS.add(schema, { mark })
  return schema
}

const ownMark = (schema: z.ZodType): Mark | undefined => MARKS.get(schema)?.mark as Mark | undefined

/** The schemas that a value may have, without what wraps them: `.optional()`, `.default()` and their like. */
function* formsOf(schema: z.ZodType): Generator<z.ZodType> {
  const { innerType } = schema.def as { readonly innerType?: z.ZodType }
  if (ownMark(schema)?.is === 'secret') yield schema
  else if (innerType !== undefined) yield* formsOf(innerType)
  else if (schema instanceof z.ZodUnion)
    for (const option of schema.options) yield* formsOf(option as z.ZodType)
  else if (schema instanceof z.ZodPipe) yield* formsOf(schema.in as z.ZodType)
  else yield schema
}

function memberOf(form: z.ZodType, step: PropertyKey): z.ZodType | undefined {
  if (form instanceof z.ZodObject && Object.hasOwn(form.shape, step))
    return form.shape[step as string]
  if (form instanceof z.ZodRecord) return form.valueType as z.ZodType
  return form instanceof z.ZodArray ? (form.element as z.ZodType) : undefined
}

function fits(form: z.ZodType, value: unknown): boolean {
  if (ownMark(form)?.is === 'secret') return true
  if (Array.isArray(value)) return form instanceof z.ZodArray
  if (isJsonObject(value)) return form instanceof z.ZodObject || form instanceof z.ZodRecord
  return typeof value === 'string' && form instanceof z.ZodString
}

/** What the setting itself is marked as. */
export function markOf(schema: z.ZodType): Mark | undefined {
  for (const form of formsOf(schema)) {
    const mark = ownMark(form)
    if (mark) return mark
  }
  return undefined
}

/**
 * The value with every marked value replaced by what `map` returns for it. `map` is only called for a mapping with a choice, which
 * then is mapped like any other. The value may have any shape: what its schema does not expect stays as it is.
 */
export function mapMarked<T>(
  schema: z.ZodType,
  value: T,
  map: (mark: Mark, value: unknown, path: Path) => unknown,
  path: Path = [],
): T {
  const form = [...formsOf(schema)].find((one) => fits(one, value))
  if (form === undefined) return value
  const mark = ownMark(form)
  if (mark !== undefined) {
    const mapped = map(mark, value, path)
    if (mark.is !== 'choice') return mapped as T
  }
  const inner = (member: unknown, step: PropertyKey): unknown => {
    const below = memberOf(form, step)
    return below === undefined ? member : mapMarked(below, member, map, [...path, step])
  }
  if (Array.isArray(value)) return value.map(inner) as T
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, inner(member, key)]),
  ) as T
}

/** The steps of `path` below the place of a secret; undefined if the path leads to none. */
export function stepsBelowSecret(schema: z.ZodType, path: Path): Path | undefined {
  const [step, ...rest] = path
  for (const form of formsOf(schema)) {
    if (ownMark(form)?.is === 'secret') return path
    // One value in the place of a list is written like its member, and may be a secret all the same.
    const isSingle = form instanceof z.ZodArray && typeof step !== 'number'
    const below = isSingle ? form.element : step === undefined ? undefined : memberOf(form, step)
    const steps = below && stepsBelowSecret(below as z.ZodType, isSingle ? path : rest)
    if (steps !== undefined) return steps
  }
  return undefined
}
