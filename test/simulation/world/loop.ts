// Virtual time. What is ready runs to its end; then the next event of virtual time happens. Code that waits for the machine itself (a
// thread, a database) is counted while it is under way, and time stands still until it has come back.

import type { Scheduler } from '../scheduler.ts'
import { asWorld, type Process } from './process.ts'
import { EventQueue, type Owner, type Planned } from './queue.ts'

const { setImmediate: realImmediate } = globalThis

/** Turns of the real event loop that one event may keep busy, at most. */
const TURNS_MAX = 2_000_000

export class Stuck extends Error {
  override readonly name = 'Stuck'
}

export class Loop implements Scheduler {
  readonly #queue = new EventQueue()
  #now: number
  #order = 0
  #events = 0
  readonly #outside = new Set<Promise<unknown>>()
  /** What is ready although no event of virtual time is: immediates, and calls that are under way. */
  ready = 0
  /** Called whenever nothing is ready: anybody may look now. */
  atRest: (() => void) | null = null
  /** Errors that nobody has caught. */
  readonly uncaught: unknown[] = []

  constructor(startMs: number) {
    this.#now = startMs
  }

  now(): number {
    return this.#now
  }

  /** How many events have happened. */
  get events(): number {
    return this.#events
  }

  /** Time stands still until what `run` returns has settled. */
  at(ms: number, what: string, run: Planned['run']): { cancel(): void } {
    const counted = (): void => {
      const running = run()
      if (!(running instanceof Promise)) return
      this.ready++
      void running
        .catch((error: unknown) => this.uncaught.push(error))
        .finally(() => void this.ready--)
    }
    return this.plan(ms, what, counted, null)
  }

  after(ms: number, what: string, run: Planned['run'], owner: Owner | null = null) {
    return this.plan(this.#now + ms, what, run, owner)
  }

  plan(ms: number, what: string, run: Planned['run'], owner: Owner | null): { cancel(): void } {
    const order = ++this.#order
    const planned: Planned = {
      at: Math.max(ms, this.#now),
      order,
      what,
      run,
      owner,
      isCancelled: false,
    }
    this.#queue.push(planned)
    return { cancel: () => void (planned.isCancelled = true) }
  }

  /** Work of the machine that is under way: time stands still until it has settled. */
  async outside<Result>(work: Promise<Result>): Promise<Result> {
    this.ready++
    this.#outside.add(work)
    try {
      return await work
    } finally {
      this.#outside.delete(work)
      this.ready--
    }
  }

  /** A wait of the world. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, 'a wait', () => resolve()))
  }

  /** A stopped process goes on: what has happened to it meanwhile happens now. */
  goOn(process: Process): void {
    for (const { what, run, isCancelled } of process.goOn())
      if (!isCancelled) this.plan(this.#now, what, run, process)
  }

  /**
   * Lets time go on until `isOver`, or until `untilMs`. Returns whether it is over. @throws Stuck
   * @param eventsMax events that may happen meanwhile
   */
  async run(isOver: () => boolean, untilMs: number, eventsMax = 5_000_000): Promise<boolean> {
    await this.#settle()
    for (let events = 0; !isOver(); events++) {
      if (events >= eventsMax) throw new Stuck(`${eventsMax} events, and no end`)
      const next = this.#queue.nextAt()
      if (next === null || next > untilMs) {
        this.#now = Math.max(this.#now, Math.min(untilMs, next ?? untilMs))
        return isOver()
      }
      const planned = this.#queue.pop()!
      this.#now = Math.max(this.#now, planned.at)
      if (planned.owner?.state === 'dead') continue
      if (planned.owner?.state === 'stopped') {
        planned.owner.keep(planned)
        continue
      }
      this.#events++
      try {
        void Promise.resolve(planned.run()).catch((error: unknown) => this.uncaught.push(error))
      } catch (error) {
        this.uncaught.push(error)
      }
      await this.#settle()
    }
    return true
  }

  /** Until nothing is ready. */
  #settle(): Promise<void> {
    return new Promise((resolve, reject) => {
      let turns = 0
      let calm = 0
      const turn = (): void => {
        calm = this.ready === 0 ? calm + 1 : 0
        if (++turns > TURNS_MAX) return reject(new Stuck('something is ready for ever'))
        const again = (): void => void realImmediate(turn)
        // Turns would take the processor from what they wait for.
        const [work] = this.#outside
        if (work) return void work.then(again, again)
        // The second turn is for what Node itself puts off for one.
        if (calm < 2) return again()
        asWorld(() => this.atRest?.())
        resolve()
      }
      realImmediate(turn)
    })
  }
}
