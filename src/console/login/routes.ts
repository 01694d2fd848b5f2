// Login and logout. Promises kept here: a login begins another session, so one that was planted is worth nothing; the form is taken from a
// page of this console alone.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../core/ports.ts'
import type { ConsoleReadings } from '../readings.ts'
import { sessionOf, type ConsoleSession, type ConsoleSessions } from '../sessions.ts'
import { TEXT } from '../texts.ts'
import type { Gate } from './gate.ts'
import { LOGIN_PATH, loginMain, LOGOUT_PATH, pageToGoOn } from './login-page.ts'
import type { Passwords } from './passwords.ts'

export interface LoginSite {
  readonly sessions: ConsoleSessions
  readonly passwords: Passwords
  readonly gate: Gate
  readonly logger: Logger
  show(
    reply: FastifyReply,
    title: string,
    main: ReturnType<typeof loginMain>,
  ): Promise<FastifyReply>
}

export function addLogin(
  fastify: FastifyInstance,
  readings: ConsoleReadings,
  site: LoginSite,
): void {
  const users = async () => (await readings.config()).config.console.users
  fastify.get(LOGIN_PATH, async (request, reply) => {
    const next = pageToGoOn((request.query as Record<string, string>)['next'])
    const entry = await site.gate.enter(request, await users(), false)
    if (entry.kind !== 'login') return reply.redirect(next, 303)
    return await show(site, reply, sessionOf(site.sessions, request, reply), next, null)
  })
  fastify.post(LOGIN_PATH, async (request, reply) => {
    const { csrf, name = '', password = '', next } = textsOf(request)
    const session = site.sessions.find(request.headers.cookie)
    const to = pageToGoOn(next)
    if (session === null || !site.sessions.isOf(session, csrf)) {
      const fresh = sessionOf(site.sessions, request, reply)
      return await show(site, reply.code(403), fresh, to, TEXT.login.oldPage)
    }
    const result = await site.passwords.check({ name, password }, request.ip, await users())
    if (result.kind === 'right') {
      site.sessions.end(session)
      const begun = site.sessions.begin({ name: result.name, hash: result.hash })
      site.logger.info({ user: name, address: request.ip }, 'console_login')
      return reply.header('set-cookie', site.sessions.cookie(begun)).redirect(to, 303)
    }
    if (result.kind === 'wrong')
      return await show(site, reply.code(401), session, to, TEXT.login.wrong)
    const seconds = Math.ceil(result.ms / 1_000)
    void reply.code(429).header('retry-after', seconds)
    return await show(site, reply, session, to, TEXT.login.later(seconds))
  })
  fastify.post(LOGOUT_PATH, async (request, reply) => {
    const session = site.sessions.find(request.headers.cookie)
    if (session !== null && site.sessions.isOf(session, textsOf(request)['csrf'])) {
      site.sessions.end(session)
      void reply.header('set-cookie', site.sessions.noCookie())
    }
    return reply.redirect(LOGIN_PATH, 303)
  })
}

const show = (
  site: LoginSite,
  reply: FastifyReply,
  session: ConsoleSession,
  next: string,
  problem: string | null,
): Promise<FastifyReply> =>
  site.show(reply, TEXT.login.title, loginMain(session.csrf, next, problem))

const textsOf = ({ body }: FastifyRequest): Partial<Record<string, string>> =>
  Object.fromEntries(
    Object.entries((body ?? {}) as Record<string, unknown>).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  )
