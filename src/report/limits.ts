// What a run was limited to, in words.

import { backfillText } from '../core/domain/backfill.ts'
import { reconcileText, type RetryTask, type UndoTask } from '../core/domain/purpose.ts'
import type { RunJob } from '../runs/job.ts'

const RANGES_SHOWN_MAX = 8

/** Null for a run without limits. */
export function limitsText(job: RunJob): string | null {
  switch (job.purpose) {
    case 'sync':
      return job.plan === undefined ? null : `what plan ${job.plan} has`
    case 'links':
      return null
    case 'backfill':
      return backfillText(job.backfill)
    case 'retry':
      return retryText(job.retry)
    case 'reconcile':
      return reconcileText(job.reconcile) || null
    case 'undo':
      return undoText(job.undo)
  }
}

function retryText({ of, choice }: RetryTask): string {
  const { codes, reasons, rows, correction } = choice
  const parts = [
    ...(codes ? [`code ${codes.join(' or ')}`] : []),
    ...(reasons ? [`reason ${reasons.join(' or ')}`] : []),
    ...(rows ? [rowsText(rows)] : []),
    ...(correction === undefined ? [] : ['as a person corrected them']),
  ]
  return `rows left over by run ${of}${parts.length > 0 ? `: ${parts.join('; ')}` : ''}`
}

/** What an undo was limited to. */
function undoText({ of, choice }: UndoTask): string {
  const { rows, where, properties } = choice
  const parts = [
    ...(rows ? [rowsText(rows)] : []),
    ...(where ? [`where ${where.property} has one value`] : []),
    ...(properties ? [`of ${properties.join(', ')}`] : []),
  ]
  return `what run ${of} wrote${parts.length > 0 ? `: ${parts.join('; ')}` : ''}`
}

function rowsText(rows: readonly (readonly [number, number])[]): string {
  const ranges = rows
    .slice(0, RANGES_SHOWN_MAX)
    .map(([first, last]) => (first === last ? first : `${first}–${last}`))
  return `rows ${ranges.join(', ')}${rows.length > RANGES_SHOWN_MAX ? ' and more' : ''}`
}
