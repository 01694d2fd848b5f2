// The project of a ledger. A Temporal namespace may serve several: its id keeps a project's queues, schedules and runs apart from
// those of others.

import type { LedgerIdentity, Runs } from '../ledger/ledger.ts'

export interface Project {
  readonly id: string
  /** Whether a run of the sync in this ledger belongs to one of these workflows. */
  began(sync: string, workflowIds: readonly string[]): Promise<boolean>
}

const runsMax = 500

export async function projectOf(ledger: LedgerIdentity & Runs): Promise<Project> {
  return {
    id: await ledger.project(),
    async began(sync, workflowIds) {
      if (workflowIds.length === 0) return false
      const runs = await ledger.runs({ sync, limit: runsMax })
      return runs.some(({ workflowId }) => workflowIds.includes(workflowId))
    },
  }
}

/** The project of a ledger that does not exist yet: nothing belongs to it. */
export const NO_PROJECT: Project = { id: 'none', began: () => Promise.resolve(false) }
