// What the workflow of an import does about links: it shows how far they are, and starts a run of each sync whose waiting links may find
// their targets now.

import { ParentClosePolicy, startChild, workflowInfo } from '@temporalio/workflow'
import type { Activities } from '../activities/index.ts'
import type { ImportProgress } from './messages.ts'
import { AFTER_MEMO, links } from './names.ts'
import { idOfLinks, projectOfQueue } from './queues.ts'

type LinkCounters = Awaited<ReturnType<Activities['linkRows']>>['links']

export const linksProgress = ({
  read,
  linked,
  unchanged,
  target_missing: waiting,
  refused,
  outcome_unknown: unknown,
  not_sent: notSent,
}: LinkCounters): NonNullable<ImportProgress['links']> => ({
  read,
  linked,
  unchanged,
  waiting,
  rejected: refused + unknown + notSent,
})

/**
 * Starts a run of each sync, which goes on by itself. One that cannot be started is left out: its next run takes the links up.
 * @param run the one that has written their targets
 */
export async function startLinks(run: number, syncs: readonly string[]): Promise<void> {
  const { taskQueue } = workflowInfo()
  const project = projectOfQueue(taskQueue)
  for (const sync of syncs)
    try {
      await startChild(links, {
        args: [{ sync }],
        workflowId: idOfLinks(sync, project, run),
        memo: { [AFTER_MEMO]: run },
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: `links of ${sync}`,
      })
    } catch {
      continue
    }
}
