// The time slice of one call of `push`, in which as many lanes work as requests may be in flight. It ends when time is up, when
// the activity is cancelled, or at the first error of a lane: batches in flight are settled first.

import type { ImportDeps } from '../ports.ts'

export class PushSlice {
  readonly #deps: ImportDeps
  readonly #deadline: number
  readonly #timeUp = new AbortController()
  readonly #failed = new AbortController()
  readonly #ended = new AbortController()
  #failure: { readonly error: unknown } | null = null
  /** Aborts when the slice ends, for whatever reason. */
  readonly signal: AbortSignal

  constructor(deps: ImportDeps) {
    const { clock, signal, tuning } = deps
    this.#deps = deps
    this.#deadline = clock.now() + tuning.segment_ms
    this.signal = AbortSignal.any([this.#timeUp.signal, this.#failed.signal, signal])
    clock.sleep(tuning.segment_ms, this.#ended.signal).then(
      () => this.#timeUp.abort(),
      () => {},
    )
  }

  /** Whether time is up. A timer and a clock that was set may disagree: the earlier one counts. */
  isOver = (): boolean => this.#timeUp.signal.aborted || this.#deps.clock.now() >= this.#deadline

  mustStop = (): boolean => this.#failure !== null || this.#deps.signal.aborted || this.isOver()

  /** Runs the lanes to their end. @throws the first error of any of them */
  async inLanes(lane: () => Promise<void>): Promise<void> {
    const guarded = async () => {
      try {
        await lane()
      } catch (error) {
        this.#failure ??= { error }
        this.#failed.abort()
      }
    }
    await Promise.all(Array.from({ length: this.#deps.tuning.in_flight }, guarded))
    this.#deps.signal.throwIfAborted()
    if (this.#failure !== null) throw this.#failure.error
  }

  /** The result of a wait that ends with the slice; null if time was up first. */
  async inTime<Result>(wait: Promise<Result>): Promise<Result | null> {
    try {
      return await wait
    } catch (error) {
      const isTimeUp = this.#timeUp.signal.aborted
      if (isTimeUp && !this.#deps.signal.aborted && this.#failure === null) return null
      throw error
    }
  }

  /** Stops the timer. */
  end(): void {
    this.#ended.abort()
  }
}
