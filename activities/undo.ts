// What an undo asks before it begins.

import type { ImportSync } from '../config/index.ts'
import type { UndoTask } from '../src/core/domain/purpose.ts'
import { DEFAULT_IMPORT_TUNING, undoProblem, wroteElsewhere } from '../src/import/index.ts'
import { findSyncByName, type BackfillActivityDeps } from './backfill.ts'
import type { ImportActivityDeps } from './import-work.ts'
import { createSharedActivities } from './shared.ts'

/** So long the service may take to say whose the key is: then the undo begins, and waits for it. */
const ANSWER_MAX_MS = 10_000

export interface UndoActivities {
  /** The sync of the run; `problem`: why it cannot be undone so, in one sentence. */
  checkUndo(task: UndoTask): Promise<{ sync: string; problem: string | null }>
}

export type UndoActivityDeps = BackfillActivityDeps & Pick<ImportActivityDeps, 'connect'>

export function undoActivities(deps: UndoActivityDeps): UndoActivities {
  const { ledger } = deps
  const { activity } = createSharedActivities(deps)
  return {
    checkUndo: (task) =>
      activity(null, DEFAULT_IMPORT_TUNING, async ({ signal }) => {
        const run = await ledger.run(task.of)
        if (run === null) return { sync: '', problem: `there is no run ${task.of}` }
        const found = findSyncByName(await deps.loadSyncs(), run.sync)
        if ('problem' in found) return { sync: run.sync, problem: found.problem }
        const { sync } = found
        const problem = await undoProblem(ledger, task, run, sync)
        if (problem !== null || sync.kind !== 'import') return { sync: run.sync, problem }
        return { sync: run.sync, problem: await orgProblem(deps, task, sync, signal) }
      }),
  }
}

/** That the run wrote to another org; null also where the service cannot be asked: the undo asks again before it sends anything. */
async function orgProblem(
  { ledger, logger, connect }: UndoActivityDeps,
  { of }: UndoTask,
  { import: { to } }: ImportSync,
  ending: AbortSignal,
): Promise<string | null> {
  const then = await ledger.destinationOf(of)
  if (then === null) return null
  try {
    const { client } = await connect(to, null)
    const signal = AbortSignal.any([ending, AbortSignal.timeout(ANSWER_MAX_MS)])
    const { org_id: orgId } = await client.readSelf({ signal, priority: 'interactive' })
    return wroteElsewhere(of, then, { origin: client.origin, orgId, connection: to })
  } catch (error) {
    ending.throwIfAborted()
    const name = error instanceof Error ? error.name : typeof error
    logger.warn({ run: of, error: name }, 'org_not_known')
    return null
  }
}
