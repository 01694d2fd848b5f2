// Reconcile: what the source holds against what the service holds, by key, 100 keys a request. Promises kept here: what only
// looks different under the comparison of its type is equal; every difference says who changed the value last, as far as it
// is known; a record is missing only if neither its key nor its id finds it; only keys that we wrote can be extra.

import { IN_VALUES_MAX, type RecordRepresentation } from '../../contract/index.ts'
import {
  excerpt,
  type Difference,
  type DifferenceKind,
  type ChangedBy,
} from '../../core/differences.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { isWholeScope, type ReconcileScope } from '../../core/purpose.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type {
  AcceptedRecords,
  CorrectedRow,
  Differences,
  LedgerIdentity,
  Reconciliation,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import { KEY_CHANGED, NOT_VISIBLE, SECOND_RECORD } from '../../core/held-back.ts'
import type { ItemComparison, RunSchema, UncomparedItem } from '../../ledger/ledger.ts'
import { differingFields } from '../verify/compare.ts'
import { lookUpItems, lookUpKeys, payloadProperties, readRecordById } from '../verify/look-up.ts'
import { createItemHasher, baselineHash, parseBaseline } from '../verify/baseline-hashes.ts'
import { hiddenFrom } from '../key-view.ts'
import { stepPosition } from '../step-position.ts'
import { recordReading, recordVersion, type RecordReading } from './reading.ts'
import type { ImportDeps } from '../ports.ts'
import { isNormalised, readDigest } from '../verify/read-back.ts'
import { runConfigs } from '../run-configs.ts'
import { isCompared, propertyTypes, type MatchingProperty } from '../mapping/types.ts'

const MOVED =
  'the record that this row was written to has another key now; change it back there, or the key in the source'

const SEVERAL = 'the service has more than one record with this key; delete those that are too many'
const UNSEEN = 'the record may still be there, and a repair would make a second one'

type Values = Readonly<Record<string, Json>>

export interface ReconcileJob {
  readonly run: number
  readonly config: ImportConfig
  /** As the run was staged with it. */
  readonly schema: RunSchema
  readonly scope: ReconcileScope
}

type ReconcileLedger = AcceptedRecords &
  Differences &
  LedgerIdentity &
  Reconciliation &
  Runs &
  StepStates

/**
 * Compares the planned items of a run that were not compared yet, then looks for what is extra. Returns whether it came to
 * the end before its time was over (`tuning.segment_ms`); what it did is in the ledger.
 * @throws Blocked, ServiceFailure, QuotaWait: called again, it goes on; MappingError where the matching property has gone
 */
export async function compareRun(
  deps: ImportDeps<ReconcileLedger>,
  job: ReconcileJob,
): Promise<boolean> {
  const { ledger, clock, tuning, signal } = deps
  const { run } = job
  const deadline = clock.now() + tuning.segment_ms
  const isLate = () => clock.now() >= deadline
  const reading = await recordReading(deps, job)
  const compare = comparer(deps, job, reading.matching)
  // Bounded by the run's items: every pass moves `after` forward.
  for (let after = 0; ;) {
    signal.throwIfAborted()
    const items = await ledger.uncompared(run, { after, limit: LEDGER_ROWS_MAX })
    if (items.length === 0) break
    after = items.at(-1)!.ordinal
    await forEachConcurrent(slices(items), tuning.in_flight, async (slice) => {
      signal.throwIfAborted()
      await compare(slice)
      deps.beat(slice.length)
    })
    if (isLate()) return false
  }
  // What the source lacks can be told only of all of its rows.
  return isWholeScope(job.scope) ? await findExtra(deps, job, reading, isLate) : true
}

/** Shares of at most 100. */
function slices<Item>(items: readonly Item[]): (readonly Item[])[] {
  const shares: (readonly Item[])[] = []
  for (let first = 0; first < items.length; first += IN_VALUES_MAX)
    shares.push(items.slice(first, first + IN_VALUES_MAX))
  return shares
}

/** Keys that the run's destination has a record for and the source has no row for: those whose record is still there. */
async function findExtra(
  deps: ImportDeps<ReconcileLedger>,
  { run, config }: ReconcileJob,
  reading: RecordReading,
  isLate: () => boolean,
): Promise<boolean> {
  const { ledger, signal, tuning } = deps
  const left = await stepPosition<Record<string, number>>(ledger, run, 'written_elsewhere', {})
  const corrected = await stepPosition(ledger, run, 'corrected', { records: 0, named: '' })
  // Bounded by the keys: every page goes on after the one before it.
  for (let after = await ledger.loadStepState(run, config.object_type); ;) {
    signal.throwIfAborted()
    const page = await ledger.absentKeys(run, { after, limit: LEDGER_ROWS_MAX })
    const parts = slices(page.keys)
    /** What was looked at, and what of it is left: the syncs that write a record of it too, and the rows that were corrected. */
    const done = new Map<
      (typeof parts)[number],
      { readonly syncs: readonly string[]; readonly rows: readonly CorrectedRow[] }
    >()
    /** The place behind the parts that are done without a gap. */
    const keep = async () => {
      const gap = parts.findIndex((part) => !done.has(part))
      const last = gap < 0 ? page.next : (parts[gap - 1]?.at(-1)?.place ?? null)
      for (const part of gap < 0 ? parts : parts.slice(0, gap)) {
        const { syncs, rows } = done.get(part)!
        for (const sync of syncs) left.kept[sync] = (left.kept[sync] ?? 0) + 1
        for (const row of rows) noteCorrected(corrected.kept, row)
      }
      if (last === null) return
      await left.keep(left.kept)
      await corrected.keep(corrected.kept)
      await ledger.saveStepState(run, config.object_type, last)
    }
    const look = async (slice: (typeof parts)[number]) => {
      const keys = slice.map(({ key }) => key)
      const found = await lookUpKeys(deps, config, reading.matching, keys, reading.names)
      // A record of the key that is another one is not ours.
      const ours = slice.flatMap(({ key, recordId }) =>
        recordId !== null && found.get(key)?.id === recordId ? [{ key, recordId }] : [],
      )
      // All rows were compared: what one of them was found under is its record, whatever other key finds it.
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
      const extra = others
        .filter(({ key }) => !brought.has(key))
        .map(({ key }) => extraOf(config, key, found.get(key)!, reading))
      if (extra.length > 0) await ledger.noteDifferences(run, extra, { repaired: false })
      done.set(slice, { syncs: [...elsewhere.values()], rows: [...brought.values()] })
    }
    try {
      await forEachConcurrent(parts, tuning.in_flight, look)
    } finally {
      await keep()
    }
    deps.beat()
    if (page.next === null) {
      await ledger.addWarnings(run, [
        ...Object.entries(left.kept).map(leftText),
        ...(corrected.kept.records > 0 ? [correctedText(corrected.kept)] : []),
      ])
      return true
    }
    after = page.next
    if (isLate()) return false
  }
}

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

const extraOf = (
  config: ImportConfig,
  key: string,
  record: RecordRepresentation,
  reading: RecordReading,
): Difference => ({
  stream: config.object_type,
  key,
  recordId: record.id,
  ordinal: null,
  kind: 'extra',
  field: null,
  whose: 'source',
  ours: null,
  theirs: null,
  version: recordVersion(record, reading),
})

/** Compares at most 100 items with their records. What was compared is booked, whatever becomes of the rest. */
function comparer(
  deps: ImportDeps<ReconcileLedger>,
  { run, config, schema }: ReconcileJob,
  matching: MatchingProperty,
) {
  const names = Object.keys(config.properties)
  const typeOf = propertyTypes(config, schema)
  const marksOf = createItemHasher(config, schema)
  const baseOf = bases(deps, config)
  const hidden = hiddenFrom(deps, { run, config })

  const compareOne = async (
    item: UncomparedItem,
    found: RecordRepresentation | undefined,
    isOneOfSeveral: boolean,
  ): Promise<ItemComparison> => {
    // By the id that the key was written to, where the key itself finds none: somebody has given the record another key.
    const id = item.accepted?.recordId ?? null
    const record = found ?? (id === null ? null : await readRecordById(deps, config, id))
    // Sent by its key it would become a second record.
    const held = isOneOfSeveral
      ? { reason: SECOND_RECORD, detail: SEVERAL }
      : record && !found
        ? { reason: KEY_CHANGED, detail: MOVED }
        : null
    const about = { stream: config.object_type, key: item.key, ordinal: item.ordinal }
    const result = {
      ordinal: item.ordinal,
      recordId: record?.id ?? null,
      marks: marksOf(item),
      held,
    }
    if (!record) {
      const recordId = item.accepted?.recordId ?? null
      // What we never wrote is missing because nobody has sent it yet.
      const whose = recordId !== null ? 'service' : item.accepted ? 'unknown' : 'source'
      const whole = { kind: 'missing', field: null, whose, ours: null, theirs: null } as const
      const reason = recordId === null ? null : await hidden(item.accepted!.run)
      return {
        ...result,
        kind: 'missing',
        differences: [{ ...about, recordId, ...whole }],
        held: reason === null ? null : { reason: NOT_VISIBLE, detail: `${UNSEEN}: ${reason}` },
      }
    }
    const sent = payloadProperties(item)
    if (isOneOfSeveral)
      return {
        ...result,
        kind: 'different',
        differences: [
          {
            ...about,
            recordId: record.id,
            kind: 'different',
            field: matching.name,
            whose: 'unknown',
            ours: shown(sent[matching.name]),
            theirs: shown((record.properties as Values)[matching.name]),
          },
        ],
      }
    const now = record.properties as Values
    const differing = differingFields(sent, now, typeOf)
    if (differing.length === 0) return { ...result, kind: null, differences: [] }
    const base = await baseOf(item)
    // Of a property that is not compared it counts whether its value was sent.
    const fields = differing.filter(
      (field) => isCompared(config, field) || !wasSent(base, field, sent, typeOf(field)),
    )
    if (fields.length === 0) return { ...result, kind: null, differences: [] }
    const read = readDigest(sent, now, fields, typeOf)
    if (isNormalised(item, read))
      return { ...result, kind: null, normalised: true, differences: [] }
    const sides = fields.map((field) => sideOf(base, field, sent, now, typeOf(field)))
    const kind = sides.every((side) => side === 'source') ? 'stale' : 'different'
    return {
      ...result,
      kind,
      differences: fields.map((field, index) => ({
        ...about,
        recordId: record.id,
        kind: kind as DifferenceKind,
        field,
        whose: sides[index]!,
        ours: shown(sent[field]),
        theirs: shown(now[field]),
      })),
    }
  }

  return async (items: readonly UncomparedItem[]): Promise<void> => {
    const found = await lookUpItems(deps, config, matching, items, names)
    const compared: ItemComparison[] = []
    try {
      for (const item of items)
        compared.push(await compareOne(item, found.get(item.key), found.several.has(item.key)))
    } finally {
      if (compared.length > 0) await deps.ledger.recordCompared(run, compared)
    }
  }
}

/**
 * What was sent last: marks by property. `isSame`: exactly this item. `isOld`: the ledger was put back from a backup since, so
 * other values may have been sent after it. Null where it is not known.
 */
type Base = {
  readonly marks: ReadonlyMap<string, string>
  readonly isSame: boolean
  readonly isOld: boolean
} | null

function bases(deps: ImportDeps<LedgerIdentity & Runs>, config: ImportConfig) {
  const configOf = runConfigs(deps.ledger, config)
  let restored: Promise<number> | undefined
  return async ({ accepted, hash }: UncomparedItem): Promise<Base> => {
    if (accepted === null || accepted.hash === null) return null
    const isSame = accepted.hash === hash
    restored ??= deps.ledger.restoredAfter()
    const isOld = accepted.run <= (await restored)
    if (accepted.marks === null) return isSame ? { marks: new Map(), isSame, isOld } : null
    return { marks: parseBaseline(accepted.marks, await configOf(accepted.run)), isSame, isOld }
  }
}

/** Whether it is known that the value was sent last. */
const wasSent = (base: Base, field: string, ours: Values, type: string): boolean =>
  base !== null && (base.isSame || base.marks.get(field) === baselineHash(ours[field], type))

/** Who changed a field last that differs: base is what we sent last, ours the source, theirs what the service holds. */
function sideOf(base: Base, field: string, ours: Values, theirs: Values, type: string): ChangedBy {
  if (base === null || base.isOld) return 'unknown'
  if (base.isSame) return 'service'
  const mark = base.marks.get(field)
  // A property that was left out then: the source says something about it for the first time.
  if (mark === undefined) return base.marks.size === 0 ? 'unknown' : 'source'
  const isOurs = mark === baselineHash(ours[field], type)
  const isTheirs = mark === baselineHash(theirs[field], type)
  if (isOurs) return 'service'
  return isTheirs ? 'source' : 'both'
}

/** The JSON text of a value, as much of it as a report shows. */
const shown = (value: Json | undefined): string | null =>
  value === undefined || value === null ? null : excerpt(canonicalJson(value))
