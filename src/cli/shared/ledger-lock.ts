// A ledger's file that another program keeps locked, such as a client of SQLite with an open transaction. What must be written waits for
// it; before a run is opened there is nothing in the ledger that could say so.

import type { Config } from '../../../config/index.ts'
import { systemClock } from '../../core/ports.ts'
import { holderText, writeLockHolder, type WriteLockHolder } from '../../sqlite/lock-holder.ts'
import { safeText } from './terminal.ts'

/** A transaction of ours takes a small part of that. */
const HELD_MS = 1_500
const LOOK_EVERY_MS = 100

export interface LedgerLock {
  /** The file, and who holds it, as half a sentence. */
  readonly text: string
  /** `sqlite3 (process 4711)` */
  readonly holder: string
}

/**
 * Looks, as often as it is asked, who holds the lock. Null where nobody has held it for long, or where that is not known, as of
 * PostgreSQL: a worker that is seen each time has another transaction each time, and soon none.
 */
export function lockWatch(
  { ledger }: Pick<Config, 'ledger'>,
  holderOf: (path: string) => WriteLockHolder | null = writeLockHolder,
  clock: Pick<typeof systemClock, 'now'> = systemClock,
): { look(): LedgerLock | null; isHeld(): boolean } {
  let held: { readonly pid: number; readonly since: number } | null = null
  return {
    look() {
      if (!('sqlite' in ledger)) return null
      const found = holderOf(ledger.sqlite)
      if (found === null) held = null
      else if (found.pid !== held?.pid) held = { pid: found.pid, since: clock.now() }
      if (found === null || held === null || clock.now() - held.since < HELD_MS) return null
      const holder = safeText(holderText(found), 60)
      return { text: `the ledger ${ledger.sqlite} is locked by ${holder}`, holder }
    },
    isHeld: () => held !== null,
  }
}

/** Who keeps it locked now. Takes no time where nobody holds it. */
export async function ledgerLock(config: Pick<Config, 'ledger'>): Promise<LedgerLock | null> {
  const watch = lockWatch(config)
  // Bounded: it is held for long, or by nobody, or by several in turn.
  for (let waitedMs = 0; waitedMs <= 2 * HELD_MS; waitedMs += LOOK_EVERY_MS) {
    const lock = watch.look()
    if (lock !== null || !watch.isHeld()) return lock
    await systemClock.sleep(LOOK_EVERY_MS)
  }
  return null
}
