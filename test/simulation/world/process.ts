// A simulated process: code runs in it as long as it is not stopped or dead. Which process code runs in is known from where it was called,
// also behind timers and promises. A dead process does nothing more: its timers, its statements and its answers are dropped. A stopped
// one keeps what happens to it until it goes on.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Owner, Planned } from './queue.ts'

/** A wall clock, which may go ahead, go too fast, and jump. All processes of a machine share one. */
export class Machine {
  readonly name: string
  /** Milliseconds that its wall clock is ahead of the world's time. */
  aheadMs = 0
  /** How much faster it goes than the world's time, from `sinceMs` on: 0.01 is 1 %. */
  drift = 0
  readonly #sinceMs: number

  constructor(name: string, sinceMs = 0) {
    this.name = name
    this.#sinceMs = sinceMs
  }

  /** @param now of the world */
  wallMs(now: number): number {
    return Math.floor(now + this.aheadMs + (now - this.#sinceMs) * this.drift)
  }
}

export class Process implements Owner {
  readonly name: string
  readonly machine: Machine
  #state: Owner['state'] = 'running'
  #kept: Planned[] = []
  /** Called once when it dies. */
  readonly onDeath: (() => void)[] = []
  /** Statements of its ledger until it is killed at one; null: it is not. */
  killedIn: number | null = null

  constructor(name: string, machine: Machine) {
    this.name = name
    this.machine = machine
  }

  get state(): Owner['state'] {
    return this.#state
  }

  keep(planned: Planned): void {
    this.#kept.push(planned)
  }

  stop(): void {
    if (this.#state === 'running') this.#state = 'stopped'
  }

  /** Returns what has happened to it meanwhile, in that order. */
  goOn(): readonly Planned[] {
    if (this.#state !== 'stopped') return []
    this.#state = 'running'
    const kept = this.#kept
    this.#kept = []
    return kept
  }

  die(): void {
    if (this.#state === 'dead') return
    this.#state = 'dead'
    this.#kept = []
    for (const told of this.onDeath) told()
  }

  run<Result>(work: () => Result): Result {
    return running.run(this, work)
  }
}

const running = new AsyncLocalStorage<Process>()

/** The process that this code runs in; undefined: the world. */
export const currentProcess = (): Process | undefined => running.getStore()

/** Runs work of the world, wherever it is called from. */
export const asWorld = <Result>(work: () => Result): Result =>
  currentProcess() === undefined ? work() : running.exit(work)
