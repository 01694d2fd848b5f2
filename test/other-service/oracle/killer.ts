// Ends the work of a process at a statement of its ledger or at a request, as SIGKILL would: from then on no statement of it reaches the
// ledger, and no request of it is carried out. What it had open in the database is undone when its connection closes.

import { DatabaseSync, StatementSync } from '@photostructure/sqlite'
import pg from 'pg'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { OtherService, Seen } from '../index.ts'

export class Killed extends Error {
  override readonly name = 'Killed'
}

/** Statements and requests until the end, or requests that write; null: nobody ends it. */
let left: number | null = null
let isOfWrites = false
let isDead = false
let steps = 0
let onDeath = (): void => {}

export const MODIFYING = /^(create|update|upsert|delete|batch|associate)/

/** Counts a step. @throws Killed from the last one on */
function step(isWrite = false): void {
  steps++
  const isCounted = left !== null && (isWrite || !isOfWrites)
  if (isCounted && --left! <= 0 && !isDead) {
    isDead = true
    onDeath()
  }
  if (isDead) throw new Killed('the process was killed here')
}

let isWatched = false

/** Every statement of SQLite and of PostgreSQL in this process is a step. */
function watchStatements(): void {
  if (isWatched) return
  isWatched = true
  const each = (prototype: object, names: readonly string[], isAsync: boolean) => {
    for (const name of names) {
      const own = Reflect.get(prototype, name) as (...given: unknown[]) => unknown
      Reflect.set(prototype, name, function counted(this: unknown, ...given: unknown[]) {
        try {
          step()
        } catch (error) {
          if (isAsync) return Promise.reject(error as Error)
          throw error
        }
        return own.apply(this, given)
      })
    }
  }
  each(DatabaseSync.prototype, ['exec'], false)
  each(StatementSync.prototype, ['run', 'get', 'all', 'iterate'], false)
  each(pg.Client.prototype, ['query'], true)
}

/** Each request to the service is two steps: as it arrives, and before it is answered. */
export function watchRequests(service: OtherService): void {
  watchStatements()
  const count = ({ operation }: Seen) => {
    try {
      step(MODIFYING.test(operation))
    } catch {
      // It arrived before the end: what it asks for is done, and nobody reads the answer.
    }
    return false
  }
  service.hold(count, { when: 'before' })
  service.hold(count, { when: 'after' })
}

/** A ledger whose calls are steps: that of SQLite has its statements on a thread of its own, where nobody counts them. */
export function watchLedger(ledger: Ledger): Ledger {
  return new Proxy(ledger, {
    get(target, name) {
      const own: unknown = Reflect.get(target, name)
      if (typeof own !== 'function' || name === 'close') return own
      return (...given: unknown[]) => {
        try {
          step()
        } catch (error) {
          return Promise.reject(error as Error)
        }
        return own.apply(target, given) as unknown
      }
    },
  })
}

/** Kills at the nth step from now on. @param died is called at that step @param ofWrites whether requests that write count alone */
export function killAfter(
  nth: number | null,
  died: () => void = () => {},
  { ofWrites = false } = {},
): void {
  left = nth
  isOfWrites = ofWrites
  isDead = false
  onDeath = died
}

/** What was killed has come to its end: the next process begins. Returns whether it was killed. */
export function revive(): boolean {
  const was = isDead
  killAfter(null)
  return was
}

export const stepsTaken = (): number => steps
