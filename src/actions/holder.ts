// The run that holds a sync: a second one does not begin.

import type { Client } from '@temporalio/client'
import type { Run } from '../ledger/ledger.ts'
import { isLiveWorkflow } from '../temporal/is-live.ts'
import type { ActionPlace } from './place.ts'

/** The run that holds the sync, with a workflow that is at work; null if there is none. */
export async function findHolder(
  context: Pick<ActionPlace, 'findLedger'>,
  client: Client,
  sync: string,
): Promise<Run | null> {
  const ledger = await context.findLedger()
  if (ledger === null) return null
  try {
    const held = (await ledger.liveRuns()).find((run) => run.sync === sync)
    return held && (await isLiveWorkflow(client, held)) ? held : null
  } finally {
    await ledger.close()
  }
}
