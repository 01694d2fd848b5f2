// Deletes records that we wrote and that the source no longer has a row for, if a person asked for that. Each is deleted by
// the id that was found for its key in this run, and counts as deleted once the service has no record of that id under the key.
// A record of a row of the run stays, whatever key it was found under; so does one that another sync has written meanwhile, and
// one that the key in use may just not see.

import { isOfLink } from '../../core/domain/differences.ts'
import { BATCH_ITEMS_MAX, IN_VALUES_MAX, publicError } from '../../contract/index.ts'
import type { BatchItemResult } from '../../client/index.ts'
import type { Deadline } from '../../core/deadline.ts'
import { QuotaWait } from '../../core/errors.ts'
import { QUOTA_WAIT_MAX_MS } from '../../core/limits.ts'
import type { Permit } from '../../core/ports.ts'
import type {
  AcceptedRecords,
  Differences,
  KnownLinks,
  RunReports,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { REPEATED_LOOKS_MAX } from '../../core/domain/look-ups.ts'
import { lookLimit, sendUntil } from './fresh-look.ts'
import { sendIfRunIsOpen } from './send-deadline.ts'
import { stepPosition } from '../step-position.ts'
import { lookUpKeys, readRecordById } from '../look/look-up.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { checkDeletionView } from '../judge/deletion-view.ts'
import { deletionsInFlight } from './deletions-in-flight.ts'
import { keysOfOpenRows, openForm } from '../look/open-keys.ts'
import { recordDeleted } from './record-deleted.ts'
import { recordReading, recordVersion, type RecordReading } from '../look/reading.ts'

const DONE: readonly number[] = [200, 204]
const NOT_FOUND = 404

/** Answers to a deletion that are no refusal. */
const DELETED = 'deleted'
const ABSENT = 'absent'

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
  /** The key in use does not find them, and may just not see them. */
  readonly hidden: number
  /** Their key has another record, or may have. */
  readonly second: number
  /** Of those that were refused: how many by status and code. */
  readonly codes: Readonly<Record<string, number>>
}

const NONE: NotDeleted = {
  refused: 0,
  remaining: 0,
  written: 0,
  own: 0,
  unclear: 0,
  changed: 0,
  hidden: 0,
  second: 0,
  codes: {},
}

/** Deletes what is left of the extra records of a run, 50 a request; asks once for each 100 whether they are gone. */
export async function deleteExtra(
  deps: ImportDeps<AcceptedRecords & Differences & KnownLinks & RunReports & Runs & StepStates>,
  job: StagedImport,
): Promise<NotDeleted> {
  const { ledger, signal } = deps
  const { run } = job
  const place = await stepPosition(ledger, run, 'delete_extra', { after: 0, ...NONE })
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
    // What the key in use did not find was not compared, even if it is in view now.
    const seen = rows.filter((row) => row.whose !== 'unknown' && !isOfLink(row))
    const listed = seen.map(({ key, recordId, version }) => ({
      key: key!,
      recordId: recordId!,
      version,
    }))
    if (listed.length > 0) openKeys ??= await keysOfOpenRows(ledger, run)
    const own = await ledger.recordsOfRows(run, recordIds(listed))
    const ofRows = listed.filter(({ recordId }) => own.has(recordId))
    if (ofRows.length > 0) await ledger.dropExtra(run, ofRows)
    const others = listed.filter(({ recordId }) => !own.has(recordId))
    const unclear = others.filter(({ key }) => openKeys?.has(openForm(key)))
    const clear = others.filter((record) => !unclear.includes(record))
    reading ??= clear.length > 0 ? await recordReading(deps, job) : null
    const answered: ExtraRecord[] = []
    const notFound: ExtraRecord[] = []
    for (let first = 0; reading !== null && first < clear.length; first += BATCH_ITEMS_MAX) {
      const records = clear.slice(first, first + BATCH_ITEMS_MAX)
      const result = await deleteUnchanged(deps, job, reading, records)
      if (result.gone.length > 0) await recordDeleted(deps, job, result.gone)
      kept.written += result.written
      kept.changed += result.changed
      kept.hidden += result.hidden
      kept.second += result.second
      if (result.asked.length === 0) continue
      await place.sent()
      for (const [index, record] of result.asked.entries()) {
        const code = result.answers[index]!
        if (code === DELETED) answered.push(record)
        else if (code === ABSENT) notFound.push(record)
        else {
          kept.refused++
          kept.codes[code] = (kept.codes[code] ?? 0) + 1
        }
      }
    }
    const looked = await lookAfter(deps, job, reading, { answered, notFound })
    await recordDeleted(deps, job, looked.gone)
    const flight = await deletionsInFlight(ledger, run)
    if (flight.kept.records.length > 0) await flight.keep({ records: [] })
    kept.own += ofRows.length
    kept.remaining += looked.same.length
    kept.hidden += looked.hidden + rows.length - seen.length
    kept.unclear += unclear.length
    if (next === null) return kept
    kept.after = next
    await place.keep(kept)
  }
}

interface Looked {
  readonly same: readonly ExtraRecord[]
  readonly gone: readonly ExtraRecord[]
  /** Not found, which proves nothing. */
  readonly hidden: number
}

/**
 * Those that still exist under their key, whatever they hold, and those that do not.
 * @param asked.answered the service answered that they are deleted
 * @param asked.notFound it answered that there is no such record
 */
async function lookAfter(
  deps: ImportDeps<StepStates>,
  job: StagedImport,
  reading: RecordReading | null,
  asked: { readonly answered: readonly ExtraRecord[]; readonly notFound: readonly ExtraRecord[] },
): Promise<Looked> {
  const records = [...asked.answered, ...asked.notFound]
  if (reading === null || records.length === 0) return { same: [], gone: [], hidden: 0 }
  const { matching } = reading
  const keys = records.map(({ key }) => key)
  const { byId } = await lookUpKeys(deps, job.config, matching, keys, [matching.name])
  const isProof = await checkDeletionView(deps, job)
  const isThere = ({ recordId }: ExtraRecord) => byId.has(recordId)
  const absent = asked.notFound.filter((record) => !isThere(record))
  const deleted = asked.answered.filter((record) => !isThere(record))
  return {
    same: records.filter(isThere),
    gone: isProof ? [...deleted, ...absent] : deleted,
    hidden: isProof ? 0 : absent.length,
  }
}

/** Those that are as they were compared, alone under the same key, and those that are gone. */
async function lookAgain(
  deps: ImportDeps<AcceptedRecords & StepStates>,
  job: StagedImport,
  reading: RecordReading,
  records: readonly ExtraRecord[],
): Promise<Looked & { readonly second: number; readonly at: number }> {
  const { run, config } = job
  const keys = records.map(({ key }) => key)
  const found = await lookUpKeys(deps, config, reading.matching, keys, reading.names)
  const known = await deps.ledger.acceptedRecords(run, keys)
  const same: ExtraRecord[] = []
  const absent: ExtraRecord[] = []
  let second = 0
  for (const record of records) {
    const { key, recordId, version } = record
    const held = found.ofKey.get(key)?.get(recordId)
    if (found.several.has(key) || (known.get(key)?.records ?? []).length > 0) second++
    else if (held) {
      if (version === undefined || version === recordVersion(held, reading)) same.push(record)
    } else if ((await readRecordById(deps, config, recordId)) === null) absent.push(record)
  }
  const isProof = await checkDeletionView(deps, job)
  return isProof
    ? { same, gone: absent, hidden: 0, second, at: found.askedAt }
    : { same, gone: [], hidden: absent.length, second, at: found.askedAt }
}

const recordIds = (records: readonly Pick<ExtraRecord, 'recordId'>[]) =>
  records.map(({ recordId }) => recordId)

interface Deleting {
  readonly gone: readonly ExtraRecord[]
  /** Records that the service was asked to delete. */
  readonly asked: readonly ExtraRecord[]
  /** What it answered for each: that it is deleted, that there is none, or status and code. */
  readonly answers: readonly string[]
  readonly written: number
  readonly changed: number
  readonly hidden: number
  readonly second: number
  /** When they were looked up, ms since 1970. */
  readonly at: number
}

/**
 * Deletes at most 50 records, if they are as they were compared. They are looked up again after a 429, after a long wait for the
 * quota, and by a worker that was suspended: a person may have changed them meanwhile.
 */
const deleteUnchanged = (
  deps: ImportDeps<AcceptedRecords & Runs & StepStates>,
  job: StagedImport,
  reading: RecordReading,
  records: readonly ExtraRecord[],
): Promise<Deleting> =>
  sendIfRunIsOpen(deps, job.run, async (sendBefore) => {
    const { client, signal, priority } = deps
    for (let looks = 1; ; looks++) {
      signal.throwIfAborted()
      const found = await deletable(deps, job, reading, records)
      if (found.asked.length === 0) return { ...found, answers: [] }
      const acquiring = client.quota.acquire({ priority, signal, maxWaitMs: QUOTA_WAIT_MAX_MS })
      const permit = await withHeartbeat(deps, acquiring)
      const isLast = looks >= REPEATED_LOOKS_MAX
      const until = lookLimit(deps, found.at)
      if (isLast || until !== null)
        try {
          return {
            ...found,
            answers: await sendDeletions(deps, job, found.asked, {
              permit,
              sendBefore: sendUntil(sendBefore, until),
            }),
          }
        } catch (error) {
          if (isLast || !(error instanceof QuotaWait)) throw error
        }
      else permit.unused()
    }
  })

/** Which of these records may be deleted now. */
async function deletable(
  deps: ImportDeps<AcceptedRecords & StepStates>,
  job: StagedImport,
  reading: RecordReading,
  records: readonly ExtraRecord[],
): Promise<Omit<Deleting, 'answers'>> {
  const { same, gone, hidden, second, at } = await lookAgain(deps, job, reading, records)
  const elsewhere =
    same.length > 0 ? await deps.ledger.writtenElsewhere(job.run, same) : new Set<string>()
  return {
    gone,
    asked: same.filter(({ key }) => !elsewhere.has(key)),
    written: elsewhere.size,
    changed: records.length - same.length - gone.length - hidden - second,
    hidden,
    second,
    at,
  }
}

/** @throws QuotaWait after a 429: nothing was deleted */
async function sendDeletions(
  deps: ImportDeps<StepStates>,
  { run, config }: StagedImport,
  asked: readonly ExtraRecord[],
  right: { readonly permit: Permit; readonly sendBefore: Deadline },
): Promise<readonly string[]> {
  const { client, ledger, signal, priority } = deps
  const forget = await noteInFlight(ledger, run, asked).catch((error: unknown) => {
    right.permit.unused()
    throw error
  })
  const items = recordIds(asked).map((id) => ({ id }))
  const options = { ...right, signal, priority, waitsOut429: false }
  try {
    const deleting = client.batchDelete(config.object_type, { items }, options)
    const { data } = await withHeartbeat(deps, deleting)
    deps.beat(asked.length)
    return data.map(answerOf)
  } catch (error) {
    if (error instanceof QuotaWait) await forget()
    throw error
  }
}

/** Notes deletions before they are sent, with those of the batch before, whose outcome is looked up with theirs. */
async function noteInFlight(
  ledger: StepStates,
  run: number,
  asked: readonly ExtraRecord[],
): Promise<() => Promise<void>> {
  const flight = await deletionsInFlight(ledger, run)
  const { records } = flight.kept
  const known = new Set(recordIds(records))
  const more = asked.filter(({ recordId }) => !known.has(recordId))
  await flight.keep({ records: [...records, ...more] })
  return () => flight.keep({ records })
}

/** Status and code of a record that was not deleted. */
function answerOf({ status, problem }: BatchItemResult): string {
  if (DONE.includes(status)) return DELETED
  if (status === NOT_FOUND) return ABSENT
  const { code } = publicError(
    { state: 'rejected', code: problem?.code ?? null, reason: null, field: null },
    () => false,
  )
  return code === null ? String(status) : `${status} ${code}`
}

/** Warnings about extra records that were not deleted. */
export function notDeletedTexts(result: NotDeleted): string[] {
  const { written, own, unclear, remaining, changed, hidden, second, codes } = result
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
    [
      hidden,
      'extra records that may still be there: the key in use has reach user and does not find them, which proves nothing; reconcile with a key of reach org shows what is gone, and deletes the others',
    ],
    [
      second,
      'extra records that were not deleted, because their key has another record, or may have',
    ],
    ...Object.entries(codes).map(([code, count]): [number, string] => [
      count,
      `extra records that the service refused to delete (${code})`,
    ]),
    [remaining, 'extra records that the service answered as deleted, and that are still there'],
  ]
  return texts.filter(([count]) => count > 0).map(([count, text]) => `${text}: ${count}`)
}
