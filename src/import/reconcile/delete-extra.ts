// Deletes records that we wrote and that the source no longer has a row for, if a person asked for that. Each is deleted by
// the id that was found for its key in this run, and counts as deleted once the service has no record of that id under the key.
// A record of a row of the run stays, whatever key it was found under; so does one that another sync has written meanwhile.

import { BATCH_ITEMS_MAX, IN_VALUES_MAX, publicError } from '../../contract/index.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { OPEN_STATES, REJECT_STATES, type ItemState } from '../../core/domain/books.ts'
import type { BatchItemResult } from '../../client/index.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type {
  AcceptedRecords,
  Differences,
  RunReports,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { foldCase } from '../mapping/key.ts'
import { sendIfRunIsOpen } from '../push/send-deadline.ts'
import { stepPosition } from '../step-position.ts'
import { lookUpKeys, readRecordById } from '../verify/look-up.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { recordReading, recordVersion, type RecordReading } from './reading.ts'

const DONE: readonly number[] = [200, 204, 404]

/** States of rows whose record is not known, or not by an answer. */
const UNSETTLED_STATES: readonly ItemState[] = [...REJECT_STATES, ...OPEN_STATES]

interface ExtraRecord {
  readonly key: string
  readonly recordId: string
  /** Of the run that found it; none in runs of earlier versions. */
  readonly version?: string | undefined
}

/** Extra records of a run that were not deleted, and why. */
export interface NotDeleted {
  /** The service refused to delete them. */
  readonly refused: number
  /** The service answered that they are deleted, and they are still there. */
  readonly remaining: number
  /** Another sync has written them since they were compared. */
  readonly written: number
  /** Not extra: they are records of rows of the run. */
  readonly own: number
  /** A row that was not taken has their key but for capitals. */
  readonly unclear: number
  /** They have changed at the service since they were compared, or have another key now. */
  readonly changed: number
  /** Of those that were refused: how many by status and code. */
  readonly codes: Readonly<Record<string, number>>
}

/** Deletes what is left of the extra records of a run, 50 a request; asks once for each 100 whether they are gone. */
export async function deleteExtra(
  deps: ImportDeps<AcceptedRecords & Differences & RunReports & Runs & StepStates>,
  { run, config, schema }: StagedImport,
): Promise<NotDeleted> {
  const { ledger, signal } = deps
  const place = await stepPosition(ledger, run, 'delete_extra', {
    after: 0,
    refused: 0,
    remaining: 0,
    written: 0,
    own: 0,
    unclear: 0,
    changed: 0,
    codes: {},
  })
  const kept = { ...place.kept, codes: { ...place.kept.codes } as Record<string, number> }
  let reading: RecordReading | null = null
  let openKeys: ReadonlySet<string> | null = null
  // Bounded by the differences of the run: every page goes on after the one before it.
  for (;;) {
    signal.throwIfAborted()
    const choice = { after: kept.after, limit: IN_VALUES_MAX, kind: 'extra', isRepaired: false }
    const { rows, next } = await ledger.differences(
      run,
      choice as typeof choice & { kind: 'extra' },
    )
    const listed = rows.map(({ key, recordId, version }) => ({
      key: key!,
      recordId: recordId!,
      version,
    }))
    if (listed.length > 0) openKeys ??= await keysOfOpenRows(ledger, run)
    const own = await ledger.recordsOfRows(run, recordIds(listed))
    const ofRows = listed.filter(({ recordId }) => own.has(recordId))
    if (ofRows.length > 0) await ledger.dropExtra(run, ofRows)
    const others = listed.filter(({ recordId }) => !own.has(recordId))
    const unclear = others.filter(({ key }) => openKeys?.has(foldCase(key)))
    const clear = others.filter((record) => !unclear.includes(record))
    reading ??= clear.length > 0 ? await recordReading(deps, { config, schema }) : null
    const answered: ExtraRecord[] = []
    for (let first = 0; reading !== null && first < clear.length; first += BATCH_ITEMS_MAX) {
      const records = clear.slice(first, first + BATCH_ITEMS_MAX)
      const result = await deleteUnchanged(deps, { run, config, reading, records })
      if (result.gone.length > 0) await ledger.recordDeleted(run, result.gone)
      kept.written += result.written
      kept.changed += result.changed
      if (result.asked.length === 0) continue
      await place.sent()
      answered.push(...result.asked.filter((_, index) => result.refusals[index] === null))
      for (const code of result.refusals) {
        if (code === null) continue
        kept.refused++
        kept.codes[code] = (kept.codes[code] ?? 0) + 1
      }
    }
    const { same: remaining, gone: deleted } = await lookAfter(deps, config, reading, answered)
    await ledger.recordDeleted(run, deleted)
    kept.own += ofRows.length
    kept.remaining += remaining.length
    kept.unclear += unclear.length
    if (next === null) return kept
    kept.after = next
    await place.keep(kept)
  }
}

interface Looked {
  readonly same: readonly ExtraRecord[]
  readonly gone: readonly ExtraRecord[]
}

/** Those that still exist under their key, whatever they hold, and those that do not. */
async function lookAfter(
  deps: ImportDeps,
  config: ImportConfig,
  reading: RecordReading | null,
  records: readonly ExtraRecord[],
): Promise<Looked> {
  if (reading === null || records.length === 0) return { same: [], gone: [] }
  const { matching } = reading
  const keys = records.map(({ key }) => key)
  const { byId } = await lookUpKeys(deps, config, matching, keys, [matching.name])
  return {
    same: records.filter(({ recordId }) => byId.has(recordId)),
    gone: records.filter(({ recordId }) => !byId.has(recordId)),
  }
}

/** Those that are as they were compared, under the same key, and those that are gone. */
async function lookAgain(
  deps: ImportDeps,
  config: ImportConfig,
  reading: RecordReading,
  records: readonly ExtraRecord[],
): Promise<Looked> {
  const keys = records.map(({ key }) => key)
  const found = await lookUpKeys(deps, config, reading.matching, keys, reading.names)
  const same: ExtraRecord[] = []
  const gone: ExtraRecord[] = []
  for (const record of records) {
    const { key, recordId, version } = record
    const held = found.get(key)
    if (held?.id === recordId) {
      if (version === undefined || version === recordVersion(held, reading)) same.push(record)
    } else if ((await readRecordById(deps, config, recordId)) === null) gone.push(record)
  }
  return { same, gone }
}

const recordIds = (records: readonly ExtraRecord[]) => records.map(({ recordId }) => recordId)

interface Deleting {
  readonly gone: readonly ExtraRecord[]
  /** Records that the service was asked to delete. */
  readonly asked: readonly ExtraRecord[]
  /** What it answered for each: null if it is deleted, else status and code. */
  readonly refusals: readonly (string | null)[]
  readonly written: number
  readonly changed: number
}

/**
 * Deletes at most 50 records, if they are as they were compared. A worker that is suspended after it looked looks again when
 * it resumes: a person may have changed the records meanwhile.
 */
const deleteUnchanged = (
  deps: ImportDeps<AcceptedRecords & Runs>,
  job: {
    run: number
    config: ImportConfig
    reading: RecordReading
    records: readonly ExtraRecord[]
  },
): Promise<Deleting> =>
  sendIfRunIsOpen(deps, job.run, async (sendBefore) => {
    const { run, config, reading, records } = job
    const { client, ledger, signal, priority } = deps
    const { same, gone } = await lookAgain(deps, config, reading, records)
    const elsewhere = same.length > 0 ? await ledger.writtenElsewhere(run, same) : new Set()
    const asked = same.filter(({ key }) => !elsewhere.has(key))
    const found = {
      gone,
      asked,
      written: elsewhere.size,
      changed: records.length - same.length - gone.length,
    }
    if (asked.length === 0) return { ...found, refusals: [] }
    const items = recordIds(asked).map((id) => ({ id }))
    const options = { signal, priority, sendBefore }
    const deleting = client.batchDelete(config.object_type, { items }, options)
    const { data } = await withHeartbeat(deps, deleting)
    deps.beat(asked.length)
    return { ...found, refusals: data.map(refusalOf) }
  })

/** Status and code of a record that was not deleted; null if it is. */
function refusalOf({ status, problem }: BatchItemResult): string | null {
  if (DONE.includes(status)) return null
  const { code } = publicError(
    { state: 'rejected', code: problem?.code ?? null, reason: null, field: null },
    () => false,
  )
  return code === null ? String(status) : `${status} ${code}`
}

/** Keys in small letters of the rows whose record is not known: at a service that folds case, an extra record may be theirs. */
async function keysOfOpenRows(ledger: RunReports, run: number): Promise<ReadonlySet<string>> {
  const keys = new Set<string>()
  // Bounded by the rows of the run: every page goes on after the one before it.
  for (let after = 0; ;) {
    const page = { states: UNSETTLED_STATES, after, limit: LEDGER_ROWS_MAX }
    const items = await ledger.report(run, page)
    for (const { key } of items) if (key !== null) keys.add(foldCase(key))
    if (items.length < LEDGER_ROWS_MAX) return keys
    after = items.at(-1)!.ordinal
  }
}

/** Warnings about extra records that were not deleted. */
export function notDeletedTexts(result: NotDeleted): string[] {
  const { written, own, unclear, remaining, changed, codes } = result
  const texts: readonly [number, string][] = [
    [
      written,
      'extra records that were not deleted, because another sync has written them since they were compared',
    ],
    [own, 'records that seemed extra and were not deleted, because rows of this run have them'],
    [
      unclear,
      'extra records that were not deleted, because a row that was not taken has the same key but for capitals',
    ],
    [
      changed,
      'extra records that were not deleted, because they have changed at the service since they were compared, or have another key now',
    ],
    ...Object.entries(codes).map(([code, count]): [number, string] => [
      count,
      `extra records that the service refused to delete (${code})`,
    ]),
    [remaining, 'extra records that the service answered as deleted, and that are still there'],
  ]
  return texts.filter(([count]) => count > 0).map(([count, text]) => `${text}: ${count}`)
}
