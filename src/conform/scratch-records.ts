// Scratch records of one object type: created, marked, found again and removed. Promises kept here: every record that a
// request of this run created is noted before anything else happens, and records with the marker are searched for at the
// end, even if the answer to a create was lost.

import type { Json } from '../core/json.ts'
import { isSuccess, answerText } from './expect.ts'
import { pageIn } from './pages.ts'
import { Broken, Unchecked } from './verdict.ts'
import type { ProbedRecord, ProbedProperty, Requests, ProbedType, RuleCall } from './types.ts'
import { kindOfProperty, valueFor } from './values.ts'
import { dataOf, fieldsOf, problemOf, type WireExchange } from './wire.ts'

export type BatchOperation = 'batchCreate' | 'batchUpdate' | 'batchUpsert' | 'batchDelete'
export type ScratchValues = Readonly<Record<string, Json>>

/** A scratch record as the service last returned it. */
export interface ScratchRecord extends ProbedRecord {
  /** The exchange that created it. */
  readonly exchange: WireExchange
}

export interface ScratchCleanup {
  readonly removed: number
  /** Ids of records that could not be removed. */
  readonly left: readonly string[]
  /** Why it is not certain that nothing else is left, or null. */
  readonly unsure: string | null
}

/** Creates that are tried until the service accepts the values. */
const ATTEMPTS_MAX = 5
const SEARCH_PAGES_MAX = 3

export interface ScratchContext extends Requests {
  readonly probe: { type(name: string): Promise<ProbedType>; forget(type: string): void }
  readonly options: { readonly wire: { extend(requests: number): void } }
  readonly signal: AbortSignal
  /** Removes a record; false if it is not certain that it is gone. */
  remove(type: string, id: string): Promise<boolean>
}

export class ScratchRecords {
  readonly typeName: string
  readonly marker: string
  /** Records to read: with every value, with other values, and with hardly any. */
  readonly prepared: ScratchRecord[] = []
  /** Why no scratch record could be created, or null. */
  failure: string | null = 'the run was stopped before'
  private readonly kit: ScratchContext
  private type: ProbedType | null = null
  private markerProperty: ProbedProperty | null = null
  private refused = new Set<string>()
  private count = 0
  private readonly made = new Set<string>()

  constructor(kit: ScratchContext, typeName: string, marker: string) {
    this.kit = kit
    this.typeName = typeName
    this.marker = marker
  }

  /** This object. @throws Unchecked if no scratch record could be created */
  ready(): this {
    if (this.failure === null) return this
    throw new Unchecked(`no scratch record of ${this.typeName} could be made: ${this.failure}`)
  }

  /** Finds out which values the service accepts, and creates the records that others are compared with. */
  async prepare(): Promise<void> {
    try {
      this.type = await this.kit.probe.type(this.typeName)
      this.markerProperty = this.chooseMarkerProperty()
      this.prepared.push(await this.makeFirst())
      this.prepared.push(await this.make(this.values()))
      this.prepared.push(await this.make(this.identity()))
      this.failure = null
    } catch (error) {
      if (!(error instanceof Unchecked)) throw error
      this.failure = error.message
    }
    this.kit.probe.forget(this.typeName)
  }

  /** Properties that accept a value of ours, without the one that carries the marker and without unique ones. */
  get usable(): readonly ProbedProperty[] {
    return this.writable().filter((property) => property !== this.mark && !property.isUnique)
  }

  /** The property that carries the marker: a text. */
  get mark(): ProbedProperty {
    return this.markerProperty!
  }

  /** A unique text property, by which upserts find their record; the marker's own if there is none. */
  get key(): ProbedProperty {
    return this.texts().find(({ isUnique }) => isUnique) ?? this.mark
  }

  /** A number that no record here has had. */
  next(): number {
    return (this.count += 1)
  }

  /** The values that mark a record and distinguish it from others, and nothing more. */
  identity(n = this.next()): ScratchValues {
    const unique = this.writable().filter(({ isUnique }) => isUnique)
    return this.valuesOf([this.mark, ...unique], n)
  }

  /** A value for every property that accepts one. */
  values(n = this.next()): ScratchValues {
    return this.valuesOf(this.writable(), n)
  }

  /** @throws Unchecked if it is not created */
  async make(properties: ScratchValues): Promise<ScratchRecord> {
    const exchange = await this.create(properties)
    const record = recordIn(exchange)
    if (isSuccess(exchange) && record) return { ...record, exchange }
    throw new Unchecked(`${exchange.line} was answered ${answerText(exchange)}`)
  }

  create(properties: ScratchValues): Promise<WireExchange> {
    const body = { data: { properties } }
    return this.kit.call({ operation: 'createRecord', objectType: this.typeName, body })
  }

  patch(id: string, properties: ScratchValues): Promise<WireExchange> {
    const body = { data: { properties } }
    const sent = `properties ${Object.keys(properties).join(', ')}`
    return this.kit.call({ operation: 'updateRecord', objectType: this.typeName, id, body, sent })
  }

  upsert(matchingProperty: string, properties: ScratchValues): Promise<WireExchange> {
    return this.kit.call(this.upsertOf(matchingProperty, properties))
  }

  /** A request for an upsert, not sent. */
  upsertOf(matchingProperty: string, properties: ScratchValues): RuleCall {
    const body = { data: { properties } }
    return { operation: 'upsertRecord', objectType: this.typeName, matchingProperty, body }
  }

  /** A request for a batch, not sent; upserts find their records by `key`. */
  batchOf(operation: BatchOperation, data: readonly object[], sent = ''): RuleCall {
    const key = operation === 'batchUpsert' ? { matchingProperty: this.key.name } : {}
    return { operation, objectType: this.typeName, ...key, body: { data }, sent }
  }

  read(id: string): Promise<WireExchange> {
    return this.kit.call({ operation: 'readRecord', objectType: this.typeName, id })
  }

  /** Notes a record that a request of this run created. */
  adopt(id: string): void {
    this.made.add(id)
  }

  /** Removes the created records and those with the marker. */
  async clear(): Promise<ScratchCleanup> {
    let unsure = await this.search()
    const ids = [...this.made]
    for (const id of ids) {
      if (await this.kit.remove(this.typeName, id)) this.made.delete(id)
    }
    // A record that is found again was not removed, whatever the answer said.
    if (ids.length > 0) unsure = (await this.search()) ?? unsure
    const left = [...this.made]
    return { removed: ids.length - left.length, left, unsure }
  }

  /** Searches for records with the marker. Returns why the result is not certain, or null. */
  private async search(): Promise<string | null> {
    const { markerProperty: property } = this
    if (!property) return null
    const op = ['starts_with', 'contains'].find((each) => property.operators.includes(each))
    const filter = op && { property: property.name, op, value: this.marker }
    const objectType = this.typeName
    try {
      let cursor: string | null = null
      for (let page = 0; page < SEARCH_PAGES_MAX; page += 1) {
        this.kit.options.wire.extend(1)
        const body: object = { ...(filter ? { filter } : {}), ...(cursor ? { cursor } : {}) }
        const found = pageIn(await this.kit.call({ operation: 'queryRecords', objectType, body }))
        for (const { id, properties } of found.records) {
          // The filter may let other records through: only those with the marker are ours.
          if (String(properties[property.name]).startsWith(this.marker)) this.made.add(id)
        }
        if (!found.hasMore || found.cursor === null) return null
        cursor = found.cursor
      }
      return `there are more than ${SEARCH_PAGES_MAX} pages of records to search for the marker`
    } catch (error) {
      const isOurs = error instanceof Unchecked || error instanceof Broken
      if (!isOurs && !this.kit.signal.aborted) throw error
      return 'the records that carry the marker could not be searched for'
    }
  }

  private writable(): ProbedProperty[] {
    return (this.type?.properties ?? []).filter(
      ({ writability, name }) => writability !== 'read_only' && !this.refused.has(name),
    )
  }

  private texts(): ProbedProperty[] {
    return this.writable().filter(
      (property) => !property.isMulti && kindOfProperty(property) === 'text',
    )
  }

  /** A text that can be searched, if there is one, and that is not unique, so that two records can hold the same value. */
  private chooseMarkerProperty(): ProbedProperty {
    const rank = ({ isUnique, writability, operators, field }: ProbedProperty) =>
      (operators.includes('starts_with') || operators.includes('contains') ? 8 : 0) +
      (isUnique ? 0 : 4) +
      (writability === 'writable' ? 2 : 0) +
      (field.sortable ? 1 : 0)
    const [first] = this.texts().toSorted((a, b) => rank(b) - rank(a))
    if (first) return first
    throw new Unchecked('it has no writable text property that could carry a marker')
  }

  private valuesOf(properties: readonly ProbedProperty[], n: number): ScratchValues {
    const entries = properties.map(
      (property) => [property.name, valueFor(property, this.marker, n)] as const,
    )
    const known = entries.filter((entry): entry is [string, Json] => entry[1] !== undefined)
    return Object.fromEntries(known)
  }

  /** The first record, with as many values as the service accepts. */
  private async makeFirst(): Promise<ScratchRecord> {
    for (let attempt = 1; ; attempt += 1) {
      const exchange = await this.create(this.values())
      const record = recordIn(exchange)
      if (isSuccess(exchange) && record) return { ...record, exchange }
      const names = attempt < ATTEMPTS_MAX ? this.complainedOf(exchange) : []
      if (names.length === 0) {
        throw new Unchecked(`${exchange.line} was answered ${answerText(exchange, true)}`)
      }
      for (const name of names) this.refused.add(name)
    }
  }

  /** The properties that a refusal points at; if it points at none, all except texts. */
  private complainedOf(exchange: WireExchange): string[] {
    const { field, errors } = problemOf(exchange)
    const list = Array.isArray(errors) ? errors : []
    const pointers = [field, ...list.map((each) => fieldsOf(each)['field'])]
    const pointed = pointers.flatMap((each) => (typeof each === 'string' ? each.split('/') : []))
    const names = this.writable().map(({ name }) => name)
    const others = this.writable().filter((property) => kindOfProperty(property) !== 'text')
    const complained = names.filter((name) => pointed.includes(name) && name !== this.mark.name)
    return complained.length > 0 ? complained : others.map(({ name }) => name)
  }
}

/** The ids of the records that a request created, according to its answer. */
export function createdIds(exchange: WireExchange): string[] {
  if (!isSuccess(exchange)) return []
  const { data, created } = problemOf(exchange)
  const ids = (() => {
    switch (exchange.operation) {
      case 'createRecord':
        return [idIn(data) ?? idOfLocation(exchange)]
      case 'upsertRecord':
        return created === true || exchange.status === 201 ? [idIn(data)] : []
      case 'batchCreate':
      case 'batchUpsert':
        return (Array.isArray(data) ? data : []).map((item: unknown) => {
          const { status, record } = fieldsOf(item)
          return status === 201 ? idIn(record) : undefined
        })
      default:
        return []
    }
  })()
  return ids.filter((id) => id !== undefined)
}

/** The record of an answer: the one record in it, or the one that a location names. */
export function recordIn(exchange: WireExchange): ProbedRecord | null {
  const data = dataOf(exchange)
  const id = idIn(data) ?? (exchange.status === 201 ? idOfLocation(exchange) : undefined)
  if (id === undefined) return null
  const properties = fieldsOf(fieldsOf(data)['properties'])
  return { id, properties: properties as ProbedRecord['properties'] }
}

function idIn(record: unknown): string | undefined {
  const { id } = fieldsOf(record)
  return typeof id === 'string' ? id : undefined
}

/** The last segment of the header `Location`. */
function idOfLocation({ headers }: WireExchange): string | undefined {
  return headers['location']?.split(/[?#]/)[0]?.split('/').findLast(Boolean)
}
