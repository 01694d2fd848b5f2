// Every action is noted in the ledger before it is carried out, and completed after. Promise kept here: what cannot be noted is not
// carried out.

import { hostname, userInfo } from 'node:os'
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { SyncError } from '../core/errors.ts'
import { safeText } from '../core/safe-text.ts'
import type { Action, BeganAction } from '../ledger/ledger.ts'
import type { ActionPlace } from './place.ts'

/** Who acts, and by what. */
export interface Actor extends Pick<BeganAction, 'who' | 'via' | 'token'> {
  /** Is called with the number of the action once it is noted. */
  onNoted?(action: number): void
}

/** What is done, and to what. */
export type About = Pick<BeganAction, 'action' | 'sync' | 'run' | 'details'>

/** A form that was sent before: what came of it then. */
export class ActionKnown extends SyncError {
  readonly action: Action

  constructor(action: Action) {
    super('action_known', `It was sent before: action ${action.number} is ${action.state}`)
    this.action = action
  }
}

/** After these it is not known whether it was done. */
const IN_DOUBT = new Set(['unanswered', 'not_started'])
const RESULT_CHARS_MAX = 1_000

/** The person at the terminal, as the operating system knows them. */
export function osActor(): Actor {
  return { who: osUser(), via: 'command', token: null }
}

export function osUser(): string {
  return safeText(`${userName()}@${hostname()}`, 200)
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a user without a name.
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

/**
 * Does `work`, with an entry in the ledger around it.
 * @throws ActionKnown if the form was sent before; LedgerError if it cannot be noted: nothing is done then
 */
export async function recorded<Result>(
  place: Pick<ActionPlace, 'openLedger' | 'terminal'>,
  actor: Actor,
  about: About,
  work: () => Promise<{ readonly result: Result; readonly workflowId?: string }>,
): Promise<Result> {
  const { number } = await begin(place, actor, about)
  actor.onNoted?.(number)
  const end = async (of: Ending) => {
    try {
      const ledger = await place.openLedger({ readOnly: false })
      try {
        await ledger.endAction(number, of)
      } finally {
        await ledger.close()
      }
    } catch {
      place.terminal.err(
        `The ledger did not take what came of action ${number}: it stays "begun" there; it is ${of.state}`,
      )
    }
  }
  try {
    const { result, workflowId = null } = await work()
    await end({ state: 'done', result: null, workflowId })
    return result
  } catch (error) {
    await end({ ...endingOf(error), workflowId: null })
    throw error
  }
}

function endingOf(error: unknown): { state: 'refused' | 'failed'; result: string } {
  if (error instanceof WorkflowExecutionAlreadyStartedError)
    return { state: 'refused', result: 'it is at work already' }
  // The words of others may quote anything.
  if (!(error instanceof SyncError)) return { state: 'failed', result: 'internal_error' }
  const state = IN_DOUBT.has(error.code) ? 'failed' : 'refused'
  return { state, result: safeText(error.message, RESULT_CHARS_MAX) }
}

interface Ending {
  readonly state: 'done' | 'refused' | 'failed'
  readonly result: string | null
  readonly workflowId: string | null
}

async function begin(
  place: Pick<ActionPlace, 'openLedger'>,
  { who, via, token }: Actor,
  about: About,
): Promise<Action> {
  const ledger = await place.openLedger({ readOnly: false })
  try {
    const noted = await ledger.beginAction({ ...about, who, via, token })
    if ('earlier' in noted) throw new ActionKnown(noted.earlier)
    return noted.begun
  } finally {
    await ledger.close()
  }
}
