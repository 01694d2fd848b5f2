// Pause and resume. A pause cancels the activities at work: they let the batch in flight finish, and end. What they did is in
// the ledger, so they are simply begun anew when the run goes on.

import { CancellationScope, condition, isCancellation, setHandler } from '@temporalio/workflow'
import { PauseInput, pauseUpdate, resumeUpdate, type Steered } from './messages.ts'
import { failure, parseInput } from './run.ts'
import type { Pause } from './standing.ts'

export interface Steering {
  /** Does a piece of work; in a pause it is stopped, and done anew afterwards. */
  steered<Result>(work: () => Promise<Result>): Promise<Result>
  /** Ends the time in which a run can be paused: it closes now. */
  end(): void
}

/** Takes the updates from now on. */
export function takeSteering(told: {
  /** At once; `parked` once nothing works any more. */
  paused(pause: Pause | null): void
  /** Once nothing works any more, and once it goes on. */
  parked(isParked: boolean, reason: string | null): Promise<void>
}): Steering {
  let pause: { readonly reason: string | null } | null = null
  let ended = false
  const working = new Set<CancellationScope>()
  let parking: Promise<void> | null = null

  const live = (): void => {
    if (ended) throw failure('The run is being closed; it is too late for that', 'RunClosing')
  }
  const reasonOf = (input: unknown) => parseInput(PauseInput, input, { reason: 'maintenance' })
  setHandler(
    pauseUpdate,
    (input: unknown): Steered => {
      pause = { reason: reasonOf(input) }
      told.paused({ ...pause, phase: working.size === 0 ? 'parked' : 'stopping' })
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
    (_input: unknown): Steered => {
      pause = null
      told.paused(null)
      return { state: 'running' }
    },
    {
      validator: (_input: unknown) => {
        live()
        if (!pause) throw failure('This run is not paused', 'NotPaused')
      },
      description: 'Lets a paused run go on. Input: nothing.',
    },
  )

  /** Waits for the end of the pause. The last of those at work tells that it has begun. */
  const park = async (): Promise<void> => {
    parking ??= (async () => {
      try {
        await condition(() => working.size === 0 || !pause)
        if (!pause) return
        await told.parked(true, pause.reason)
        if (pause) told.paused({ ...pause, phase: 'parked' })
        await condition(() => !pause)
        await told.parked(false, null)
      } finally {
        parking = null
      }
    })()
    await parking
  }

  return {
    async steered(work) {
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
