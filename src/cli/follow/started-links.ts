// Runs that a local run has started for waiting links of other syncs. Their worker ends with this process, so it waits for them.

import type { Client } from '@temporalio/client'
import type { Config } from '../../../config/index.ts'
import { idOfLinks } from '../../../workflows/queues.ts'
import { isLinking } from '../../import/index.ts'
import type { Run } from '../../ledger/ledger.ts'
import { describeWorkflow } from '../../temporal/is-live.ts'
import { withLedger, type CommandContext } from '../shared/context.ts'
import type { LedgerRetry } from '../shared/ledger-retry.ts'
import type { LocalParts } from '../shared/local.ts'
import { reportEnd } from './report-end.ts'

interface StartedLinks {
  readonly config: Config
  readonly client: Client
  readonly project: string
  /** The run that has ended. */
  readonly run: Run
  readonly local: Pick<LocalParts, 'interrupted' | 'failed'>
  readonly patience: LedgerRetry
}

/** Waits for them, and reports each as it ends. Ctrl-C leaves them to the next start of a worker. */
export async function awaitStartedLinks(
  context: CommandContext,
  { config, client, project, run, local, patience }: StartedLinks,
): Promise<void> {
  const { terminal } = context
  for (const { name } of Object.values(config.syncs).filter(isLinking)) {
    const workflowId = idOfLinks(name, project, run.id)
    const found = await describeWorkflow(client, { workflowId })
    if (found === null) continue
    const ended = client.workflow
      .getHandle(workflowId, found.runId)
      .result()
      .then(
        () => true,
        () => true,
      )
    const stopped = new Promise<false>((resolve) => {
      if (local.interrupted.aborted) resolve(false)
      local.interrupted.addEventListener('abort', () => resolve(false), { once: true })
      void local.failed.then(
        () => resolve(false),
        () => resolve(false),
      )
    })
    if (!context.json) terminal.err(`Trying the waiting links of ${name}`)
    if (!(await Promise.race([ended, stopped]))) {
      const goOn = context.hint(`run ${name} --links --local`)
      terminal.err(`The waiting links of ${name} are left. Go on with them: ${goOn}`)
      return
    }
    const [latest] = await withLedger(context, (ledger) => ledger.runs({ sync: name, limit: 1 }))
    // It has found a run of the sync at work, and left the links to it.
    if (latest?.workflowId !== workflowId || context.json) continue
    await reportEnd(context, { kind: 'ended', run: latest, error: null }, { patience, workflowId })
  }
}
