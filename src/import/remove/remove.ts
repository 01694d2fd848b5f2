// Removes what a run has planned to remove, 50 records a request: each is read right before, written down, sent, and looked up after.
// Promises kept here: a removal that was sent is asked for again before anything more is done about it; a deletion counts once the
// record is gone.

import { BATCH_ITEMS_MAX, publicError } from '../../contract/index.ts'
import type { BatchItemResult } from '../../client/index.ts'
import type { Deadline } from '../../core/deadline.ts'
import { FenceLost, ServiceFailure } from '../../core/errors.ts'
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
import { noteRecordsGone } from '../links/gone-records.ts'
import { currentMatchingProperty, propertyTypes } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { sendIfRunIsOpen } from '../push/send-deadline.ts'
import { keysOfOpenRows } from '../reconcile/open-keys.ts'
import {
  lookUpKeys,
  readImportedType,
  readRecordById,
  type Found,
  type PropertyValues,
} from '../verify/look-up.ts'
import { judgeUndone } from '../undo/judge-undone.ts'
import {
  actionOf,
  isCleared,
  judge,
  type Judged,
  type JudgingLedger,
  type RemovalJob,
} from './judge.ts'
import { LeftAsIs } from './left-as-is.ts'

export type RemovingLedger = JudgingLedger &
  BeforeImages &
  KnownLinks &
  Removals &
  RunReports &
  StepStates
type Deps = ImportDeps<RemovingLedger>
type Sent = OpenRemoval & { readonly recordId: string }

/** Requests that removed are counted under this step. */
const STEP = '@remove'
const NOT_FOUND = 404
const DONE: readonly number[] = [200, 201, 204]

/** What a removal of the run is judged and sent by. */
export async function removalJob(deps: Deps, job: StagedImport): Promise<RemovalJob> {
  const { config, schema, run } = job
  const type = await readImportedType(deps, config)
  const { missing_rows: missing } = config
  return {
    ...job,
    matching: currentMatchingProperty(config, type.properties, schema),
    left: new LeftAsIs(deps, type),
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
    left = await removeOnce(deps, job, fence, left, isLast)
  }
}

/** Judges at most 100 removals of a run of any purpose. */
export const judgeOpen = (
  deps: ImportDeps<JudgingLedger & BeforeImages>,
  job: RemovalJob,
  open: readonly OpenRemoval[],
): Promise<Judged> => {
  const { undoes } = job
  return undoes === undefined ? judge(deps, job, open) : judgeUndone(deps, { ...job, undoes }, open)
}

/** Returns those that the service could not serve now. */
async function removeOnce(
  deps: Deps,
  job: RemovalJob,
  fence: number,
  open: readonly OpenRemoval[],
  isLast: boolean,
): Promise<readonly OpenRemoval[]> {
  const { ledger } = deps
  const { run } = job
  return await sendIfRunIsOpen(deps, run, async (sendBefore) => {
    const { settled, sent } = await judgeOpen(deps, job, open)
    if (settled.length > 0) await settle(deps, job, fence, settled)
    if (sent.length === 0) return []
    await ledger.recordRemovals(run, fence, sent)
    const results = await send(deps, job, sent, sendBefore)
    const looked = await lookAfter(deps, job, sent)
    const outcomes: RemovalOutcome[] = []
    for (const removal of sent)
      outcomes.push(
        await settledAs(deps, job, {
          removal,
          result: results.get(removal.recordId)!,
          looked,
          isLast,
        }),
      )
    await settle(deps, job, fence, outcomes)
    const again = new Set(
      outcomes.filter(({ state }) => state === 'planned').map(({ number }) => number),
    )
    return sent.filter(({ number }) => again.has(number)).map((one) => ({ ...one, isSent: true }))
  })
}

/** The links of a record that is gone went with it: that is noted before the removal is settled, and so not lost with a worker. */
async function settle(
  deps: Deps,
  { run, config }: RemovalJob,
  fence: number,
  outcomes: readonly RemovalOutcome[],
): Promise<void> {
  const gone = outcomes.flatMap(({ state, recordId }) =>
    (state === 'removed' || state === 'gone_already') && recordId !== null ? [recordId] : [],
  )
  await noteRecordsGone(deps, { run, objectType: config.object_type }, gone)
  await deps.ledger.settleRemovals(run, fence, outcomes)
}

type Result = Pick<BatchItemResult, 'status' | 'problem'>

/** The result for each record. A batch that is refused whole is sent record by record. */
async function send(
  deps: Deps,
  job: RemovalJob,
  sent: readonly Sent[],
  sendBefore: Deadline,
): Promise<ReadonlyMap<string, Result>> {
  const ids = [...new Set(sent.map(({ recordId }) => recordId))]
  const action = actionOf(job, sent[0]!)
  try {
    return await sendIds(deps, job, action, ids, sendBefore)
  } catch (error) {
    if (!isRefusal(error)) throw error
    if (ids.length === 1) return new Map([[ids[0]!, refusedAs(error)]])
  }
  const results = new Map<string, Result>()
  for (const id of ids)
    try {
      for (const [one, result] of await sendIds(deps, job, action, [id], sendBefore))
        results.set(one, result)
    } catch (error) {
      if (!isRefusal(error)) throw error
      results.set(id, refusedAs(error))
    }
  return results
}

const isRefusal = (error: unknown): error is ServiceFailure =>
  error instanceof ServiceFailure && error.kind === 'problem' && error.disposition === 'reject'

const refusedAs = ({ status, problemCode }: ServiceFailure): Result =>
  ({ status: status ?? 422, problem: { code: problemCode } }) as unknown as Result

async function sendIds(
  deps: Deps,
  { run, config, cleared }: RemovalJob,
  action: 'delete' | 'clear',
  ids: readonly string[],
  sendBefore: Deadline,
): Promise<ReadonlyMap<string, Result>> {
  const { client, signal, priority, ledger } = deps
  const options = { signal, priority, sendBefore }
  const { object_type: type } = config
  const sending =
    action === 'delete'
      ? client.batchDelete(type, { items: ids.map((id) => ({ id })) }, options)
      : client.batchUpdate(
          type,
          { items: ids.map((id) => ({ id, properties: cleared as never })) },
          options,
        )
  const { data } = await withHeartbeat(deps, sending)
  const operation = action === 'delete' ? 'batchDelete' : 'batchUpdate'
  const perRequest = await client.itemsPerRequest(operation)
  await ledger.noteRequests(run, STEP, Math.ceil(ids.length / perRequest))
  return new Map(data.map((result) => [ids[result.index]!, result]))
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
  readonly result: Result
  readonly looked: Found
  /** Whether it is not sent again by this run. */
  readonly isLast: boolean
}

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
  if (status === NOT_FOUND) return settled('gone_already')
  if (DONE.includes(status)) {
    const found = looked.byId.get(recordId)
    // A query may show a record for a while that is deleted.
    const record = isDeletion && found ? await readRecordById(deps, job.config, recordId) : found
    if (isDeletion)
      return record ? settled('failed', { reason: 'still_there' }) : settled('removed')
    if (record && isCleared(job, record)) return settled('cleared')
    const now = await readRecordById(deps, job.config, recordId)
    if (now !== null && isCleared(job, now)) return settled('cleared')
    return now === null ? settled('gone_already') : settled('failed', { reason: 'not_taken' })
  }
  const { code } = publicError(
    { state: 'rejected', code: problem?.code ?? null, reason: null, field: null },
    () => false,
  )
  if (status >= 500) return settled(isLast ? 'failed' : 'planned', { code })
  return settled('rejected', { code })
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
        state: 'unsent' as const,
        reason: 'not_carried_out',
      }))
      await settle(deps, job, fence, [...settled, ...left])
    }
  } catch (error) {
    if (error instanceof FenceLost) return
    throw error
  }
}
