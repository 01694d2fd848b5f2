// Pause and resume. A pause cancels the running activities: each lets the batch in flight finish, and ends. What they did is in
// the ledger, so they simply start again when the run resumes.

import {
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow'
import type { RunCounters } from '../activities/index.ts'
import type { ShortActivities } from './queues.ts'
import {
  PauseInput,
  pauseUpdate,
  resumeUpdate,
  type RunProgress,
  type ControlAnswer,
} from './messages.ts'
import { stacklessFailure, parseInput, SHORT } from './run.ts'
import type { RunStatus } from './run-status.ts'

export interface RunControl {
  /** Does a piece of work. A pause stops it; after the pause it is done again. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
  /** From now on the run cannot be paused: it is closing. */
  end(): void
}

/** Accepts the updates from now on. */
export function takeRunControl(
  standing: Pick<RunStatus<RunProgress>, 'notePause' | 'progress'>,
  /** Gets an import's counts when it is parked and when it resumes: a slice that was stopped could not report them. */
  noteCounts: (counts: Pick<RunCounters, 'created' | 'updated'>) => void = () => {},
): RunControl {
  const { noteParked } = proxyActivities<ShortActivities>(SHORT)
  let pause: { readonly reason: string | null } | null = null
  let ended = false
  const working = new Set<CancellationScope>()
  let parking: Promise<void> | null = null

  const live = (): void => {
    if (ended)
      throw stacklessFailure('The run is being closed; it is too late for that', 'RunClosing')
  }
  const reasonOf = (input: unknown) => parseInput(PauseInput, input, { reason: 'maintenance' })
  setHandler(
    pauseUpdate,
    (input: unknown): ControlAnswer => {
      pause = { reason: reasonOf(input) }
      standing.notePause({ ...pause, phase: working.size === 0 ? 'parked' : 'stopping' })
      for (const scope of working) scope.cancel()
      return { state: 'paused' }
    },
    {
      validator: (input: unknown) => {
        live()
        reasonOf(input)
      },
      description:
        'Stops the run where it is, and keeps what is done. Input: {"reason": "maintenance"}, or nothing.',
    },
  )
  setHandler(
    resumeUpdate,
    (_input: unknown): ControlAnswer => {
      pause = null
      standing.notePause(null)
      return { state: 'running' }
    },
    {
      validator: (_input: unknown) => {
        live()
        if (!pause) throw stacklessFailure('This run is not paused', 'NotPaused')
      },
      description: 'Lets a paused run go on. Input: nothing.',
    },
  )

  /** Notes in the ledger that the run is parked, or that it goes on. */
  const tell = async (isParked: boolean, reason: string | null): Promise<void> => {
    const { run, sync } = standing.progress()
    if (run === null) return
    const summary = `${isParked ? 'pause' : 'resume'} ${sync}`
    const counts = await noteParked.executeWithOptions({ summary }, [{ run, isParked, reason }])
    if (counts) noteCounts(counts)
  }

  /** Waits for the end of the pause. The last piece of work to stop reports that the pause has begun. */
  const park = async (): Promise<void> => {
    parking ??= (async () => {
      try {
        await condition(() => working.size === 0 || !pause)
        if (!pause) return
        await tell(true, pause.reason)
        if (pause) standing.notePause({ ...pause, phase: 'parked' })
        await condition(() => !pause)
        await tell(false, null)
      } finally {
        parking = null
      }
    })()
    await parking
  }

  return {
    async run(work) {
      const outer = CancellationScope.current()
      // Bounded by the number of pauses that people make.
      for (;;) {
        while (pause) await park()
        const scope = new CancellationScope({ parent: outer, cancellable: true })
        working.add(scope)
        try {
          return await scope.run(work)
        } catch (error) {
          const isPaused = scope.consideredCancelled && !outer.consideredCancelled
          if (!isPaused || !isCancellation(error)) throw error
        } finally {
          working.delete(scope)
        }
      }
    },
    end() {
      ended = true
    },
  }
}
