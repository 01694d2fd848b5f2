// The forms of the pages and the POSTs of programs. Promises kept here: nothing is done without the token of the session; a form ends in
// a page that can be loaded again, and one that is sent twice is one action.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { API_PATH } from '../api.ts'
import type { Role } from '../../core/domain/roles.ts'
import type { SyncError } from '../../core/errors.ts'
import type { ConsoleDeps } from '../deps.ts'
import type { DrawnPage } from '../pages/page-route.ts'
import type { Visitor } from '../login/gate.ts'
import { sessionOf, type ConsoleSessions } from '../sessions.ts'
import { TEXT } from '../texts.ts'
import { numberOf } from '../views/run.ts'
import { carryOut, type CarriedOut, type Subject } from './carry-out.ts'

const FORM_TOKEN = /^[\w-]{16,64}$/

export interface NotDone {
  readonly status: number
  readonly code: string
  readonly message: string
}

export interface ActionSite {
  readonly sessions: ConsoleSessions
  /** Whether the request is of a page of the session that sends the token, or has a password of its own. */
  isOfSession(request: FastifyRequest, token: string | undefined): boolean
  /** A page that a form gets in answer. */
  show(request: FastifyRequest, reply: FastifyReply, page: DrawnPage): Promise<FastifyReply>
  /** A page, or an object for a program, that says why nothing was done. */
  refuse(request: FastifyRequest, reply: FastifyReply, why: NotDone): Promise<FastifyReply>
}

type Told = Exclude<CarriedOut, { kind: 'unknown' | 'forbidden' | 'refused' }>

const ACTION_PATHS = ['/runs/:run/:action', '/syncs/:sync/:action'] as const

type Texts = Readonly<Record<string, string>>

export function addActions(
  fastify: FastifyInstance,
  depsOf: (request: FastifyRequest) => ConsoleDeps,
  site: ActionSite,
): void {
  fastify.get(`${API_PATH}/session`, (request, reply) => {
    const { name, role } = depsOf(request).visitor!
    const { csrf } = sessionOf(site.sessions, request, reply)
    return reply.send({ who: name, role, csrf })
  })
  for (const path of ACTION_PATHS) {
    fastify.post(path, (request, reply) => act(depsOf(request), site, request, reply, 'console'))
    fastify.post(`${API_PATH}${path}`, (request, reply) =>
      act(depsOf(request), site, request, reply, 'api'),
    )
  }
}

export const textsOf = (of: unknown): Texts =>
  Object.fromEntries(
    Object.entries((of ?? {}) as Record<string, unknown>).flatMap(([name, value]) =>
      ['string', 'number', 'boolean'].includes(typeof value) ? [[name, String(value)]] : [],
    ),
  )

async function act(
  deps: ConsoleDeps,
  site: ActionSite,
  request: FastifyRequest,
  reply: FastifyReply,
  via: 'console' | 'api',
): Promise<FastifyReply> {
  const { action = '', ...of } = textsOf(request.params)
  const { csrf, form, made, ...given } = {
    ...textsOf(request.query),
    ...textsOf(request.body),
  } as Texts
  const visitor = deps.visitor!
  if (!site.isOfSession(request, csrf ?? textsOf(request.headers)['x-csrf-token']))
    return await site.refuse(request, reply, {
      status: 403,
      code: 'no_session',
      message: TEXT.act.noSession,
    })
  const subject = subjectOf(of)
  const isForm = form !== undefined && FORM_TOKEN.test(form)
  const actor = {
    who: visitor.name,
    via,
    token: isForm ? `${form} ${request.url.split('?')[0]}` : null,
  }
  const outcome: CarriedOut =
    subject === null
      ? { kind: 'unknown' }
      : await carryOut(deps, { subject, action, query: given, actor, pageAt: pageTime(via, made) })
  if (subject === null || outcome.kind === 'unknown')
    return await site.refuse(request, reply, {
      status: 404,
      code: 'not_found',
      message: TEXT.notFound,
    })
  if (outcome.kind === 'forbidden')
    return await site.refuse(request, reply, notAllowed(visitor, outcome.role))
  if (outcome.kind === 'refused') return await site.refuse(request, reply, notDone(outcome.error))
  return via === 'api'
    ? await tell(site, request, reply, outcome)
    : reply.redirect(pageAfter(subject, action, outcome), 303)
}

/** When the page of a form was made, as it says; null of a program. */
function pageTime(via: 'console' | 'api', made: string | undefined): number | null {
  if (via === 'api') return null
  return made !== undefined && /^\d{13}$/.test(made) ? Number(made) : null
}

/** Why a person's role may not do it. */
export const notAllowed = ({ name, role }: Visitor, needed: Role): NotDone => ({
  status: 403,
  code: 'forbidden',
  message: TEXT.login.forbidden(name, role, needed),
})

function subjectOf({ run, sync }: Texts): Subject | null {
  if (sync !== undefined) return { sync }
  const id = numberOf(run)
  return id === null ? null : { run: id }
}

/** The page that says what came of it: that of the run that it began, or the one that it was sent from. */
function pageAfter(subject: Subject, action: string, outcome: Told): string {
  const page =
    'run' in subject ? `/runs/${subject.run}` : `/syncs/${encodeURIComponent(subject.sync)}`
  if (outcome.kind === 'already') return `${page}?already=${outcome.action}`
  if (outcome.kind !== 'noted') return `${page}?stale=${encodeURIComponent(action)}`
  return `${outcome.run === null ? page : `/runs/${outcome.run}`}?did=${outcome.action}`
}

async function tell(
  site: ActionSite,
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: Told,
): Promise<FastifyReply> {
  if (outcome.kind === 'stale')
    return await site.refuse(request, reply, {
      status: 409,
      code: 'not_possible',
      message: TEXT.act.notPossible,
    })
  if (outcome.kind === 'already')
    return await site.refuse(request, reply, {
      status: 409,
      code: 'already_done',
      message: TEXT.act.alreadyBy(outcome.action),
    })
  const { action, run, error } = outcome
  if (error === null) return reply.send({ action, run })
  return await site.refuse(request, reply, notDone(error))
}

const notDone = ({ code, message }: SyncError): NotDone => ({
  status: AWAY.has(code) ? 503 : 409,
  code,
  message,
})

/** What is away may be back: the program may ask again. */
const AWAY = new Set(['temporal_unreachable', 'no_worker', 'not_started', 'unanswered'])
