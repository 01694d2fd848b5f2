// Routes, generated from the contract's table for the operations that have a handler.
// Promise kept here: a path that exists refuses every other method with 405 and `Allow`.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BASE_PATH, OPERATIONS } from '../contract/index.ts'
import type { Method, Operation, OperationId } from '../contract/index.ts'
import type { Directory } from './directory.ts'
import { answerThenFault } from './fault-answers.ts'
import { HANDLERS, OPERATION_IDS } from './handlers/index.ts'
import type { Call, Site } from './handlers/handler.ts'
import { Refusal, malformed } from './problems.ts'
import type { Facts } from './problems.ts'

export function addRoutes(fastify: FastifyInstance, directory: Directory, site: () => Site): void {
  const methodsByUrl = new Map<string, Method[]>()
  for (const id of OPERATION_IDS) {
    const { method, path, authenticated }: Operation = OPERATIONS[id]
    const url = BASE_PATH + path.replace(/\{(\w+)\}/g, ':$1')
    methodsByUrl.set(url, [...(methodsByUrl.get(url) ?? []), method])
    fastify.route({
      method,
      url,
      config: { operationId: id, open: !authenticated },
      handler: answerWith(id, directory, site),
    })
  }
  for (const [url, methods] of methodsByUrl) {
    const refusal: Facts = {
      status: 405,
      code: 'request_invalid',
      detail: `This path supports ${methods.join(', ')}`,
      headers: { Allow: methods.join(', ') },
    }
    fastify.route({
      method: fastify.supportedMethods.filter((method) => !methods.includes(method as Method)),
      url,
      // Before the body is read: what it holds does not matter.
      onRequest: (_request, _reply, done) => done(new Refusal(refusal)),
      handler: () => undefined,
    })
  }
}

function answerWith(id: OperationId, directory: Directory, site: () => Site) {
  const handler = HANDLERS[id]!
  const writes = OPERATIONS[id].writes !== null
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const query = request.query as Record<string, string>
    for (const name in query) {
      if (typeof query[name] !== 'string') throw malformed(`${name}: it was given more than once`)
    }
    const call: Call = {
      // A public operation does not look at these two.
      org: request.org!,
      key: request.key!,
      params: request.params as Record<string, string>,
      query,
      body: request.body,
      requestId: request.id,
      site: site(),
      fault: request.fault,
      faults: directory.faults,
    }
    const { status, body, headers } = writes
      ? call.org.transaction(() => handler(call))
      : handler(call)
    reply.code(status)
    if (headers) reply.headers(headers)
    if (request.fault && answerThenFault(request.fault, reply, body)) return
    if (body === undefined) return void reply.send()
    void reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(typeof body === 'string' ? body : JSON.stringify(body))
  }
}
