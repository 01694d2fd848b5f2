// The limit of a service that sends no numbers at all, guessed from its refusals: what was accepted in the minute before one.
// Like every guess it is tested: it grows until the next refusal. Times are seconds.

/** A wait this long indicates a limit per minute. */
const LONG_WAIT_S = 5
/** A second refusal after this share of the guess, or less, shows that the first was no coincidence. */
const CONFIRM_SHARE = 0.05
/** So few accepted requests between two refusals show it too. */
const CONFIRM_MIN = 16
/** Growth per minute: at first, and at most; it doubles with each minute without a refusal. */
const GROWTH_MIN = 0.02
const GROWTH_MAX = 0.5
const GUESS_MIN = 2

export class LimitGuess {
  /** Accepted since the last refusal. */
  private accepted = Infinity
  private refusedAt = -1
  private grownAt = 0
  /** When the first request was accepted. */
  private since = -1

  static restore(data: object): LimitGuess {
    const guess = Object.assign(new LimitGuess(), data)
    // JSON has no infinity.
    guess.accepted ??= Infinity
    return guess
  }

  /** A limit that was reported counts as a guess from now on. */
  begin(t: number): void {
    this.refusedAt = t
    this.grownAt = t
  }

  onAccepted(t: number): void {
    this.accepted += 1
    if (this.since < 0) this.since = t
  }

  /**
   * A refusal of a request that was sent at `sentAt`, with `used` accepted in the last minute. Returns the limit to assume, or
   * null if this may have been a coincidence.
   */
  onRefusal(
    refusal: { readonly sentAt: number; readonly wait: number; readonly used: number },
    limit: number | null,
    t: number,
  ): number | null {
    const { sentAt, wait, used } = refusal
    // Refusals of requests that were in flight together count as one.
    if (sentAt <= this.refusedAt) return null
    const isConfirmed =
      wait >= LONG_WAIT_S || this.accepted <= Math.max(CONFIRM_MIN, CONFIRM_SHARE * used)
    this.accepted = 0
    this.refusedAt = t
    this.grownAt = t
    if (!isConfirmed) return null
    // A short wait indicates a limiter that gives back little by little: less than a minute shows its rate.
    const observedS = wait >= LONG_WAIT_S ? 60 : Math.min(60, Math.max(1, t - this.since))
    const perMinute = (used * 60) / observedS
    return Math.max(GUESS_MIN, limit === null ? perMinute : Math.min(limit, 0.995 * perMinute))
  }

  /** The limit to try at `t`, with `used` of it in the last minute. */
  grow(limit: number, used: number, t: number): number {
    // Time in which nobody asked does not count; where a request comes every minute, that minute does.
    const gap = Math.min(Math.max(1, 60 / limit), Math.max(0, t - this.grownAt))
    this.grownAt = t
    if (used < 0.8 * limit - 3) return limit
    const minutes = Math.max(0, t - this.refusedAt) / 60
    const growth = Math.min(GROWTH_MAX, GROWTH_MIN * 2 ** Math.min(minutes, 20))
    return limit * (1 + (growth * gap) / 60)
  }
}
