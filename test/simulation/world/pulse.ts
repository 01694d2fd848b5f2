// (vi) A worker that works is not taken for dead: an activity that has a heartbeat time-out sends heartbeats within it, as long as its process
// moves.

import { Context } from '@temporalio/activity'
import type { Activities } from '../temporal/worker.ts'

export interface PulseWatch {
  now(): number
  /** Since when the process has moved without standing still; null: it is stopped, or dead. */
  movesSince(): number | null
  violate(what: string): void
}

/** The SDK's own context, of this attempt alone. */
type Writable = Omit<Context, 'heartbeat'> & { heartbeat: (details?: unknown) => void }

/** The same activities, whose heartbeats are watched. */
export const watchPulse = (activities: Activities, watch: PulseWatch): Activities =>
  Object.fromEntries(
    Object.entries(activities).map(([name, run]) => [
      name,
      async (...given: never[]) => {
        const context = Context.current() as Writable
        const { heartbeatTimeoutMs } = context.info
        if (heartbeatTimeoutMs === undefined) return await run(...given)
        let last = watch.now()
        const look = () => {
          const since = watch.movesSince()
          const silentMs = watch.now() - Math.max(last, since ?? Infinity)
          if (silentMs > heartbeatTimeoutMs)
            watch.violate(
              `(vi) ${name} sends no heartbeat for ${Math.round(silentMs / 1_000)} s, and has to each ${heartbeatTimeoutMs / 1_000} s`,
            )
          last = watch.now()
        }
        const beat = context.heartbeat
        context.heartbeat = (details) => {
          look()
          beat(details)
        }
        try {
          return await run(...given)
        } finally {
          look()
        }
      },
    ]),
  )
