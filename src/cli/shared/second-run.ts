// A second run of a sync ends at once, without a number. Whoever starts one hears of the first before, and a person may follow that
// one instead.

import type { Client } from '@temporalio/client'
import { AlreadyRunning } from '../../core/errors.ts'
import type { Run } from '../../ledger/ledger.ts'
import { isLiveWorkflow } from '../../temporal/is-live.ts'
import type { CommandContext } from './context.ts'
import { safeText, screenLines, utc } from './terminal.ts'

/** The run that holds the sync, with a workflow that is at work; null if there is none. */
export async function findHolder(
  context: Pick<CommandContext, 'findLedger'>,
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

/**
 * Says that the run which holds the sync is followed, where the caller `mayAttach` to it.
 * @throws AlreadyRunning if not
 */
export function attachTo(
  { terminal, hint }: Pick<CommandContext, 'terminal' | 'hint'>,
  held: Run,
  mayAttach: boolean,
): void {
  const sync = safeText(held.sync, 63)
  if (!mayAttach) {
    terminal.err(`See it: ${hint(`watch ${sync}`)}`)
    throw new AlreadyRunning(held.sync, held.id, held.workflowId)
  }
  const since = utc(Date.parse(held.openedAt), Date.now())
  const what = held.purpose === 'sync' ? '' : ` (${held.purpose})`
  const found = `${sync} is at work since ${since}: this follows run ${held.id}${what}, and starts none.`
  const later = 'What changed in the source since then comes with the next run.'
  for (const line of screenLines(`${found} ${later}`, 0)) terminal.err(line)
}
