// Pause and resume. A pause cancels the activities at work: they let the batch in flight finish, and end. What they did is in
// the ledger, so they are simply begun anew when the run goes on.

import {
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow'
import type { Activities, RunCounters } from '../activities/index.ts'
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
  /** Does a piece of work; in a pause it is stopped, and done anew afterwards. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
  /** Ends the time in which a run can be paused: it closes now. */
  end(): void
}

/** Takes the updates from now on. */
export function takeRunControl(
  standing: Pick<RunStatus<RunProgress>, 'notePause' | 'progress'>,
  /** Gets an import's counts when it is parked, and when it goes on: a slice that was stopped could not tell them. */
  noteCounts: (counts: Pick<RunCounters, 'created' | 'updated'>) => void = () => {},
): RunControl {
  const { noteParked } = proxyActivities<Pick<Activities, 'noteParked'>>(SHORT)
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

  /** Tells the ledger. */
  const tell = async (isParked: boolean, reason: string | null): Promise<void> => {
    const { run, sync } = standing.progress()
    if (run === null) return
    const summary = `${isParked ? 'pause' : 'resume'} ${sync}`
    const counts = await noteParked.executeWithOptions({ summary }, [{ run, isParked, reason }])
    if (counts) noteCounts(counts)
  }

  /** Waits for the end of the pause. The last of those at work tells that it has begun. */
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
      // Bounded by the pauses that people make.
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
