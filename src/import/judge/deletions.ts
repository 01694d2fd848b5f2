// Judges deletions right before they are sent: which records are as they were left, and which stay. Promises kept here: a record of a row
// of the run, or of another sync, stays, whatever the cause of its deletion. What else speaks against it is in the rules of the cause.

import type { RecordRepresentation } from '../../contract/index.ts'
import { ownValue, writeJson } from '../../core/json.ts'
import { keepsBefore } from '../../core/domain/protection.ts'
import type { SettledDeletion } from '../../core/domain/outcomes.ts'
import { isSameMeaning } from '../look/compare.ts'
import type {
  AcceptedRecords,
  LedgerIdentity,
  OpenRemoval,
  RemovalOutcome,
  Removals,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import type { RecordReading } from '../look/reading.ts'
import type { MatchingProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { lookUpKeys, type Found, type PropertyValues } from '../look/look-up.ts'
import type { LeftAsIs } from './left-as-is.ts'
import type { SourceAsRead } from './source-as-read.ts'

export type JudgingLedger = AcceptedRecords &
  LedgerIdentity &
  Pick<Removals, 'writerOf'> &
  Runs &
  StepStates

/** What is the same for all removals of a run. */
export interface RemovalJob extends StagedImport {
  readonly matching: MatchingProperty
  readonly left: LeftAsIs
  /** What a reconciliation has read of the records that it found to be extra. */
  readonly reading: RecordReading
  /** The values that records get; null: they are deleted. */
  readonly cleared: PropertyValues | null
  readonly typeOf: (property: string) => string
  readonly source: SourceAsRead
  /** Keys in small letters of rows whose record is not known. */
  readonly openKeys: ReadonlySet<string>
}

export interface Judged {
  /** Those that are settled without a request. */
  readonly settled: readonly RemovalOutcome[]
  /** Those that are as they were left, with their records. */
  readonly sent: readonly (OpenRemoval & {
    readonly recordId: string
    /** JSON object of what the record holds of the mapped properties; null where that is not kept. */
    readonly before: string | null
  })[]
  /** When they were looked up, ms since 1970; Infinity if nothing was. */
  readonly at: number
}

export interface RemovalVerdict {
  readonly state: SettledDeletion
  readonly reason?: string | null
  readonly detail?: string | null
}

/** A deletion with its record, as it was looked up by its key. */
export interface LookedDeletion {
  readonly one: OpenRemoval
  readonly recordId: string | null
  readonly record: RecordRepresentation | undefined
  readonly found: Found
}

/** What is special about the deletions of one cause. */
export interface DeletionRules {
  /** Properties that the verdict looks at. */
  readonly names: readonly string[]
  /** Null unless what the ledger has is enough to settle it without a look. */
  unseen?(one: OpenRemoval): RemovalVerdict | null
  recordOf(one: OpenRemoval, found: Found): string | null
  /** Null if it is to be deleted now. */
  verdict(looked: LookedDeletion): Promise<RemovalVerdict | null>
}

/** Reason of a deletion whose record is that of a row of the run. */
export const OWN_ROW = 'own_row'

export const unproven = (reason: string): RemovalVerdict => ({ state: 'unproven', reason })

/** What a record holds of the mapped properties, with `keep_before`. */
const heldText = (
  { config }: Pick<RemovalJob, 'config'>,
  { properties }: RecordRepresentation,
): string | null =>
  keepsBefore(config)
    ? writeJson(
        Object.fromEntries(
          Object.keys(config.properties).map((name) => [
            name,
            ownValue(properties as PropertyValues, name) ?? null,
          ]),
        ),
      )
    : null

/** The values of `clear` are those of deletions that rows ask for: they are deleted. */
export const actionOf = ({ cleared }: RemovalJob, { cause }: OpenRemoval) =>
  cause === 'missing' && cleared !== null ? 'clear' : 'delete'

/** Judges at most 100 deletions of one cause. */
export async function judge(
  { ledger, ...deps }: ImportDeps<JudgingLedger>,
  job: RemovalJob,
  rules: DeletionRules,
  open: readonly OpenRemoval[],
): Promise<Judged> {
  const settled: RemovalOutcome[] = []
  const sent: Judged['sent'][number][] = []
  const settle = (
    { number, key }: OpenRemoval,
    { state, reason = null, detail = null }: RemovalVerdict,
    recordId: string | null,
  ) => void settled.push({ number, key, state, recordId, reason, detail })
  const toLookUp = open.filter((one) => {
    const verdict = rules.unseen?.(one) ?? null
    if (verdict !== null) settle(one, verdict, null)
    return verdict === null
  })
  if (toLookUp.length === 0) return { settled, sent, at: Infinity }
  const { run, config, matching } = job
  const kept = keepsBefore(config) ? Object.keys(config.properties) : []
  const names = [...new Set([matching.name, ...rules.names, ...kept])]
  const keys = toLookUp.map(({ key }) => key)
  const found = await lookUpKeys({ ledger, ...deps }, config, matching, keys, names)
  const looked = toLookUp.map((one): LookedDeletion => {
    const recordId = rules.recordOf(one, found)
    const record = recordId === null ? undefined : found.ofKey.get(one.key)?.get(recordId)
    return { one, recordId, record, found }
  })
  const records = looked.flatMap(({ one: { key }, recordId }) =>
    recordId === null ? [] : [{ key, recordId }],
  )
  const own = await ledger.recordsOfRows(
    run,
    records.map(({ recordId }) => recordId),
  )
  const elsewhere = await ledger.writtenElsewhere(run, records)
  for (const each of looked) {
    const { one, recordId, record } = each
    const sync = elsewhere.get(one.key)
    const verdict =
      recordId !== null && own.has(recordId)
        ? ({ state: 'still_wanted', reason: OWN_ROW } as const)
        : sync !== undefined
          ? ({ state: 'still_wanted', reason: 'other_sync', detail: sync } as const)
          : await rules.verdict(each)
    if (verdict !== null) settle(one, verdict, recordId)
    else sent.push({ ...one, recordId: recordId!, before: heldText(job, record!) })
  }
  return { settled, sent, at: found.askedAt }
}

/** Whether a record has the values of `clear`. */
export const isCleared = (
  { cleared, typeOf }: RemovalJob,
  { properties }: RecordRepresentation,
): boolean =>
  Object.entries(cleared ?? {}).every(([name, value]) =>
    isSameMeaning(value, (properties as PropertyValues)[name], typeOf(name)),
  )
