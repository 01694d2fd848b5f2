// What Remaining has shown since the quota was last seen to refill. Times are seconds.

/** Others' use is averaged over this time. */
const OTHERS_MEMORY_S = 30

export class WindowState {
  readonly number: number
  /** The lowest Remaining of the epoch: minus what is in flight, it never overstates what is left. */
  lowest: number
  /** When the request whose answer reported it was sent. */
  lowestSentAt: number
  /** The Remaining that opened the epoch. */
  readonly first: number
  /** Our requests accepted since. */
  ownAccepted = 0
  /** What others take, per second; carried from epoch to epoch. */
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

  /** One request may have been used without a Remaining that shows it. */
  useOne(): void {
    this.lowest = Math.max(0, this.lowest - 1)
  }

  private faded(t: number): number {
    return this.othersPerS * Math.exp(-Math.max(0, t - this.at) / OTHERS_MEMORY_S)
  }

  /** What others take at `t`, per second: it falls with every second in which nothing shows them. */
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
