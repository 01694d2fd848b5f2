// Closing: what is left over, the books, the seal, and what is kept afterwards.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
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
import { completeStates, liveStates } from '../rows/runs.ts'
import { text } from '../rows/values.ts'
import { createBooksSum } from '../rules/books.ts'
import { ordinalSlices } from '../rules/ranges.ts'
import type { WorkTable } from '../rules/staging.ts'
import { ADD_MANIFEST_SQL, manifestValues, PREVIOUS_MANIFEST_SQL } from '../statements/archive.ts'
import { keptCountsOfRow, keptCountsSql, thereBeforeSql } from '../statements/before-images.ts'
import { linkBooks, type LinkClosing } from '../statements/links/closing.ts'
import { IS_OLD_READING, REMOVAL_COUNTS_SQL, type RemovalClosing } from '../statements/removals.ts'
import { STREAMS_SQL } from '../statements/streams.ts'
import type { TransactionRunner } from '../statements/transaction.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteDialect, sqliteText } from './dialect.ts'
import { runOfRow } from './runs.ts'
import { deleteWork } from './work.ts'

const THERE_BEFORE = sqliteText(thereBeforeSql(sqliteDialect.join))
const KEPT_COUNTS_SQL = sqliteText(keptCountsSql(sqliteDialect))

/**
 * Items that were accepted, and of which nothing is left to be done: they lose their payloads. `?4`: the purpose of a run that ends before
 * it has read all back, else null.
 */
const IS_DONE = `items.state IN (${doneStates}) AND NOT coalesce(${isLeft('items')}, 0)
  AND (?4 IS NULL OR NOT ${isReadBackLater('items', '?4')})`
const DROP_SOME_SQL = `DELETE FROM payloads WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND EXISTS
  (SELECT 1 FROM items WHERE items.run = ?1 AND items.ordinal = payloads.ordinal AND ${IS_DONE})`
const PURPOSE_SQL =
  "SELECT purpose FROM runs WHERE id = ? AND json_extract(config, '$.import.verify') = 'all'"
/** The same where no item of the slice keeps its own, in two thirds of the time. */
const DROP_ALL_SQL = 'DELETE FROM payloads WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3'
const KEPT_SQL = `SELECT 1 FROM items
  WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND NOT (${IS_DONE}) LIMIT 1`

/** Adds the manifest of a run that was closed in this transaction to the chain of its sync. */
function sealRun(db: SqliteDatabase, run: Run, signingKey: string | null): void {
  const streams = db.sql(sqliteText(STREAMS_SQL)).all(run.id)
  const previous = db.sql(sqliteText(PREVIOUS_MANIFEST_SQL)).get(run.sync)
  db.sql(sqliteText(ADD_MANIFEST_SQL)).run(...manifestValues(run, streams, previous, signingKey))
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function closingMethods(
  db: SqliteDatabase,
  now: () => string,
  signingKey: string | null,
  links: LinkClosing,
  removals: RemovalClosing,
  transactions: TransactionRunner,
): RunClosing {
  const lastOf = (table: WorkTable, column: string, run: number): number =>
    Number(
      db.sql(`SELECT max(${column}) AS last FROM ${table} WHERE run = ?`).get(run)?.['last'] ?? 0,
    )
  const lastOrdinal = (run: number): number => lastOf('items', 'ordinal', run)

  /** A transaction for every slice of 1,000 ordinals. */
  const inSlices = async (run: number, change: (first: number, last: number) => void) => {
    for (const { first, last } of ordinalSlices(lastOrdinal(run))) {
      db.transaction(() => change(first, last))
      await yieldToOthers()
    }
  }

  return {
    async settleLeftovers(run) {
      db.transaction(() => {
        // Workers that still have this run lose their fences first, so that nothing changes while it is counted.
        db.sql('UPDATE segments SET fence = fence + 1 WHERE run = ?').run(run)
        db.sql('UPDATE runs SET stage_fence = stage_fence + 1 WHERE id = ?').run(run)
      })
      const settle = db.sql(
        `UPDATE items SET in_doubt = CASE WHEN ${isUnanswered} THEN 1 ELSE in_doubt END,
           state = CASE WHEN ${isUnanswered} THEN 'outcome_unknown' ELSE 'not_sent' END
         WHERE run = ? AND ordinal BETWEEN ? AND ? AND state IN (${openStates})`,
      )
      await inSlices(run, (first, last) => settle.run(run, first, last))
      await links.settleLeftovers(run)
      await removals.settleLeftovers(run)
    },

    async books(run) {
      const sum = createBooksSum()
      const slice = db.sql(
        `SELECT state, verified, normalised, count(*) AS items, sum(replayed) AS replayed, sum(in_doubt) AS in_doubt,
           ${LOOKED_UP_COUNT} AS looked_up
         FROM items WHERE run = ? AND ordinal BETWEEN ? AND ? GROUP BY state, verified, normalised`,
      )
      for (const { first, last } of ordinalSlices(lastOrdinal(run), 10 * LEDGER_ROWS_MAX)) {
        for (const row of slice.all(run, first, last)) sum.add(row)
        sum.addKept(keptCountsOfRow(db.sql(KEPT_COUNTS_SQL).get(run, first, last)))
        if (sum.hasDoubted()) sum.addThereBefore(db.sql(THERE_BEFORE).get(run, first, last))
        await yieldToOthers()
      }
      const linked = await linkBooks(transactions, run)
      for (const counted of db.sql(sqliteText(REMOVAL_COUNTS_SQL)).all(run))
        sum.addRemovals(counted)
      const row = db.sql('SELECT rows_read, rows_staged FROM runs WHERE id = ?').get(run)
      const read = row?.['rows_read'] ?? row?.['rows_staged']
      return sum.books(read, row?.['rows_read'] === null, linked)
    },

    async closeRun(run, { state, reason = null, message = null, books, verifiedThrough = null }) {
      const ended = isComplete(state) ? undefined : db.sql(PURPOSE_SQL).get(run)
      const purpose = text(ended?.['purpose'] ?? null)
      await inSlices(run, (first, last) => {
        const isKept = db.sql(KEPT_SQL).get(run, first, last, purpose) !== undefined
        if (isKept) db.sql(DROP_SOME_SQL).run(run, first, last, purpose)
        else db.sql(DROP_ALL_SQL).run(run, first, last)
      })
      db.transaction(() => {
        const row = db
          .sql(
            `UPDATE runs SET state = ?, reason = ?, message = ?, counts = ?, verified_through = ?, closed_at = ?
             WHERE id = ? AND state IN (${liveStates}) RETURNING *`,
          )
          .get(state, reason, message, books && JSON.stringify(books), verifiedThrough, now(), run)
        if (row && row['mode'] === 'run') sealRun(db, runOfRow(row), signingKey)
      })
    },

    async discard(run) {
      if (!db.sql("SELECT 1 FROM runs WHERE id = ? AND mode = 'plan'").get(run)) return
      await deleteWork(db, run)
      db.transaction(() => {
        db.sql('DELETE FROM segments WHERE run = ?').run(run)
        db.sql('DELETE FROM link_steps WHERE run = ?').run(run)
        db.sql('DELETE FROM streams WHERE run = ?').run(run)
        db.sql('DELETE FROM runs WHERE id = ?').run(run)
      })
    },

    async prune(before) {
      const old = db
        .sql(
          `SELECT id FROM runs WHERE (closed_at < ?1 OR (mode = 'plan' AND opened_at < ?1))
             AND (EXISTS (SELECT 1 FROM items WHERE run = runs.id)
               OR EXISTS (SELECT 1 FROM differences WHERE run = runs.id)
               OR EXISTS (SELECT 1 FROM links WHERE run = runs.id)
               OR EXISTS (SELECT 1 FROM removals WHERE run = runs.id))
             AND (watermark IS NULL OR state NOT IN (${completeStates}) OR EXISTS
               (SELECT 1 FROM runs AS next WHERE next.destination = runs.destination AND next.id > runs.id
                  AND next.watermark IS NOT NULL AND next.state IN (${completeStates})))
             AND (coalesce(json_extract(config, '$.import.missing_rows'), 'ignore') = 'ignore' OR ${IS_OLD_READING})
           LIMIT 100`,
        )
        .all(before)
      let removed = 0
      for (const row of old) removed += await deleteWork(db, Number(row['id']))
      return removed
    },
  }
}
