// Sends removals that were judged: as one request, or one by one where the service has no batches, or refuses one of them. Promise kept
// here: what was not sent soon after it was judged is not sent, but judged again; nor is what rests on a file that has changed.

import type { BatchItemResult } from '../../client/index.ts'
import type { Deadline } from '../../core/deadline.ts'
import { QuotaWait, SendDeadlinePassed, ServiceFailure } from '../../core/errors.ts'
import type { Permit } from '../../core/ports.ts'
import type { OpenRemoval, StepStates } from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { ImportDeps } from '../ports.ts'
import { isYoung } from './fresh-look.ts'
import { actionOf, type Judged, type RemovalJob } from '../judge/deletions.ts'

type Deps = ImportDeps<StepStates>

/** Requests that removed are counted under this step. */
const STEP = '@remove'

/** Removals, and the right to send a request now. */
export interface ReadyRemovals extends Pick<Judged, 'sent'> {
  /** When their records were looked up, ms since 1970. */
  readonly at: number
  /** Until when that may be relied on; null where no look-up is ever young enough. */
  readonly until: Deadline | null
  /** The right to send, once. */
  take(): Permit | undefined
  /** Gives back what was not taken. */
  unused(): void
}

export function readyRemovals(
  sent: Judged['sent'],
  look: Pick<ReadyRemovals, 'at' | 'until'>,
  given: Permit,
): ReadyRemovals {
  let permit: Permit | undefined = given
  const take = () => {
    const taken = permit
    permit = undefined
    return taken
  }
  return { sent, ...look, take, unused: () => take()?.unused() }
}

export type RemovalResult = Pick<BatchItemResult, 'status' | 'problem'>

export interface SentNow {
  /** By record; none of one that was not sent. */
  readonly results: ReadonlyMap<string, RemovalResult>
  /** Why some were not sent, if the quota or the time did not allow it. */
  readonly reason: QuotaWait | SendDeadlinePassed | null
}

/** The result for each record. A batch that is refused whole is sent record by record. */
export async function sendRemovals(
  deps: Deps,
  job: RemovalJob,
  ready: ReadyRemovals,
  sendBefore: Deadline,
): Promise<SentNow> {
  const { sent } = ready
  const ids = [...new Set(sent.map(({ recordId }) => recordId))]
  const action = actionOf(job, sent[0] as OpenRemoval)
  const operation = action === 'delete' ? 'batchDelete' : 'batchUpdate'
  const perRequest = await withHeartbeat(deps, deps.client.itemsPerRequest(operation))
  const send = (some: readonly string[]) =>
    sendIds(deps, job, action, some, { sendBefore, permit: ready.take() })
  const results = new Map<string, RemovalResult>()
  try {
    if (perRequest > 1 || ids.length === 1)
      try {
        return { results: await send(ids), reason: null }
      } catch (error) {
        if (!isRefusal(error)) throw error
        if (ids.length === 1)
          return { results: new Map([[ids[0]!, refusedAs(error)]]), reason: null }
      }
    for (const [index, id] of ids.entries()) {
      if (index > 0 && !(isYoung(deps, ready.at) && (await isProven(job, sent, id)))) break
      try {
        for (const [one, result] of await send([id])) results.set(one, result)
      } catch (error) {
        if (!isRefusal(error)) throw error
        results.set(id, refusedAs(error))
      }
    }
  } catch (error) {
    if (error instanceof QuotaWait || error instanceof SendDeadlinePassed)
      return { results, reason: error }
    throw error
  }
  return { results, reason: null }
}

/** Whether the files that the removal of a record rests on are still as they were read. */
async function isProven({ source }: RemovalJob, sent: Judged['sent'], id: string) {
  const outdated = await source.outdated(sent.filter(({ recordId }) => recordId === id))
  return outdated.length === 0
}

const isRefusal = (error: unknown): error is ServiceFailure =>
  error instanceof ServiceFailure && error.kind === 'problem' && error.disposition === 'reject'

const refusedAs = ({ status, problemCode }: ServiceFailure): RemovalResult =>
  ({ status: status ?? 422, problem: { code: problemCode } }) as unknown as RemovalResult

async function sendIds(
  deps: Deps,
  { run, config, cleared }: RemovalJob,
  action: 'delete' | 'clear',
  ids: readonly string[],
  right: { readonly sendBefore: Deadline; readonly permit: Permit | undefined },
): Promise<ReadonlyMap<string, RemovalResult>> {
  const { client, signal, priority, ledger } = deps
  const options = { ...right, signal, priority, waitsOut429: false }
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
  await ledger.noteRequests(run, STEP, 1)
  return new Map(data.map((result) => [ids[result.index]!, result]))
}
