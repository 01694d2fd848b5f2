// The queues of a project's worker, as `createPollers` of src/temporal/pollers.ts serves them.

import { ACTIVITY_KINDS, STREAMING_QUEUES, streamingQueueOf } from '../../../workflows/queues.ts'
import type { Activities, QueueOptions } from './worker.ts'

/** @param slots for each kind of work; backfills have half as many */
export function projectQueues(
  taskQueue: string,
  activities: object,
  slots: number,
): readonly QueueOptions[] {
  const all = activities as Activities
  const short = Object.fromEntries(
    Object.entries(all).filter(
      ([name]) => ACTIVITY_KINDS[name as keyof typeof ACTIVITY_KINDS] === 'short',
    ),
  )
  const kinds = Object.keys(STREAMING_QUEUES) as (keyof typeof STREAMING_QUEUES)[]
  return [
    { queue: taskQueue, workflows: true, activities: short },
    ...kinds.map((kind) => ({
      queue: streamingQueueOf(taskQueue, kind),
      activities: all,
      slots: kind === 'backfill' ? Math.max(1, Math.floor(slots / 2)) : slots,
    })),
  ]
}
