// The quotas that the processes of several machines share: two tables next to the ledger's, on connections of their own, so
// that taking permits never waits for work on the ledger. Losing them costs a minute of learning.
// Promise kept here: one `update` of an org at a time, over all processes, or an error within seconds.

import { SyncError } from '../../core/errors.ts'
import type { QuotaStore } from '../../core/ports.ts'
import type { Connection } from './connection.ts'
import { openPostgresDatabase } from './database.ts'
import type { PostgresRow, ErrorSubject } from './session.ts'

const subject: ErrorSubject = {
  noun: 'quota store',
  code: 'quota',
  connections: 2,
  // Updates queue for the connections: so long the last of many may wait.
  connectMaxMs: 5_000,
  lockMaxMs: 2_000,
  statementMaxMs: 2_000,
  fail: (code, message) => new SyncError(code, message),
}

/** Read after the lock is granted: the time spent waiting counts. */
const NOW = `(extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now`
const HELD = `SELECT state, ${NOW} FROM (SELECT state FROM quota WHERE org = $1 FOR UPDATE) AS held`

/**
 * Opens the quotas in the schema of a PostgreSQL ledger, created and migrated if needed.
 * @throws SyncError `quota_…` if it cannot be reached or used, or is of another release
 */
export async function openPostgresQuota(connection: Connection): Promise<QuotaStore> {
  const db = await openPostgresDatabase(connection, subject)
  return {
    place: db.place,
    async update(org, work) {
      return await db.transaction(async (session) => {
        let row = await session.one(HELD, [org])
        let isNew = false
        if (!row) {
          // This waits for a process that creates the same org at this moment.
          const made = await session.run(
            `INSERT INTO quota (org, state, changed_at) VALUES ($1, '', clock_timestamp()) ON CONFLICT DO NOTHING`,
            [org],
          )
          isNew = made === 1
          row = (await session.one(HELD, [org])) as PostgresRow
        }
        const { state, result } = work(isNew ? null : String(row['state']), Number(row['now']))
        await session.run(
          'UPDATE quota SET state = $1, changed_at = clock_timestamp() WHERE org = $2',
          [state, org],
        )
        return result
      })
    },
    async all() {
      const clock = await db.one(`SELECT ${NOW}`)
      const rows = await db.all('SELECT org, state FROM quota ORDER BY org')
      return {
        nowMs: Number(clock?.['now']),
        orgs: rows.map((row) => ({ org: String(row['org']), state: String(row['state']) })),
      }
    },
    async orgOfKey(key) {
      const row = await db.one('SELECT org FROM quota_keys WHERE key = $1', [key])
      return row ? String(row['org']) : null
    },
    async noteOrgOfKey(key, org) {
      await db.run(
        'INSERT INTO quota_keys (key, org) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET org = excluded.org',
        [key, org],
      )
    },
    close: () => db.close(),
  }
}
