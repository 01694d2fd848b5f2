// The time slice of one call of `push`, in which as many lanes work as batches may be in flight. It ends when time is up, when
// the activity is cancelled, or at the first error of a lane: batches in flight are settled first. Time is not up before something was
// sent, and not refused whole: where the quota lets a request through every minute, what a slice has looked up, or which row of a batch
// was refused, would be lost, and so in each slice after it.

import type { ImportDeps } from '../ports.ts'
import { InFlightLimit } from './in-flight-limit.ts'

/** A slice that has done nothing that lasts goes on for so much longer at most, ms. */
const NOTHING_DONE_MAX_MS = 3_600_000
/** How often such a slice looks whether it is over, ms. */
const LOOK_EVERY_MS = 5_000

export class PushSlice {
  readonly #deps: ImportDeps
  readonly #mayEnd: () => boolean
  readonly #deadline: number
  #isDue = false
  readonly #timeUp = new AbortController()
  readonly #failed = new AbortController()
  readonly #ended = new AbortController()
  readonly #inFlight: InFlightLimit
  #failure: { readonly error: unknown } | null = null
  /** Aborts when the slice ends, for whatever reason. */
  readonly signal: AbortSignal

  /** @param mayEnd whether the slice has done anything that lasts. Default: its time alone counts */
  constructor(deps: ImportDeps, mayEnd = (): boolean => true) {
    const { clock, signal, tuning } = deps
    this.#deps = deps
    this.#mayEnd = mayEnd
    this.#deadline = clock.now() + tuning.segment_ms
    this.#inFlight = new InFlightLimit(tuning.in_flight)
    this.signal = AbortSignal.any([this.#timeUp.signal, this.#failed.signal, signal])
    this.#passTime().catch(() => {})
  }

  /** Until time is up, or the slice has ended. */
  async #passTime(): Promise<void> {
    const { clock, tuning } = this.#deps
    await clock.sleep(tuning.segment_ms, this.#ended.signal)
    this.#isDue = true
    for (let ms = 0; ms < NOTHING_DONE_MAX_MS && !this.#mayEnd(); ms += LOOK_EVERY_MS)
      await clock.sleep(LOOK_EVERY_MS, this.#ended.signal)
    this.#timeUp.abort()
  }

  /** Whether time is up. A timer and a clock that was set may disagree: the earlier one counts. */
  isOver = (): boolean => {
    const isDue = this.#isDue || this.#deps.clock.now() >= this.#deadline
    return this.#timeUp.signal.aborted || (isDue && this.#mayEnd())
  }

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
