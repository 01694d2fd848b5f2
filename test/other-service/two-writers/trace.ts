// What happened at the service, in its order: what was looked up and what was shown, what was sent and what was carried out, and what each
// writer changed. It is the ground of the model: with it, nothing is left to chance.

import type { Json, Org, OtherService, Rec, Seen } from '../index.ts'
import { isNumber, textOf } from '../json.ts'
import { MODIFYING } from '../oracle/killer.ts'
import type { Payload } from '../oracle/service-model.ts'
import { watchOrg, Writers } from '../watch-org.ts'

/** A record as it was at a time. */
export interface Version {
  readonly id: string
  readonly values: Payload
  readonly updated: number
}

export type ItemResult = 'created' | 'updated' | 'deleted' | 'refused' | 'taken' | 'missing'

export interface SentItem {
  readonly id: string | null
  readonly properties: Payload
  /** Null: it was not carried out. */
  result: ItemResult | null
  recordId: string | null
  /** The key that the record has then. */
  key: string | null
  /** Whether it alone was answered 500 or 503, carried out or not. */
  isFailed: boolean
}

/** Keys, or an id, that were asked for, and the records that were shown. */
export interface Look {
  readonly kind: 'look'
  readonly keys: ReadonlySet<string>
  readonly id: string | null
  /** By key, and by id. */
  readonly shown: ReadonlyMap<string, Version>
  readonly seen: Seen
}

export interface Send {
  readonly kind: 'send'
  readonly action: 'create' | 'update' | 'upsert' | 'delete'
  readonly items: readonly SentItem[]
  readonly seen: Seen
  isCarriedOut: boolean
}

export interface Edit {
  readonly kind: 'edit'
  readonly by: 'us' | 'others'
  readonly id: string
  readonly before: Version | null
  readonly after: Version | null
  /** The request, if it is ours. */
  readonly send: Send | null
}

export interface Mark {
  readonly kind: 'mark'
  readonly name: string
}

export type TraceEvent = Look | Send | Edit | Mark

const ACTION = /^(?:batch)?(create|update|upsert|delete)(?:Record)?$/i
const PROPERTIES = ['code', 'name', 'size', 'status', 'note']

export const plain = (value: Json): Json => (isNumber(value) ? Number(textOf(value)) : value)

const plainOf = (values: Readonly<Record<string, Json>>): Payload =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value === undefined ? null : plain(value),
    ]),
  )

const versionOf = ({ id, properties, updated }: Rec): Version => ({
  id,
  updated,
  values: Object.fromEntries(
    PROPERTIES.flatMap((name) =>
      properties[name] == null ? [] : [[name, plain(properties[name])]],
    ),
  ),
})

/** All texts in a filter. */
function textsOf(json: unknown): string[] {
  if (typeof json === 'string') return [json]
  return json !== null && typeof json === 'object' ? Object.values(json).flatMap(textsOf) : []
}

export class Trace {
  readonly #org: Org
  readonly #type: string
  readonly #refused: string
  readonly events: TraceEvent[] = []
  readonly #writers = new Writers()
  #ours: Edit[] = []
  readonly #open = new Map<Seen, Send>()

  constructor(service: OtherService, type: string, refused: string) {
    this.#org = service.org
    this.#type = type
    this.#refused = refused
    const find = (id: string) => {
      const record = this.#org.record(type, id)
      return record ? versionOf(record) : null
    }
    watchOrg(this.#org, find, (id, before, after) => {
      const { by } = this.#writers
      const edit: Edit = { kind: 'edit', by, id, before, after, send: null }
      if (by === 'others') this.events.push(edit)
      else this.#ours.push(edit)
    })
    service.hold((seen) => this.#arrives(seen), { when: 'before' })
    service.hold((seen) => this.#isDone(seen), { when: 'after' })
  }

  mark(name: string): void {
    this.events.push({ kind: 'mark', name })
  }

  /** The service was killed: what it had not answered by then has shown nothing. */
  died(): void {
    for (const [index, event] of this.events.entries())
      if (event.kind === 'look' && event.seen.fault === 'killed')
        this.events[index] = { kind: 'mark', name: 'not shown' }
    this.mark('service killed')
  }

  get length(): number {
    return this.events.length
  }

  /** Another writer works. */
  others<Result>(work: () => Result): Result {
    return this.#writers.others(work)
  }

  /** The records of now. */
  records(): readonly Version[] {
    return this.#org.list(this.#type).map(versionOf)
  }

  #arrives(seen: Seen): false {
    const action = ACTION.exec(seen.operation)?.[1]?.toLowerCase() as Send['action'] | undefined
    if (action === undefined || !MODIFYING.test(seen.operation)) return false
    const { body, path } = seen
    const id = /\/records\/([^/]+)\/?$/.exec(path)?.[1] ?? null
    const given = Array.isArray(body['data'])
      ? (body['data'] as { id?: string; properties?: Payload }[])
      : [{ ...(id !== null && { id }), ...(body['data'] as { properties?: Payload } | undefined) }]
    const items = given.map((one): SentItem => {
      const properties = plainOf(one.properties ?? {})
      return {
        id: one.id ?? null,
        properties,
        result: null,
        recordId: null,
        key: null,
        isFailed: false,
      }
    })
    const send: Send = { kind: 'send', action, items, seen, isCarriedOut: false }
    this.#open.set(seen, send)
    this.events.push(send)
    return false
  }

  /** Called in the tick in which the request was carried out. */
  #isDone(seen: Seen): false {
    const send = this.#open.get(seen)
    if (send) this.#carriedOut(send)
    else if (seen.fault === null) this.#shown(seen)
    return false
  }

  #carriedOut(send: Send): void {
    send.isCarriedOut = true
    const edits = this.#ours
    this.#ours = []
    for (const edit of edits) this.events.push({ ...edit, send })
    for (const [index, item] of send.items.entries()) {
      item.isFailed = send.seen.failed.includes(index)
      const { id, properties } = item
      const isRefused = Object.values(properties).includes(this.#refused)
      const code = properties['code']
      const own = edits.find(({ id: one, before, after }) =>
        id === null ? (after ?? before)!.values['code'] === code : one === id,
      )
      const there =
        id === null
          ? this.records().find(({ values }) => values['code'] === code)
          : this.records().find((one) => one.id === id)
      item.recordId = own?.id ?? there?.id ?? null
      const found = own?.after ?? there
      item.key = found ? String(found.values['code']) : null
      if (send.action === 'delete') item.result = own ? 'deleted' : 'missing'
      else if (own) item.result = own.before === null ? 'created' : 'updated'
      else if (isRefused) item.result = 'refused'
      else if (send.action === 'create') item.result = 'taken'
      else item.result = there ? 'updated' : 'missing'
    }
  }

  #shown(seen: Seen): void {
    const { operation, path, body } = seen
    const records = this.records()
    if (operation === 'readRecord') {
      const id = /\/records\/([^/]+)\/?$/.exec(path)?.[1] ?? ''
      const record = records.find((one) => one.id === id)
      const shown = new Map(record ? [[id, record]] : [])
      this.events.push({ kind: 'look', keys: new Set(), id, shown, seen })
    } else if (operation === 'queryRecords') {
      const keys = new Set(textsOf(body['filter']))
      const shown = new Map(
        records.flatMap((record) => {
          const code = String(record.values['code'])
          return keys.has(code) ? [[code, record] as const] : []
        }),
      )
      this.events.push({ kind: 'look', keys, id: null, shown, seen })
    }
  }
}
