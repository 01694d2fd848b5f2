// Waits for the end of a workflow, however often the Temporal server is away meanwhile: that a server does not answer says nothing
// of the run, whose workers wait for the server too.

import { setMaxListeners } from 'node:events'
import {
  isGrpcServiceError,
  ServiceError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client'
import { SyncError } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import { heldUpBy, type HeldUp } from '../../temporal/held-up.ts'

const askMaxMs = 5_000
const askEveryMs = 2_000
/** Codes of gRPC of what is refused for good: the key, the permission, or what was asked. */
const refused = new Set([3, 5, 7, 12, 16])
export const AWAY_MAX_MS = 10 * 60_000

/** The server did not answer for so long that waiting ends; the run goes on. */
export class ServerAway extends SyncError {
  constructor(workflowId: string, seconds: number) {
    super(
      'temporal_away',
      `The Temporal server has not answered for ${seconds} s, so how ${workflowId} ends is not known here. The run goes on by itself when the server is back`,
    )
  }
}

export interface WaitOptions {
  readonly signal: AbortSignal
  /** Called when the server no longer answers, and when it does again. */
  noteAway(isAway: boolean): void
  /** Called every 2 s with what holds the run up, or null. */
  noteHeldUp?(held: HeldUp | null): void
  /** Default 10 minutes. */
  readonly awayMaxMs?: number
}

/**
 * Ends when the workflow has ended well; rejects if it failed.
 * @throws ServerAway; SyncError `workflow_lost`; what the run failed with
 */
export async function waitForEnd(
  client: Client,
  handle: WorkflowHandle,
  waiting: WaitOptions,
): Promise<void> {
  const over = new AbortController()
  const signal = AbortSignal.any([waiting.signal, over.signal])
  // Each of the many requests of a long wait listens to it.
  setMaxListeners(0, signal)
  try {
    // The wait itself is one long request, which reports late that nothing answers.
    await Promise.race([
      result(client, handle, signal),
      watchServer(client, handle, { ...waiting, signal }),
    ])
  } finally {
    over.abort()
  }
}

async function result(client: Client, handle: WorkflowHandle, signal: AbortSignal): Promise<void> {
  // Bounded by the watch of the server.
  for (;;) {
    try {
      await client.withAbortSignal(signal, () => handle.result())
      return
    } catch (error) {
      if (error instanceof WorkflowNotFoundError)
        throw new SyncError(
          'workflow_lost',
          `The Temporal server does not know ${handle.workflowId} any more: it has lost its database, or forgot the run. A worker closes the run in the ledger as abandoned; start it again after that, and it does the rest`,
        )
      if (signal.aborted || !isAway(error)) throw error
    }
    await systemClock.sleep(askEveryMs, signal)
  }
}

/** Whether a call failed because the server did not answer, not because of what was asked. */
function isAway(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error
  return cause instanceof Error && isGrpcServiceError(cause) && !refused.has(cause.code)
}

/** Never ends by itself. @throws ServerAway */
async function watchServer(
  client: Client,
  handle: WorkflowHandle,
  { signal, noteAway, noteHeldUp, awayMaxMs = AWAY_MAX_MS }: WaitOptions,
): Promise<never> {
  let since: number | null = null
  for (;;) {
    await systemClock.sleep(askEveryMs, signal)
    const isThere = await client
      .withDeadline(Date.now() + askMaxMs, () => handle.describe())
      .then(
        (description) => {
          noteHeldUp?.(heldUpBy(description))
          return true
        },
        (error: unknown) => !isAway(error),
      )
    signal.throwIfAborted()
    if (isThere === (since === null)) {
      if (since !== null && systemClock.now() - since >= awayMaxMs)
        throw new ServerAway(handle.workflowId, Math.round((systemClock.now() - since) / 1_000))
      continue
    }
    since = isThere ? null : systemClock.now()
    noteAway(!isThere)
  }
}
