// Removes what a run has planned to remove, 50 records a request: each is judged right before every sending, written down, sent, and
// looked up after. Promises kept here: a removal that was sent is asked for again before anything more is done about it; a deletion
// counts once the record is gone.

import { BATCH_ITEMS_MAX, publicError } from '../../contract/index.ts'
import { FenceLost } from '../../core/errors.ts'
import { ITEM_ATTEMPTS_MAX } from '../../core/limits.ts'
import type {
  BeforeImages,
  KnownLinks,
  OpenRemoval,
  RemovalOutcome,
  Removals,
  RunReports,
  StepStates,
} from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { checkDeletionView } from '../judge/deletion-view.ts'
import { noteRecordsGone } from '../look/gone-records.ts'
import { hiddenFrom } from '../look/key-view.ts'
import { propertyTypes } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { SENDINGS_MAX } from './back-off.ts'
import { lookThenSend, sendUntil } from './fresh-look.ts'
import { sendIfRunIsOpen } from './send-deadline.ts'
import { keysOfOpenRows } from '../look/open-keys.ts'
import { recordReadingOf } from '../look/reading.ts'
import {
  lookUpKeys,
  readImportedType,
  readRecordById,
  type Found,
  type PropertyValues,
} from '../look/look-up.ts'
import { extraRecordRules } from '../judge/extra-records.ts'
import { goneRowRules } from '../judge/gone-rows.ts'
import { undoneRecordRules } from '../judge/undone-records.ts'
import {
  actionOf,
  isCleared,
  judge,
  type Judged,
  type JudgingLedger,
  type RemovalJob,
} from '../judge/deletions.ts'
import { LeftAsIs } from '../judge/left-as-is.ts'
import { SOURCE_CHANGED, SOURCE_CHANGED_TEXT, SourceAsRead } from '../judge/source-as-read.ts'
import {
  readyRemovals,
  sendRemovals,
  type ReadyRemovals,
  type RemovalResult,
  type SentNow,
} from './send-removals.ts'

export type RemovingLedger = JudgingLedger &
  BeforeImages &
  KnownLinks &
  Removals &
  RunReports &
  StepStates
type Deps = ImportDeps<RemovingLedger>
type Sent = OpenRemoval & { readonly recordId: string }

const NOT_FOUND = 404
const DONE: readonly number[] = [200, 201, 204]

/** What a removal of the run is judged and sent by. */
export async function removalJob(deps: Deps, job: StagedImport): Promise<RemovalJob> {
  const { config, schema, run } = job
  const type = await readImportedType(deps, config)
  const { missing_rows: missing } = config
  const reading = recordReadingOf(type, job)
  return {
    ...job,
    matching: reading.matching,
    reading,
    left: new LeftAsIs(deps, type),
    source: await SourceAsRead.of(deps.ledger, run, config),
    cleared: typeof missing === 'object' ? (missing.clear as PropertyValues) : null,
    typeOf: propertyTypes(config, schema, type.properties),
    openKeys: await keysOfOpenRows(deps.ledger, run),
  }
}

/**
 * Removes what is open. Returns whether it came to the end before its time was over (`tuning.segment_ms`); what it did is in the
 * ledger.
 * @throws Blocked, ServiceFailure, QuotaWait: called again, it goes on; FenceLost if another worker has taken over
 */
export async function removeMissing(deps: Deps, staged: StagedImport): Promise<boolean> {
  const { ledger, clock, tuning, signal } = deps
  const { run } = staged
  const deadline = clock.now() + tuning.segment_ms
  const fence = await ledger.claimRemovals(run)
  const job = await removalJob(deps, staged)
  // Bounded by the removals of the run: every pass goes on after the one before it.
  for (let after = 0; ;) {
    signal.throwIfAborted()
    const open = await ledger.openRemovals(run, { after, limit: BATCH_ITEMS_MAX })
    if (open.length === 0) return true
    after = open.at(-1)!.number
    for (const action of ['delete', 'clear'] as const) {
      const part = open.filter((one) => actionOf(job, one) === action)
      if (part.length > 0) await removeBatch(deps, job, fence, part)
    }
    deps.beat(open.length)
    if (clock.now() >= deadline) return false
  }
}

/** Removes at most 50 records by one action; those that the service could not serve in later rounds. */
async function removeBatch(
  deps: Deps,
  job: RemovalJob,
  fence: number,
  open: readonly OpenRemoval[],
): Promise<void> {
  const { clock, signal, tuning } = deps
  let left = open
  for (let round = 0; left.length > 0; round++) {
    if (round > 0) {
      const waits = tuning.item_backoff_ms
      const wait = waits[Math.min(round, waits.length) - 1] ?? 0
      await withHeartbeat(deps, clock.sleep(wait, signal))
    }
    const isLast = round + 1 >= ITEM_ATTEMPTS_MAX
    const later: OpenRemoval[] = []
    // Sent one by one, as many are judged at once as can be sent before that is too old.
    let size = left.length
    for (let refusals = 0; left.length > 0;) {
      const part = left.slice(0, size)
      const { again, unsent, reason } = await removeOnce(deps, job, fence, part, isLast)
      if (reason !== null && ++refusals >= SENDINGS_MAX) throw reason
      later.push(...again)
      left = [...unsent, ...left.slice(size)]
      size = unsent.length === 0 ? size * 2 : Math.max(1, part.length - unsent.length)
    }
    left = later
  }
}

/** Judges at most 100 deletions. Those of a run have one cause, or are of rows that are gone or ask for it. */
export async function judgeOpen(
  deps: ImportDeps<JudgingLedger & BeforeImages>,
  job: RemovalJob,
  open: readonly OpenRemoval[],
): Promise<Judged> {
  const { undoes } = job
  const rules =
    undoes !== undefined
      ? await undoneRecordRules(deps, { ...job, undoes }, open)
      : open[0]?.cause === 'extra'
        ? await extraRecordRules(deps, job)
        : await goneRowRules(deps, job, open)
  return await judge(deps, job, rules, open)
}

/** What is left of removals that were sent. */
interface Left extends Pick<SentNow, 'reason'> {
  /** Those that the service could not serve now. */
  readonly again: readonly OpenRemoval[]
  /** Those that were not sent after all, to be judged again. */
  readonly unsent: readonly OpenRemoval[]
}

async function removeOnce(
  deps: Deps,
  job: RemovalJob,
  fence: number,
  open: readonly OpenRemoval[],
  isLast: boolean,
): Promise<Left> {
  const { ledger } = deps
  const { run } = job
  const ready = await judgedNow(deps, job, fence, open)
  if (ready === null) return { again: [], unsent: [], reason: null }
  const { sent } = ready
  const { results, reason } = await sendIfRunIsOpen(deps, run, async (sendBefore) => {
    await ledger.recordRemovals(run, fence, sent)
    return await sendRemovals(deps, job, ready, sendUntil(sendBefore, ready.until))
  }).finally(ready.unused)
  const answered = sent.filter(({ recordId }) => results.has(recordId))
  const unsent = sent.filter(({ recordId }) => !results.has(recordId))
  const looked = answered.length > 0 ? await lookAfter(deps, job, answered) : null
  const outcomes: RemovalOutcome[] = []
  for (const removal of answered) {
    const result = results.get(removal.recordId)!
    outcomes.push(await settledAs(deps, job, { removal, result, looked: looked!, isLast }))
  }
  // One that was sent before stays in doubt.
  const back = unsent
    .filter(({ isSent }) => !isSent)
    .map(({ number, key, recordId, detail }) => ({
      number,
      key,
      recordId,
      detail,
      state: 'pending' as const,
    }))
  await settle(deps, job, fence, [...outcomes, ...back])
  const again = new Set(
    outcomes.filter(({ state }) => state === 'pending').map(({ number }) => number),
  )
  return {
    again: answered
      .filter(({ number }) => again.has(number))
      .map((one) => ({ ...one, isSent: true })),
    unsent,
    reason,
  }
}

/** Those that may be removed; what rests on a file that looks otherwise by now is settled. */
async function withoutOutdated<One extends OpenRemoval>(
  { ledger }: Deps,
  job: RemovalJob,
  fence: number,
  open: readonly One[],
): Promise<readonly One[]> {
  const outdated = await job.source.outdated(open)
  if (outdated.length === 0) return open
  const held = { state: 'not_sent', reason: SOURCE_CHANGED } as const
  await ledger.addWarnings(job.run, [SOURCE_CHANGED_TEXT])
  const about = outdated.map(({ number, key, recordId }) => ({ number, key, recordId, ...held }))
  await ledger.settleRemovals(job.run, fence, about)
  return open.filter((one) => !outdated.includes(one))
}

/** Judges removals, and gets the right to send those that are left while that is still so. Null if none is. */
async function judgedNow(
  deps: Deps,
  job: RemovalJob,
  fence: number,
  open: readonly OpenRemoval[],
): Promise<ReadyRemovals | null> {
  // What became of one that was sent before is asked first.
  const flying = open.filter(({ isSent }) => isSent)
  const planned = open.filter(({ isSent }) => !isSent)
  const proven = await withoutOutdated(deps, job, fence, planned)
  let left: readonly OpenRemoval[] = [...flying, ...proven]
  return await lookThenSend(
    deps,
    async () => {
      const { settled, sent, at } = await judgeOpen(deps, job, left)
      if (settled.length > 0) await settle(deps, job, fence, settled)
      left = sent
      return sent.length === 0 ? null : { sent, at }
    },
    async ({ seen: { sent, at }, permit, until }) => {
      const still = await withoutOutdated(deps, job, fence, sent).catch((error: unknown) => {
        permit.unused()
        throw error
      })
      if (still.length > 0) return readyRemovals(still, { at, until }, permit)
      permit.unused()
      return null
    },
  )
}

/** The links of a record that is gone went with it: that is noted before the removal is settled, and so not lost with a worker. */
async function settle(
  deps: Deps,
  { run, config }: RemovalJob,
  fence: number,
  outcomes: readonly RemovalOutcome[],
): Promise<void> {
  const gone = outcomes.flatMap(({ state, recordId }) =>
    (state === 'deleted' || state === 'already_gone') && recordId !== null ? [recordId] : [],
  )
  await noteRecordsGone(deps, { run, objectType: config.object_type }, gone)
  await deps.ledger.settleRemovals(run, fence, outcomes)
}

/** The records as they are after the request. */
async function lookAfter(
  deps: Deps,
  { config, matching, cleared }: RemovalJob,
  sent: readonly Sent[],
): Promise<Found> {
  const names = [matching.name, ...Object.keys(cleared ?? {})]
  const keys = sent.map(({ key }) => key)
  return await lookUpKeys(deps, config, matching, keys, names)
}

interface Answered {
  readonly removal: Sent
  readonly result: RemovalResult
  readonly looked: Found
  /** Whether it is not sent again by this run. */
  readonly isLast: boolean
}

/** Whether an answer that there is no such record proves that it is gone. @throws Blocked where the key in use sees less than before */
const seesAll = async (deps: Deps, job: RemovalJob, { cause, accepted }: Sent): Promise<boolean> =>
  cause === 'extra'
    ? await checkDeletionView(deps, job)
    : accepted === null || (await hiddenFrom(deps, job)(accepted.run)) === null

async function settledAs(
  deps: Deps,
  job: RemovalJob,
  { removal, result: { status, problem }, looked, isLast }: Answered,
): Promise<RemovalOutcome> {
  const { number, key, recordId } = removal
  const settled = (
    state: RemovalOutcome['state'],
    more: Partial<RemovalOutcome> = {},
  ): RemovalOutcome => ({ number, key, recordId, state, httpStatus: status, ...more })
  const isDeletion = actionOf(job, removal) === 'delete'
  if (status === NOT_FOUND)
    return (await seesAll(deps, job, removal))
      ? settled('already_gone')
      : settled('unproven', { reason: 'not_visible' })
  if (DONE.includes(status)) {
    const found = looked.byId.get(recordId)
    // A query may show a record for a while that is deleted.
    const record = isDeletion && found ? await readRecordById(deps, job.config, recordId) : found
    if (isDeletion)
      return record ? settled('outcome_unknown', { reason: 'still_there' }) : settled('deleted')
    if (record && isCleared(job, record)) return settled('cleared')
    const now = await readRecordById(deps, job.config, recordId)
    if (now !== null && isCleared(job, now)) return settled('cleared')
    return now === null
      ? settled('already_gone')
      : settled('outcome_unknown', { reason: 'not_taken' })
  }
  const { code } = publicError(
    { state: 'refused', code: problem?.code ?? null, reason: null, field: null },
    () => false,
  )
  if (status >= 500)
    return isLast
      ? settled('outcome_unknown', { code })
      : settled('pending', { code, detail: removal.detail })
  return settled('refused', { code })
}

/**
 * Asks what became of the removals that a run had in flight when it ended before its time. Those that cannot be asked for stay in
 * doubt, and are reported so.
 */
export async function settleRemovalsInFlight(deps: Deps, staged: StagedImport): Promise<void> {
  const { ledger } = deps
  const { run } = staged
  let job: RemovalJob | null = null
  try {
    const fence = await ledger.claimRemovals(run)
    for (let after = 0; ;) {
      const open = await ledger.openRemovals(run, { after, limit: BATCH_ITEMS_MAX })
      if (open.length === 0) return
      after = open.at(-1)!.number
      const flying = open.filter(({ isSent }) => isSent)
      if (flying.length === 0) continue
      job ??= await removalJob(deps, staged)
      const { settled, sent } = await judgeOpen(deps, job, flying)
      const left = sent.map(({ number, key, recordId }) => ({
        number,
        key,
        recordId,
        state: 'not_sent' as const,
        reason: 'not_carried_out',
      }))
      await settle(deps, job, fence, [...settled, ...left])
    }
  } catch (error) {
    if (error instanceof FenceLost) return
    throw error
  }
}
