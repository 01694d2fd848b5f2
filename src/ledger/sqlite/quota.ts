// The quotas that the processes of one machine share: a file of its own next to the ledger, so that taking permits never
// waits for a write to the ledger. Losing it costs a minute of learning.
// Promises kept here: one `update` of an org at a time, over all processes; a lock stops this process for a second at most; a
// damaged file is set aside by one process at a time, and only while it is damaged.

import { SyncError } from '../../core/errors.ts'
import type { QuotaStore } from '../../core/ports.ts'
import { openSqliteFile, type SqliteDatabase, type FileSubject } from '../../sqlite/database.ts'
import { isDamaged, setAsideIfDamaged } from '../../sqlite/set-aside.ts'

const MIGRATIONS = [
  `
  CREATE TABLE quota (
    org TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    changed_at TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE quota_keys (
    key TEXT PRIMARY KEY,
    org TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
]

/** Pages of the log after which it is written into the file: 8 MB, a few hundred updates. */
const CHECKPOINT_PAGES = 2_000

const removable = new Set(['quota_corrupt', 'quota_newer', 'quota_failed'])

const subject: FileSubject = {
  noun: 'quota file',
  code: 'quota',
  hints: { missing: 'it is made by the first worker', older: 'start a worker first' },
  migrations: MIGRATIONS,
  busyMaxMs: 1_000,
  fail: (code, message) =>
    new SyncError(
      code,
      removable.has(code)
        ? `${message}. It may be removed, with its -wal and -shm, also while workers run: what it holds is learned again in a minute${code === 'quota_corrupt' ? '. A worker that needs it sets it aside by itself' : ''}`
        : message,
    ),
}

const damagedAt = (path: string): SyncError =>
  subject.fail('quota_corrupt', `The quota file ${path} was truncated or overwritten`, 'file')

/** A file is set aside at most this often by one process: on a disk that damages every file it would never end. */
const SET_ASIDE_EVERY_MS = 60_000

export interface QuotaFileOptions {
  /** Sets a damaged file aside, makes a new one, and says where the damaged one is. Without it, the damage is an error. */
  readonly onSetAside?: (to: string) => void
}

/** The file, opened again where it was removed, replaced or set aside. */
class QuotaFile {
  readonly #path: string
  readonly #onSetAside: QuotaFileOptions['onSetAside']
  #db: SqliteDatabase | null = null
  #isClosed = false
  #setAsideAt = -Infinity
  /** The last state of each org that this process stored: what a new file begins with where it takes the place of a damaged one. */
  readonly #stored = new Map<string, string>()

  constructor(path: string, { onSetAside }: QuotaFileOptions) {
    this.#path = path
    this.#onSetAside = onSetAside
    this.use(() => {})
  }

  /** Does `work`; once more if the file had to be opened again. */
  use<Result>(work: (db: SqliteDatabase) => Result): Result {
    const attempt = () => work(this.#opened())
    try {
      return attempt()
    } catch (error) {
      if (!(error instanceof SyncError) || error.code !== 'quota_replaced')
        return this.#afterDamage(error, attempt)
    }
    // What a removed file held is learned again, and all processes use one file.
    this.#leave()
    try {
      return attempt()
    } catch (error) {
      return this.#afterDamage(error, attempt)
    }
  }

  /** To be called once `state` is stored. */
  note(org: string, state: string): void {
    this.#stored.set(org, state)
  }

  close(): void {
    this.#isClosed = true
    this.#db?.close()
  }

  #opened(): SqliteDatabase {
    // A closed file stays: it refuses all work.
    return (this.#db ??= openSqliteFile(this.#path, subject, { log: { pages: CHECKPOINT_PAGES } }))
  }

  #leave(): void {
    if (this.#isClosed) return
    this.#db?.close()
    this.#db = null
  }

  /** Once more with a new file, if the error is that of a damaged one; otherwise the error. */
  #afterDamage<Result>(error: unknown, attempt: () => Result): Result {
    const code = error instanceof SyncError && !this.#isClosed ? error.code : ''
    if (code !== 'quota_corrupt' && code !== 'quota_io') throw error
    // The driver says of some reads behind the end of a file only that they failed.
    if (code === 'quota_io' && !isDamaged(this.#path, subject)) throw error
    const damage = code === 'quota_io' ? damagedAt(this.#path) : error
    const nowMs = performance.now()
    if (!this.#onSetAside || nowMs - this.#setAsideAt < SET_ASIDE_EVERY_MS) throw damage
    // Only now: what was prepared keeps the descriptors of a file that is left, until it is collected.
    this.#leave()
    const to = setAsideIfDamaged(this.#path, subject, () => this.#fill())
    if (to === 'busy') throw damage
    if (to !== null) {
      this.#setAsideAt = nowMs
      this.#onSetAside(to)
    }
    return attempt()
  }

  /** What this process knew last of each org holds on: with an empty file, requests of the last minute would not count. */
  #fill(): void {
    const db = this.#opened()
    const at = new Date().toISOString()
    db.transaction(() => {
      for (const [org, state] of this.#stored)
        db.sql(
          'INSERT INTO quota (org, state, changed_at) VALUES (?, ?, ?) ON CONFLICT (org) DO NOTHING',
        ).run(org, state, at)
    })
  }
}

/**
 * Opens the file at `path`, created and migrated if needed.
 * @throws SyncError `quota_…` if it cannot be opened, is damaged, or is of another release
 */
export function openSqliteQuota(path: string, options: QuotaFileOptions = {}): QuotaStore {
  const file = new QuotaFile(path, options)
  const stateOf = (db: SqliteDatabase, org: string) =>
    db.sql('SELECT state FROM quota WHERE org = ?').get(org)?.['state'] as string | undefined
  return {
    place: path,
    async update(org, work) {
      const thrown: unknown[] = []
      const updated = (db: SqliteDatabase) =>
        db.transaction(() => {
          const nowMs = Date.now()
          let done: ReturnType<typeof work>
          try {
            done = work(stateOf(db, org) ?? null, nowMs)
          } catch (error) {
            thrown.push(error)
            throw error
          }
          db.sql(
            `INSERT INTO quota (org, state, changed_at) VALUES (?, ?, ?)
             ON CONFLICT (org) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at`,
          ).run(org, done.state, new Date(nowMs).toISOString())
          return done
        })
      try {
        const { state, result } = file.use(updated)
        file.note(org, state)
        return result
      } catch (error) {
        // Errors of the file are already in our words; what `work` throws goes to its caller unchanged.
        throw thrown.length > 0 ? thrown[0] : error
      }
    },
    async all() {
      const orgs = file.use((db) => db.sql('SELECT org, state FROM quota ORDER BY org').all())
      return { nowMs: Date.now(), orgs: orgs as { org: string; state: string }[] }
    },
    async orgOfKey(key) {
      const row = file.use((db) => db.sql('SELECT org FROM quota_keys WHERE key = ?').get(key))
      return (row?.['org'] as string | undefined) ?? null
    },
    async noteOrgOfKey(key, org) {
      file.use((db) =>
        db
          .sql(
            'INSERT INTO quota_keys (key, org) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET org = excluded.org',
          )
          .run(key, org),
      )
    },
    async close() {
      file.close()
    },
  }
}
