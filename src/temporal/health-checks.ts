// Checks again, while a worker runs, what was true when it started: a server may lose its database, come back as another one, or
// be changed by people. Each check has its own time limit, and a failing one stops no other.

import type { Clock, Logger } from '../core/ports.ts'
import { SyncError } from '../core/errors.ts'

const checkMaxMs = 60_000
const stopMaxMs = 2_000

export interface HealthChecks {
  /** Whether the last check of this passed; true before the first one. */
  isWell(what: string): boolean
  stop(): Promise<void>
}

/** @param checks by name; one that throws has failed */
export function startHealthChecks(
  checks: Readonly<Record<string, () => Promise<void>>>,
  { clock, logger, everyMs }: { clock: Clock; logger: Logger; everyMs: number },
): HealthChecks {
  /** Why each fails; nothing for those that pass. */
  const ill = new Map<string, string>()
  const stopping = new AbortController()
  const look = async (what: string, work: () => Promise<void>) => {
    try {
      await work()
      if (ill.delete(what)) logger.info({ what }, 'well_again')
    } catch (error) {
      if (stopping.signal.aborted) return
      // Our own words only: foreign messages may quote anything.
      const why = error instanceof SyncError ? error.message : (error as Error).name
      if (ill.get(what) !== why) logger.error({ what, why }, 'not_well')
      ill.set(what, why)
    }
  }
  const going = (async () => {
    // Ends with the worker.
    for (;;) {
      for (const [what, work] of Object.entries(checks))
        await look(what, () => inTime(work(), clock))
      await clock.sleep(everyMs, stopping.signal)
    }
  })().catch(() => {})
  return {
    isWell: (what) => !ill.has(what),
    async stop() {
      stopping.abort()
      await Promise.race([going, clock.sleep(stopMaxMs)])
    },
  }
}

/** @throws SyncError `too_slow` */
async function inTime(work: Promise<void>, clock: Clock): Promise<void> {
  const done = new AbortController()
  const late = clock.sleep(checkMaxMs, done.signal).then(
    () => true,
    () => false,
  )
  try {
    if ((await Promise.race([work.then(() => false), late])) === true)
      throw new SyncError('too_slow', `no answer within ${checkMaxMs / 1_000} s`)
  } finally {
    done.abort()
  }
}
