// A ledger's file that another program keeps locked, such as a client of SQLite with an open transaction. What must be written waits for
// it: the note of an action before a run starts, and the run itself, which is not in the ledger before.

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

/** What must be noted in the ledger waits so long for it; a person can end the command before. */
const FREE_MAX_MS = 10 * 60_000
/** By then it is held for long, or by nobody, or by several in turn. */
const KNOWN_MAX_MS = 2 * HELD_MS + LOOK_EVERY_MS

/** Who keeps it locked, look after look, until nobody does. Bounded by the time. */
async function* looksAt(
  config: Pick<Config, 'ledger'>,
  maxMs: number,
): AsyncGenerator<LedgerLock | null> {
  const watch = lockWatch(config)
  for (let waitedMs = 0; waitedMs < maxMs; waitedMs += LOOK_EVERY_MS) {
    yield watch.look()
    if (!watch.isHeld()) return
    await systemClock.sleep(LOOK_EVERY_MS)
  }
}

/** Waits until nobody keeps it locked, and says once who does. After that time, what is noted is refused by the ledger itself. */
export async function awaitFreeLedger(
  config: Pick<Config, 'ledger'>,
  {
    say,
    maxMs = FREE_MAX_MS,
  }: { say(lock: LedgerLock): void; readonly maxMs?: number | undefined },
): Promise<void> {
  let isSaid = false
  for await (const lock of looksAt(config, maxMs)) {
    if (lock !== null && !isSaid) say(lock)
    isSaid ||= lock !== null
  }
}

/** Who keeps it locked now. Takes no time where nobody holds it. */
export async function ledgerLock(config: Pick<Config, 'ledger'>): Promise<LedgerLock | null> {
  for await (const lock of looksAt(config, KNOWN_MAX_MS)) if (lock !== null) return lock
  return null
}
