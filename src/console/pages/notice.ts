// What came of the action that led to a page.

import { ACTION_NAMES } from '../../core/domain/actions.ts'
import { loggedOf } from '../../report/action-log.ts'
import type { Markup } from '../../report/escape.ts'
import type { ApiRequest } from '../api.ts'
import type { ConsoleDeps } from '../deps.ts'
import { noticeOf } from './actions.ts'
import { numberOf } from '../views/run.ts'

const SEARCHED_MAX = 50

/** Null without one; an action of another run or sync is none of this page. */
export async function readNotice(
  { readings }: Pick<ConsoleDeps, 'readings'>,
  { params, query }: ApiRequest,
): Promise<Markup | null> {
  const { did, already, stale } = query
  if (stale !== undefined && ACTION_NAMES.some((name) => name === stale))
    return noticeOf({ kind: 'stale' })
  const number = numberOf(did ?? already)
  const run = numberOf(params['run'])
  const sync = params['sync']
  if (number === null || (run === null && sync === undefined)) return null
  const of = run === null ? { sync: sync! } : { run }
  const found = await readings.ledger(async (ledger) =>
    (await ledger.actions({ ...of, limit: SEARCHED_MAX })).find((each) => each.number === number),
  )
  if (!found) return null
  if (did !== undefined) return noticeOf({ kind: 'did', action: loggedOf(found) })
  // Only what was done has been done already.
  const isDone = found.state === 'done' || found.state === 'begun'
  return isDone ? noticeOf({ kind: 'already', action: loggedOf(found) }) : null
}
