// Removals of a run by what became of them, the most first.

import { DELETION_STATES } from '../src/core/domain/outcomes.ts'
import type { Removals, ReportedRemoval } from '../src/ledger/ledger.ts'

type RemovalGroup = Pick<ReportedRemoval, 'state' | 'cause' | 'code' | 'reason'> & {
  readonly records: number
}

/** Of at most 1,000 removals. */
export async function removalGroups(ledger: Removals, run: number): Promise<RemovalGroup[]> {
  const { rows } = await ledger.removals(run, { states: DELETION_STATES, after: 0, limit: 1_000 })
  const groups = new Map<string, RemovalGroup>()
  for (const { state, cause, code, reason } of rows) {
    const group = { state, cause, code, reason }
    const name = JSON.stringify(group)
    groups.set(name, { ...group, records: (groups.get(name)?.records ?? 0) + 1 })
  }
  return [...groups.values()].toSorted((a, b) => b.records - a.records)
}
