// The door: which operation a request is, who sends it, and what goes wrong with it on the way.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { documentOf, routesOf } from './document.ts'
import type { Route } from './document.ts'
import { Fate, PUBLIC, fail, isCarriedOut } from './faults.ts'
import { DEFAULT_HABITS, DEFAULT_NAMING, randoms } from './habits.ts'
import type { Fault, Habits, Naming, Values } from './habits.ts'
import { format, isObject, parse } from './json.ts'
import type { JsonObject } from './json.ts'
import { Limiter } from './limits.ts'
import { OPERATIONS } from './operations.ts'
import type { Answer } from './operations.ts'
import { Pages } from './reads.ts'
import { Refusal, malformed, notFound } from './refusal.ts'
import { Org } from './store.ts'
import type { Rec } from './store.ts'
import { usualAssociations, usualTypes } from './types.ts'
import type { AssociationDef, Key, TypeDef } from './types.ts'

export interface OtherServiceOptions extends Partial<Habits>, Partial<Naming> {
  /** Decides what is left to chance. */
  readonly seed?: number
  readonly port?: number
  readonly host?: string
  /** Default: those of a CRM as it is delivered. */
  readonly types?: readonly TypeDef[]
  readonly associations?: readonly AssociationDef[]
  readonly key?: string
  /** Of the first org. Default 1. */
  readonly orgId?: number
  readonly now?: () => number
  /** In place of a port of this machine: a network of the test's own. */
  readonly listener?: Listener
}

export interface Listener {
  readonly url: string
  listen(server: Server): void
  /** Nobody listens there any more, and every connection is torn. */
  close(): void
}

export interface Seen {
  readonly n: number
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly type: string | null
  readonly org: number | null
  readonly body: JsonObject
  readonly failed: number[]
  /** Null while it is under way, and where the connection was ended without an answer. */
  status: number | null
  fault: Fault | null
}

export interface Hold {
  /** Resolves when as many requests wait as were asked for. */
  readonly arrived: Promise<void>
  /** How many wait. */
  waiting(): number
  /** Lets them go, and all that follow. */
  open(): void
}

export interface OtherService {
  readonly url: string
  /** A key that reads and writes everything of the first org. */
  readonly key: string
  readonly naming: Naming
  /** The first org. */
  readonly org: Org
  /** Every request, in the order of arrival. */
  readonly seen: readonly Seen[]
  /** Name with the prefix: `name('contact')` is `acme_contact`. */
  name(word: string): string
  set(habits: Partial<Habits>): void
  addOrg(id: number, types?: readonly TypeDef[]): Org
  addKey(key: string, more?: Partial<Omit<Key, 'key' | 'hidden'>>): Key
  revoke(key: string): void
  hideType(key: string, type: string): void
  showType(key: string, type: string): void
  /** Stores records, without a check and without a request. */
  fill(type: string, records: readonly Values[], updated?: number): readonly Rec[]
  records(type: string): readonly Rec[]
  count(type: string): number
  stats(): { readonly requests: number; readonly refused: number }
  /** How many requests of an operation were seen. */
  asked(operation: string): number
  /** Requests for which `which` says yes wait, before they are carried out or before they are answered. */
  hold(
    which: (seen: Seen) => boolean,
    options?: { readonly when?: 'before' | 'after'; readonly count?: number },
  ): Hold
  forgetRequests(): void
  /**
   * Ends it as SIGKILL would: every connection is torn, its port is closed, and a request that was not carried out never will be.
   * What was carried out is kept.
   */
  kill(): void
  /** Starts it again after a kill, on its data, at the same port. */
  restart(): Promise<void>
  close(): Promise<void>
}

const BODY_MAX = 16 * 1_024 ** 2
const LISTEN_TRIES_MAX = 200

interface Holding {
  readonly which: (seen: Seen) => boolean
  readonly when: 'before' | 'after'
  readonly wait: () => Promise<void>
}

export async function startOtherService(options: OtherServiceOptions = {}): Promise<OtherService> {
  const naming: Naming = {
    prefix: options.prefix ?? DEFAULT_NAMING.prefix,
    fieldTypes: options.fieldTypes ?? DEFAULT_NAMING.fieldTypes,
    paths: options.paths ?? DEFAULT_NAMING.paths,
    lacks: options.lacks ?? DEFAULT_NAMING.lacks,
  }
  let habits: Habits = { ...DEFAULT_HABITS, ...options }
  const random = randoms(options.seed ?? 1)
  const clock = options.now ?? Date.now
  const now = () => clock() + habits.clockAhead
  const types = options.types ?? usualTypes(naming)
  const associations = options.associations ?? usualAssociations(naming)
  const orgs = new Map<number, Org>()
  const limiters = new Map<number, Limiter>()
  const addOrg = (id: number, its: readonly TypeDef[] = types): Org => {
    const org = new Org({ id, types: its, associations }, naming, () => habits, now)
    orgs.set(id, org)
    limiters.set(id, new Limiter(() => habits, clock))
    return org
  }
  const org = addOrg(options.orgId ?? 1)
  const keys = new Map<string, Key>()
  const addKey: OtherService['addKey'] = (key, more = {}) => {
    const added: Key = { key, org: org.id, reach: 'org', grants: null, hidden: new Set(), ...more }
    keys.set(key, added)
    return added
  }
  const { key } = addKey(options.key ?? 'other-service-key')
  const fate = new Fate(() => habits, random)
  const pages = new Pages(() => habits, random)
  const routes = routesOf(naming).map((route) => ({ route, pattern: patternOf(route) }))
  let seen: Seen[] = []
  let requests = 0
  const holds = new Set<Holding>()
  /** Requests without an answer. */
  const open = new Set<Seen>()
  let url = ''

  const find = (method: string, path: string): [Route, Record<string, string>] => {
    const allowed: string[] = []
    for (const { route, pattern } of routes) {
      const found = pattern.exec(path)
      if (!found) continue
      if (route.method === method) {
        const named = Object.entries(found.groups ?? {}).map(([name, text]) => [
          route.names[name] ?? name,
          decodeURIComponent(text),
        ])
        return [route, Object.fromEntries(named) as Record<string, string>]
      }
      allowed.push(route.method)
    }
    if (allowed.length === 0) throw notFound('there is nothing here')
    throw new Refusal(405, 'request_invalid', 'not a method of this path', {
      headers: { allow: [...new Set(allowed)].join(', ') },
    })
  }

  const keyOf = (request: IncomingMessage): Key => {
    const found = keys.get(/^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '')
    if (found) return found
    throw new Refusal(401, 'unauthenticated', 'the key is missing or unknown', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  }

  const held = async (one: Seen, when: 'before' | 'after') => {
    for (const hold of holds) if (hold.when === when && hold.which(one)) await hold.wait()
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests++
    const id = `req_${requests}`
    const { method = 'GET' } = request
    const { pathname, searchParams } = new URL(request.url ?? '/', url)
    const text = await bodyOf(request)
    const one: Seen = {
      n: requests,
      operation: '?',
      method,
      path: pathname,
      type: null,
      org: null,
      body: {},
      failed: [],
      status: null,
      fault: null,
    }
    seen.push(one)
    open.add(one)
    response.once('close', () => open.delete(one))
    const isKilled = () => one.fault === 'killed'
    const send = (status: number, body: string | null, headers: object, type: string) => {
      one.status = status
      open.delete(one)
      response.writeHead(status, {
        'cache-control': 'no-store',
        ...(options.now && { date: new Date(now()).toUTCString() }),
        [`${naming.prefix.replaceAll('_', '-').replace(/-?$/, '-')}request-id`]: id,
        ...(body !== null && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
        ...headers,
      })
      response.end(body ?? undefined)
    }
    let headers = limiters.get(org.id)!.headers()
    const refuse = (error: Refusal) =>
      send(
        error.status,
        format(error.body(`${url}/docs`, id)),
        { ...headers, ...error.more.headers },
        'application/problem+json',
      )
    try {
      if (!/json|\*\/\*|application\/\*|^$/.test(request.headers.accept ?? '')) {
        throw new Refusal(406, 'request_invalid', 'only JSON is served')
      }
      const [route, path] = find(method, pathname)
      const { operation } = route
      Object.assign(one, { operation, type: path['object_type'] ?? null })
      if (PUBLIC.has(operation)) {
        await held(one, 'before')
        const root = {
          version: 'v1',
          openapi_url: `${url}/rest/v1/openapi.json`,
          docs_url: `${url}/docs`,
        }
        const body = operation === 'readRoot' ? { data: root } : documentOf(naming, url)
        return send(200, format(body), headers, 'application/json')
      }
      const by = keyOf(request)
      const its = orgs.get(by.org)!
      Object.assign(one, { org: by.org })
      headers = limiters.get(by.org)!.take()
      const body = parsed(text, request)
      Object.assign(one, { body })
      const fault = fate.of(operation)
      one.fault = fault
      await held(one, 'before')
      if (isKilled()) return
      const sending = { response, retryAfter: habits.retryAfter, send, refuse }
      if (fault !== null && !isCarriedOut(fault)) return fail(fault, null, sending)
      // A key that was revoked while the request waited writes nothing.
      if (keys.get(by.key) !== by) keyOf(request)
      const done: Answer = OPERATIONS[operation]!({
        org: its,
        key: by,
        habits,
        naming,
        pages,
        random,
        docs: `${url}/docs`,
        path,
        query: searchParams,
        body,
        failed: one.failed,
      })
      await held(one, 'after')
      if (isKilled()) return
      if (fault !== null) return fail(fault, done, sending)
      const content = done.body === null ? null : format(done.body)
      send(done.status, content, { ...headers, ...done.headers }, 'application/json')
    } catch (error) {
      if (error instanceof Refusal) refuse(error)
      else throw error
    }
  }

  const { listener } = options
  const host = options.host ?? '127.0.0.1'
  const listen = async (port: number): Promise<Server> => {
    const listening = createServer((request, response) => {
      answer(request, response).catch((error: unknown) => {
        if (request.destroyed && !request.complete) return
        process.stderr.write(`other service: ${String((error as Error).stack)}\n`)
        if (response.headersSent) response.destroy()
        else response.writeHead(500).end()
      })
    })
    if (listener) listener.listen(listening)
    else
      await new Promise<void>((resolve, reject) => {
        listening.once('error', reject)
        listening.listen(port, host, resolve)
      })
    return listening
  }
  let server = await listen(options.port ?? 0)
  const { port } = (listener ? { port: 0 } : server.address()) as AddressInfo
  url = listener?.url ?? `http://${host}:${port}`

  return {
    url,
    key,
    naming,
    org,
    get seen() {
      return seen
    },
    name: (word) => `${naming.prefix}${word}`,
    set(changes) {
      habits = { ...habits, ...changes }
      pages.restart()
    },
    addOrg,
    addKey,
    revoke: (text) => void keys.delete(text),
    hideType: (text, type) => void keys.get(text)!.hidden.add(type),
    showType: (text, type) => void keys.get(text)?.hidden.delete(type),
    fill: (type, records, updated) =>
      records.map((values) => org.put(type, values, updated === undefined ? {} : { updated })),
    records: (type) => org.list(type),
    count: (type) => org.list(type).length,
    stats: () => ({
      requests,
      refused: [...limiters.values()].reduce((sum, one) => sum + one.refused, 0),
    }),
    asked: (operation) => seen.filter((one) => one.operation === operation).length,
    hold(which, { when = 'before', count = 1 } = {}) {
      let waiting = 0
      let arrive = () => {}
      let open = () => {}
      const arrived = new Promise<void>((resolve) => (arrive = resolve))
      const opened = new Promise<void>((resolve) => (open = resolve))
      const holding: Holding = {
        which,
        when,
        wait: async () => {
          if (++waiting >= count) arrive()
          await opened
          waiting--
        },
      }
      holds.add(holding)
      return {
        arrived,
        waiting: () => waiting,
        open: () => {
          holds.delete(holding)
          open()
        },
      }
    },
    forgetRequests: () => void (seen = []),
    kill() {
      for (const one of open) one.fault = 'killed'
      open.clear()
      listener?.close()
      server.close()
      server.closeAllConnections()
      pages.restart()
    },
    async restart() {
      // Meanwhile another socket of the machine may have the port for a moment.
      for (let tries = 1; ; tries++)
        try {
          return void (server = await listen(port))
        } catch (error) {
          if (tries >= LISTEN_TRIES_MAX) throw error
          await sleep(10)
        }
    },
    async close() {
      listener?.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function patternOf({ path }: Route): RegExp {
  const source = path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  return new RegExp(`^/rest/v1${source}$`)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += (chunk as Buffer).length
    if (length <= BODY_MAX) chunks.push(chunk as Buffer)
  }
  return length > BODY_MAX ? '' : Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string, request: IncomingMessage): JsonObject {
  if (request.method === 'GET' || request.method === 'DELETE' || text === '') return {}
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    throw malformed('Content-Type is application/json')
  }
  try {
    const body = parse(text)
    if (isObject(body)) return body
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw malformed('the body is not a JSON object')
}
