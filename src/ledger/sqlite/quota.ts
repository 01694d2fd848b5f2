// The quotas that the processes of one machine share: a file of its own next to the ledger, so that taking permits never
// waits for a write to the ledger. Losing it costs a minute of learning.
// Promises kept here: one `update` of an org at a time, over all processes; a lock stops this process for a second at most.

import { SyncError } from '../../core/errors.ts'
import type { QuotaStore } from '../../core/ports.ts'
import { openSqliteFile, type SqliteDatabase, type FileSubject } from '../../sqlite/database.ts'

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
        ? `${message}. It may be removed: what it holds is learned again in a minute`
        : message,
    ),
}

/**
 * Opens the file at `path`, created and migrated if needed.
 * @throws SyncError `quota_…` if it cannot be opened, is damaged, or is of another release
 */
export function openSqliteQuota(path: string): QuotaStore {
  const open = (): SqliteDatabase => {
    const opened = openSqliteFile(path, subject)
    opened.sql(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`).get()
    return opened
  }
  let db = open()
  /** A file that was removed or replaced is opened again: what it held is learned again, and all processes use one file. */
  const inFile = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof SyncError) || error.code !== 'quota_replaced') throw error
    }
    db.close()
    db = open()
    return work()
  }
  const stateOf = (org: string) =>
    db.sql('SELECT state FROM quota WHERE org = ?').get(org)?.['state'] as string | undefined
  return {
    place: path,
    async update(org, work) {
      const thrown: unknown[] = []
      const updated = () =>
        db.transaction(() => {
          const nowMs = Date.now()
          let done: ReturnType<typeof work>
          try {
            done = work(stateOf(org) ?? null, nowMs)
          } catch (error) {
            thrown.push(error)
            throw error
          }
          db.sql(
            `INSERT INTO quota (org, state, changed_at) VALUES (?, ?, ?)
             ON CONFLICT (org) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at`,
          ).run(org, done.state, new Date(nowMs).toISOString())
          return done.result
        })
      try {
        return inFile(updated)
      } catch (error) {
        // Errors of the file are already in our words; what `work` throws goes to its caller unchanged.
        throw thrown.length > 0 ? thrown[0] : error
      }
    },
    async all() {
      const orgs = inFile(() => db.sql('SELECT org, state FROM quota ORDER BY org').all())
      return { nowMs: Date.now(), orgs: orgs as { org: string; state: string }[] }
    },
    async orgOfKey(key) {
      const row = inFile(() => db.sql('SELECT org FROM quota_keys WHERE key = ?').get(key))
      return (row?.['org'] as string | undefined) ?? null
    },
    async noteOrgOfKey(key, org) {
      inFile(() =>
        db
          .sql(
            'INSERT INTO quota_keys (key, org) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET org = excluded.org',
          )
          .run(key, org),
      )
    },
    async close() {
      db.close()
    },
  }
}
