// Pause and resume. A pause cancels the running activities: each lets the batch in flight finish, and ends. What they did is in
// the ledger, so they simply start again when the run resumes.

import { CancellationScope, condition, proxyActivities, setHandler } from '@temporalio/workflow'
import type { RunCounters } from '../activities/index.ts'
import type { ShortActivities } from './queues.ts'
import {
  PauseInput,
  pauseUpdate,
  resumeUpdate,
  type RunProgress,
  type ControlAnswer,
} from './messages.ts'
import { asCancellation, cancelled, stacklessFailure, parseInput, SHORT } from './run.ts'
import type { RunStatus } from './run-status.ts'

const reasonOf = (input: unknown) => parseInput(PauseInput, input, { reason: 'maintenance' })

export class RunControl {
  readonly #status: Pick<RunStatus<RunProgress>, 'notePause' | 'progress'>
  readonly #noteCounts: (counts: Pick<RunCounters, 'created' | 'updated'>) => void
  readonly #short = proxyActivities<ShortActivities>(SHORT)
  readonly #working = new Set<CancellationScope>()
  #pause: { readonly reason: string | null } | null = null
  #parking: Promise<void> | null = null
  #hasEnded = false

  /**
   * Accepts the updates from now on.
   * @param noteCounts gets an import's counts when it is parked and when it resumes: a slice that was stopped could not report them
   */
  constructor(
    status: Pick<RunStatus<RunProgress>, 'notePause' | 'progress'>,
    noteCounts: (counts: Pick<RunCounters, 'created' | 'updated'>) => void = () => {},
  ) {
    this.#status = status
    this.#noteCounts = noteCounts
    setHandler(pauseUpdate, (input: unknown) => this.#stop(reasonOf(input)), {
      validator: (input: unknown) => {
        this.#checkOpen()
        reasonOf(input)
      },
      description:
        'Stops the run where it is, and keeps what is done. Input: {"reason": "maintenance"}, or nothing.',
    })
    setHandler(resumeUpdate, (_input: unknown) => this.#resume(), {
      validator: (_input: unknown) => {
        this.#checkOpen()
        if (!this.#pause) throw stacklessFailure('This run is not paused', 'NotPaused')
      },
      description: 'Lets a paused run go on. Input: nothing.',
    })
  }

  /** Does a piece of work. A pause stops it; after the pause it is done again. */
  async pausable<Result>(work: () => Promise<Result>): Promise<Result> {
    const outer = CancellationScope.current()
    // Bounded by the number of pauses that people make.
    for (;;) {
      while (this.#pause) await cancelled(this.#park())
      const scope = new CancellationScope({ parent: outer, cancellable: true })
      this.#working.add(scope)
      try {
        return await scope.run(work)
      } catch (error) {
        const isPaused = scope.consideredCancelled && !outer.consideredCancelled
        const cancellation = asCancellation(error)
        if (!isPaused || cancellation === null) throw cancellation ?? error
      } finally {
        this.#working.delete(scope)
      }
    }
  }

  /** From now on the run cannot be paused: it is closing. */
  end(): void {
    this.#hasEnded = true
  }

  #checkOpen(): void {
    if (this.#hasEnded)
      throw stacklessFailure('The run is being closed; it is too late for that', 'RunClosing')
  }

  #stop(reason: string | null): ControlAnswer {
    this.#pause = { reason }
    this.#status.notePause({ reason, phase: this.#working.size === 0 ? 'parked' : 'stopping' })
    for (const scope of this.#working) scope.cancel()
    return { state: 'paused' }
  }

  #resume(): ControlAnswer {
    this.#pause = null
    this.#status.notePause(null)
    return { state: 'running' }
  }

  /** Waits for the end of the pause. The last piece of work to stop reports that the pause has begun. */
  async #park(): Promise<void> {
    this.#parking ??= this.#untilResumed()
    await this.#parking
  }

  async #untilResumed(): Promise<void> {
    try {
      await condition(() => this.#working.size === 0 || !this.#pause)
      if (!this.#pause) return
      await this.#report(true, this.#pause.reason)
      if (this.#pause) this.#status.notePause({ ...this.#pause, phase: 'parked' })
      await condition(() => !this.#pause)
      await this.#report(false, null)
    } finally {
      this.#parking = null
    }
  }

  /** Records in the ledger that the run is parked, or that it goes on. */
  async #report(isParked: boolean, reason: string | null): Promise<void> {
    const { run, sync } = this.#status.progress
    if (run === null) return
    const summary = `${isParked ? 'pause' : 'resume'} ${sync}`
    const input = { run, isParked, reason }
    const counts = await this.#short.noteParked.executeWithOptions({ summary }, [input])
    if (counts) this.#noteCounts(counts)
  }
}
