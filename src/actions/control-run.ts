// What a person does to a run that is live: pause, resume, cancel, approve, reject.

import type { ApprovalAnswer, ControlAnswer } from '../../workflows/messages.ts'
import { approve, pause, reject, resume } from '../../workflows/names.ts'
import { SyncError } from '../core/errors.ts'
import { systemClock } from '../core/ports.ts'
import type { Run } from '../ledger/ledger.ts'
import { withLedger, type ActionPlace } from './place.ts'
import { recorded, type Actor } from './recorded.ts'
import { withRunMessenger, type RunMessenger } from './run-messenger.ts'

const UPDATES = { approve, reject } as const
const ASKS_MAX = 100
const ASK_EVERY_MS = 300

/** @throws SyncError what the workflow refused, or that no worker took it */
export async function controlRun(
  place: ActionPlace,
  actor: Actor,
  run: Run,
  { action, reason = null }: { action: 'pause' | 'resume' | 'cancel'; reason?: string | null },
): Promise<void> {
  const about = { action, sync: run.sync, run: run.id, details: reason }
  await recorded(place, actor, about, async () => {
    await withRunMessenger<unknown>(place, run, action !== 'cancel', ({ update, cancel }) => {
      if (action === 'cancel') return cancel()
      return action === 'pause' ? update<ControlAnswer>(pause, { reason }) : goOn(run, update)
    })
    return { result: undefined }
  })
}

/** A run that is blocked tries at once what it would try some minutes later: a pause ends its wait. */
async function goOn({ state }: Run, update: RunMessenger['update']): Promise<void> {
  if (state === 'blocked') await update<ControlAnswer>(pause, { reason: 'tried again by hand' })
  await update<ControlAnswer>(resume, undefined)
}

/**
 * @param asked.stream of a mirror: only the deletions of this one; @param asked.plan of an import: only if this plan waits, by its number or
 *   by the first characters of its digest
 * @returns the streams that it was for
 */
export async function decideRun(
  place: ActionPlace,
  actor: Actor,
  run: Run,
  asked: {
    readonly verdict: 'approve' | 'reject'
    readonly stream: string | null
    readonly plan: string | null
  },
): Promise<readonly string[]> {
  const { verdict, stream, plan } = asked
  const details =
    [plan === null ? null : `plan ${plan}`, stream].filter((each) => each !== null).join(', ') ||
    null
  const about = { action: verdict, sync: run.sync, run: run.id, details }
  return await recorded(place, actor, about, async () => {
    const input = { stream, ...(plan !== null && { plan }) }
    const result = await withRunMessenger(place, run, true, async ({ update }) => {
      for (let ask = 1; ; ask++) {
        try {
          return (await update<ApprovalAnswer>(UPDATES[verdict], input)).streams
        } catch (error) {
          const isEarly = ask < ASKS_MAX && isNothingWaiting(error)
          if (!isEarly || !(await waits(place, run))) throw error
          await systemClock.sleep(ASK_EVERY_MS)
        }
      }
    })
    return { result }
  })
}

export const isNothingWaiting = (error: unknown): boolean =>
  error instanceof SyncError && error.details['type'] === 'NothingWaits'

/** Whether something waits by the ledger. It knows of it a moment before the workflow can take a verdict. */
async function waits(place: Pick<ActionPlace, 'openLedger'>, { id }: Run): Promise<boolean> {
  return await withLedger(place, async (ledger) => {
    const run = await ledger.run(id)
    const streams = await ledger.streams(id)
    return run?.reason === 'approval' || streams.some(({ state }) => state === 'approval')
  })
}
