// What the activities of an import find out about staged rows before any of them is sent: what differs, what they change, and whether a
// person is asked.

import { SyncError } from '../src/core/errors.ts'
import { approvalText } from '../src/core/domain/limit-exceeded.ts'
import {
  compareRun,
  hasLimits,
  keepOwnPlan,
  lookUpChanges,
  makesPlan,
  openKeys,
  readsAll,
  reviewLimits,
} from '../src/import/index.ts'
import { FROM_THE_START, isRecords } from '../src/sources/index.ts'
import type { Source } from '../src/sources/source.ts'
import type { ImportScope, ImportStep, ImportWork } from './import-work.ts'

/** Compares what a reconciliation has staged. */
export async function compareRows(
  { deps }: ImportWork,
  { row, job, sync, importDeps }: ImportScope,
  { run }: ImportStep,
) {
  const { ledger, logger } = importDeps
  const scope = job.reconcile
  if (scope === undefined || row.schema === null)
    throw new SyncError('not_a_reconcile', `Run ${run} is no reconciliation, or not staged`)
  const comparison = { run, config: sync.import, schema: row.schema, scope }
  const { schema } = row
  const opened: Source[] = []
  const opening = async () => {
    const source = await deps.openSource(sync, importDeps.signal, FROM_THE_START)
    opened.push(source)
    return await openKeys(importDeps, sync, { schema, source })
  }
  const reads = isRecords(sync.import.from) ? opening : undefined
  let done = false
  try {
    done = await compareRun(importDeps, comparison, reads)
  } finally {
    for (const source of opened) await source.close()
  }
  const { found } = await ledger.differenceCounts(run)
  const { planned } = await ledger.progress(run)
  logger.info({ run, done, ...found }, 'run_compared')
  const isReviewed = hasLimits(sync.import) || scope.deleteExtra
  return { done, planned, found, hasLimits: scope.repair && isReviewed }
}

/** Looks up what the staged rows change. */
export async function planRows({ row, sync, importDeps }: ImportScope, { run }: ImportStep) {
  const { ledger, logger } = importDeps
  const { done, rows } = await lookUpChanges(importDeps, {
    run,
    config: sync.import,
    schema: row.schema,
  })
  logger.info({ run, done, rows }, 'run_planned')
  const counts = Object.entries(await ledger.imageCounts(run)).filter(([, count]) => count > 0)
  return { done, verdicts: Object.fromEntries(counts) }
}

/** What is above the limits of the sync, with the plan where the rows were looked up. */
export async function reviewRows(
  { shared }: ImportWork,
  { row, job, sync, importDeps }: ImportScope,
) {
  const { ledger, logger } = importDeps
  const run = row.id
  const { planned } = await ledger.progress(run)
  const isPlanned = makesPlan(sync.import, job)
  // If the key of a row is not known, nothing is deleted, so no approval is needed.
  const deletes = job.reconcile?.deleteExtra === true && (await ledger.keyCounts(run)).keyless === 0
  const excesses = await reviewLimits(importDeps, {
    run,
    config: sync.import,
    schema: row.schema,
    planned,
    deletes,
    isCompared: job.reconcile !== undefined,
    isRegular: readsAll(row),
    isAsked: isPlanned,
    confirmed: job.undo?.confirmed,
    verdicts: isPlanned ? await ledger.imageCounts(run) : null,
  })
  if (excesses.length === 0) return { excesses }
  const plan = isPlanned ? await keepOwnPlan(importDeps, run) : null
  await shared.setState(run, 'blocked', 'approval', approvalText(planned, excesses, plan))
  logger.warn({ run, excesses }, 'run_waits_for_approval')
  return { excesses, ...(plan && { plan }) }
}
