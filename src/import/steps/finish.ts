// Finish: what an import that came to its end does before its books are closed: extra records are deleted if a person asked for
// that, collisions are resolved, and what was written is read back.

import { isOfLink } from '../../core/domain/differences.ts'
import { SECOND_RECORD } from '../../core/domain/held-back.ts'
import { isWholeScope } from '../../core/domain/purpose.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import type { ReconcileFindings } from './close.ts'
import { noteRepairedLinks } from './link-differences.ts'
import { OWN_ROW } from '../judge/deletions.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { stepPosition } from '../step-position.ts'
import { resolveCollisions } from '../outbox/record-collisions.ts'
import { removeMissing } from '../outbox/remove.ts'
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
async function deleteKnownExtra(deps: ImportDeps<Ledger>, job: StagedImport): Promise<void> {
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
  await planExtra(ledger, run)
  // Bounded by the extra records: each call goes on where the one before it ended.
  while (!(await removeMissing(deps, job)));
  await dropOwn(ledger, run)
}

/** Makes a removal of each record that was found to be extra, and is in view. */
async function planExtra(ledger: Ledger, run: number): Promise<void> {
  const place = await stepPosition(ledger, run, 'plan_extra', { after: 0, planned: 0, done: false })
  const fence = await ledger.claimRemovals(run)
  let { after, planned, done } = place.kept
  // Bounded by the differences of the run: every page goes on after the one before it.
  while (!done) {
    const page = await ledger.differences(run, { after, limit: LEDGER_ROWS_MAX, kind: 'extra' })
    const seen = page.rows.filter((row) => row.whose !== 'unknown' && !isOfLink(row))
    const removals = seen.map(({ key, recordId, version }, at) => ({
      number: planned + at + 1,
      key: key!,
      recordId,
      cause: 'extra' as const,
      state: 'pending' as const,
      reason: null,
      detail: version!,
    }))
    if (removals.length > 0) await ledger.addRemovals(run, fence, removals)
    planned += removals.length
    after = page.next ?? after
    done = page.next === null
    await place.keep({ after, planned, done })
  }
}

/** A record of a row of the run only seemed to be extra. */
async function dropOwn(ledger: Ledger, run: number): Promise<void> {
  for (let after: number | null = 0; after !== null;) {
    const page: Awaited<ReturnType<Ledger['removals']>> = await ledger.removals(run, {
      after,
      limit: LEDGER_ROWS_MAX,
      states: ['still_wanted'],
    })
    const own = page.rows.filter(({ reason }) => reason === OWN_ROW)
    if (own.length > 0)
      await ledger.dropExtra(
        run,
        own.map(({ key, recordId }) => ({ key, recordId: recordId! })),
      )
    after = page.next
  }
}
