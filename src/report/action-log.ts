// What people did to a run or a sync, for `show`, the pages of the console and programs.

import { z } from 'zod'
import type { ActionName } from '../core/domain/actions.ts'
import { ACTION_NAMES } from '../core/domain/actions.ts'
import type { Action, Actions } from '../ledger/ledger.ts'

export const loggedAction = z
  .object({
    number: z.int(),
    at: z.string().describe('When it began; ISO 8601 in UTC.'),
    ended_at: z.string().nullable(),
    who: z.string().describe('User and host of a command, or the login of the console.'),
    via: z.enum(['command', 'console', 'api']),
    action: z.enum(ACTION_NAMES),
    run: z.int().nullable().describe('The run that it was about.'),
    details: z.string().nullable(),
    state: z
      .enum(['begun', 'done', 'refused', 'failed'])
      .describe('`begun` for ever: its process ended first. `failed`: it may have been done.'),
    result: z.string().nullable(),
  })
  .meta({ id: 'LoggedAction', description: 'What a person did.' })
export type LoggedAction = Readonly<z.output<typeof loggedAction>>

/** What is shown of a run or a sync; the rest is in the ledger. */
const SHOWN_MAX = 20

/** The newest first. */
export async function readActionLog(
  ledger: Actions,
  of: { readonly run: number } | { readonly sync: string },
): Promise<readonly LoggedAction[]> {
  return (await ledger.actions({ ...of, limit: SHOWN_MAX })).map(loggedOf)
}

export const loggedOf = ({ number, beganAt, endedAt, ...of }: Action): LoggedAction => {
  const { who, via, action, run, details, state, result } = of
  return {
    number,
    at: beganAt,
    ended_at: endedAt,
    who,
    via,
    action,
    run,
    details,
    state,
    result,
  }
}

const DONE: Readonly<Record<ActionName, string>> = {
  approve: 'approved',
  reject: 'rejected',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'cancelled',
  run: 'run started',
  retry: 'retry started',
  undo: 'undo started',
  reconcile: 'reconciliation started',
  backfill: 'backfill started',
  links: 'links run started',
  pause_schedule: 'schedule paused',
  resume_schedule: 'schedule resumed',
  trigger_schedule: 'schedule triggered',
}

/** `approved`, or what became of it: `approve refused`. */
export function actionWords({ action, state }: Pick<LoggedAction, 'action' | 'state'>): string {
  if (state === 'done') return DONE[action]
  const words = state === 'begun' ? 'begun, its end is not known' : state
  return `${action.replaceAll('_', ' ')}: ${words}`
}
