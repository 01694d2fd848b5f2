// When a fixed window ends: the next reset lies between `from` and `to`. Times are seconds.

export const PERIOD_S = 60
/** How far a service's clock may drift from ours within a minute. */
const DRIFT_S = 0.004

export class ResetClock {
  from: number
  to: number
  /** `clock`: windows follow the service's clock. `request`: one opens at the first request after the last has ended. */
  opening: 'clock' | 'request'
  /** The reset for which a probe has gone out already. */
  probedFor: number | null = null

  /** A window began between `from` and `to`. */
  constructor(from: number, to: number, opening: ResetClock['opening'] = 'clock') {
    this.from = from + PERIOD_S
    this.to = to + PERIOD_S
    this.opening = opening
  }

  static restore(data: ResetClock): ResetClock {
    return Object.assign(new ResetClock(0, 0), data)
  }

  /** A window was seen to begin between `from` and `to`; if `fresh`, opened by the request sent at `sentAt`. */
  saw(
    from: number,
    to: number,
    request: { readonly sentAt: number; readonly fresh: boolean },
  ): void {
    let [earliest, latest] = [from, to]
    if (this.opening === 'request' && to < this.from - 0.05) {
      // Earlier than a window that our own request opened could have ended.
      this.opening = 'clock'
    } else if (this.opening === 'request') {
      if (request.fresh) earliest = request.sentAt
    } else {
      // Windows on a clock are a whole number of minutes apart, so what was known before narrows this one down.
      const passed = Math.floor((to - this.from + DRIFT_S) / PERIOD_S) * PERIOD_S
      const [a, b] = [this.from + passed - DRIFT_S, this.to + passed + DRIFT_S]
      if (a <= to && b >= from) {
        earliest = Math.max(earliest, a)
        latest = Math.min(latest, b)
      }
    }
    this.from = earliest + PERIOD_S
    this.to = latest + PERIOD_S
  }

  /** A refusal, or a header, reported that the reset lies between `from` and `to`. */
  told(from: number, to: number, t: number): void {
    if (to < this.from || from > this.to || this.to <= t) {
      this.from = from
      this.to = to
    } else {
      this.from = Math.max(this.from, from)
      this.to = Math.min(this.to, to)
    }
    this.probedFor = null
  }

  /** A request was certainly sent at `t` before the reset: the reset cannot be earlier than a minute after. */
  notBefore(t: number): void {
    if (this.opening === 'clock') this.from = Math.min(Math.max(this.from, t), this.to)
  }

  /** No request saw the reset: keeps the clock running. */
  runOn(t: number): void {
    const passed = Math.ceil((t - this.to) / PERIOD_S) * PERIOD_S
    this.from += passed
    this.to += passed
  }
}
