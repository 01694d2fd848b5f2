// Kills of the service, at a request or between two: its connections are torn, what it has not carried out is lost, what it has carried out
// is kept, and its port refuses connections until it starts again.

import { setTimeout as sleep } from 'node:timers/promises'
import type { OtherService, Seen } from '../index.ts'
import { MODIFYING } from './killer.ts'
import type { Dice } from './world.ts'

/** How much more often it is killed at a request that writes. */
const WRITES = 4
/** Kills of one history, at most. */
const KILLS_MAX = 8

export class Outages {
  readonly #service: OtherService
  readonly #chance: Dice
  readonly #died: () => void
  /** Of 1: how many reads meet a kill, each twice: before it is carried out, and before it is answered. */
  rate = 0
  kills = 0
  #down: Promise<void> | null = null

  constructor(service: OtherService, chance: Dice, died: () => void) {
    this.#service = service
    this.#chance = chance
    this.#died = died
    const meet = ({ operation }: Seen) => {
      const rate = MODIFYING.test(operation) ? WRITES * this.rate : this.rate
      if (rate > 0 && chance.often(rate)) this.#meet()
      return false
    }
    service.hold(meet, { when: 'before' })
    service.hold(meet, { when: 'after' })
  }

  #meet(): void {
    const { often, below } = this.#chance
    if (often(0.7)) this.#kill()
    else setTimeout(() => this.#kill(), below(4))
  }

  #kill(): void {
    if (this.#down !== null || this.rate === 0 || this.kills >= KILLS_MAX) return
    this.kills++
    this.#service.kill()
    this.#died()
    this.#down = this.#restart(this.#chance.one(0, 3, 20))
  }

  async #restart(afterMs: number): Promise<void> {
    await sleep(afterMs)
    await this.#service.restart()
    this.#down = null
  }

  /** Resolves once the service is up. */
  async isUp(): Promise<void> {
    await this.#down
  }
}
