// What holds a run up, as its Temporal server knows it. The ledger has it too, unless the ledger is what the work waits for.

import type { WorkflowExecutionDescription } from '@temporalio/client'
import type { Run } from '../ledger/ledger.ts'
import { BLOCK_REASONS, type BlockReason } from '../core/errors.ts'

export interface HeldUp {
  readonly reason: BlockReason
  /** As `Blocked` has it: `blocked: disk: …`. */
  readonly message: string
}

/** `PENDING_ACTIVITY_STATE_SCHEDULED` of temporal.api.enums.v1.PendingActivityState: no worker is at it. */
const SCHEDULED = 1

/** Why the work of a run is tried again; null if it moves, or waits for a worker. */
export function heldUpBy({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): HeldUp | null {
  for (const activity of raw.pendingActivities ?? []) {
    const { lastFailure } = activity
    if (lastFailure?.applicationFailureInfo?.type !== 'Blocked' || isMoving(activity)) continue
    const message = lastFailure.message ?? ''
    const reason = BLOCK_REASONS.find((each) => message.startsWith(`blocked: ${each}: `))
    if (reason !== undefined) return { reason, message }
  }
  return null
}

type PendingActivity = NonNullable<
  NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]
>

/** Whether a worker is at it, and has sent a heartbeat since it began. */
const isMoving = ({ state, lastStartedTime, lastHeartbeatTime }: PendingActivity): boolean =>
  state !== SCHEDULED && seconds(lastHeartbeatTime) > seconds(lastStartedTime)

const seconds = (time: PendingActivity['lastStartedTime']): number =>
  Number(time?.seconds ?? 0) + (time?.nanos ?? 0) / 1e9

/** The run as its server knows it, where the ledger could not be told. */
export const heldUpRun = (run: Run, held: HeldUp | null): Run =>
  held === null || run.state !== 'running' ? run : { ...run, ...held, state: 'blocked' }
