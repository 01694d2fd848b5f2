// Verifying and closing: what was read back, what is left over, the books, and what is kept afterwards.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { emptyStates, NOT_READ_BACK, type Books, type ItemState } from '../../core/states.ts'
import type { Ledger, VerificationResult } from '../ledger.ts'
import {
  NO_HEALTH,
  addReadBack,
  KNOWN_COLUMNS,
  completeStates,
  isLeft,
  liveStates,
  marksOnceVerified,
  plannedOfRow,
  readBackColumnSql,
  writtenOfRow,
  openStates,
  writtenStates,
} from '../rows.ts'
import { lockChain, sealRun } from './account.ts'
import type { PostgresDatabase } from './session.ts'
import {
  acceptItems,
  BOOK_ANSWERED_SQL,
  itemsAt,
  noteRead,
  TAKE_OVER_SQL,
  withPayload,
} from './items.ts'
import { RUN_COLUMNS, runOfRow } from './runs.ts'
import { deleteWork } from './stage.ts'

type CloseMethods = Pick<
  Ledger,
  | 'written'
  | 'recordVerified'
  | 'collisions'
  | 'recordCollision'
  | 'settleLeftovers'
  | 'books'
  | 'closeRun'
  | 'discard'
  | 'prune'
>

export function closeMethods(
  db: PostgresDatabase,
  now: () => string,
  signingKey: string | null,
): CloseMethods {
  /** Runs a statement with the values run, first and last for every slice of 1,000 ordinals. */
  const inSlices = async (run: number, statement: string) => {
    const row = await db.one('SELECT max(ordinal) AS last FROM items WHERE run = $1', [run])
    const end = Number(row?.['last'] ?? 0)
    for (let first = 1; first <= end; first += LEDGER_ROWS_MAX)
      await db.run(statement, [run, first, first + LEDGER_ROWS_MAX - 1])
  }

  return {
    async written(run, { after, every, limit }) {
      const rows = await db.all(
        `SELECT ordinal, items.key, payload, items.hash, state, items.record_id, in_doubt,
           CASE WHEN verified = 'answered' THEN reason END AS answered, answered_key,
           CASE WHEN known_seen_run < $1 THEN last_read END AS last_read, known_run, known_marks, known_last_run,
           known_last_marks, known_seen_run, known_seen
         FROM items ${withPayload} LEFT JOIN LATERAL
           (SELECT read_back AS last_read, ${KNOWN_COLUMNS} FROM accepted
            WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
              AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0)
              AND accepted.key = items.key LIMIT 1) AS known ON true
         WHERE items.run = $1 AND ordinal > $2 AND (verified = 'answered' AND $3::bigint IS NOT NULL OR verified IS NULL
           AND ((state IN (${writtenStates}) AND ordinal % $3::bigint = 0) OR in_doubt = 1 OR state = 'sent'))
         ORDER BY ordinal LIMIT $4`,
        [run, after, every, limit],
      )
      return rows.map(writtenOfRow)
    },

    async recordVerified(run, items) {
      const read = items.toSorted((a, b) => a.ordinal - b.ordinal)
      const isEqual = ({ verdict }: VerificationResult) =>
        verdict === 'equal' || verdict === 'normalised'
      const equal = read.filter(isEqual)
      const other = read.filter(({ verdict }) => verdict !== 'equal')
      const told = read.map((item) => item.told ?? NO_HEALTH)
      const reading = { verdict: 'told.verdict', reason: 'told.reason' }
      const instead = (column: string) =>
        readBackColumnSql(column, { ...reading, value: `told.${column}` })
      await db.transaction(async (session) => {
        // A closed run stays as it was sealed.
        const live = `SELECT 1 FROM runs WHERE id = $1 AND state IN (${liveStates}) FOR SHARE`
        if (!(await session.one(live, [run]))) return
        await session.run(
          `UPDATE items SET verified = told.verdict, normalised = told.normalised,
             ${['field', 'reason', 'detail', '"column"', 'value'].map(instead).join(', ')},
             state = CASE WHEN state = 'sent' THEN (CASE WHEN told.verdict = 'equal' THEN 'updated' ELSE 'failed' END) ELSE state END,
             in_doubt = CASE WHEN state = 'sent' AND told.verdict <> 'equal' THEN 1 ELSE 0 END,
             record_id = coalesce(items.record_id, told.record_id)
           FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::text[],
               $8::text[], $9::text[], $10::text[])
             AS told (run, ordinal, verdict, record_id, field, normalised, reason, detail, "column", value)
           WHERE items.run = told.run AND items.ordinal = told.ordinal`,
          [
            ...itemsAt(run, read),
            read.map(({ verdict }) => (verdict === 'normalised' ? 'equal' : verdict)),
            read.map((item) => item.recordId),
            read.map((item) => item.field),
            read.map(({ verdict }) => (verdict === 'normalised' ? 1 : 0)),
            told.map(({ reason }) => reason),
            told.map(({ detail }) => detail),
            told.map(({ column }) => column),
            told.map(({ value }) => value),
          ],
        )
        await session.run(acceptItems(marksOnceVerified), [
          ...itemsAt(run, equal),
          equal.map(({ marks }) => marks ?? null),
        ])
        // What the service holds is not what was sent: but for a form of its own, the next run must send it again.
        await session.run(noteRead, [
          ...itemsAt(run, other),
          other.map(({ readBack }) => readBack ?? null),
          other.map(({ seen }) => seen ?? null),
          other.map(({ verdict }) => (verdict === 'normalised' ? 1 : 0)),
        ])
      })
    },

    async recordCollision(run, ordinal, { reason, detail, answered = null }) {
      await db.transaction(async (session) => {
        const live = `SELECT 1 FROM runs WHERE id = $1 AND state IN (${liveStates}) FOR SHARE`
        if (!(await session.one(live, [run]))) return
        const at = itemsAt(run, [{ ordinal }])
        await session.run(
          `UPDATE accepted SET hash = CASE WHEN $3::integer = 1 THEN NULL ELSE item.hash END
           FROM (SELECT items.key, items.hash, runs.destination FROM items JOIN runs ON runs.id = items.run
             WHERE items.run = $1 AND items.ordinal = $2 OFFSET 0) AS item
           WHERE accepted.destination = item.destination AND accepted.key = item.key
             AND hashtextextended(accepted.key, 0) = hashtextextended(item.key, 0)`,
          [run, ordinal, answered === null ? 0 : 1],
        )
        // The last sending's answer counts.
        const told = answered ?? NO_HEALTH
        await session.run(BOOK_ANSWERED_SQL, [
          ...at,
          answered && 'answered',
          [told.reason],
          [told.field],
          [told.detail],
          [told.column],
          [told.value],
          [answered?.key ?? null],
        ])
        await session.run(TAKE_OVER_SQL, at)
        await session.run(
          `UPDATE items SET verified = 'overwritten', reason = $3, detail = $4, field = NULL, "column" = NULL, value = NULL
           FROM (SELECT run, ordinal, record_id FROM items WHERE run = $1 AND ordinal = $2 OFFSET 0) AS last
           WHERE hashtextextended(items.record_id, items.run) = hashtextextended(last.record_id, last.run)
             AND items.record_id = last.record_id AND items.run + 0 = last.run AND items.ordinal <> last.ordinal
             AND items.state IN (${writtenStates})`,
          [run, ordinal, reason, detail],
        )
      })
    },

    async collisions(run, { after, limit }) {
      const rows = await db.all(
        `SELECT ordinal, key, payload, hash, attempts FROM items ${withPayload}
         WHERE run = $1 AND ordinal > $2 AND twin IS NOT NULL AND state IN (${writtenStates})
           AND ordinal = (SELECT same.ordinal FROM items AS same
             WHERE hashtextextended(same.record_id, same.run) = hashtextextended(items.record_id, items.run)
               AND same.record_id = items.record_id AND same.run + 0 = items.run AND same.state <> 'unchanged'
             ORDER BY same.ordinal::bigint DESC LIMIT 1)
         ORDER BY ordinal LIMIT $3`,
        [run, after, limit],
      )
      return rows.map(plannedOfRow)
    },

    async settleLeftovers(run) {
      // Whoever still works on this run loses its fences first, so that nothing moves under the counting.
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
        `UPDATE items SET in_doubt = CASE WHEN state = 'sent' THEN 1 ELSE in_doubt END,
           state = CASE state WHEN 'sent' THEN 'failed' ELSE 'unsent' END
         WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state IN (${openStates})`,
      )
    },

    async books(run): Promise<Books> {
      const rows = await db.all(
        `SELECT coalesce(rows_read, rows_staged) AS read, rows_read IS NULL AS is_part, counted.*
         FROM runs LEFT JOIN LATERAL
           (SELECT state, verified, normalised, count(*) AS items, sum(replayed) AS replayed, sum(in_doubt) AS in_doubt
            FROM items WHERE items.run = runs.id GROUP BY state, verified, normalised) AS counted ON true
         WHERE runs.id = $1`,
        [run],
      )
      const states = emptyStates()
      const readBack = { ...NOT_READ_BACK }
      let replayed = 0
      let inDoubt = 0
      for (const row of rows) {
        if (row['state'] === null) continue
        const state = row['state'] as ItemState
        const items = Number(row['items'])
        states[state] += items
        const normalised = Number(row['normalised']) === 1
        addReadBack(readBack, { state, verified: row['verified'], normalised, items })
        replayed += Number(row['replayed'])
        inDoubt += Number(row['in_doubt'])
      }
      const isPart = rows[0]?.['is_part'] === true
      const read = Number(rows[0]?.['read'] ?? 0)
      return { read, states, replayed, inDoubt, readBack, ...(isPart && { readToEnd: false }) }
    },

    async closeRun(run, { state, reason = null, message = null, books, verifiedThrough = null }) {
      await inSlices(
        run,
        `DELETE FROM payloads WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND
           (SELECT state IN (${writtenStates}) AND NOT coalesce(${isLeft('items')}, false)
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
      const plan = await db.one("SELECT id FROM runs WHERE id = $1 AND mode = 'plan'", [run])
      if (!plan) return
      await deleteWork(db, run)
      await db.transaction(async (session) => {
        await session.run('DELETE FROM segments WHERE run = $1', [run])
        await session.run('DELETE FROM streams WHERE run = $1', [run])
        await session.run('DELETE FROM runs WHERE id = $1', [run])
      })
    },

    async prune(before) {
      const old = await db.all(
        `SELECT id FROM runs WHERE (closed_at < $1::timestamptz OR (mode = 'plan' AND opened_at < $1::timestamptz))
           AND ((SELECT true FROM items WHERE run = runs.id LIMIT 1)
             OR (SELECT true FROM differences WHERE run = runs.id LIMIT 1))
           AND (watermark IS NULL OR state NOT IN (${completeStates}) OR
             (SELECT true FROM runs AS next WHERE next.destination = runs.destination AND next.id > runs.id
                AND next.watermark IS NOT NULL AND next.state IN (${completeStates}) LIMIT 1))
         LIMIT 100`,
        [before],
      )
      let removed = 0
      for (const row of old) removed += await deleteWork(db, Number(row['id']))
      return removed
    },
  }
}
