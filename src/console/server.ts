// The console's HTTP: pages for people, JSON for programs, streams for pages that are seen. Promises kept here: every answer is
// guarded; a failure says nothing of what failed but in our own words; what is away now is asked again by the next request.

import { basename } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isAllowed } from '../core/domain/roles.ts'
import type { Logger } from '../core/ports.ts'
import { boundConnections } from '../net/connections.ts'
import { html, type Markup } from '../report/escape.ts'
import { addCorrections } from './actions/corrections.ts'
import { addRecordToday } from './actions/record-today.ts'
import { addActions, notAllowed, type ActionSite, type NotDone } from './actions/routes.ts'
import { API, API_PATH, openApi, type ApiRequest } from './api.ts'
import { addBodyParsers } from './bodies.ts'
import type { ConsoleDeps } from './deps.ts'
import { guarded, refusalOf } from './guards.ts'
import { LOGGED_OUT, liveMark, type LiveStreams } from './live-streams.ts'
import type { Entry, Gate, Visitor } from './login/gate.ts'
import { LOGIN_PATH, LOGOUT_PATH } from './login/login-page.ts'
import type { Passwords } from './login/passwords.ts'
import { addLogin } from './login/routes.ts'
import { renderFrame } from './pages/frame.ts'
import { PAGES } from './page-table.ts'
import type { DrawnPage, PageRoute } from './pages/page-route.ts'
import { readNotice } from './pages/notice.ts'
import { PASTE_SCRIPT, PASTE_SCRIPT_PATH } from './paste-script.ts'
import { LedgerAway } from './readings.ts'
import { CONSOLE_SCRIPT, SCRIPT_PATH } from './script.ts'
import { sessionOf, type ConsoleSession, type ConsoleSessions } from './sessions.ts'
import type { ConsoleSite } from './site.ts'
import { CONSOLE_STYLE, STYLE_PATH } from './style.ts'
import { TEXT } from './texts.ts'
import type { TlsPair } from './tls.ts'

const CONNECTIONS_MAX = 512
/** Connections of one address on which nobody has logged in. */
const WITHOUT_LOGIN_MAX = 64
const REQUEST_MAX_MS = 90_000
const PARAMETER_CHARS_MAX = 2_000

export interface ServerParts {
  readonly site: ConsoleSite
  readonly sessions: ConsoleSessions
  readonly passwords: Passwords
  readonly gate: Gate
  readonly tls: TlsPair | null
  readonly logger: Logger
}

/** What everybody gets, logged in or not. */
const OPEN_PATHS: ReadonlySet<string | undefined> = new Set([
  STYLE_PATH,
  SCRIPT_PATH,
  PASTE_SCRIPT_PATH,
  LOGIN_PATH,
])

/** A request, and what it is answered with. */
type OfRequest = (request: FastifyRequest) => ConsoleDeps

export function buildConsole(
  known: Omit<ConsoleDeps, 'visitor'>,
  streams: LiveStreams,
  { site, sessions, passwords, gate, tls, logger }: ServerParts,
): FastifyInstance {
  const fastify = serverOf(site, tls)
  const connections = bounded(fastify, site, logger)
  fastify.addHook('onRequest', async (request, reply) => {
    guarded(reply, site)
    const refusal = refusalOf(request, site)
    if (refusal === null) return
    if (refusal.status === 405) reply.header('allow', 'GET, HEAD, POST')
    return await reply
      .code(refusal.status)
      .type('text/plain; charset=utf-8')
      .send(`${refusal.message}\n`)
  })
  const visitors = new WeakMap<FastifyRequest, Visitor>()
  const depsOf: OfRequest = (request) => ({ ...known, visitor: visitors.get(request) ?? null })
  fastify.addHook('onRequest', async (request, reply) => {
    if (OPEN_PATHS.has(request.routeOptions.url)) return
    const { users } = (await known.readings.config()).config.console
    const entry = await gate.enter(request, users, isApi(request))
    if (entry.kind !== 'in') return await turnAway(depsOf(request), entry, request, reply)
    visitors.set(request, entry.visitor)
    connections.prove(request.raw.socket)
    const isOut = request.routeOptions.url === LOGOUT_PATH
    if (request.method === 'POST' && !isOut && !isAllowed(entry.visitor.role, 'operator'))
      return await refuse(depsOf)(request, reply, notAllowed(entry.visitor, 'operator'))
  })
  addBodyParsers(fastify)
  addAssets(fastify)
  for (const page of PAGES)
    fastify.get(page.path, (request, reply) =>
      sendPage(depsOf(request), { page, sessions }, request, reply),
    )
  addApi(fastify, depsOf)
  const actions = actionSite(depsOf, sessions)
  for (const add of [addActions, addCorrections, addRecordToday]) add(fastify, depsOf, actions)
  addLogin(fastify, known.readings, {
    sessions,
    passwords,
    gate,
    logger,
    show: (reply, title, main) =>
      send({ ...known, visitor: null }, reply, { title, at: null, main }, null, null, true),
  })
  fastify.get('/live', { exposeHeadRoute: false }, (request, reply) =>
    openStream(
      reply,
      streams,
      depsOf(request).visitor,
      async (users) => (await gate.enter(request, users, false)).kind === 'in',
    ),
  )
  fastify.setNotFoundHandler((request, reply) => missing(depsOf(request), request, reply))
  fastify.setErrorHandler((error, request, reply) => {
    const away = error instanceof LedgerAway ? error : null
    if (away === null && statusOf(error) >= 500)
      logger.error({ error: (error as Error).name }, 'console_failed')
    return fail(depsOf(request), request, reply, away, statusOf(error))
  })
  return fastify
}

const bounded = (fastify: FastifyInstance, site: ConsoleSite, logger: Logger) =>
  boundConnections(fastify.server, {
    listener: 'console',
    connectionsMax: CONNECTIONS_MAX,
    unprovedMax: WITHOUT_LOGIN_MAX,
    provedBy: 'login',
    isExempt: (address) => site.proxy?.isTrusted(address) ?? false,
    logger,
  })

function serverOf(site: ConsoleSite, tls: TlsPair | null): FastifyInstance {
  return Fastify({
    logger: false,
    forceCloseConnections: true,
    exposeHeadRoutes: true,
    requestTimeout: REQUEST_MAX_MS,
    routerOptions: { maxParamLength: PARAMETER_CHARS_MAX },
    // Before a request has a route, and our hooks.
    frameworkErrors: (error, request, reply) =>
      unreadable(request, guarded(reply as unknown as FastifyReply, site), error.statusCode ?? 400),
    trustProxy: (address: string) => site.proxy?.isTrusted(address) ?? false,
    ...(tls !== null && { https: { ...tls, minVersion: 'TLSv1.2' } }),
  }) as unknown as FastifyInstance
}

/** The answer to a person or a program that does not get in. */
async function turnAway(
  deps: ConsoleDeps,
  entry: Exclude<Entry, { kind: 'in' }>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { url, method } = request
  const path = url.split('?')[0]!
  if (entry.kind === 'login' && path === '/live')
    return reply.type('text/event-stream').send(LOGGED_OUT)
  if (entry.kind === 'login' && !isApi(request)) {
    const next = method === 'POST' ? pageOfForm(url) : url
    return reply.redirect(`${LOGIN_PATH}?next=${encodeURIComponent(next)}`, 303)
  }
  const { needed, unknown, wrong, later, title } = TEXT.login
  const seconds = entry.kind === 'later' ? Math.ceil(entry.ms / 1_000) : 0
  if (seconds > 0) void reply.header('retry-after', seconds)
  const [status, code, message] = {
    login: [401, 'not_logged_in', needed] as const,
    wrong: [401, 'wrong_login', wrong] as const,
    later: [429, 'too_many_logins', later(seconds)] as const,
    unknown: [403, 'unknown_user', unknown] as const,
  }[entry.kind]
  void reply.code(status)
  if (isApi(request)) return reply.send({ error: { code, message } })
  const page = note(title, html`<p class="lead">${message}</p>`)
  return await send(deps, reply, page, null, null, true)
}

/** The page that a form is of. */
function pageOfForm(url: string): string {
  const corrections = /^\/runs\/[^/?]+\/corrections/.exec(url)?.[0]
  if (corrections === undefined) return url.split('?')[0]!.replace(/\/[^/]*$/, '') || '/'
  const query = url.indexOf('?')
  return query < 0 ? corrections : `${corrections}${url.slice(query)}`
}

const statusOf = (error: unknown): number =>
  error instanceof LedgerAway ? 503 : ((error as { statusCode?: number }).statusCode ?? 500)

function unreadable({ url }: { readonly url: string }, reply: FastifyReply, status: number): void {
  const message = TEXT.badAddress
  void reply.code(status)
  if (url.startsWith(`${API_PATH}/`)) void reply.send({ error: { code: 'bad_request', message } })
  else void reply.type('text/plain; charset=utf-8').send(`${message}\n`)
}

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
    [PASTE_SCRIPT_PATH, 'text/javascript; charset=utf-8', PASTE_SCRIPT],
  ] as const
  for (const [path, type, text] of assets)
    fastify.get(path, (_, reply) =>
      reply.type(type).header('cache-control', 'max-age=31536000, immutable').send(text),
    )
}

function addApi(fastify: FastifyInstance, depsOf: OfRequest): void {
  let description: object | null = null
  fastify.get(`${API_PATH}/openapi.json`, (_, reply) => reply.send((description ??= openApi())))
  for (const { path, read } of API)
    fastify.get(`${API_PATH}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, async (request, reply) => {
      const deps = depsOf(request)
      const answer = await read(deps, asked(request))
      return answer === null ? missing(deps, request, reply) : reply.send(answer)
    })
}

async function sendPage(
  deps: ConsoleDeps,
  { page, sessions }: { readonly page: PageRoute; readonly sessions: ConsoleSessions },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  // Before the page is read: what changes meanwhile makes it out of date.
  const mark = page.isLive ? liveMark(await deps.live.read().catch(() => null)) : null
  const drawn = await page.draw(deps, asked(request))
  if (drawn === null) return await missing(deps, request, reply)
  if (drawn.status !== undefined) void reply.code(drawn.status)
  const notice = await readNotice(deps, asked(request))
  return await send(deps, reply, { ...drawn, notice }, mark, sessionOf(sessions, request, reply))
}

const actionSite = (depsOf: OfRequest, sessions: ConsoleSessions): ActionSite => ({
  sessions,
  isOfSession(request, token) {
    // No browser sends a password by itself: the console asks it for none.
    if (depsOf(request).visitor?.by === 'password') return true
    const session = sessions.find(request.headers.cookie)
    return session !== null && sessions.isOf(session, token)
  },
  show: (request, reply, page) =>
    send(depsOf(request), reply, page, null, sessionOf(sessions, request, reply)),
  refuse: refuse(depsOf),
})

const refuse =
  (depsOf: OfRequest) =>
  async (request: FastifyRequest, reply: FastifyReply, why: NotDone): Promise<FastifyReply> => {
    void reply.code(why.status)
    const { code, message } = why
    if (isApi(request)) return reply.send({ error: { code, message } })
    return await send(
      depsOf(request),
      reply,
      note(TEXT.act.notPossibleTitle, html`<p class="lead">${message}</p>`),
      null,
    )
  }

async function send(
  { readings, now, visitor }: ConsoleDeps,
  reply: FastifyReply,
  drawn: DrawnPage,
  live: string | null,
  session: ConsoleSession | null = null,
  isLogin = false,
): Promise<FastifyReply> {
  const { config } = await readings.config()
  const madeAt = new Date(now()).toISOString()
  return reply.type('text/html; charset=utf-8').send(
    renderFrame({
      ...drawn,
      file: basename(config.file),
      madeAt,
      live,
      csrf: session?.csrf ?? null,
      visitor,
      isLogin,
    }),
  )
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
  return await send(
    deps,
    reply,
    note(
      TEXT.notFound,
      html`<p class="lead">${TEXT.notFoundMeaning}</p>
        <p class="choice"><a class="button" href="/">${TEXT.toOverview}</a></p>`,
    ),
    null,
  )
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

function openStream(
  reply: FastifyReply,
  streams: LiveStreams,
  visitor: Visitor | null,
  mayFollow: Parameters<LiveStreams['add']>[1],
): FastifyReply | void {
  const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream' }
  // Where nobody logs in, all are one.
  const who = visitor === null || visitor.by === 'machine' ? null : visitor.name
  if (streams.isFullFor(who))
    return (
      reply
        .code(503)
        .type('text/plain; charset=utf-8')
        // The connection makes room for a page.
        .header('connection', 'close')
        .send(`${TEXT.tooMany}\n`)
    )
  reply.hijack()
  reply.raw.writeHead(200, headers as Record<string, string>)
  streams.add(reply.raw, mayFollow, who)
}
