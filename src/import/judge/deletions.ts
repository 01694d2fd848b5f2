// Judges removals right before they are sent: which records are as this sync left them, and which stay. Promises kept here: a record of
// a row of the run, or of another sync, stays; so does one that is not proven to be as we left it; a record that is not found is gone
// only if the key in use sees all records of the org.

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
import { hiddenFrom } from '../look/key-view.ts'
import { recordVersion, type RecordReading } from '../look/reading.ts'
import { openForm } from '../look/open-keys.ts'
import type { MatchingProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { lookUpKeys, readRecordById, type Found, type PropertyValues } from '../look/look-up.ts'
import { checkDeletionView } from './deletion-view.ts'
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

/** What a record holds of the mapped properties, with `keep_before`. */
export const heldText = (
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

/** Reason of a removal whose record is that of a row of the run. */
export const OWN_ROW = 'own_row'

type Known = OpenRemoval & { readonly accepted: NonNullable<OpenRemoval['accepted']> }
type Verdict = {
  readonly state: SettledDeletion
  readonly reason?: string
  readonly detail?: string
}

const outcome = (
  { number, key }: OpenRemoval,
  { state, reason, detail }: Verdict,
  recordId: string | null = null,
): RemovalOutcome => ({
  number,
  key,
  state,
  recordId,
  reason: reason ?? null,
  detail: detail ?? null,
})

/** Whether the sync has written a record for the key, as far as it is known now. */
const isTracked = ({ accepted }: OpenRemoval): boolean =>
  accepted !== null && (accepted.recordId !== null || accepted.hash !== null)

/** The values of `clear` are those of deletions that rows ask for: they are deleted. */
export const actionOf = ({ cleared }: RemovalJob, { cause }: OpenRemoval) =>
  cause === 'missing' && cleared !== null ? 'clear' : 'delete'

/** Judges at most 100 removals. */
export async function judge(
  deps: ImportDeps<JudgingLedger>,
  job: RemovalJob,
  open: readonly OpenRemoval[],
): Promise<Judged> {
  const extra = open.filter((one) => one.cause === 'extra')
  const known = open.filter((one): one is Known => one.cause !== 'extra' && isTracked(one))
  const settled: RemovalOutcome[] = open
    .filter((one) => one.cause !== 'extra' && !isTracked(one))
    .map((one) => outcome(one, { state: 'not_owned', reason: 'no_record' }))
  const sent: Judged['sent'][number][] = []
  const judgeable = [...extra, ...known]
  if (judgeable.length === 0) return { settled, sent, at: Infinity }
  const { ledger } = deps
  const { run } = job
  const restored = await ledger.restoredAfter()
  const names = await job.left.names(
    known.map(({ accepted }) => accepted),
    [
      ...job.reading.names,
      ...Object.keys(job.cleared ?? {}),
      ...(keepsBefore(job.config) ? Object.keys(job.config.properties) : []),
    ],
  )
  const keys = judgeable.map(({ key }) => key)
  const found = await lookUpKeys(deps, job.config, job.matching, keys, names)
  const isWholeView = extra.length > 0 && (await checkDeletionView(deps, job))
  const held = [
    ...extra.map((one) => ({ one, recordId: one.recordId })),
    ...known.map((one) => ({ one, recordId: recordOf(one, found) })),
  ]
  const records = held.flatMap(({ one: { key }, recordId }) =>
    recordId === null ? [] : [{ key, recordId }],
  )
  const own = await ledger.recordsOfRows(
    run,
    records.map(({ recordId }) => recordId),
  )
  const elsewhere = await ledger.writtenElsewhere(run, records)
  const hidden = hiddenFrom(deps, job)
  for (const { one, recordId } of held) {
    const sync = elsewhere.get(one.key)
    const verdict: Verdict | null =
      recordId !== null && own.has(recordId)
        ? { state: 'still_wanted', reason: OWN_ROW }
        : sync !== undefined
          ? { state: 'still_wanted', reason: 'other_sync', detail: sync }
          : one.cause === 'extra'
            ? await extraVerdict(deps, job, { one, found, isWholeView })
            : await judged(deps, job, { one: one as Known, recordId, found, hidden }, restored)
    if (verdict !== null) settled.push(outcome(one, verdict, recordId))
    else
      sent.push({
        ...one,
        recordId: recordId!,
        before: heldText(job, found.ofKey.get(one.key)!.get(recordId!)!),
      })
  }
  return { settled, sent, at: found.askedAt }
}

/**
 * Null if an extra record is as it was compared, alone under its key.
 * @param looked.isWholeView whether the key in use sees all records of the org
 */
async function extraVerdict(
  deps: ImportDeps<JudgingLedger>,
  { config, openKeys, reading }: RemovalJob,
  looked: { readonly one: OpenRemoval; readonly found: Found; readonly isWholeView: boolean },
): Promise<Verdict | null> {
  const { one, found, isWholeView } = looked
  const { key, recordId, detail: version } = one
  if (openKeys.has(openForm(key))) return { state: 'unproven', reason: 'row_not_taken' }
  if (found.several.has(key) || (one.accepted?.records ?? []).length > 0)
    return { state: 'unproven', reason: 'second_record' }
  const record = found.ofKey.get(key)?.get(recordId!)
  if (record !== undefined)
    return version === recordVersion(record, reading)
      ? null
      : { state: 'changed_since', reason: 'record_changed' }
  if ((await readRecordById(deps, config, recordId!)) !== null)
    return { state: 'changed_since', reason: 'key_changed' }
  if (!isWholeView) return { state: 'unproven', reason: 'not_visible' }
  return { state: one.isSent ? 'deleted' : 'already_gone' }
}

/** The record that the sync has written: by its id, or the only one of the key where the service has answered without it. */
function recordOf({ key, accepted }: Known, found: Found): string | null {
  const here = [...(found.ofKey.get(key)?.keys() ?? [])]
  return accepted.recordId ?? (here.length === 1 ? here[0]! : null)
}

/** What the ledger says against a removal, else what the service shows; a record that is gone needs no proof of the ledger. */
async function judged(
  deps: ImportDeps<JudgingLedger>,
  job: RemovalJob,
  looked: Parameters<typeof verdictOf>[2],
  restored: number,
): Promise<Verdict | null> {
  const { one, recordId, found } = looked
  const unproven = unprovenBy(job, one, restored)
  const isFound = recordId === null || (found.ofKey.get(one.key)?.size ?? 0) > 0
  if (unproven !== null && (unproven.reason !== 'restored_ledger' || isFound)) return unproven
  const verdict = await verdictOf(deps, job, looked)
  const isGone = verdict?.state === 'already_gone' || verdict?.state === 'deleted'
  return unproven === null || isGone ? verdict : unproven
}

/** What the ledger alone says against a removal. */
function unprovenBy(
  { openKeys }: RemovalJob,
  { key, accepted }: Known,
  restored: number,
): Verdict | null {
  const unclear = (reason: string) => ({ state: 'unproven', reason }) as const
  if ((accepted.records ?? []).length > 0) return unclear('second_record')
  if (accepted.hash === null || accepted.marks === null) return unclear('write_unproven')
  if (accepted.run <= restored) return unclear('restored_ledger')
  return openKeys.has(openForm(key)) ? unclear('row_not_taken') : null
}

/** Null if the record is as it was left. */
async function verdictOf(
  deps: ImportDeps<JudgingLedger>,
  job: RemovalJob,
  looked: {
    readonly one: Known
    readonly recordId: string | null
    readonly found: Found
    readonly hidden: ReturnType<typeof hiddenFrom>
  },
): Promise<Verdict | null> {
  const { one, recordId, found, hidden } = looked
  const { key, accepted, isSent } = one
  if (found.several.has(key) || (found.ofKey.get(key)?.size ?? 0) > 1)
    return { state: 'unproven', reason: 'second_record' }
  const record = recordId === null ? undefined : found.ofKey.get(key)?.get(recordId)
  if (record === undefined) {
    const other = recordId === null ? null : await readRecordById(deps, job.config, recordId)
    if (other !== null) return { state: 'changed_since', reason: 'key_changed' }
    const reason = await hidden(accepted.run)
    if (reason !== null) return { state: 'unproven', reason: 'not_visible' }
    return { state: isSent && actionOf(job, one) === 'delete' ? 'deleted' : 'already_gone' }
  }
  if (isSent && actionOf(job, one) === 'clear' && isCleared(job, record))
    return { state: 'cleared' }
  const change = await job.left.changeOf(record, accepted)
  if (change === null) return null
  const { reason, field } = change
  if (reason === 'write_unproven') return { state: 'unproven', reason }
  return { state: 'changed_since', reason, ...(field !== null && { detail: field }) }
}

/** Whether a record has the values of `clear`. */
export const isCleared = (
  { cleared, typeOf }: RemovalJob,
  { properties }: RecordRepresentation,
): boolean =>
  Object.entries(cleared ?? {}).every(([name, value]) =>
    isSameMeaning(value, (properties as PropertyValues)[name], typeOf(name)),
  )
