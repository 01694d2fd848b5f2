// What a SQLite file is to its users.

import type { SyncError } from '../core/errors.ts'

/** What the file is to its users: the words and the class of its errors. */
export interface FileSubject {
  /** `ledger`: "The ledger PATH is full". */
  readonly noun: string
  /** Codes begin with it: `ledger` gives `ledger_full`. */
  readonly code: string
  /** What to do if there is no file yet, or one that an older release made; both end a sentence. */
  readonly hints: { readonly missing: string; readonly older: string }
  /** Applied in order; `user_version` holds the number of those applied. */
  readonly migrations: readonly string[]
  /** A statement that is run once in a backup that takes the file's place (`backup.ts`), when it is opened for writing. */
  readonly whenRestored?: string
  /** How long to wait for a lock of another process; this process is blocked meanwhile. Default 10,000 ms. */
  readonly busyMaxMs?: number
  /** `reason` says what a person has to repair: the disk, or the file. */
  fail(code: string, message: string, reason: 'file' | 'disk'): SyncError
}
