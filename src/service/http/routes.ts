// Routes, generated from the contract's table for the operations that have a handler.
// Promises kept here: a path that exists says which methods it has, and refuses every other with 405 and `Allow`; a query
// parameter that an operation does not know is refused, because a misspelt `cursor` would list from the start for ever.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BASE_PATH, OPERATIONS, RecordPage, type Operation } from '../../contract/index.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Directory } from '../store/directory.ts'
import { faultAfter, faultBefore } from './fault-answers.ts'
import type { FaultTarget } from '../limits/faults.ts'
import { HANDLERS, OPERATION_IDS } from '../handlers/index.ts'
import type { HandlerCall, Handler, Reply, Site } from '../handlers/handler.ts'
import { inMiB, UNREAD_BYTES_MAX } from '../limits/sizes.ts'
import { RequestRefused, malformed, noValidKey, describeValue, unavailable } from '../problems.ts'
import type { Org } from '../store/org.ts'
import { Scan } from '../store/scan.ts'

/** An answer that has fewer bytes is not counted, so that usual ones cost nothing. */
const COUNTED_BYTES_MIN = 64 * 1_024
/** How long a client may take to read a large answer. */
const READING_MS_MAX = 60_000

export interface RouteOptions {
  readonly site: () => Site
  /** Milliseconds that a read of many records may take. */
  readonly scanMaxMs: number
}

export function addRoutes(
  fastify: FastifyInstance,
  directory: Directory,
  options: RouteOptions,
): void {
  for (const id of OPERATION_IDS) {
    const operation: Operation = OPERATIONS[id]
    fastify.route({
      method: operation.method,
      url: BASE_PATH + operation.path.replace(/\{(\w+)\}/g, ':$1'),
      config: { operationId: id, open: !operation.authenticated },
      handler: answerWith(HANDLERS[id]!, operation, directory, options),
    })
  }
}

/** OPTIONS, 405 and `Allow` for each path to which `addPaths` adds a route. */
export function completeRoutes(fastify: FastifyInstance, addPaths: () => void): void {
  const methodsByUrl = new Map<string, string[]>()
  fastify.addHook('onRoute', ({ method, url }) => {
    methodsByUrl.set(url, [...(methodsByUrl.get(url) ?? []), method].flat())
  })
  addPaths()
  for (const [url, methods] of methodsByUrl) {
    const allowed = [...methods, 'OPTIONS']
    const Allow = allowed.join(', ')
    fastify.options(url, { config: { open: true } }, (_request, reply) =>
      reply.code(204).headers({ Allow }).send(),
    )
    fastify.route({
      method: fastify.supportedMethods.filter((method) => !allowed.includes(method)),
      url,
      // Before the body is read: its content does not matter.
      onRequest: (_request, _reply, done) => {
        const detail = `This path supports ${Allow}`
        done(
          new RequestRefused({ status: 405, code: 'request_invalid', detail, headers: { Allow } }),
        )
      },
      handler: () => undefined,
    })
  }
}

function answerWith(
  handler: Handler,
  operation: Operation,
  directory: Directory,
  { site, scanMaxMs }: RouteOptions,
) {
  const isWrite = operation.writes !== null
  return (request: FastifyRequest, reply: FastifyReply): unknown => {
    const query = queryOf(request, operation)
    // The body may have taken long to arrive.
    stillValid(request, directory)
    const { clock, faults } = directory
    const fault = faults && faults.next(victim(request, operation))
    if (fault && faultBefore(fault, reply, clock.now())) return undefined
    if (fault === 'schema_change') directory.changeSchema()
    if (request.org && request.org.unreadBytes > UNREAD_BYTES_MAX) throw unavailable(notRead, '1')
    const isAbandoned = () => reply.raw.destroyed
    const call: HandlerCall = {
      // A public operation does not read these two.
      org: request.org!,
      key: request.key!,
      params: request.params as Record<string, string>,
      query,
      body: request.body,
      requestId: request.id,
      connection: new WeakRef(request.raw.socket),
      site: site(),
      fault,
      faults,
      scan: new Scan({ maxMs: scanMaxMs, isAbandoned }),
    }
    const answer = ({ status, body, headers }: Reply): FastifyReply => {
      const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
      if (request.org && text !== undefined)
        countUnread(request.org, reply, Buffer.byteLength(text))
      const planned = { status, headers: { ...headers }, text }
      if (text !== undefined) planned.headers['content-type'] = 'application/json; charset=utf-8'
      if (fault && faultAfter(fault, reply, planned, { clock, ms: faults.slowBodyMs })) return reply
      return reply.code(status).headers(planned.headers).send(text)
    }
    // A write is stored as a whole or not at all, and before it is answered.
    const made = isWrite ? call.org.transaction(() => atOnce(handler(call))) : handler(call)
    if (!(made instanceof Promise)) return answer(made)
    return made.then((later) => {
      stillValid(request, directory)
      return answer(later)
    })
  }
}

const notRead = `Answers of ${inMiB(UNREAD_BYTES_MAX)} of this org are not read yet: nothing was done`

/** Small answers are sent at once. The others count until the client has them, or is gone; a client that takes too long is. */
function countUnread(org: Org, reply: FastifyReply, bytes: number): void {
  if (bytes < COUNTED_BYTES_MIN) return
  org.unreadBytes += bytes
  const { socket } = reply.request.raw
  const timer = setTimeout(() => socket.destroy(), READING_MS_MAX).unref()
  let isOver = false
  const end = () => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    socket.removeListener('close', end)
    org.unreadBytes -= bytes
  }
  reply.raw.once('close', end)
  // An answer that waits for others of its connection does not hear that it has broken.
  socket.once('close', end)
  if (socket.destroyed) end()
}

/** A key must still be valid: it may have been revoked while its request was in progress. @throws Refusal 401 */
function stillValid({ key }: FastifyRequest, directory: Directory): void {
  if (key && !directory.isValid(key)) throw new RequestRefused(noValidKey)
}

/** A handler that runs in steps, between those of other requests, could not be rolled back as one write. */
function atOnce(reply: Reply | Promise<Reply>): Reply {
  if (reply instanceof Promise) throw new Error('A write has to be done at once')
  return reply
}

/** @throws Refusal 400 for a parameter that is unknown, or given twice */
function queryOf(request: FastifyRequest, operation: Operation): Record<string, string> {
  const query = request.query as Record<string, string | string[]>
  for (const name in query) {
    if (!Object.hasOwn(operation.query, name)) {
      const known = Object.keys(operation.query).join(', ') || 'none'
      throw malformed(`Unknown query parameter ${describeValue(name)}: there is ${known}`)
    }
    if (typeof query[name] !== 'string') throw malformed(`${name}: it was given more than once`)
  }
  return query as Record<string, string>
}

function victim({ method, query, body }: FastifyRequest, operation: Operation): FaultTarget {
  const given = [query, body].filter((each) => isJsonObject(each))
  return {
    isBatch: operation.tag === 'batch',
    isPage: operation.responses[200] === RecordPage,
    hasCursor: given.some((each) => each['cursor'] != null),
    hasAnswerBody: method !== 'HEAD' && !Object.hasOwn(operation.responses, 204),
  }
}
