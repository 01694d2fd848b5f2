// The records of one org. Written properties, the service's own two times, and a place in the order of creation.

import type { Habits, Naming, Values } from './habits.ts'
import { isObject, isNumber, textOf } from './json.ts'
import type { Json } from './json.ts'
import { comparable, fault, formatInstant, stored } from './kinds.ts'
import { Refusal, wrong } from './refusal.ts'
import type { FieldError } from './refusal.ts'
import { systemProperties } from './types.ts'
import type { AssociationDef, PropertyDef, TypeDef } from './types.ts'

export interface Rec {
  readonly id: string
  readonly seq: number
  readonly type: string
  readonly properties: Values
  readonly updated: number
}

export interface Edge {
  readonly name: string
  readonly source: string
  readonly target: string
}

export type Snapshot = readonly [readonly Rec[], readonly Edge[]]

export interface OrgOptions {
  readonly id: number
  readonly types: readonly TypeDef[]
  readonly associations: readonly AssociationDef[]
}

/** `['v']` for `'v'` and for `['v']`. */
export const valuesOf = (value: Json | undefined): readonly Json[] =>
  value == null ? [] : Array.isArray(value) ? value : [value as Json]

export class Org {
  readonly id: number
  readonly associations: readonly AssociationDef[]
  /** Grows with each change; what was worked out for a version holds for it. */
  version = 0
  edges: Edge[] = []
  readonly #types: Map<string, TypeDef>
  readonly #naming: Naming
  readonly #habits: () => Habits
  readonly #now: () => number
  #records = new Map<string, Rec>()
  #lists = new Map<string, Rec[]>()
  #indexes = new Map<string, Map<string, Set<string>>>()
  #seq = 0

  constructor(options: OrgOptions, naming: Naming, habits: () => Habits, now: () => number) {
    this.id = options.id
    this.associations = options.associations
    this.#naming = naming
    this.#habits = habits
    this.#now = now
    this.#types = new Map(options.types.map((type) => [type.name, type]))
  }

  types(): readonly TypeDef[] {
    return [...this.#types.values()]
  }

  type(name: string): TypeDef | undefined {
    return this.#types.get(name)
  }

  defineType(type: TypeDef): void {
    this.#types.set(type.name, type)
    this.version++
  }

  /** The service's own properties, then the type's. */
  propertiesOf(type: TypeDef): readonly PropertyDef[] {
    return [...systemProperties(this.#naming), ...type.properties]
  }

  property(type: TypeDef, name: string): PropertyDef | undefined {
    return this.propertiesOf(type).find((property) => property.name === name)
  }

  record(type: string, id: string): Rec | undefined {
    const record = this.#records.get(id)
    return record?.type === type ? record : undefined
  }

  /** In the order of creation. */
  list(type: string): readonly Rec[] {
    return this.#lists.get(type) ?? []
  }

  /** What a client may write: a value for each property, null clears it. */
  checked(type: TypeDef, written: Values, before: Rec | undefined): Values {
    const errors: FieldError[] = []
    const checked: [string, Json][] = []
    for (const [name, value] of Object.entries(written)) {
      const field = `/data/properties/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const refuse = (detail: string, reason = 'schema_invalid') =>
        errors.push({ field, detail, reason })
      const property = this.property(type, name)
      const had = before?.properties[name]
      if (!property) refuse('there is no such property', 'unknown_property')
      else if (value !== null && value === this.#habits().refusesText) refuse('it is not taken')
      else if (property.writability === 'read_only') refuse('the property is read only')
      else if (value === null) {
        if (property.writability === 'create_only' && had != null) refuse('it is set only once')
        else checked.push([name, null])
      } else if (property.multi ? !Array.isArray(value) : Array.isArray(value)) {
        refuse(property.multi ? 'a list is expected' : 'one value is expected')
      } else {
        const wrongs = valuesOf(value).map((one) => fault(one, property))
        const first = wrongs.find((one) => one !== null)
        if (first) refuse(first)
        else {
          const put = valuesOf(value).map((one) => stored(one, property.kind, this.#habits()))
          const next: Json = property.multi ? put : put[0]!
          if (property.writability === 'create_only' && had != null && !isSame(had, next)) {
            refuse('it is set only once')
          } else checked.push([name, property.multi && put.length === 0 ? null : next])
        }
      }
    }
    if (errors.length === 0) return Object.fromEntries(checked)
    const [{ detail, field }] = errors as [FieldError]
    throw new Refusal(422, 'request_invalid', detail, {
      reason: 'schema_invalid',
      field,
      ...(errors.length > 1 && { errors }),
    })
  }

  create(type: TypeDef, written: Values): Rec {
    const values = this.checked(type, written, undefined)
    this.#claim(type, values, undefined)
    return this.put(type.name, values)
  }

  /** The record as it is after the write; the same object where nothing changed. */
  update(type: TypeDef, record: Rec, written: Values): Rec {
    const values = this.checked(type, written, record)
    const changed = Object.entries(values).filter(
      ([name, value]) => !isSame(record.properties[name] ?? null, value),
    )
    if (changed.length === 0) return record
    this.#claim(type, Object.fromEntries(changed), record)
    return this.change(record.id, Object.fromEntries(changed))
  }

  /** A value as it would be stored; as it is where it does not fit. */
  normalised({ kind, options = [] }: PropertyDef, value: Json): readonly Json[] {
    return valuesOf(value).map((one) =>
      fault(one, { kind, options }) === null ? stored(one, kind, this.#habits()) : one,
    )
  }

  /** The records that have one of the values. */
  matches(type: string, property: string, value: Json): readonly Rec[] {
    const index = this.#index(type, property)
    const ids = new Set(valuesOf(value).flatMap((one) => [...(index.get(this.#keyOf(one)) ?? [])]))
    return [...ids].map((id) => this.#records.get(id)!)
  }

  // What a test may do: anything, without a check.

  put(type: string, values: Values, { id, updated }: { id?: string; updated?: number } = {}): Rec {
    const seq = ++this.#seq
    const now = this.#now()
    const at = updated ?? now
    const prefix = this.#naming.prefix
    const record: Rec = {
      id: id ?? `${type.replace(prefix, '').slice(0, 3)}_${this.id}_${seq}`,
      seq,
      type,
      updated: at,
      properties: {
        [`${prefix}created_at`]: formatInstant(at, this.#habits()),
        [`${prefix}updated_at`]: formatInstant(at, this.#habits()),
        ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)),
      },
    }
    this.#take(record)
    return record
  }

  change(id: string, values: Values, updated = this.#now()): Rec {
    const before = this.#records.get(id)
    if (!before) throw new Error(`there is no record ${id}`)
    const next = {
      ...before.properties,
      [`${this.#naming.prefix}updated_at`]: formatInstant(updated, this.#habits()),
      ...values,
    }
    const record: Rec = {
      ...before,
      updated,
      properties: Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null)),
    }
    this.#indexOut(before)
    this.#records.set(id, record)
    const list = this.#lists.get(record.type)!
    list[placeOf(list, before)] = record
    this.#indexIn(record)
    this.version++
    return record
  }

  remove(id: string): void {
    const record = this.#records.get(id)
    if (!record) return
    this.#indexOut(record)
    this.#records.delete(id)
    this.#lists.set(
      record.type,
      this.list(record.type).filter((one) => one !== record),
    )
    this.edges = this.edges.filter((edge) => edge.source !== id && edge.target !== id)
    this.version++
  }

  snapshot(): Snapshot {
    return [[...this.#records.values()], [...this.edges]]
  }

  restore([records, edges]: Snapshot): void {
    this.#records = new Map()
    this.#lists = new Map()
    this.#indexes = new Map()
    for (const record of records.toSorted((a, b) => a.seq - b.seq)) this.#take(record)
    this.edges = [...edges]
    // Also where nothing is put back.
    this.version++
  }

  #take(record: Rec): void {
    this.#records.set(record.id, record)
    const list = this.#lists.get(record.type)
    if (list) list.push(record)
    else this.#lists.set(record.type, [record])
    this.#indexIn(record)
    this.version++
  }

  /** Unique values belong to one record. */
  #claim(type: TypeDef, values: Values, self: Rec | undefined): void {
    for (const { name, unique } of type.properties) {
      const value = values[name]
      if (!unique || value == null) continue
      if (this.matches(type.name, name, value).some((record) => record.id !== self?.id)) {
        throw new Refusal(409, 'conflict', `another record has this ${name}`, {
          reason: 'unique_violation',
          field: `/data/properties/${name}`,
        })
      }
    }
  }

  #keyOf(value: Json): string {
    if (typeof value === 'string') return `s${comparable(value, this.#habits())}`
    return isNumber(value) ? `n${textOf(value)}` : `j${JSON.stringify(value)}`
  }

  #index(type: string, property: string): Map<string, Set<string>> {
    const name = [type, property, this.#habits().matching].join('\n')
    let index = this.#indexes.get(name)
    if (!index) {
      index = new Map()
      this.#indexes.set(name, index)
      for (const record of this.list(type)) this.#add(index, record, property)
    }
    return index
  }

  #add(index: Map<string, Set<string>>, record: Rec, property: string): void {
    for (const value of valuesOf(record.properties[property])) {
      const key = this.#keyOf(value)
      index.set(key, (index.get(key) ?? new Set()).add(record.id))
    }
  }

  #indexIn(record: Rec): void {
    for (const [name, index] of this.#current(record)) this.#add(index, record, name)
  }

  #indexOut(record: Rec): void {
    for (const [name, index] of this.#current(record)) {
      for (const value of valuesOf(record.properties[name])) {
        index.get(this.#keyOf(value))?.delete(record.id)
      }
    }
  }

  /** The indexes that are kept; those of another way to compare are made anew when they are asked for. */
  *#current(record: Rec): Iterable<[string, Map<string, Set<string>>]> {
    for (const [name, index] of this.#indexes) {
      const [type, property, matching] = name.split('\n') as [string, string, string]
      if (matching !== this.#habits().matching) this.#indexes.delete(name)
      else if (type === record.type) yield [property, index]
    }
  }
}

/** The lists are in the order of `seq`. */
function placeOf(list: readonly Rec[], { seq }: Rec): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (list[middle]!.seq >= seq) high = middle
    else low = middle + 1
  }
  return low
}

export function isSame(a: Json, b: Json): boolean {
  if (isNumber(a) && isNumber(b)) return textOf(a) === textOf(b)
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, index) => isSame(one as Json, b[index] as Json))
  }
  if (isObject(a) && isObject(b)) {
    const names = Object.keys(a)
    return (
      names.length === Object.keys(b).length &&
      names.every((name) => b[name] !== undefined && isSame(a[name]!, b[name]))
    )
  }
  return a === b
}

/** The one record that an upsert is about; undefined where it makes a new one. */
export function upsertTarget(
  org: Org,
  type: TypeDef,
  property: string,
  values: Values,
): Rec | undefined {
  const definition = org.property(type, property)
  const value = values[property]
  if (!definition || value == null) {
    throw wrong(
      'invalid_matching_property',
      'the matching property is not in the body, or there is none of this name',
    )
  }
  const found = org.matches(type.name, property, org.normalised(definition, value))
  if (found.length > 1) {
    throw new Refusal(409, 'conflict', 'the value matches more than one record', {
      reason: 'ambiguous_match',
    })
  }
  return found[0]
}
