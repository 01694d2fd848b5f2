// What Remaining has told since the quota was last seen to refill. Times are seconds.

/** Others' use is averaged over this time. */
const OTHERS_MEMORY_S = 30

export class WindowState {
  readonly number: number
  /** The lowest Remaining of the epoch: with what is in flight taken off, it never overstates what is left. */
  lowest: number
  /** When the request was sent whose answer told it. */
  lowestSentAt: number
  /** The Remaining that opened it. */
  readonly first: number
  /** Our requests accepted since. */
  ownAccepted = 0
  /** What others take, a second; carried from epoch to epoch. */
  othersPerS: number
  private othersUsed = 0
  private at: number

  constructor(number: number, remaining: number, sentAt: number, t: number, othersPerS: number) {
    this.number = number
    this.lowest = remaining
    this.lowestSentAt = sentAt
    this.first = remaining
    this.othersPerS = othersPerS
    this.at = t
  }

  static restore(data: WindowState): WindowState {
    return Object.assign(Object.create(WindowState.prototype) as WindowState, data)
  }

  /** One request may have been used, and no Remaining told so. */
  useOne(): void {
    this.lowest = Math.max(0, this.lowest - 1)
  }

  private faded(t: number): number {
    return this.othersPerS * Math.exp(-Math.max(0, t - this.at) / OTHERS_MEMORY_S)
  }

  /** What others take at `t`, a second: less with every second in which nothing told of them. */
  othersNow(t: number): number {
    return Math.max(0, this.faded(t))
  }

  /** An answer from within the epoch. */
  learn(remaining: number, sentAt: number, accepted: boolean, t: number): void {
    if (accepted) this.ownAccepted += 1
    if (remaining < this.lowest) {
      this.lowest = remaining
      this.lowestSentAt = sentAt
    }
    const othersUsed = this.first - this.lowest - this.ownAccepted
    this.othersPerS = this.faded(t) + (othersUsed - this.othersUsed) / OTHERS_MEMORY_S
    this.othersUsed = othersUsed
    this.at = t
  }
}
