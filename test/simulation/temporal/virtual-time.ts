// A virtual time for the tests of the engine alone; the world of the simulation has its own.

import type { Dice, Scheduler } from '../scheduler.ts'
import { dice } from '../../other-service/random-habits.ts'

const START = Date.UTC(2026, 0, 1)
const TURNS_MAX = 1_000_000

interface Planned {
  readonly at: number
  readonly order: number
  readonly what: string
  readonly run: () => void | Promise<void>
}

/** Runs what is planned, in the order of its time; what is planned for the same time, in the order in which it was planned. */
export class VirtualTime implements Scheduler {
  #now = START
  #count = 0
  readonly #planned = new Map<number, Planned>()
  readonly story: string[] = []

  now(): number {
    return this.#now
  }

  at(ms: number, what: string, run: () => void | Promise<void>): { cancel(): void } {
    const order = ++this.#count
    this.#planned.set(order, { at: Math.max(ms, this.#now), order, what, run })
    return { cancel: () => this.#planned.delete(order) }
  }

  /** Resolves after `ms` of virtual time. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.#now + ms, 'a sleep ends', resolve))
  }

  /** Goes on until `promise` has settled, and gives its result. */
  async until<Result>(promise: Promise<Result>): Promise<Result> {
    let isSettled = false
    const settled = promise.finally(() => {
      isSettled = true
    })
    settled.catch(() => {})
    await this.#go(() => isSettled)
    if (!isSettled)
      throw new Error(
        `nothing is planned any more, and it still waits; last: ${this.story.slice(-5).join(' | ')}`,
      )
    return await settled
  }

  /** Lets `ms` of virtual time go by. */
  async pass(ms: number): Promise<void> {
    await this.until(this.sleep(ms))
  }

  async #go(isOver: () => boolean): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      // Everything that is ready has run.
      await new Promise((resolve) => setImmediate(resolve))
      if (isOver()) return
      let next: Planned | undefined
      for (const one of this.#planned.values())
        if (next === undefined || one.at < next.at) next = one
      if (next === undefined) return
      this.#planned.delete(next.order)
      this.#now = next.at
      this.story.push(`${next.at - START} ${next.what}`)
      await next.run()
    }
    throw new Error(`no end after ${TURNS_MAX} turns`)
  }
}

export const seeded = (seed: number): Dice => dice(seed)
