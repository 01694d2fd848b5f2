// What the service must hold: records and edges, worked out from what the documents say of each run, and compared with what it holds.

import assert from 'node:assert/strict'
import type { Json, Org } from '../index.ts'
import { isNumber, textOf } from '../json.ts'
import { TYPES, cardinalityOf } from './world.ts'

export interface Held {
  readonly id: string
  readonly type: string
  readonly properties: Readonly<Record<string, Json>>
}

export type Payload = Readonly<Record<string, Json>>

const edgeText = (association: string, source: string, target: string): string =>
  `${association} ${source} ${target}`

const PROPERTIES = ['code', 'name', 'size', 'status', 'note']

export class ServiceModel {
  readonly #org: Org
  readonly records = new Map<string, Held>()
  readonly edges = new Set<string>()

  constructor(org: Org) {
    this.#org = org
  }

  has = (id: string): boolean => this.records.has(id)

  withValue(type: string, property: 'code' | 'name', value: string): readonly Held[] {
    return [...this.records.values()].filter(
      (record) => record.type === type && record.properties[property] === value,
    )
  }

  ofKey(type: string, key: string): Held | undefined {
    return this.withValue(type, 'code', key)[0]
  }

  /** A record that the service must have made for a key: the only one that was not there before. */
  made(type: string, payload: Payload): string {
    const news = this.#org
      .list(type)
      .filter(({ id, properties }) => properties['code'] === payload['code'] && !this.has(id))
    assert.deepEqual([payload['code'], news.length], [payload['code'], 1])
    const { id } = news[0]!
    this.records.set(id, { id, type, properties: {} })
    this.write(id, payload)
    return id
  }

  write(id: string, payload: Payload): void {
    const record = this.records.get(id)!
    const properties = Object.entries({ ...record.properties, ...payload })
    this.records.set(id, {
      ...record,
      properties: Object.fromEntries(properties.filter(([, value]) => value !== null)),
    })
  }

  remove(id: string): void {
    this.records.delete(id)
    for (const edge of this.edges) if (edge.split(' ').includes(id, 1)) this.edges.delete(edge)
  }

  link(association: string, source: string, target: string): void {
    const cardinality = cardinalityOf(association)
    for (const edge of this.edges) {
      const [name, from, to] = edge.split(' ')
      if (name !== association) continue
      if (from === source && cardinality.endsWith('_to_one')) this.edges.delete(edge)
      if (to === target && cardinality.startsWith('one_')) this.edges.delete(edge)
    }
    this.edges.add(edgeText(association, source, target))
  }

  /** Whether the service has an edge. */
  isLinked = (association: string, source: string, target: string): boolean =>
    this.#org.edges.some(
      (edge) => edge.name === association && edge.source === source && edge.target === target,
    )

  /** When a record was changed last, ms, by the service's clock; what the service says of it is no claim of the product. */
  changedAt(type: string, id: string): number {
    return this.#org.record(type, id)?.updated ?? 0
  }

  newestChange(type: string): number {
    return Math.max(0, ...this.#org.list(type).map(({ updated }) => updated))
  }

  /** Takes a record as the service has it, where it may be as before or as sent. */
  adopt(type: string, key: string, forms: readonly (Payload | null)[]): string | null {
    const actual = this.#org.list(type).find(({ properties }) => properties['code'] === key)
    const known = this.ofKey(type, key)
    const shown = actual ? this.#own(actual.properties) : null
    const texts = forms.map((form) => form && JSON.stringify(sorted(withoutNulls(form))))
    assert.ok(texts.includes(shown && JSON.stringify(sorted(shown))))
    if (!actual) return null
    if (known) this.write(known.id, shown!)
    else return this.made(type, shown!)
    return known.id
  }

  #own = (properties: Readonly<Record<string, Json>>): Payload =>
    Object.fromEntries(
      PROPERTIES.flatMap((name) =>
        properties[name] == null ? [] : [[name, plain(properties[name])]],
      ),
    )

  /** Fails unless the service holds exactly this. */
  check(when: string): void {
    const lines = (records: Iterable<Held>) =>
      [...records]
        .map(
          ({ id, type, properties }) =>
            `${type} ${id} ${JSON.stringify(sorted(this.#own(properties)))}`,
        )
        .toSorted()
    const actual = TYPES.flatMap((type) => [...this.#org.list(type)])
    assert.deepEqual(
      { when, records: lines(actual) },
      {
        when,
        records: lines(this.records.values()),
      },
    )
    const edges = this.#org.edges.map(({ name, source, target }) => edgeText(name, source, target))
    assert.deepEqual({ when, edges: edges.toSorted() }, { when, edges: [...this.edges].toSorted() })
  }
}

const sorted = (payload: Payload): Payload =>
  Object.fromEntries(Object.entries(payload).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const plain = (value: Json): Json => (isNumber(value) ? Number(textOf(value)) : value)

const withoutNulls = (payload: Payload): Payload =>
  Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== null))
