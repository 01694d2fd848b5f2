// HTTP around the handlers, by Fastify. Promises kept here: every answer carries the request id, `no-store` and the rate
// limit (section 1 and 8); every refusal is a problem (section 2.12), Fastify's own among them; no token is logged.

import { maxHeaderSize } from 'node:http'
import type { Socket } from 'node:net'
import Fastify from 'fastify'
import type { FastifyError, FastifyInstance } from 'fastify'
import type { Logger } from '../../core/ports.ts'
import type { OperationId } from '../../contract/index.ts'
import { BODY_BYTES_MAX, parseBody } from './body.ts'
import type { Directory } from '../store/directory.ts'
import { addDocs } from '../docs/index.ts'
import type { Site } from '../handlers/handler.ts'
import {
  factsOfConnection,
  factsOfError,
  methodUnknown,
  noSuchPath,
  sendRefusal,
  takesRawAnswer,
} from './http-problems.ts'
import type { Key } from '../auth/keys.ts'
import type { Org } from '../store/org.ts'
import { Intake, readsBody, type Stats } from './intake.ts'
import { boundConnections } from '../../net/connections.ts'
import { RequestRefused } from '../problems.ts'
import { routable } from './methods.ts'
import { addRoutes, completeRoutes } from './routes.ts'
import { createServer, trackConnections, type Tls } from './server.ts'

/** Far more than clients of an org use; a request has its time (`requestTimeoutMs`), and is answered where that is over. */
const CONNECTIONS = { listener: 'records service', connectionsMax: 8_192, unprovedMax: 2_048 }

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if there is no key, or it is not known. */
    key: Key | null
    org: Org | null
    /** Fingerprint of the token that came, known or not; null if it does not have the form of a key. */
    presented: string | null
  }
  interface FastifyContextConfig {
    operationId?: OperationId
    open?: boolean
  }
}

export interface HttpOptions {
  readonly latencyMs: number
  readonly requestTimeoutMs: number
  /** How long a read of many records may take. */
  readonly scanMaxMs: number
  readonly tls: Tls | null
  /** Headers of every answer, in addition to the standard ones. */
  readonly announced: Readonly<Record<string, string>>
  readonly logger?: Logger | undefined
}

export interface App {
  readonly fastify: FastifyInstance
  readonly stats: Stats
  /** While true, every connection is destroyed. */
  setDown(down: boolean): void
  /** Accepts no new connection; requests in flight are finished, or aborted after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** `site` is called late: the port is known only once the service listens. */
export function buildApp(directory: Directory, site: () => Site, options: HttpOptions): App {
  const { latencyMs, announced, logger } = options
  const answerEnded = () => connections.answerEnded()
  const intake = new Intake({ directory, site, announced, logger, answerEnded })
  const fastify = Fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // Node bounds the path as a whole: within that bound, a long name is just an unknown name.
    routerOptions: { maxParamLength: maxHeaderSize },
    exposeHeadRoutes: true,
    genReqId: intake.nextId,
    serverFactory: (listener) =>
      createServer(routable(listener), options.tls, options.requestTimeoutMs),
    // A bad path, which is why no route was found.
    frameworkErrors: (error, request, reply) => {
      const { facts } = intake.begin(request, reply)!
      sendRefusal(reply, request, site(), facts === noSuchPath ? factsOfError(error) : facts)
    },
    clientErrorHandler: (error, socket) => {
      if (!takesRawAnswer(socket)) return void socket.destroy()
      intake.refuseBytes(socket, factsOfConnection(error))
    },
  })
  // Node would drop the connection without an answer.
  fastify.server.on('connect', (_request, socket) =>
    intake.refuseBytes(socket as Socket, methodUnknown),
  )
  const connections = trackConnections(fastify.server)
  boundConnections(fastify.server, { ...CONNECTIONS, times: null, logger })
  readBodiesAsBytes(fastify)
  if (latencyMs > 0) fastify.addHook('onRequest', () => directory.clock.sleep(latencyMs))
  addIntake(fastify, intake)
  refuseFailures(fastify, site, logger)
  completeRoutes(fastify, () => {
    addRoutes(fastify, directory, { site, scanMaxMs: options.scanMaxMs })
    addDocs(fastify, site)
  })
  return {
    fastify,
    stats: intake.stats,
    setDown: connections.setDown,
    close: async (graceMs) => {
      connections.drain(graceMs)
      await fastify.close()
    },
  }
}

function readBodiesAsBytes(fastify: FastifyInstance): void {
  // The bodies of the other methods have no meaning, so they are not read.
  for (const method of ['DELETE', 'OPTIONS']) {
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, parseBody(bytes as Buffer)),
  )
}

function addIntake(fastify: FastifyInstance, intake: Intake): void {
  fastify.decorateRequest('key', null)
  fastify.decorateRequest('org', null)
  fastify.decorateRequest('presented', null)
  fastify.addHook('onRequest', (request, reply, done) => {
    const refusal = intake.begin(request, reply)
    if (refusal) return done(refusal)
    if (readsBody(request) && request.headers.expect?.toLowerCase() === '100-continue') {
      reply.raw.writeContinue()
    }
    done()
  })
}

/** Every failure becomes a problem; the operator reads its cause in the log. */
function refuseFailures(
  fastify: FastifyInstance,
  site: () => Site,
  logger: Logger | undefined,
): void {
  fastify.setNotFoundHandler(() => {
    throw new RequestRefused(noSuchPath)
  })
  fastify.setErrorHandler<FastifyError>((error, request, reply) => {
    if (!(error instanceof RequestRefused) && factsOfError(error).status === 500) {
      const fields = { error: error.name, code: error.code ?? null, request_id: request.id }
      logger?.error(fields, 'service_error')
    }
    // The caller does not see the cause, but the operator must: a full disk, a data file that fails.
    if (error instanceof RequestRefused && error.cause !== undefined) {
      const fields = { ...causeOf(error.cause), status: error.facts.status, request_id: request.id }
      logger?.error(fields, 'service_not_stored')
    }
    sendRefusal(reply, request, site(), factsOfError(error))
  })
}

/** What the database or the system says about a failure; it quotes no value. */
function causeOf(cause: unknown): { error: string; code: string | null; message: string } {
  const { name, message, code } = cause as Error & { code?: string }
  return { error: name, code: code ?? null, message: String(message).slice(0, 200) }
}
