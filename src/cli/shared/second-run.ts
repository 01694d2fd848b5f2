// A second run of a sync ends at once, without a number. Whoever does not follow it has to hear of that before it is started.

import type { Client } from '@temporalio/client'
import { AlreadyRunning } from '../../core/errors.ts'
import { isLiveWorkflow } from '../../temporal/is-live.ts'
import type { CommandContext } from './context.ts'

/** @throws AlreadyRunning if a workflow that is at work holds the sync */
export async function checkNoLiveRun(
  context: Pick<CommandContext, 'findLedger'>,
  client: Client,
  sync: string,
): Promise<void> {
  const ledger = await context.findLedger()
  if (ledger === null) return
  try {
    const held = (await ledger.liveRuns()).find((run) => run.sync === sync)
    if (held && (await isLiveWorkflow(client, held)))
      throw new AlreadyRunning(sync, held.id, held.workflowId)
  } finally {
    await ledger.close()
  }
}
