// The time slice of one call of `push`, in which as many lanes work as batches may be in flight. It ends when time is up, when
// the activity is cancelled, or at the first error of a lane: batches in flight are settled first.

import type { ImportDeps } from '../ports.ts'
import { InFlightLimit } from './in-flight-limit.ts'

export class PushSlice {
  readonly #deps: ImportDeps
  readonly #deadline: number
  readonly #timeUp = new AbortController()
  readonly #failed = new AbortController()
  readonly #ended = new AbortController()
  readonly #inFlight: InFlightLimit
  #failure: { readonly error: unknown } | null = null
  /** Aborts when the slice ends, for whatever reason. */
  readonly signal: AbortSignal

  constructor(deps: ImportDeps) {
    const { clock, signal, tuning } = deps
    this.#deps = deps
    this.#deadline = clock.now() + tuning.segment_ms
    this.#inFlight = new InFlightLimit(tuning.in_flight)
    this.signal = AbortSignal.any([this.#timeUp.signal, this.#failed.signal, signal])
    clock.sleep(tuning.segment_ms, this.#ended.signal).then(
      () => this.#timeUp.abort(),
      () => {},
    )
  }

  /** Whether time is up. A timer and a clock that was set may disagree: the earlier one counts. */
  isOver = (): boolean => this.#timeUp.signal.aborted || this.#deps.clock.now() >= this.#deadline

  mustStop = (): boolean => this.#failure !== null || this.#deps.signal.aborted || this.isOver()

  /**
   * Runs lanes until nothing is left.
   * @param turn what a lane does again and again: one batch. Returns whether there may be more
   * @throws the first error of any lane
   */
  async inLanes(turn: () => Promise<boolean>): Promise<void> {
    const open = new Set<Promise<void>>()
    let lanes = 0
    let isDone = false
    const fill = () => {
      while (!isDone && lanes < this.#inFlight.limit) {
        lanes++
        const running = lane().finally(() => open.delete(running))
        open.add(running)
      }
    }
    const lane = async () => {
      try {
        // A lane ends where there are more than may be; so one stays as long as there are turns.
        while (!isDone && lanes <= this.#inFlight.limit) {
          isDone ||= !(await turn())
          fill()
        }
      } catch (error) {
        isDone = true
        this.#failure ??= { error }
        this.#failed.abort()
      } finally {
        lanes--
      }
    }
    fill()
    // Bounded: lanes open others only while there are turns.
    while (open.size > 0) await Promise.all(open)
    this.#deps.signal.throwIfAborted()
    if (this.#failure !== null) throw this.#failure.error
  }

  /** Delivers a batch; how long it takes, and whether a request failed, decides how many may be in flight. */
  async timed<Result>(deliver: () => Promise<Result>, failures: () => number): Promise<Result> {
    const { clock } = this.#deps
    const before = failures()
    const end = this.#inFlight.begin()
    try {
      return await deliver()
    } finally {
      end(clock.now(), failures() > before)
    }
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
