// The project of a ledger. A Temporal namespace may serve several: its id keeps a project's queues, schedules and runs apart from
// those of others.

import type { LedgerIdentity } from '../ledger/ledger.ts'

export interface Project {
  readonly id: string
}

export const projectOf = async (ledger: LedgerIdentity): Promise<Project> => ({
  id: await ledger.project(),
})

/** The project of a ledger that does not exist yet: nothing belongs to it. */
export const NO_PROJECT: Project = { id: 'none' }
