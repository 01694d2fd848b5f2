// Verifying: what was read back, and which item of a record was sent last.

import type { Verification } from '../roles/verification.ts'
import { KNOWN_COLUMNS, marksOnceVerified } from '../rows/accepted.ts'
import {
  isToBeRead,
  isUnanswered,
  isUnread,
  PLANNED_COLUMNS,
  plannedOfRow,
  readFirst,
  writtenOfRow,
  writtenStates,
} from '../rows/items.ts'
import {
  isAcceptedOnceRead,
  isNotedOnceRead,
  NO_NOTE,
  readBackColumnSql,
  verifiedColumns,
} from '../rules/verification.ts'
import {
  acceptItemsSql,
  isWanted,
  ITEM_DESTINATION,
  itemsAt,
  listsOf,
  NOTE_READ_SQL,
  wanted,
  withPayload,
} from './items.ts'
import { itemsWith } from './origins.ts'
import { isLive } from './fences.ts'
import { pageOfTexts } from './pages.ts'
import type { PostgresDatabase } from './session.ts'
import { BOOK_ANSWERED_SQL, TAKE_OVER_SQL } from './settling.ts'

const noted = (column: string) =>
  readBackColumnSql(column, {
    verdict: 'reading.verdict',
    reason: 'reading.reason',
    value: `reading.${column}`,
  })

const BOOK_READ_SQL = `UPDATE items SET verified = reading.verdict, normalised = reading.normalised,
    ${['field', 'reason', 'detail', '"column"', 'value'].map(noted).join(', ')},
    state = CASE WHEN ${isUnanswered} THEN (CASE WHEN reading.verdict = 'equal' THEN reading.found ELSE 'outcome_unknown' END) ELSE state END,
    in_doubt = CASE WHEN ${isUnanswered} AND reading.verdict <> 'equal' THEN 1 ELSE 0 END,
    record_id = coalesce(items.record_id, reading.record_id)
  FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::text[],
      $8::text[], $9::text[], $10::text[], $11::text[])
    AS reading (run, ordinal, verdict, record_id, field, normalised, reason, detail, "column", value, found)
  WHERE items.run = reading.run AND items.ordinal = reading.ordinal`

const ACCEPT_READ_SQL = acceptItemsSql(marksOnceVerified)

/** What the runs that wrote the wanted items keep of them, to be read back. */
const LET_GO_SQL = `DELETE FROM payloads USING (SELECT earlier.run, earlier.ordinal ${wanted} JOIN items ON ${isWanted}
      JOIN accepted ON accepted.destination = ${ITEM_DESTINATION}
        AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0) AND accepted.key = items.key
      JOIN LATERAL (SELECT before.run, before.ordinal FROM items AS before
        WHERE ${itemsWith('accepted.run', 'accepted.key', 'before')} AND ${isUnread('before')} OFFSET 0) AS earlier
        ON earlier.run < items.run OFFSET 0) AS read
  WHERE payloads.run = read.run AND payloads.ordinal = read.ordinal`

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const verificationMethods = (db: PostgresDatabase): Verification => ({
  async written(run, { after, every, limit }) {
    const { rows } = await pageOfTexts(
      db,
      `SELECT ordinal, items.line, items.key, payload, items.hash, state, items.record_id, in_doubt,
         CASE WHEN verified = 'answered' THEN reason END AS answered, answered_key,
         CASE WHEN known_seen_run < $1 THEN last_read END AS last_read, known_run, known_marks, known_last_run,
         known_last_marks, known_seen_run, known_seen
       FROM items ${withPayload} LEFT JOIN LATERAL
         (SELECT read_back AS last_read, hash AS known_hash, ${KNOWN_COLUMNS} FROM accepted
          WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
            AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0)
            AND accepted.key = items.key LIMIT 1) AS known ON true
       WHERE items.run = $1 AND ordinal > $2 AND (state <> 'unchanged' OR known_hash = items.hash) AND (verified = 'answered' AND $3::bigint IS NOT NULL OR verified IS NULL
         AND ((${isToBeRead} AND ordinal % $3::bigint = 0) OR in_doubt = 1 OR ${isUnanswered}))
       ORDER BY ordinal LIMIT $4`,
      [run, after, every, limit],
      'payload',
    )
    return rows.map(writtenOfRow)
  },

  async recordVerified(run, items) {
    const sorted = items.toSorted((a, b) => a.ordinal - b.ordinal)
    const read = sorted.map(verifiedColumns)
    const accepted = sorted.filter(isAcceptedOnceRead)
    const notes = sorted.filter(isNotedOnceRead)
    const held = sorted.filter(({ isHeld }) => isHeld)
    await db.transaction(async (session) => {
      // A closed run stays as it was sealed.
      if (!(await isLive(session, run))) return
      await session.run(BOOK_READ_SQL, [
        ...itemsAt(run, read),
        ...listsOf(read, 'verified', 'recordId', 'field', 'normalised'),
        ...listsOf(read, 'reason', 'detail', 'column', 'value', 'found'),
      ])
      await session.run(ACCEPT_READ_SQL, [...itemsAt(run, accepted), ...listsOf(accepted, 'marks')])
      if (held.length > 0) await session.run(LET_GO_SQL, itemsAt(run, held))
      await session.run(NOTE_READ_SQL, [
        ...itemsAt(run, notes),
        ...listsOf(notes, 'readBack', 'seen'),
        notes.map((item) => verifiedColumns(item).normalised),
      ])
    })
  },

  async collisions(run, { after, limit }) {
    const { rows } = await pageOfTexts(
      db,
      `SELECT ${PLANNED_COLUMNS} FROM items ${withPayload}
       WHERE run = $1 AND ordinal > $2 AND twin IS NOT NULL AND state IN (${writtenStates})
         AND ordinal = (SELECT same.ordinal FROM items AS same
           WHERE hashtextextended(same.record_id, same.run) = hashtextextended(items.record_id, items.run)
             AND same.record_id = items.record_id AND same.run + 0 = items.run AND same.state <> 'unchanged'
           ORDER BY ${readFirst('same')}, same.ordinal::bigint DESC LIMIT 1)
       ORDER BY ordinal LIMIT $3`,
      [run, after, limit],
      'payload',
    )
    return rows.map(plannedOfRow)
  },

  async recordCollision(run, ordinal, { reason, detail, answered = null }) {
    await db.transaction(async (session) => {
      if (!(await isLive(session, run))) return
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
      const note = answered ?? NO_NOTE
      await session.run(BOOK_ANSWERED_SQL, [
        ...at,
        answered && 'answered',
        ...listsOf([note], 'reason', 'field', 'detail', 'column', 'value'),
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
})
