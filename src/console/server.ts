// The console's HTTP: pages for people, JSON for programs, streams for pages that are seen. Promises kept here: every answer is
// guarded; a failure says nothing of what failed but in our own words; what is away now is asked again by the next request.

import { basename } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from '../core/ports.ts'
import { html, type Markup } from '../report/escape.ts'
import { API, API_PATH, openApi, type ApiRequest } from './api.ts'
import type { ConsoleDeps } from './deps.ts'
import { guarded, refusalOf } from './guards.ts'
import { liveMark, type LiveStreams } from './live-streams.ts'
import { renderFrame } from './pages/frame.ts'
import { PAGES, type DrawnPage, type PageRoute } from './pages/index.ts'
import { LedgerAway } from './readings.ts'
import { CONSOLE_SCRIPT, SCRIPT_PATH } from './script.ts'
import { CONSOLE_STYLE, STYLE_PATH } from './style.ts'
import { TEXT } from './texts.ts'

const CONNECTIONS_MAX = 512
const REQUEST_MAX_MS = 90_000
const PARAMETER_CHARS_MAX = 2_000

export function buildConsole(
  deps: ConsoleDeps,
  streams: LiveStreams,
  { port, logger }: { port(): number; readonly logger: Logger },
): FastifyInstance {
  const fastify = Fastify({
    logger: false,
    forceCloseConnections: true,
    exposeHeadRoutes: true,
    requestTimeout: REQUEST_MAX_MS,
    routerOptions: { maxParamLength: PARAMETER_CHARS_MAX },
  })
  fastify.server.maxConnections = CONNECTIONS_MAX
  fastify.addHook('onRequest', async (request, reply) => {
    guarded(reply)
    const refusal = refusalOf(request, port())
    if (refusal === null) return
    if (refusal.status === 405) reply.header('allow', 'GET, HEAD')
    await reply.code(refusal.status).type('text/plain; charset=utf-8').send(`${refusal.message}\n`)
  })
  addAssets(fastify)
  for (const page of PAGES)
    fastify.get(page.path, (request, reply) => sendPage(deps, page, request, reply))
  addApi(fastify, deps)
  fastify.get('/live', { exposeHeadRoute: false }, (_, reply) => openStream(reply, streams))
  fastify.setNotFoundHandler((request, reply) => missing(deps, request, reply))
  fastify.setErrorHandler((error, request, reply) => {
    const away = error instanceof LedgerAway ? error : null
    if (away === null && statusOf(error) >= 500)
      logger.error({ error: (error as Error).name }, 'console_failed')
    return fail(deps, request, reply, away, statusOf(error))
  })
  return fastify
}

const statusOf = (error: unknown): number =>
  error instanceof LedgerAway ? 503 : ((error as { statusCode?: number }).statusCode ?? 500)

/** The first of each name. */
function asked({ params, query }: FastifyRequest): ApiRequest {
  const texts = (of: unknown): Record<string, string> =>
    Object.fromEntries(
      Object.entries((of ?? {}) as Record<string, unknown>).map(([name, value]) => [
        name,
        String(Array.isArray(value) ? value[0] : value),
      ]),
    )
  return { params: texts(params), query: texts(query) }
}

function addAssets(fastify: FastifyInstance): void {
  const assets = [
    [STYLE_PATH, 'text/css; charset=utf-8', CONSOLE_STYLE],
    [SCRIPT_PATH, 'text/javascript; charset=utf-8', CONSOLE_SCRIPT],
  ] as const
  for (const [path, type, text] of assets)
    fastify.get(path, (_, reply) =>
      reply.type(type).header('cache-control', 'max-age=31536000, immutable').send(text),
    )
}

function addApi(fastify: FastifyInstance, deps: ConsoleDeps): void {
  let description: object | null = null
  fastify.get(`${API_PATH}/openapi.json`, (_, reply) => reply.send((description ??= openApi())))
  for (const { path, read } of API)
    fastify.get(`${API_PATH}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, async (request, reply) => {
      const answer = await read(deps, asked(request))
      return answer === null ? missing(deps, request, reply) : reply.send(answer)
    })
}

async function sendPage(
  deps: ConsoleDeps,
  page: PageRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  // Before the page is read: what changes meanwhile makes it out of date.
  const mark = page.isLive ? liveMark(await deps.live.read().catch(() => null)) : null
  const drawn = await page.draw(deps, asked(request))
  return drawn === null ? await missing(deps, request, reply) : await send(deps, reply, drawn, mark)
}

async function send(
  { readings, now }: ConsoleDeps,
  reply: FastifyReply,
  drawn: DrawnPage,
  live: string | null,
): Promise<FastifyReply> {
  const { config } = await readings.config()
  const madeAt = new Date(now()).toISOString()
  return reply
    .type('text/html; charset=utf-8')
    .send(renderFrame({ ...drawn, file: basename(config.file), madeAt, live }))
}

const isApi = ({ url }: FastifyRequest): boolean => url.startsWith(`${API_PATH}/`)

const note = (title: string, more: Markup): DrawnPage => ({
  title,
  at: null,
  main: html`<h1>${title}</h1>
    ${more}`,
})

async function missing(
  deps: ConsoleDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  void reply.code(404)
  if (isApi(request)) return reply.send({ error: { code: 'not_found', message: TEXT.notFound } })
  return await send(deps, reply, note(TEXT.notFound, html``), null)
}

async function fail(
  deps: ConsoleDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  away: LedgerAway | null,
  status: number,
): Promise<FastifyReply> {
  void reply.code(status)
  const message = away?.message ?? TEXT.failedMeaning
  if (isApi(request))
    return reply.send({ error: { code: away?.code ?? 'internal_error', message } })
  const page =
    away === null
      ? note(TEXT.failed, html`<p class="lead">${message}</p>`)
      : note(
          TEXT.away.title,
          html`<p class="lead">${TEXT.away.meaning}</p>
            <div class="problem" role="status">${message}</div>`,
        )
  return await send(deps, reply, { ...page, refreshes: away !== null }, away && liveMark(null))
}

function openStream(reply: FastifyReply, streams: LiveStreams): FastifyReply | void {
  const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream' }
  if (streams.isFull)
    return reply.code(503).type('text/plain; charset=utf-8').send(`${TEXT.tooMany}\n`)
  reply.hijack()
  reply.raw.writeHead(200, headers as Record<string, string>)
  streams.add(reply.raw)
}
