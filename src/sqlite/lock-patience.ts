// How long statements wait for a lock of another process.

import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { isBusy } from './failures.ts'

const SHORT_BUSY_MS = 100
const SHORT_FOR_MS = 5_000

/**
 * How long statements wait for a lock. Once one has waited in vain, those behind it wait for a short time only: together they would
 * stand still for minutes, and nobody would hear why.
 */
export class LockPatience {
  readonly #db: DatabaseSyncInstance
  readonly #busyMs: number
  #shortUntil: number | null = null

  constructor(db: DatabaseSyncInstance, busyMs: number) {
    this.#db = db
    this.#busyMs = busyMs
  }

  note(error: unknown): void {
    if (this.#shortUntil !== null || !isBusy(error)) return
    this.#shortUntil = performance.now() + SHORT_FOR_MS
    this.#set(Math.min(SHORT_BUSY_MS, this.#busyMs))
  }

  /** Does work that waits for a short time only. */
  briefly(work: () => void): void {
    this.#set(Math.min(SHORT_BUSY_MS, this.#busyMs))
    try {
      work()
    } finally {
      if (this.#shortUntil === null) this.#set(this.#busyMs)
    }
  }

  restore(): void {
    if (this.#shortUntil === null || performance.now() < this.#shortUntil) return
    this.#shortUntil = null
    this.#set(this.#busyMs)
  }

  #set(ms: number): void {
    this.#db.exec(`PRAGMA busy_timeout = ${ms}`)
  }
}
