// What is extra: keys that the run's destination has a record for and the source has no row for. Only keys that we wrote can be
// extra. A record of a row of the run is not, nor one that another sync writes, nor one that came in by a correction.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import type { Difference } from '../../core/domain/differences.ts'
import { NOT_VISIBLE, SECOND_RECORD } from '../../core/domain/held-back.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type {
  AcceptedRecords,
  CorrectedRow,
  Differences,
  KnownLinks,
  Reconciliation,
  RowStaging,
  RunReports,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import { stepPosition, type StepPosition } from '../step-position.ts'
import { readAbsentKeys, type AbsentKeys, type HeldKey } from './absent-keys.ts'
import { stillInSourceText, type KeysOfSource } from './source-keys.ts'
import type { ReconcileJob } from './compare-items.ts'
import { Rejects } from './rejects.ts'
import { findDoubtful } from './doubtful-keys.ts'
import { recordVersion, type RecordReading } from '../look/reading.ts'

export type ExtraLedger = AcceptedRecords &
  Differences &
  KnownLinks &
  Reconciliation &
  RowStaging &
  RunReports &
  Runs &
  StepStates

type Page = Awaited<ReturnType<ExtraLedger['absentKeys']>>
type Slice = AbsentKeys

/** What a slice has shown of records that are left as they are. */
interface LeftRecords {
  /** The sync that writes the record too, once for each record. */
  readonly syncs: readonly string[]
  readonly rows: readonly CorrectedRow[]
  /** Those whose record the source still has, whatever it gave. */
  readonly inSource: number
  readonly isFiltered: boolean
  /** Those that a row may be of which the run could not take: it has their key, or none that can be read. */
  readonly ofRejects: number
  /** Extra records that the key in use does not find, and may not see. */
  readonly hidden: number
  /** Extra records of a key that has another one, or may have. */
  readonly second: number
}

/** How far the search is, and what it has left as it is so far. */
interface Progress {
  /** By sync. */
  readonly elsewhere: StepPosition<Record<string, number>>
  readonly corrected: StepPosition<CorrectedRecords>
  readonly kept: StepPosition<KeptExtra>
}

/** Records those whose record still exists. Returns whether it came to the end before its time was over. */
export async function findExtra(
  deps: ImportDeps<ExtraLedger>,
  job: ReconcileJob,
  {
    reading,
    openKeys,
  }: {
    readonly reading: RecordReading
    /** Opens the keys of the source; asked for once there is a record without a row. */
    readonly openKeys: () => Promise<KeysOfSource | null>
  },
  isLate: () => boolean,
): Promise<boolean> {
  const { ledger, signal, tuning } = deps
  const { run, config } = job
  const progress: Progress = {
    elsewhere: await stepPosition<Record<string, number>>(ledger, run, 'written_elsewhere', {}),
    corrected: await stepPosition(ledger, run, 'corrected', { records: 0, named: '' }),
    kept: await stepPosition(ledger, run, 'kept_extra', { hidden: 0, second: 0 }),
  }
  let opened: ReturnType<typeof openKeys> | null = null
  const rejects = new Rejects(ledger, run)
  const scene = { reading, rejects, keysOf: () => (opened ??= openKeys()) }
  // Bounded by the keys: every page goes on after the one before it.
  for (let after = await ledger.loadStepState(run, config.object_type); ;) {
    signal.throwIfAborted()
    const page = await ledger.absentKeys(run, { after, limit: LEDGER_ROWS_MAX })
    const slices = slicesOf(page.keys, IN_VALUES_MAX)
    const done = new Map<Slice, LeftRecords>()
    try {
      await forEachConcurrent(slices, tuning.in_flight, async (slice) => {
        done.set(slice, await recordExtra(deps, job, scene, slice))
      })
    } finally {
      await keep(deps, job, progress, { page, slices, done })
    }
    deps.beat()
    if (page.next === null) {
      const doubtful = await findDoubtful(deps, job, reading)
      if (doubtful.length > 0) await ledger.noteDifferences(run, doubtful, { repaired: false })
      await ledger.addWarnings(run, [
        ...warningsOf(progress),
        ...(await rejects.warnings(progress.kept.kept.ofRejects ?? 0)),
        ...doubtfulText(doubtful.length),
      ])
      return true
    }
    after = page.next
    if (isLate()) return false
  }
}

/** Records what is extra of a slice of keys. */
async function recordExtra(
  deps: ImportDeps<ExtraLedger>,
  job: ReconcileJob,
  {
    reading,
    rejects,
    keysOf,
  }: {
    reading: RecordReading
    rejects: Rejects
    keysOf: () => Promise<KeysOfSource | null>
  },
  slice: Slice,
): Promise<LeftRecords> {
  const { ledger } = deps
  const { run, config, scope } = job
  const ours = await readAbsentKeys(deps, job, reading, slice)
  // All rows were compared: what one of them was found under is its record, even if another key finds it too.
  const own = await ledger.recordsOfRows(
    run,
    ours.map(({ recordId }) => recordId),
  )
  const alone = ours.filter(({ recordId }) => !own.has(recordId))
  const elsewhere = await ledger.writtenElsewhere(run, alone)
  const others = alone.filter(({ key }) => !elsewhere.has(key))
  const brought = await ledger.broughtByCorrection(
    run,
    others.map(({ key }) => key),
  )
  const absent = others.filter(({ key }) => !brought.has(key))
  const ofRejects = absent.length === 0 ? new Set() : await rejects.mayBeOf(absent)
  const unread = absent.filter(({ key }) => !ofRejects.has(key))
  // What is deleted needs a proof, also where the form of its key in the source is not known.
  const isWhole = scope.repair && scope.deleteExtra
  const keys = unread.length === 0 ? null : await keysOf()
  const there = (await keys?.have(unread, { isWhole })) ?? new Set()
  const extra = unread.filter(({ key }) => !there.has(key))
  const differences = extra.map((held) => extraOf(config, held, reading))
  if (extra.length > 0) await ledger.noteDifferences(run, differences, { repaired: false })
  return {
    syncs: [...elsewhere.values()],
    rows: [...brought.values()],
    inSource: there.size,
    isFiltered: keys?.records.isFiltered === true,
    ofRejects: ofRejects.size,
    hidden: extra.filter(({ record }) => record === null).length,
    second: extra.filter(({ record, isSecond }) => record !== null && isSecond).length,
  }
}

/** Keeps the position behind the slices of a page that are done without a gap. */
async function keep(
  { ledger }: ImportDeps<StepStates>,
  { run, config }: ReconcileJob,
  { elsewhere, corrected, kept }: Progress,
  read: { page: Page; slices: readonly Slice[]; done: ReadonlyMap<Slice, LeftRecords> },
): Promise<void> {
  const { page, slices, done } = read
  const gap = slices.findIndex((slice) => !done.has(slice))
  const last = gap < 0 ? page.next : (slices[gap - 1]?.at(-1)?.place ?? null)
  for (const slice of gap < 0 ? slices : slices.slice(0, gap)) {
    const { syncs, rows, hidden, second, inSource, isFiltered, ofRejects } = done.get(slice)!
    kept.kept.inSource = (kept.kept.inSource ?? 0) + inSource
    kept.kept.isFiltered ||= isFiltered
    kept.kept.ofRejects = (kept.kept.ofRejects ?? 0) + ofRejects
    kept.kept.hidden += hidden
    kept.kept.second += second
    for (const sync of syncs) elsewhere.kept[sync] = (elsewhere.kept[sync] ?? 0) + 1
    for (const row of rows) noteCorrected(corrected.kept, row)
  }
  if (last === null) return
  await elsewhere.keep(elsewhere.kept)
  await corrected.keep(corrected.kept)
  await kept.keep(kept.kept)
  await ledger.saveStepState(run, config.object_type, last)
}

const warningsOf = ({ elsewhere, corrected, kept: { kept } }: Progress): string[] => [
  ...(kept.hidden > 0
    ? [
        `extra records that are not visible (${NOT_VISIBLE}), because the key in use has reach user and does not see the private records of others: ${kept.hidden}; reconcile --repair --delete-extra with a key of reach org forgets those that are gone, and deletes the others`,
      ]
    : []),
  ...(kept.second > 0
    ? [
        `extra records that are not deleted, because their key has another record, or may have (${SECOND_RECORD}): ${kept.second}; delete at the service those that are too many`,
      ]
    : []),
  ...((kept.inSource ?? 0) > 0
    ? [stillInSourceText(kept.inSource!, { isFiltered: kept.isFiltered === true })]
    : []),
  ...Object.entries(elsewhere.kept).map(leftText),
  ...(corrected.kept.records > 0 ? [correctedText(corrected.kept)] : []),
]

const doubtfulText = (records: number): string[] =>
  records === 0
    ? []
    : [
        `extra records that rows in doubt of earlier runs may have made, which are not deleted: ${records}; delete at the service those that are too many`,
      ]

const leftText = ([sync, records]: [string, number]): string =>
  `${staysText(records)}: the sync "${sync}" writes ${records === 1 ? 'it' : 'them'} too`

const staysText = (records: number): string =>
  records === 1
    ? '1 record that the source has no row of is left as it is'
    : `${records} records that the source has no row of are left as they are`

/** Corrected rows that a warning names. */
const NAMED_MAX = 10

interface CorrectedRecords {
  records: number
  /** The first rows, as people read them. */
  named: string
}

function noteCorrected(kept: CorrectedRecords, { run, ordinal }: CorrectedRow): void {
  kept.records++
  if (kept.records > NAMED_MAX) return
  const row =
    ordinal === null ? `run ${run}, whose rows are not kept any more` : `run ${run} row ${ordinal}`
  kept.named += kept.named === '' ? row : `, ${row}`
}

function correctedText({ records, named }: CorrectedRecords): string {
  const more = records > NAMED_MAX ? ` and ${records - NAMED_MAX} more` : ''
  return `${staysText(records)}: ${records === 1 ? 'it' : 'they'} came in by a correction of ${named}${more}`
}

/** Extra records that no run deletes. */
interface KeptExtra {
  hidden: number
  second: number
  inSource?: number
  ofRejects?: number
  isFiltered?: boolean
}

const extraOf = (
  config: ImportConfig,
  { key, recordId, record }: HeldKey,
  reading: RecordReading,
): Difference => ({
  stream: config.object_type,
  key,
  recordId,
  ordinal: null,
  kind: 'extra',
  field: null,
  // One that was not read is never deleted.
  whose: record === null ? 'unknown' : 'source',
  ours: null,
  theirs: null,
  ...(record !== null && { version: recordVersion(record, reading) }),
})
