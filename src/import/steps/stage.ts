// Stage: the source is read once, and every row becomes an item of the ledger, before anything is sent. An interrupted
// stage starts again from the first row. How far a query with a watermark was read is noted with the run; it counts when
// the run is complete.

import { SourceError } from '../../core/errors.ts'
import { withBehind } from '../../core/concurrency.ts'
import { writesRecords } from '../../core/domain/import-modes.ts'
import { keepsBefore } from '../../core/domain/protection.ts'
import { LEDGER_ROWS_MAX, RETENTION_MS } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { ReconcileScope } from '../../core/domain/purpose.ts'
import type { DeletionCounts } from '../../core/domain/deletions.ts'
import type { ImportConfig, ImportSync } from '../../../config/index.ts'
import type { Window } from '../../core/domain/watermark.ts'
import type {
  AcceptedRecords,
  LastReading,
  LeftCounts,
  Leftovers,
  LinkBounds,
  LinkStaging,
  Removals,
  RowStaging,
  RunClosing,
  RunReports,
  Runs,
  StageCounts,
  StagedSource,
  StepStates,
} from '../../ledger/ledger.ts'
import { sourceOf } from '../../sources/index.ts'
import type { Extent, Source } from '../../sources/source.ts'
import { linkBoundsOf } from '../mapping/link-target.ts'
import { readLinkFolds } from '../mapping/link-folds.ts'
import { linksOfRows } from '../mapping/map-links.ts'
import { carryOver } from './carry-over.ts'
import { carryUnread } from './carry-unread.ts'
import { CorrectedRows } from './corrected-rows.ts'
import { loadMapping, type MappingPlan } from '../mapping/map.ts'
import { heartbeatEach, withHeartbeat } from '../../runs/heartbeat.ts'
import { shareNoter } from '../../runs/step-share.ts'
import type { ImportDeps } from '../ports.ts'
import { foldsCase } from '../mapping/case-folding.ts'
import { isCaseFoldable } from '../mapping/key.ts'
import { readTarget } from '../mapping/target.ts'
import { planRemovals } from './plan-removals.ts'
import { checkOwnRecords, KeysOfSource } from './source-keys.ts'
import { RowFilter } from './row-filter.ts'
import { noteSourceVisibility } from './source-visibility.ts'
import { stagedParts, withWatermark } from './staged-parts.ts'
import { emptySourceWarning, keyTypeOf, keyWarnings, notComparedText } from './warnings.ts'

type StagingLedger = AcceptedRecords &
  Leftovers &
  LinkStaging &
  Removals &
  RowStaging &
  RunClosing &
  RunReports &
  Runs &
  StepStates

/** What staging found. */
export interface StageResult extends StageCounts {
  readonly fence: number
  /** Those of the source, and those that were carried. */
  readonly rows: number
  /** Rows of earlier runs, which the source did not give: those that were not accepted, and those that are only read back. */
  readonly carried: number
  /** Links of earlier runs that were not linked, and that this run takes up. */
  readonly carriedLinks: number
  readonly warnings: readonly string[]
  /** Cells that will clear a property. */
  readonly cleared: number
  /** Records whose rows are gone, or ask for it. */
  readonly removals: DeletionCounts
}

export interface StageJob {
  readonly run: number
  readonly sync: ImportSync
  readonly keyFingerprint: string
  /** Of the run when this attempt began: one that stood still until a later one had staged the run stages nothing. */
  readonly stageFence: number
  readonly window?: Window | null
  /** Whether a row is sent over one that was accepted with a greater watermark. */
  readonly overwritesNewer?: boolean
  /** Of a reconciliation: nothing is believed, and all of the source is read, or the part that is named. */
  readonly reconcile?: ReconcileScope | null
  /** Of a retry: its rows are not those of the source. */
  readonly isRetry?: boolean
  /** Of a run that takes up the links that earlier ones left: it reads no row. */
  readonly isOfLinks?: boolean
}

/**
 * Stages a run. In a window only what the source has in it (of a query with a watermark: from `initial` on). The watermark
 * moves in regular runs only.
 * @throws MappingError, SourceError before anything was sent; the caller closes the run
 */
export async function stage(
  deps: ImportDeps<StagingLedger>,
  job: StageJob,
  openSource: (extent: Extent) => Promise<Source>,
): Promise<StageResult> {
  try {
    return await stageSource(deps, job, openSource)
  } catch (error) {
    // The rows of a retry are in a file that no configuration names.
    const isOfSync = error instanceof SourceError && job.isRetry !== true
    throw isOfSync ? error.of(job.sync.name) : error
  }
}

async function stageSource(
  deps: ImportDeps<StagingLedger>,
  job: StageJob,
  openSource: (extent: Extent) => Promise<Source>,
): Promise<StageResult> {
  const { ledger, client } = deps
  const { run, sync, window = null, reconcile = null, isRetry = false, isOfLinks = false } = job
  const config = sync.import
  const target = await withHeartbeat(deps, readTarget(deps, sync))
  const destination = {
    sync: sync.name,
    origin: client.origin,
    orgId: target.self.org_id,
    objectType: config.object_type,
    matchingProperty: config.matching_property,
  }
  const isIncremental = sourceOf(config.from).isIncremental(config.from)
  const isRegular = window === null && reconcile === null && !isRetry && !isOfLinks
  const last = isIncremental && isRegular ? await ledger.lastReading(destination) : null
  const extent = { watermark: last?.watermark ?? null, window }
  const source = await withHeartbeat(deps, openSource(extent))
  try {
    const keyType = keyTypeOf(config, target)
    const folds = await foldsCase(deps, config, keyType)
    const linkFolds = await readLinkFolds(deps, run, { config, target })
    const known = { folds, linkFolds, kinds: source.kinds }
    const plan = await withHeartbeat(
      deps,
      loadMapping(sync.name, config, target, source.columns, known),
    )
    checkOwnRecords(sync.name, config, source, destination, reconcile)
    const { keyFingerprint } = job
    const { warnings: ofMapping, schema } = plan
    const facts = { keyFingerprint, warnings: ofMapping, schema }
    await ledger.bindDestination(run, destination, facts)
    const bounds = linkBoundsOf(config, target.links?.definitions ?? [])
    const found = await stageRows(deps, job, { source, plan, last, bounds })
    const { counts, all: rows, corrected, carried, carriedLinks } = found
    const { withdrawn = 0, fence } = counts
    const keys = KeysOfSource.of(deps, source, { config, plan, keyType })
    const reading = { run, fence, sync, rows, withdrawn, isRegular, source, keys, corrected }
    const planned = planRemovals(deps, { ...reading, isWhole: isRegular && !isIncremental })
    const removals = await withHeartbeat(deps, planned)
    const isWhole = !isRetry && !isOfLinks && !isIncremental && window === null && !reconcile?.where
    const seen = isRetry ? undefined : source.visibility?.()
    const read = { run, sync: sync.name, rows: isWhole ? rows : null }
    const isExact = isCaseFoldable(keyType) && !folds
    const warnings = [
      ...(source.warnings ?? []).concat(plan.notes()),
      ...(seen ? await noteSourceVisibility(ledger, read, seen) : []),
      ...(await withHeartbeat(deps, keyWarnings(ledger, run, { counts, isExact }))),
      ...corrected.warnings(),
      ...(isWhole && rows === 0 ? await emptySourceWarning(ledger, sync.name, run) : []),
      ...removals.warnings,
      ...notComparedText(config),
    ]
    await ledger.addWarnings(run, warnings)
    return {
      ...counts,
      carried,
      carriedLinks,
      warnings: [...plan.warnings, ...warnings],
      cleared: plan.cleared(),
      removals: removals.counts,
    }
  } finally {
    await source.close()
  }
}

const sliceWatcher = (deps: Pick<ImportDeps, 'signal' | 'beat'>) => () => {
  deps.signal.throwIfAborted()
  deps.beat()
}

interface StagedRows {
  /** Those of the source, and those of earlier runs. */
  readonly all: number
  readonly carried: number
  readonly carriedLinks: number
  /** Of the part that the run is of; `rows`: all that is left. */
  readonly counts: StageCounts & { readonly fence: number; readonly rows: number }
  readonly corrected: CorrectedRows
}

/** Reads the source to its end, and takes up what earlier runs left. */
async function stageRows(
  deps: ImportDeps<StagingLedger>,
  job: StageJob,
  {
    source,
    plan,
    last,
    bounds,
  }: { source: Source; plan: MappingPlan; last: LastReading | null; bounds: LinkBounds },
): Promise<StagedRows> {
  const { ledger, tuning } = deps
  const { run, sync, window = null, reconcile = null, isRetry = false, isOfLinks = false } = job
  // Minutes, where runs of millions of rows have become old.
  await withHeartbeat(deps, ledger.prune(new Date(deps.clock.now() - RETENTION_MS).toISOString()))
  const fence = await ledger.beginStage(run, source.columns, job.stageFence)
  const beat = () => deps.beat()
  const isOfSource = !isRetry && !isOfLinks
  const corrected = isOfSource ? await CorrectedRows.read(ledger, run, beat) : CorrectedRows.none()
  const filter = reconcile?.where ? new RowFilter(source.columns, reconcile.where) : null
  await readRows(deps, { run, fence, source, plan, corrected, filter })
  const { rows: read, digest, watermark: reached } = source.summary()
  // A retry is asked for, and what a reconciliation found differs although it was accepted: accepted rows are sent too.
  const skipUnchanged = reconcile === null && !isRetry
  const watermark = window === null && skipUnchanged ? reached : undefined
  const unread = sync.import.verify === 'all' ? unreadOf(sync.import) : null
  const { from, mode } = sync.import
  // Each row of a source of links links for itself.
  const keysRepeat = !writesRecords(mode)
  const kept = { run, fence, rows: read, columns: source.columns, plan, keysRepeat, from }
  const carried = last === null ? 0 : await carryOver(deps, kept, last)
  const isOfAll = isOfSource && window === null && skipUnchanged && !keysRepeat
  const written = { become: isOfAll ? unread : null, corrected: corrected.keys }
  const held = await carryUnread(deps, { ...kept, rows: read + carried }, written)
  const rows = read + carried + held
  const onSlice = sliceWatcher(deps)
  const decided = await ledger.finishStage(
    run,
    fence,
    {
      rows,
      again: carried + held,
      digest,
      watermark,
      skipUnchanged,
      rowsPerSegment: tuning.rows_per_segment,
      ...(plan.links && { linkBounds: bounds }),
      ...(unread !== null && { unread }),
      ...(keysRepeat && { keysRepeat }),
      ...(isRetry && { isRetry }),
      ...watermarksOf(job),
    },
    onSlice,
  )
  const left = await keepPart(deps, { run, fence, filter, sample: reconcile?.sample ?? null })
  const of = isOfLinks ? 'all left' : 'unread keys'
  const isCarrying = plan.links !== null && (isOfLinks || last !== null)
  const carriedLinks = isCarrying ? await ledger.carryLinks(run, fence, { of, bounds }, onSlice) : 0
  const unchanged = decided.unchanged + (unread === 'read' ? held : 0)
  const { corrected: inPart, ...part } = left ?? { rows, corrected: corrected.count }
  const counted = { ...decided, unchanged, fence, ...part }
  const counts = { ...counted, ...(inPart > 0 && { corrected: inPart }) }
  return { all: rows, carried: carried + held, carriedLinks, counts, corrected }
}

/** A run compares watermarks where its source has one. A reconciliation shows what differs, and holds such rows back itself. */
const watermarksOf = ({
  sync: { import: config },
  window = null,
  reconcile = null,
  overwritesNewer: overwrites = false,
}: StageJob): Pick<StagedSource, 'watermarks'> =>
  reconcile !== null ||
  !writesRecords(config.mode) ||
  !sourceOf(config.from).isIncremental(config.from)
    ? {}
    : { watermarks: { overwrites, isWindow: window !== null } }

/** Which row of a key counts is decided by then. Null: the run is of all rows. */
async function keepPart(
  { ledger, signal, beat }: ImportDeps<StagingLedger>,
  part: { run: number; fence: number; filter: RowFilter | null; sample: number | null },
): Promise<LeftCounts | null> {
  const { run, fence, filter, sample } = part
  if (filter === null && sample === null) return null
  for (const ordinals of filter?.others() ?? []) {
    signal.throwIfAborted()
    await ledger.leaveOut(run, fence, ordinals)
    beat()
  }
  const left = await ledger.countLeft(run, fence)
  return sample === null ? left : await ledger.keepSample(run, fence, sample)
}

/**
 * A row that an earlier run wrote, and has not read back, is read back by this one. Where rows are looked up before they are
 * sent, that look-up is the reading: it knows which values of others were kept. Of a create it knows only that the record is there.
 */
const unreadOf = (config: ImportConfig): 'read' | 'plan' =>
  keepsBefore(config) && config.mode !== 'create' ? 'plan' : 'read'

/** Rows are read and mapped while those before them are written. */
async function readRows(
  deps: ImportDeps<StagingLedger>,
  reading: {
    run: number
    fence: number
    source: Source
    plan: MappingPlan
    corrected: CorrectedRows
    filter: RowFilter | null
  },
): Promise<void> {
  const { ledger, signal } = deps
  const { run, fence, source, plan, corrected, filter } = reading
  const noteShare = shareNoter(deps, run, 'stage')
  await withBehind(async (writes) => {
    for await (const rows of heartbeatEach(deps, source.chunks(LEDGER_ROWS_MAX, signal))) {
      signal.throwIfAborted()
      filter?.see(rows)
      const items = rows.map((row) => withWatermark(corrected.staged(plan.map(row)), row))
      for (const part of stagedParts(items))
        await writes.start(() => ledger.stageItems(run, fence, part))
      for (const part of slicesOf(linksOfRows(plan, rows, items), LEDGER_ROWS_MAX))
        await writes.start(() => ledger.stageLinks(run, fence, part))
      await noteShare(source.readShare?.() ?? null)
      deps.beat(rows.length)
    }
    await writes.end()
  })
}
