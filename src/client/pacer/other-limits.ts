// Refusals by another limit than the minute's: a limit per second, of an endpoint, of a gateway. They close the gate for as long
// as they say, and show nothing about the minute's quota. Times are seconds.

/** A wait that a limit per minute may ask for at its end; a longer one is the minute's, or closes for long anyway. */
const SHORT_WAIT_S = 5
/** How much faster than evenly requests may go. */
const HASTE_MAX = 4
const HASTE_MIN = 1.25
/** The allowed haste recovers within this time. */
const HASTE_BACK_S = 300

export class OtherLimits {
  private haste = HASTE_MAX
  private at = 0
  /** An unexplained refusal: if a request sent after this time is refused too, the refusal counts. */
  private doubtedAt = -1

  /**
   * Whether a refusal is not the minute's: it reports that something remains, or it reports nothing while the pacer assumed far
   * more than nothing, and no other refusal has confirmed it.
   */
  isOther(
    refusal: { readonly sentAt: number; readonly remaining: number; readonly wait: number },
    credit: number,
    limit: number,
    t: number,
  ): boolean {
    if (refusal.remaining > 0) return true
    if (refusal.wait > SHORT_WAIT_S || credit <= 3 + 0.05 * limit) return false
    if (this.doubtedAt >= 0) return refusal.sentAt <= this.doubtedAt
    this.doubtedAt = t
    return true
  }

  /** An answer to a request that was sent at `sentAt`. */
  accepted(sentAt: number): void {
    if (sentAt > this.doubtedAt) this.doubtedAt = -1
  }

  /** Refused by another limit, perhaps because requests went too fast. */
  refused(t: number): void {
    this.haste = Math.max(HASTE_MIN, 0.75 * this.most(t))
    this.at = t
  }

  /** How much faster than evenly requests may go. */
  most(t: number): number {
    const back = (HASTE_MAX - HASTE_MIN) * Math.max(0, (t - this.at) / HASTE_BACK_S)
    return Math.min(HASTE_MAX, this.haste + back)
  }
}
