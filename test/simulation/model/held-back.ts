// (vi) A service that refuses a request says how long to wait: until then nothing more is sent to it.

import { HOME_ORG, KEYS } from '../world/service.ts'
import type { World } from '../world/world.ts'

/** What was on its way is refused too, and processes tell one another what they have learned. */
const LEARNT_IN_MS = 10_000
/** The clocks of the limit and of the network are not the same to the millisecond. */
const ENDS_MS = 1_000
/** Requests that a history may send early without a reason, and for each thing that loses what was learned. */
const ALLOWED = 4
/** An answer that nobody gets teaches nothing, and a process that is gone takes with it what it has not told. */
const FORGETTING = [
  'kill',
  'killAtStatement',
  'upgrade',
  'stop',
  'clock',
  'diskFull',
  'partition',
  'outage',
  'key',
  'address',
]
const TEARING = ['tornBefore', 'tornAfter', 'half', 'stalled', 'failedAfter'] as const

const isOfHome = (key: string): boolean => key === KEYS.home || key === KEYS.next

export class HeldBack {
  #from = Infinity
  #until = -Infinity
  #early = 0
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  onRequest(key: string): void {
    const now = this.#now()
    if (isOfHome(key) && now > this.#from && now < this.#until) this.#early++
  }

  onRefusal(key: string, seconds: number): void {
    if (!isOfHome(key)) return
    const until = this.#now() + seconds * 1_000 - ENDS_MS
    if (until <= this.#until) return
    // A later refusal of the same wait does not begin it anew.
    if (this.#now() > this.#until) this.#from = this.#now() + LEARNT_IN_MS
    this.#until = until
  }

  /** What is wrong at the end; null if nothing is. */
  problem({ plan }: World): string | null {
    const moves = plan.actions.filter((action) => FORGETTING.includes(action.do)).length
    const winds = TEARING.filter((name) => plan.weather[name] > 0).length
    return this.#early > ALLOWED * (1 + moves + winds)
      ? `(vi) ${this.#early} requests to org ${HOME_ORG} were sent before the wait that it had asked for was over`
      : null
  }
}
