// Runs and destinations, as every engine reads them.

import type { LedgerIdentity } from '../roles/identity.ts'
import type { RunCounters, Runs } from '../roles/runs.ts'
import { LOOK_UPS_STEP } from '../../core/domain/look-ups.ts'
import {
  destinationOfRow,
  liveStates,
  mergeWarnings,
  RUN_COLUMNS,
  runReader,
} from '../rows/runs.ts'
import { countsOfRow, sqlList } from '../rows/values.ts'
import { LINK_COUNTERS } from './links/slices.ts'
import type { StatementRunner } from './engine.ts'
import type { LinkSql } from './link-sql.ts'
import { read, write, type TransactionRunner } from './transaction.ts'

/** Of the segments. */
const SUMS = ['planned', 'created', 'updated', 'skipped', 'rejected'] as const

/** The counters of a run with those of its links, if it has any. */
async function withLinks(
  db: StatementRunner,
  run: number,
  counts: RunCounters,
): Promise<RunCounters> {
  const step = await db.one(
    `SELECT ${LINK_COUNTERS.join(', ')} FROM link_steps WHERE run = $1 AND read > 0`,
    [run],
  )
  if (!step) return counts
  const links = countsOfRow(LINK_COUNTERS, step)
  return { ...counts, requests: counts.requests + links.requests, links }
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function runStatements(db: StatementRunner & TransactionRunner, dialect: LinkSql) {
  const runOfRow = runReader(dialect)
  return {
    async project() {
      return String((await db.one('SELECT id FROM project'))?.['id'])
    },
    async restoredAfter() {
      return Number((await db.one('SELECT restored_after FROM project'))?.['restored_after'] ?? 0)
    },
    async liveRuns() {
      const rows = await db.all(
        `SELECT ${RUN_COLUMNS} FROM runs WHERE mode = 'run' AND state IN (${liveStates}) ORDER BY id`,
      )
      return rows.map(runOfRow)
    },
    async run(id) {
      const row = await db.one(`SELECT ${RUN_COLUMNS} FROM runs WHERE id = $1`, [id])
      return row ? runOfRow(row) : null
    },
    async runs({ sync, limit, purposes, plan }) {
      const which = `mode = 'run'${purposes === undefined ? '' : ` AND purpose IN (${sqlList(purposes)})`}`
      const ofSync = sync === undefined ? '' : 'AND sync = $2'
      const ofPlan =
        plan === undefined ? '' : `AND CAST(config ->> 'plan' AS integer) = ${Math.trunc(plan)}`
      const rows = await db.all(
        `SELECT ${RUN_COLUMNS} FROM runs WHERE ${which} ${ofSync} ${ofPlan} ORDER BY id DESC LIMIT $1`,
        sync === undefined ? [limit] : [limit, sync],
      )
      return rows.map(runOfRow)
    },
    async addWarnings(run, warnings) {
      await db.transact(function* () {
        const [row] = yield* read(
          `SELECT warnings FROM runs WHERE id = $1 AND state IN (${liveStates}) ${dialect.lock}`,
          [run],
        )
        if (!row) return
        const all = mergeWarnings(dialect.json(row['warnings']) as string[], warnings)
        yield* write('UPDATE runs SET warnings = $1 WHERE id = $2', [JSON.stringify(all), run])
      })
    },
    async bindDestination(run, destination, { keyFingerprint, warnings, schema }) {
      const { sync, origin, orgId, objectType, matchingProperty } = destination
      const facts = [keyFingerprint, JSON.stringify(warnings), JSON.stringify(schema)]
      return await db.transact(function* () {
        // A destination that exists is written as it is, because only what was written is returned.
        const [row] = yield* read(
          `INSERT INTO destinations (sync, origin, org_id, object_type, matching_property)
           VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (sync, origin, org_id, object_type, matching_property)
             DO UPDATE SET sync = excluded.sync RETURNING id`,
          [sync, origin, orgId, objectType, matchingProperty],
        )
        const id = Number(row!['id'])
        yield* write(
          'UPDATE runs SET destination = $1, key_fingerprint = $2, warnings = $3, properties = $4 WHERE id = $5',
          [id, ...facts, run],
        )
        return id
      })
    },
    async laterRuns(run, purpose) {
      const again = `UNION SELECT runs.id FROM chain ${dialect.join} runs ON runs.of_run = chain.id AND runs.mode = 'run'
             AND runs.purpose = 'retry'`
      const rows = await db.all(
        `WITH RECURSIVE chain (id) AS (
           SELECT id FROM runs WHERE of_run = $1 AND mode = 'run' AND purpose = $2 ${purpose === 'retry' ? again : ''})
         SELECT ${RUN_COLUMNS} FROM runs WHERE id IN (SELECT id FROM chain) ORDER BY id`,
        [run, purpose],
      )
      return rows.map(runOfRow)
    },
    async setRunState(id, state, reason = null, message = null) {
      // A closed run stays closed: a late activity of it must not bring it back to life.
      await db.run(
        `UPDATE runs SET state = $1, reason = $2, message = $3 WHERE id = $4 AND state IN (${liveStates})`,
        [state, reason, message, id],
      )
    },
    async destinationOf(id) {
      const row = await db.one(
        `SELECT destinations.sync, destinations.origin, destinations.org_id, destinations.object_type,
           destinations.matching_property
         FROM runs JOIN destinations ON destinations.id = runs.destination WHERE runs.id = $1`,
        [id],
      )
      return row ? destinationOfRow(row) : null
    },
    async progress(id) {
      const row = await db.one(
        `SELECT rows_staged AS read,
           ${SUMS.map((name) => `coalesce(sum(segments.${name}), 0) AS ${name}`).join(', ')},
           coalesce(sum(segments.requests), 0) + (SELECT coalesce(sum(streams.requests), 0) FROM streams
             WHERE streams.run = runs.id AND streams.state = 'place' AND streams.stream <> '${LOOK_UPS_STEP}') AS requests,
           (SELECT coalesce(sum(streams.requests), 0) FROM streams
             WHERE streams.run = runs.id AND streams.stream = '${LOOK_UPS_STEP}') AS look_ups
         FROM runs LEFT JOIN segments ON segments.run = runs.id WHERE runs.id = $1 GROUP BY runs.id`,
        [id],
      )
      const counts = countsOfRow(['read', ...SUMS, 'requests'], row)
      const lookUps = Number(row?.['look_ups'] ?? 0)
      return await withLinks(db, id, { ...counts, ...(lookUps > 0 && { lookUps }) })
    },
  } satisfies Partial<LedgerIdentity & Runs>
}
