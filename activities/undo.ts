// What an undo asks before it begins.

import type { UndoTask } from '../src/core/domain/purpose.ts'
import { DEFAULT_IMPORT_TUNING, undoProblem } from '../src/import/index.ts'
import { findSyncByName, type BackfillActivityDeps } from './backfill.ts'
import { createSharedActivities } from './shared.ts'

export interface UndoActivities {
  /** The sync of the run; `problem`: why it cannot be undone so, in one sentence. */
  checkUndo(task: UndoTask): Promise<{ sync: string; problem: string | null }>
}

export function undoActivities(deps: BackfillActivityDeps): UndoActivities {
  const { ledger } = deps
  const { activity } = createSharedActivities(deps)
  return {
    checkUndo: (task) =>
      activity(null, DEFAULT_IMPORT_TUNING, async () => {
        const run = await ledger.run(task.of)
        if (run === null) return { sync: '', problem: `there is no run ${task.of}` }
        const found = findSyncByName(await deps.loadSyncs(), run.sync)
        if ('problem' in found) return { sync: run.sync, problem: found.problem }
        return { sync: run.sync, problem: await undoProblem(ledger, task, run, found.sync) }
      }),
  }
}
