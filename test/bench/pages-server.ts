// The service of the mirror's benchmark, alone in a process: the shapes of the Records Service without its work. Record i is
// a function of i, made i seconds after the first; a control request says which were changed since, and which are gone.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FilterNode, QueryBody } from '../../src/contract/index.ts'
import { CONTACT, typeAnswer } from './type-answers.ts'

const CREATED = 'svc_created_at'
const UPDATED = 'svc_updated_at'
const FIRST_MS = Date.UTC(2026, 0, 1)
/** Records repeat after so many but for what is their own. */
const KINDS = 1_000
const NAMES = ['Ada', 'Bela', 'Chiara', 'Dmitri', 'Elif', 'Farid', 'Greta', 'Hugo', 'Ines', 'Jonas']
const STAGES = ['subscriber', 'lead', 'opportunity', 'customer', 'former']

/** What a control request sets. */
export interface Control {
  /** Indexes of records; each was changed a second after the one before it, an hour after the last record was made. */
  readonly changed: readonly number[]
  readonly deleted: readonly number[]
}

/** A listing: positions in an order of records, `[from, to)`. */
interface Span {
  readonly by: typeof CREATED | typeof UPDATED
  from: number
  to: number
  readonly descending: boolean
}

/** An answer that is no success: its status and its problem. */
class Refusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.status = status
    this.code = code
  }
}

class Records {
  readonly #count: number
  readonly #changedMs: number
  #changed: readonly number[] = []
  #changedAt = new Map<number, number>()
  #deleted = new Set<number>()

  constructor(count: number) {
    this.#count = count
    this.#changedMs = FIRST_MS + (count + 3_600) * 1_000
  }

  set({ changed, deleted }: Control): void {
    this.#changed = changed
    this.#changedAt = new Map(changed.map((index, turn) => [index, this.#changedMs + turn * 1_000]))
    this.#deleted = new Set(deleted)
  }

  /** The span of a filter and a sort by one of the two times. */
  span({ filter, sorts }: Pick<QueryBody, 'filter' | 'sorts'>): Span {
    const leaves = leavesOf(filter ?? null)
    const [sort] = sorts ?? []
    const by = sort?.property ?? leaves[0]?.property ?? CREATED
    if ((by !== CREATED && by !== UPDATED) || leaves.some(({ property }) => property !== by))
      throw new Refusal(422, 'request_invalid', `one of ${CREATED}, ${UPDATED} was expected`)
    const extra = by === UPDATED ? this.#changed.length : 0
    const span = {
      by,
      from: 0,
      to: this.#count + extra,
      descending: sort?.direction === 'desc',
    } satisfies Span
    for (const { op, value } of leaves) {
      if (op === 'is_null') {
        if (value === true) span.to = 0
      } else {
        const ms = Date.parse(String(value)) + (op === 'gt' || op === 'lte' ? 1 : 0)
        const at = this.#firstFrom(ms, extra)
        if (op === 'gte' || op === 'gt') span.from = Math.max(span.from, at)
        else if (op === 'lt' || op === 'lte') span.to = Math.min(span.to, at)
        else throw new Refusal(422, 'request_invalid', 'gt, gte, lt, lte or is_null was expected')
      }
    }
    return span
  }

  /** The first position of a time or a later one. */
  #firstFrom(ms: number, extra: number): number {
    const at = Math.max(0, Math.ceil((ms - FIRST_MS) / 1_000))
    if (at < this.#count) return at
    const late = Math.max(0, Math.ceil((ms - this.#changedMs) / 1_000))
    return this.#count + Math.min(extra, late)
  }

  /** The record at a position, or null where there is none any more. */
  #at(by: Span['by'], position: number): number | null {
    const isMoved = position >= this.#count
    const index = isMoved ? this.#changed[position - this.#count]! : position
    if (this.#deleted.has(index)) return null
    return by === UPDATED && !isMoved && this.#changedAt.has(index) ? null : index
  }

  countOf({ by, from, to }: Span): number {
    const gone = new Set([...this.#deleted, ...(by === UPDATED ? this.#changed : [])])
    let count = Math.max(0, to - from)
    for (const index of gone) if (index >= from && index < Math.min(to, this.#count)) count--
    for (let position = Math.max(from, this.#count); position < to; position++)
      if (this.#at(by, position) === null) count--
    return count
  }

  /** The records of a page, and what is left of the span. */
  page(span: Span, limit: number): { records: Buffer[]; rest: Span | null } {
    const { by, descending } = span
    let { from, to } = span
    const page: Buffer[] = []
    while (from < to && page.length < limit) {
      const index = this.#at(by, descending ? --to : from++)
      if (index !== null) page.push(this.json(index))
    }
    return { records: page, rest: from < to ? { by, from, to, descending } : null }
  }

  /** The index of an id; null where there is none. */
  indexOf(id: string): number | null {
    const index = Number(/^rec_bench_(\d{8})$/.exec(id)?.[1] ?? NaN) - 1
    return index >= 0 && index < this.#count && !this.#deleted.has(index) ? index : null
  }

  /** A record as JSON: all properties of a contact. */
  json(index: number): Buffer {
    const n = String(100_000_001 + index).slice(1)
    const created = timeAt(FIRST_MS + index * 1_000)
    const changedMs = this.#changedAt.get(index)
    if (changedMs === undefined) return filled(index % KINDS, n, created)
    const own = { n, created, updated: timeAt(changedMs), title: 'Head of Sales' }
    return Buffer.from(textOf(index % KINDS, own))
  }
}

const timeAt = (ms: number): string => new Date(ms).toISOString()

interface Own {
  /** Eight digits. */
  readonly n: string
  readonly created: string
  readonly updated: string
  readonly title: string
}

function textOf(kind: number, { n, created, updated, title }: Own): string {
  const day = String((kind % 28) + 1).padStart(2, '0')
  const properties = {
    svc_external_id: `K-${n}`,
    svc_first_name: NAMES[kind % 10]!,
    svc_last_name: `Number ${kind}`,
    svc_job_title: title,
    svc_email: [`person.${n}@example.com`],
    svc_phone: [`+49 30 ${n}`],
    svc_website: `https://example.com/${kind}`,
    svc_notes: `A note about contact ${n}, as long as people write them`,
    svc_score: kind / 10,
    svc_birthday: `1980-01-${day}`,
    svc_last_contacted_at: `2025-12-${day}T08:00:00.000Z`,
    svc_lifecycle_stage: STAGES[kind % 5]!,
    svc_tags: ['customer'],
    svc_lifetime_value: { amount: `${kind * 10}.5`, unit: 'EUR' },
    svc_subscribed: kind % 2 === 0,
    svc_owner: null,
    svc_source: 'bench',
    [CREATED]: created,
    [UPDATED]: updated,
    svc_created_by: 'usr_admin',
    svc_private: null,
  }
  return JSON.stringify({ id: `rec_bench_${n}`, object_type: CONTACT, properties })
}

/** The bytes of each kind, with the places where what is its own comes in. */
const HOLES = { n: '########', created: timeAt(0), updated: timeAt(0), title: 'Engineer' }
const FORMS = Array.from({ length: KINDS }, (_, kind) => {
  const bytes = Buffer.from(textOf(kind, HOLES))
  return { bytes, numbers: placesOf(bytes, HOLES.n), times: placesOf(bytes, HOLES.created) }
})

function placesOf(bytes: Buffer, hole: string): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(hole); at >= 0; at = bytes.indexOf(hole, at + 1)) places.push(at)
  return places
}

/** As `sourceCellText`, without the work. */
function filled(kind: number, n: string, time: string): Buffer {
  const { bytes, numbers, times } = FORMS[kind]!
  const copy = Buffer.allocUnsafe(bytes.length)
  copy.set(bytes)
  for (const at of numbers) put(copy, at, n)
  for (const at of times) put(copy, at, time)
  return copy
}

function put(bytes: Buffer, at: number, text: string): void {
  for (let place = 0; place < text.length; place++) bytes[at + place] = text.charCodeAt(place)
}

function leavesOf(filter: FilterNode | null): Extract<FilterNode, { property: string }>[] {
  if (filter === null) return []
  if ('property' in filter) return [filter]
  if ('$and' in filter) return filter.$and.flatMap(leavesOf)
  throw new Refusal(422, 'request_invalid', 'a filter without $or was expected')
}

/** Only the named properties of a record. */
function chosen(json: Buffer, names: readonly string[]): Buffer {
  const record = JSON.parse(json.toString()) as { properties: Record<string, unknown> }
  const properties = Object.fromEntries(names.map((name) => [name, record.properties[name]]))
  return Buffer.from(JSON.stringify({ ...record, properties }))
}

const COMMA = Buffer.from(',')

function query(records: Records, body: QueryBody): Buffer {
  const span = body.cursor
    ? (JSON.parse(Buffer.from(body.cursor, 'base64url').toString()) as Span)
    : records.span(body)
  const { records: page, rest } = records.page(span, body.limit ?? 100)
  const { properties } = body
  const data = properties ? page.map((json) => chosen(json, properties)) : page
  const cursor = rest && Buffer.from(JSON.stringify(rest)).toString('base64url')
  const pagination = JSON.stringify({ has_more: rest !== null, next_cursor: cursor })
  return Buffer.concat([
    Buffer.from('{"data":['),
    ...data.flatMap((json, index) => (index === 0 ? [json] : [COMMA, json])),
    Buffer.from(`],"pagination":${pagination}}`),
  ])
}

/** What a request below `/rest/v1` is answered. @throws Refusal */
function answer(records: Records, request: string, body: string): Buffer {
  const ofRecord = new RegExp(`^GET /objects/${CONTACT}/records/([^/]+)/$`).exec(request)
  if (ofRecord) {
    const index = records.indexOf(ofRecord[1]!)
    if (index === null) throw new Refusal(404, 'not_found', 'there is no such record')
    return Buffer.from(`{"data":${records.json(index).toString()}}`)
  }
  const data = (value: unknown) => Buffer.from(JSON.stringify({ data: value }))
  switch (request) {
    case `POST /objects/${CONTACT}/records/query/`:
      return query(records, JSON.parse(body) as QueryBody)
    case `POST /objects/${CONTACT}/records/aggregate/`: {
      const value = records.countOf(records.span(JSON.parse(body) as QueryBody))
      return data({ total_groups: 1, results: [{ group_by: {}, value }], has_more: false })
    }
    default: {
      const types = typeAnswer(request)
      if (types === undefined) throw new Refusal(404, 'not_found', 'there is no such operation')
      return data(types)
    }
  }
}

function send(response: ServerResponse, status: number, bytes: Buffer): void {
  const unlimited = '1000000000'
  response.writeHead(status, {
    'content-type': status === 200 ? 'application/json' : 'application/problem+json',
    'content-length': bytes.length,
    'cache-control': 'no-store',
    'ratelimit-limit': unlimited,
    'ratelimit-remaining': unlimited,
    'svc-request-id': 'req_bench',
  })
  response.end(bytes)
}

const records = new Records(Number(process.argv[2]))
let requests = 0

function respond(request: IncomingMessage, response: ServerResponse, body: string): void {
  if (request.url === '/control/') {
    if (request.method === 'POST') records.set(JSON.parse(body) as Control)
    return send(response, 200, Buffer.from(JSON.stringify({ requests })))
  }
  requests++
  try {
    const path = request.url!.replace(/^\/rest\/v1/, '')
    send(response, 200, answer(records, `${request.method} ${path}`, body))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { status, code, message: detail } = error
    const problem = { type: `about:blank#${code}`, title: code, status, code, detail }
    send(response, status, Buffer.from(JSON.stringify(problem)))
  }
}

const server = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => {
    body += chunk.toString()
  })
  request.on('end', () => respond(request, response, body))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
// It ends with whoever started it.
process.stdin.resume().once('end', () => process.exit())
