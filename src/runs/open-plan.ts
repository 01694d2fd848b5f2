// Opens the run in which a plan is staged. What it is not kept for is taken out of the ledger again by its caller.

import type { ImportSync } from '../../config/index.ts'
import { SyncError } from '../core/errors.ts'
import type { Run, Runs } from '../ledger/ledger.ts'
import { storedJob } from './job.ts'

/** @throws SyncError `plan_failed` */
export async function openPlan(
  ledger: Runs,
  sync: ImportSync,
  task: Parameters<typeof storedJob>[1]['task'] = null,
): Promise<Run> {
  const opened = await ledger.openRun({
    sync: sync.name,
    kind: sync.kind,
    mode: 'plan',
    workflowId: '',
    workflowRunId: '',
    ...storedJob(sync, { limits: null, task, tuned: {} }),
  })
  if (!('run' in opened)) throw new SyncError('plan_failed', 'The ledger refused to open a plan')
  return opened.run
}
