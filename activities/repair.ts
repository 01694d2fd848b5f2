// What a retry and a reconciliation ask before they begin: whether there is such a run or sync, and whether it can be done as a
// person wants.

import type { ReconcileScope, RetryTask } from '../src/core/domain/purpose.ts'
import { LIVE_STATES } from '../src/core/domain/books.ts'
import type { SyncConfig } from '../config/index.ts'
import { countHeldBack, heldBackText } from '../src/core/domain/held-back.ts'
import { DEFAULT_IMPORT_TUNING } from '../src/import/index.ts'
import { scopeProblem } from '../src/runs/scope-problem.ts'
import { findSyncByName, type BackfillActivityDeps } from './backfill.ts'
import { createSharedActivities } from './shared.ts'

export interface RepairActivities {
  /** The sync of the run; `problem`: why it cannot be retried so, in one sentence. */
  checkRetry(task: RetryTask): Promise<{ sync: string; problem: string | null }>
  /** The sync's kind; `problem`: why it cannot be reconciled so, in one sentence. */
  checkReconcile(input: {
    sync: string
    scope: ReconcileScope
  }): Promise<{ kind: SyncConfig['kind'] | null; problem: string | null }>
}

export function repairActivities(deps: BackfillActivityDeps): RepairActivities {
  const { ledger } = deps
  const { activity } = createSharedActivities(deps)
  return {
    checkRetry: ({ of, choice }) =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        const run = await ledger.run(of)
        if (!run || run.mode === 'plan') return { sync: '', problem: `there is no run ${of}` }
        const cannot = (why: string) => ({ sync: run.sync, problem: `run ${of}: ${why}` })
        if (run.kind === 'mirror') return cannot('a mirror has no rejects')
        if (run.purpose === 'undo')
          return cannot(`it is an undo; what it has left is undone by: undo ${run.of}`)
        if (LIVE_STATES.includes(run.state))
          return cannot(`it is ${run.state}; cancel it, or wait for its end`)
        const [left] = await ledger.retryRows(of, choice, { after: 0, limit: 1 })
        const held = left ? 0 : await countHeldBack(ledger, of)
        if (held > 0)
          return cannot(`nothing else is left to be sent again. ${heldBackText(held, of)}`)
        const chosen = Object.keys(choice).length > 0 ? ' that was chosen' : ''
        if (!left) return cannot(`nothing${chosen} is left to be sent again`)
        return { sync: run.sync, problem: null }
      }),

    checkReconcile: ({ sync: name, scope }) =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        const found = findSyncByName(await deps.loadSyncs(), name)
        if ('problem' in found) return { kind: null, problem: found.problem }
        return { kind: found.sync.kind, problem: scopeProblem(found.sync, scope) }
      }),
  }
}
