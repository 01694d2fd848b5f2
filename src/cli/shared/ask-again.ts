// Lets a blocked run ask at once what it would ask minutes later: what it waits for may be put right since.

import type { Client } from '@temporalio/client'
import { pause, resume } from '../../../workflows/names.ts'
import { systemClock } from '../../core/ports.ts'
import type { Run } from '../../ledger/ledger.ts'
import { withLedger, type CommandContext } from './context.ts'

/** A pause is complete once the batch in flight is settled: the client gives it 20 s, the heartbeat reports it within 5 s. */
const SETTLED_MAX_MS = 60_000
const POLL_MS = 200

/** The run once the ledger has it as wanted, or as it is after a minute. */
export async function untilRun(
  context: Pick<CommandContext, 'openLedger'>,
  { id }: Pick<Run, 'id'>,
  isReached: (run: Run) => boolean,
): Promise<Run> {
  return await withLedger(context, async (ledger) => {
    const deadline = systemClock.now() + SETTLED_MAX_MS
    for (;;) {
      const run = (await ledger.run(id))!
      if (isReached(run) || systemClock.now() >= deadline) return run
      await systemClock.sleep(POLL_MS)
    }
  })
}

/**
 * A pause, and its end: what waits starts again. For an approval there is nothing to ask.
 * @returns whether the ledger has the run's state as of now
 */
export async function askAgain(
  context: Pick<CommandContext, 'openLedger'>,
  client: Client,
  run: Run,
): Promise<boolean> {
  if (run.state !== 'blocked' || run.reason === 'approval') return true
  const handle = client.workflow.getHandle(run.workflowId, run.workflowRunId)
  const update = (name: string, input: unknown) =>
    client.withDeadline(Date.now() + SETTLED_MAX_MS, () =>
      handle.executeUpdate<unknown, [unknown]>(name, { args: [input] }),
    )
  try {
    await update(pause, { reason: 'asked again by the next start' })
    const parked = await untilRun(context, run, ({ state }) => state !== 'blocked')
    await update(resume, undefined)
    const now = await untilRun(context, run, ({ state }) => state !== 'paused')
    return parked.state !== 'blocked' && now.state !== 'paused'
  } catch {
    // A run that is being closed takes no pause; it goes on by itself.
    return false
  }
}
