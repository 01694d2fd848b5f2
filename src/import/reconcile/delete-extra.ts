// Deletes records that we wrote and that the source no longer has a row for, if a person asked for that. Each is deleted by
// the id that was found for its key in this run, and counts as deleted once the service has no record of that id under the key.
// A record of a row of the run stays, whatever key it was found under; so does one that another sync has written meanwhile.

import { BATCH_ITEMS_MAX, IN_VALUES_MAX, publicError } from '../../contract/index.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import { OPEN_STATES, REJECT_STATES, type ItemState } from '../../core/domain/books.ts'
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

const LEFT_EXTRA = { kind: 'extra', isRepaired: false } as const

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
    const page = { after: kept.after, limit: IN_VALUES_MAX }
    const { rows, next } = await ledger.differences(run, { ...page, ...LEFT_EXTRA })
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
    const { same, gone } = await lookAgain(deps, config, reading, clear)
    if (gone.length > 0) await ledger.recordDeleted(run, gone)
    const answered: ExtraRecord[] = []
    for (const some of slicesOf(same, BATCH_ITEMS_MAX)) {
      const elsewhere = await ledger.writtenElsewhere(run, some)
      kept.written += elsewhere.size
      const records = some.filter(({ key }) => !elsewhere.has(key))
      if (records.length === 0) continue
      const refusals = await deleteRecords(deps, { run, config, records })
      await place.sent()
      answered.push(...records.filter((_, index) => refusals[index] === null))
      for (const code of refusals) {
        if (code === null) continue
        kept.refused++
        kept.codes[code] = (kept.codes[code] ?? 0) + 1
      }
    }
    const { same: remaining, gone: deleted } = await lookAfter(deps, config, reading, answered)
    await ledger.recordDeleted(run, deleted)
    kept.own += ofRows.length
    kept.changed += clear.length - same.length - gone.length
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
  reading: RecordReading | null,
  records: readonly ExtraRecord[],
): Promise<Looked> {
  if (reading === null || records.length === 0) return { same: [], gone: [] }
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

/** What the service answers for each: null if it is deleted, else status and code. */
async function deleteRecords(
  deps: ImportDeps<Runs>,
  job: { run: number; config: ImportConfig; records: readonly ExtraRecord[] },
): Promise<readonly (string | null)[]> {
  const { client, signal, priority } = deps
  const { run, config, records } = job
  const items = recordIds(records).map((id) => ({ id }))
  const deleting = sendIfRunIsOpen(deps, run, (sendBefore) =>
    client.batchDelete(config.object_type, { items }, { signal, priority, sendBefore }),
  )
  const { data } = await withHeartbeat(deps, deleting)
  deps.beat(records.length)
  return data.map(({ status, problem }) => {
    if (DONE.includes(status)) return null
    const error = {
      state: 'rejected',
      code: problem?.code ?? null,
      reason: null,
      field: null,
    } as const
    const { code } = publicError(error, () => false)
    return code === null ? String(status) : `${status} ${code}`
  })
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
