// Carries out what a person asked for by a form or a program: the same as the command of that name. Promise kept here: what is not
// offered any more is not done, and one who comes second hears who was first.

import { findSync } from '../../../config/index.ts'
import { beginRun } from '../../actions/begin-run.ts'
import { reconcileJob, regularJob, retryJob, undoJob } from '../../actions/jobs.ts'
import { ActionKnown, type Actor } from '../../actions/recorded.ts'
import { changeSchedule } from '../../actions/schedules.ts'
import { decideRun, controlRun } from '../../actions/control-run.ts'
import type { ActionName } from '../../core/domain/actions.ts'
import { isAllowed, type Role } from '../../core/domain/roles.ts'
import { LedgerError, SyncError } from '../../core/errors.ts'
import { ownValue } from '../../core/json.ts'
import type { Action, Run } from '../../ledger/ledger.ts'
import type { ConsoleDeps } from '../deps.ts'
import { LedgerAway } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { numberOf, readRun } from '../views/run.ts'
import { readSync } from '../views/sync.ts'
import { hasCorrection } from './correction-counts.ts'
import type { OfferedAction } from '../views/offers.ts'

/** Where an action is: of a run or of a sync. */
export type Subject = { readonly run: number } | { readonly sync: string }

export interface Asked {
  readonly subject: Subject
  readonly action: string
  readonly query: Readonly<Record<string, string>>
  readonly actor: Actor
  /** When the page was made that it was asked on, ms since 1970; null: a program asks. */
  readonly pageAt: number | null
}

export type CarriedOut =
  /** It is noted in the ledger; `run`: the one that was begun. */
  | {
      readonly kind: 'noted'
      readonly action: number
      readonly run: number | null
      readonly error: SyncError | null
    }
  /** The same was done since the page was made: by whom is in that action. */
  | { readonly kind: 'already'; readonly action: number }
  /** It cannot be done, and is not noted. */
  | { readonly kind: 'refused'; readonly error: SyncError }
  /** The person's role may not do it. */
  | { readonly kind: 'forbidden'; readonly role: Role }
  /** It is not offered now. */
  | { readonly kind: 'stale' }
  /** There is no such run or sync, or no such action. */
  | { readonly kind: 'unknown' }

const EVERYBODY = { name: '', role: 'approver', by: 'machine' } as const

/** How far back an action counts as the one that was first, ms: for a page, and for a program. */
const PAGE_MAX_MS = 86_400_000
const PROGRAM_MAX_MS = 60_000
const SEARCHED_MAX = 50

/** All that may be done, whoever asks; null if there is no such run or sync. */
export async function offersOf(
  ofPerson: ConsoleDeps,
  subject: Subject,
): Promise<readonly OfferedAction[] | null> {
  return (await possibleNow(ofPerson, subject))?.offers ?? null
}

/** With why there is no other, where that is known. */
async function possibleNow(ofPerson: ConsoleDeps, subject: Subject) {
  const deps = { ...ofPerson, visitor: EVERYBODY }
  if ('sync' in subject) {
    const view = await readSync(deps, subject.sync)
    return view && { offers: view.actions, isNothingLeft: false }
  }
  const view = await readRun(deps, subject.run)
  return view && { offers: view.actions, isNothingLeft: view.nothing_left }
}

/** The offer of that path and query; null if there is none now. */
export function findOffer(
  offers: readonly OfferedAction[],
  { action, query }: Pick<Asked, 'action' | 'query'>,
): OfferedAction | null {
  const isAsked = ({ action: name, path }: OfferedAction) => {
    if (name !== action) return false
    const wanted = new URL(path, 'http://local').searchParams
    return ['plan', 'stream', 'repair'].every((key) => wanted.get(key) === (query[key] ?? null))
  }
  return offers.find(isAsked) ?? null
}

/** @throws LedgerAway: nothing was done */
export async function carryOut(deps: ConsoleDeps, asked: Asked): Promise<CarriedOut> {
  const { subject, action: name } = asked
  const now = deps.now()
  const since = Math.max(asked.pageAt ?? now - PROGRAM_MAX_MS, now - PAGE_MAX_MS)
  const possible = await possibleNow(deps, subject)
  if (possible === null) return { kind: 'unknown' }
  const offer = findOffer(possible.offers, asked)
  if (offer !== null && !isAllowed(deps.visitor?.role ?? 'viewer', offer.role))
    return { kind: 'forbidden', role: offer.role }
  if (name === 'retry' && possible.isNothingLeft)
    return { kind: 'refused', error: new SyncError('refused', TEXT.act.nothingLeft) }
  if (offer === null) return (await earlier(deps, subject, name, { since })) ?? { kind: 'stale' }
  // A correction that is not known, or whose rows were sent, is not a retry of everything.
  const { correction } = asked.query
  if (correction !== undefined && name === 'retry' && 'run' in subject) {
    const number = numberOf(correction)
    if (number === null || !(await hasCorrection(deps, subject.run, number)))
      return { kind: 'stale' }
  }
  let noted: number | null = null
  const actor = { ...asked.actor, onNoted: (number: number) => void (noted = number) }
  try {
    const run = await carry(deps, { ...asked, actor }, offer.action)
    return { kind: 'noted', action: noted!, run: run?.id ?? null, error: null }
  } catch (error) {
    if (error instanceof ActionKnown)
      return { kind: 'noted', action: error.action.number, run: null, error: null }
    if (error instanceof LedgerError && noted === null) throw new LedgerAway(error.message)
    if (!(error instanceof SyncError)) throw error
    if (noted === null) return { kind: 'refused', error }
    const first = isSecond(error) ? await earlier(deps, subject, name, { since, own: noted }) : null
    return first ?? { kind: 'noted', action: noted, run: null, error }
  } finally {
    deps.readings.forgetTemporal()
  }
}

/** A run that it begins, if it begins one. */
async function carry(
  { parts, readings }: ConsoleDeps,
  { subject, query, actor }: Asked,
  action: ActionName,
): Promise<Run | null> {
  const { place } = parts
  const { config } = await readings.config()
  if ('sync' in subject) {
    const sync = findSync(config, subject.sync)
    switch (action) {
      case 'run':
        return await beginRun(place, actor, regularJob(sync))
      case 'reconcile':
        return await beginRun(
          place,
          actor,
          reconcileJob(sync, { repair: query['repair'] === 'true' }),
        )
      case 'pause_schedule':
        await changeSchedule(place, actor, sync.name, { verb: 'pause', reason: `by ${actor.who}` })
        return null
      default:
        await changeSchedule(place, actor, sync.name, { verb: 'resume' })
        return null
    }
  }
  const run = (await readings.ledger((ledger) => ledger.run(subject.run)))!
  switch (action) {
    case 'pause':
    case 'resume':
    case 'cancel':
      await controlRun(place, actor, run, {
        action,
        reason: action === 'pause' ? `by ${actor.who}` : null,
      })
      return null
    case 'approve':
    case 'reject': {
      const { plan = null, stream = null } = query
      await decideRun(place, actor, run, { verdict: action, plan, stream })
      return null
    }
    case 'retry':
      return await beginRun(
        place,
        actor,
        retryJob(findSync(config, run.sync), run, choiceOf(query)),
      )
    default: {
      const sync = findSync(config, run.sync)
      if (sync.kind !== 'import') throw new SyncError('refused', `${sync.name} is no import now`)
      const deletions = Number(query['deletions'])
      const seen = Number.isSafeInteger(deletions) && { deletions_confirmed: deletions }
      return await beginRun(place, actor, undoJob(sync, run, seen || {}))
    }
  }
}

/** Of a retry: the rows of a correction, or all. */
const choiceOf = ({ correction }: Asked['query']): object => {
  const number = numberOf(correction)
  return number === null ? {} : { correction: number }
}

/** Whether it says that there is nothing to do any more: another person may have done it. */
const isSecond = ({ code, details }: SyncError): boolean =>
  code === 'already_running' ||
  code === 'run_ended' ||
  details['type'] === 'NothingWaits' ||
  details['type'] === 'NotPaused'

/** Verdicts exclude each other. */
const SAME: Readonly<Partial<Record<string, readonly string[]>>> = {
  approve: ['approve', 'reject'],
  reject: ['approve', 'reject'],
}

/** Who was first: with the same, and no earlier than `since`. */
async function earlier(
  { readings }: ConsoleDeps,
  subject: Subject,
  action: string,
  { since, own = null }: { readonly since: number; readonly own?: number | null },
): Promise<CarriedOut | null> {
  const wanted = ownValue(SAME, action) ?? [action]
  const isFirst = (each: Action) =>
    wanted.includes(each.action) &&
    each.number !== own &&
    (each.state === 'done' || (each.state === 'begun' && (own === null || each.number < own))) &&
    Date.parse(each.endedAt ?? each.beganAt) >= since
  const found = await readings.ledger(async (ledger) =>
    (await ledger.actions({ ...subject, limit: SEARCHED_MAX })).find(isFirst),
  )
  return found ? { kind: 'already', action: found.number } : null
}
