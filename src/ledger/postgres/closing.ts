// Closing: what is left over, the books, the seal, and what is kept afterwards.

import { isComplete } from '../../core/domain/run-states.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { RunClosing } from '../roles/closing.ts'
import type { Run } from '../roles/runs.ts'
import {
  doneStates,
  isLeft,
  isReadBackLater,
  isUnanswered,
  LOOKED_UP_COUNT,
  openStates,
} from '../rows/items.ts'
import { completeStates, liveStates, RUN_COLUMNS } from '../rows/runs.ts'
import { createBooksSum } from '../rules/books.ts'
import { ordinalSlices } from '../rules/ranges.ts'
import { ADD_MANIFEST_SQL, manifestValues, PREVIOUS_MANIFEST_SQL } from '../statements/archive.ts'
import { keptCountsOfRow, keptCountsSql, thereBeforeSql } from '../statements/before-images.ts'
import { postgresDialect } from './dialect.ts'
import { linkBooks, type LinkClosing } from '../statements/links/closing.ts'
import { IS_OLD_READING, REMOVAL_COUNTS_SQL, type RemovalClosing } from '../statements/removals.ts'
import { STREAMS_SQL } from '../statements/streams.ts'
import { lockChain } from './fences.ts'
import { runOfRow } from './runs.ts'
import { ONE_STATE, type PostgresDatabase, type Session } from './session.ts'
import { transactionsIn } from './transactions.ts'
import { deleteWork } from './work.ts'

const PURPOSE_SQL =
  "SELECT purpose FROM runs WHERE id = $1 AND config::json #>> '{import,verify}' = 'all'"

/** Items that one statement counts. */
const BOOKED_MAX = 100 * LEDGER_ROWS_MAX

/** Adds the manifest of a run that was closed in this transaction to the chain of its sync. */
async function sealRun(session: Session, run: Run, signingKey: string | null): Promise<void> {
  const streams = await session.all(STREAMS_SQL, [run.id])
  const previous = await session.one(PREVIOUS_MANIFEST_SQL, [run.sync])
  await session.run(ADD_MANIFEST_SQL, manifestValues(run, streams, previous, signingKey))
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function closingMethods(
  db: PostgresDatabase,
  now: () => string,
  signingKey: string | null,
  links: LinkClosing,
  removals: RemovalClosing,
): RunClosing {
  /** Runs a statement with the values run, first and last for every slice of 1,000 ordinals. */
  const inSlices = async (
    run: number,
    statement: string,
    of = 'max(ordinal) AS last FROM items',
  ) => {
    const row = await db.one(`SELECT ${of} WHERE run = $1`, [run])
    for (const { first, last } of ordinalSlices(Number(row?.['last'] ?? 0)))
      await db.run(statement, [run, first, last])
  }

  return {
    async settleLeftovers(run) {
      // Workers that still have this run lose their fences first, so that nothing changes while it is counted.
      await db.transaction(async (session) => {
        await session.all(
          'SELECT first FROM segments WHERE run = $1 ORDER BY first FOR NO KEY UPDATE',
          [run],
        )
        await session.run('UPDATE segments SET fence = fence + 1 WHERE run = $1', [run])
        await session.run('UPDATE runs SET stage_fence = stage_fence + 1 WHERE id = $1', [run])
      })
      await inSlices(
        run,
        `UPDATE items SET in_doubt = CASE WHEN ${isUnanswered} THEN 1 ELSE in_doubt END,
           state = CASE WHEN ${isUnanswered} THEN 'outcome_unknown' ELSE 'not_sent' END
         WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state IN (${openStates})`,
      )
      await links.settleLeftovers(run)
      await removals.settleLeftovers(run)
    },

    async books(run) {
      return await db.transaction(async (session) => {
        // Slices of one state of the ledger: a count of all at once would run into the bound of a statement.
        const row = await session.one(
          `SELECT coalesce(rows_read, rows_staged) AS read, rows_read IS NULL AS is_part,
             (SELECT max(ordinal) FROM items WHERE run = $1) AS last FROM runs WHERE id = $1`,
          [run],
        )
        const sum = createBooksSum()
        for (const { first, last } of ordinalSlices(Number(row?.['last'] ?? 0), BOOKED_MAX)) {
          const kept = keptCountsSql({ ...postgresDialect, join: 'JOIN' })
          sum.addKept(keptCountsOfRow(await session.one(kept, [run, first, last])))
          for (const counted of await session.all(
            `SELECT state, verified, normalised, count(*) AS items, sum(replayed) AS replayed, sum(in_doubt) AS in_doubt,
               ${LOOKED_UP_COUNT} AS looked_up
             FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3 GROUP BY state, verified, normalised`,
            [run, first, last],
          ))
            sum.add(counted)
          if (sum.hasDoubted())
            sum.addThereBefore(await session.one(thereBeforeSql('JOIN'), [run, first, last]))
        }
        const linked = await linkBooks(transactionsIn(session), run)
        for (const counted of await session.all(REMOVAL_COUNTS_SQL, [run])) sum.addRemovals(counted)
        return sum.books(row?.['read'], row?.['is_part'] === true, linked)
      }, ONE_STATE)
    },

    async closeRun(run, { state, reason = null, message = null, books, verifiedThrough = null }) {
      // Of a run that ends before it has read all back.
      const ended = isComplete(state) ? undefined : await db.one(PURPOSE_SQL, [run])
      const isKept = ended ? isReadBackLater('items', `'${String(ended['purpose'])}'`) : 'false'
      await inSlices(
        run,
        `DELETE FROM payloads WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND
           (SELECT state IN (${doneStates}) AND NOT coalesce(${isLeft('items')}, false) AND NOT ${isKept}
            FROM items WHERE items.run = payloads.run AND items.ordinal = payloads.ordinal)`,
      )
      await db.transaction(async (session) => {
        await lockChain(session, run)
        const row = await session.one(
          `UPDATE runs SET state = $1, reason = $2, message = $3, counts = $4::json, closed_at = $5::timestamptz,
             verified_through = $6::timestamptz
           WHERE id = $7 AND state IN (${liveStates}) RETURNING ${RUN_COLUMNS}`,
          [state, reason, message, books && JSON.stringify(books), now(), verifiedThrough, run],
        )
        if (row && row['mode'] === 'run') await sealRun(session, runOfRow(row), signingKey)
      })
    },

    async discard(run) {
      if (!(await db.one("SELECT 1 FROM runs WHERE id = $1 AND mode = 'plan'", [run]))) return
      await deleteWork(db, run)
      await db.transaction(async (session) => {
        await session.run('DELETE FROM segments WHERE run = $1', [run])
        await session.run('DELETE FROM link_steps WHERE run = $1', [run])
        await session.run('DELETE FROM streams WHERE run = $1', [run])
        await session.run('DELETE FROM runs WHERE id = $1', [run])
      })
    },

    async prune(before) {
      const old = await db.all(
        `SELECT id FROM runs WHERE (closed_at < $1::timestamptz OR (mode = 'plan' AND opened_at < $1::timestamptz))
           AND ((SELECT true FROM items WHERE run = runs.id LIMIT 1)
             OR (SELECT true FROM differences WHERE run = runs.id LIMIT 1)
             OR (SELECT true FROM links WHERE run = runs.id LIMIT 1)
             OR (SELECT true FROM removals WHERE run = runs.id LIMIT 1))
           AND (watermark IS NULL OR state NOT IN (${completeStates}) OR
             (SELECT true FROM runs AS next WHERE next.destination = runs.destination AND next.id > runs.id
                AND next.watermark IS NOT NULL AND next.state IN (${completeStates}) LIMIT 1))
           AND (coalesce(config::json #>> '{import,missing_rows}', 'ignore') = 'ignore' OR ${IS_OLD_READING})
         LIMIT 100`,
        [before],
      )
      let removed = 0
      for (const row of old) removed += await deleteWork(db, Number(row['id']))
      return removed
    },
  }
}
