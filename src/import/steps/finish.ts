// Finish: what an import that came to its end does before its books are closed: extra records are deleted if a person asked for
// that, collisions are resolved, and what was written is read back.

import { SECOND_RECORD } from '../../core/domain/held-back.ts'
import { isWholeScope } from '../../core/domain/purpose.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import type { ReconcileFindings } from './close.ts'
import { noteRepairedLinks } from './link-differences.ts'
import type { ImportDeps } from '../ports.ts'
import { resolveCollisions } from '../outbox/record-collisions.ts'
import { deleteExtra, notDeletedTexts } from '../outbox/delete-extra.ts'
import { noteLeftAt } from '../judge/left-at.ts'
import { noteNothingExtra } from './source-visibility.ts'
import { verify } from '../outbox/verify.ts'

/** Returns what a reconciliation found; null for every other import. */
export async function finishImport(
  deps: ImportDeps<Ledger>,
  row: Run,
): Promise<ReconcileFindings | null> {
  const { ledger, logger } = deps
  const { sync, reconcile: scope, undo } = jobOf(row, 'import')
  const config = sync.import
  const { id: run, schema } = row
  const job = { run, config, schema }
  const isRepair = scope?.repair === true
  if (isRepair && scope.deleteExtra) await deleteKnownExtra(deps, job)
  const { created, updated } = await ledger.progress(run)
  await resolveCollisions(deps, { ...job, undoes: undo?.of })
  const verified = await verify(deps, {
    ...job,
    undoes: undo?.of,
    config: isRepair ? { ...config, verify: 'all' } : config,
    written: created + updated,
    rows: row.rowsRead,
  })
  if (verified.read > 0) logger.info({ run, ...verified }, 'run_verified')
  if (scope === undefined || isRepair) await noteLeftAt(deps, job)
  if (scope === undefined) {
    if (row.of === null) await warnOfAbsentSecond(ledger, run)
    return null
  }
  await ledger.settleDifferences(run)
  if (isRepair && config.links) await noteRepairedLinks(ledger, run)
  const counts = await ledger.differenceCounts(run)
  if (isWholeScope(scope) && counts.left.extra === 0) await noteNothingExtra(ledger, run)
  return { ...counts, isLook: !isRepair, wholeSince: isWholeScope(scope) ? row.openedAt : null }
}

/** Of keys that no row of the run has, the run has read no record. A retry has a few rows only. */
async function warnOfAbsentSecond(ledger: Ledger, run: number): Promise<void> {
  const keys = await ledger.absentWithSeveral(run)
  if (keys === 0) return
  const have = keys === 1 ? '1 key has' : `${keys} keys have`
  await ledger.addWarnings(run, [
    `${have} a second record, or may have (${SECOND_RECORD}), and no row in this run: look at the records of the sync with records-sync reconcile`,
  ])
}

/** Deletes extra records only if the key of every row is known: another one may be that of a row. */
async function deleteKnownExtra(
  deps: ImportDeps<Ledger>,
  job: Parameters<typeof deleteExtra>[1],
): Promise<void> {
  const { ledger, logger } = deps
  const { run } = job
  const { keyless } = await ledger.keyCounts(run)
  if (keyless > 0) {
    const rows = `${keyless} ${keyless === 1 ? 'row has' : 'rows have'}`
    await ledger.addWarnings(run, [
      `nothing was deleted: ${rows} no key that can be read, so a record that seems extra may be theirs`,
    ])
    logger.warn({ run, keyless }, 'deletions_left')
    return
  }
  const result = await deleteExtra(deps, job)
  const { refused, remaining } = result
  if (refused > 0) logger.warn({ run, refused }, 'deletions_refused')
  if (remaining > 0) logger.warn({ run, remaining }, 'deletions_not_carried_out')
  await ledger.addWarnings(run, notDeletedTexts(result))
}
