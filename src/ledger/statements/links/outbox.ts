// The link step of a run: links are written down before they are sent, and settled after, under the fence of the step.

import { FenceLost } from '../../../core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../../core/limits.ts'
import type { LinkOutbox, LinkPlace, PlannedLink } from '../../roles/links.ts'
import { edgeColumns, placeOfRow, plannedLinkOfRow } from '../../rows/links.ts'
import { liveStates } from '../../rows/runs.ts'
import { columnBound, type StatementRunner } from '../engine.ts'
import { DESTINATION, exists, saysLinks, type LinkSql } from '../link-sql.ts'
import { read, write, writeGiven, type TransactionRunner } from '../transaction.ts'
import { leaveSource } from './known-ends.ts'
import { eachKnownSlice } from './known-slices.ts'
import { noteNotKept, notKeptTexts } from './not-kept.ts'
import { findOvertaken, overtakenTexts } from './overtaken.ts'
import { settleGroup, settlingTexts } from './settling.ts'
import { addCounts, checkStep, eachSlice, endOfSliceSql, SLICE, sliceValues } from './slices.ts'

/** Links that one page looks at: most of them may be unchanged. */
const SCANNED = 10 * LEDGER_ROWS_MAX

const CLAIM_SQL = `INSERT INTO link_steps (run, fence) SELECT id, 1 FROM runs WHERE id = $1 AND state IN (${liveStates})
  ON CONFLICT (run) DO UPDATE SET fence = link_steps.fence + 1 RETURNING fence`

const SENT_COLUMNS = {
  run: 'integer',
  ordinal: 'integer',
  number: 'integer',
  source_id: 'text',
  target_id: 'text',
} as const

const SEND_SQL = `UPDATE links SET state = 'in_flight', source_id = given.source_id, target_id = given.target_id,
    replayed = CASE WHEN CAST($1 AS integer) = 1 THEN 1 ELSE links.replayed END
  FROM given WHERE links.run = given.run AND links.ordinal = given.ordinal AND links.number = given.number
    AND links.state IN ('pending', 'in_flight')`

/** The `unchanged` links of a slice that were linked between other records than those of today, or are not known as linked any more. */
function reopenSql(sql: LinkSql): string {
  const { join } = sql
  const held = sql.acceptedOfKey('held', DESTINATION, 'links.key')
  const written = `coalesce((SELECT own.record_id FROM items AS own WHERE own.run = links.run AND own.ordinal = links.ordinal),
    (SELECT held.record_id FROM ${held.table} WHERE ${held.on} AND held.run > known.run))`
  // Of what was accepted before the link it is not known which of the two is right.
  const target = `(SELECT held.record_id FROM destinations AS mine
      ${join} destinations AS other ON other.origin = mine.origin AND other.org_id = mine.org_id
        AND other.object_type = links.target_type AND other.matching_property = links."by"
      ${sql.joined(sql.acceptedOfKey('held', 'other.id', 'links.target'), 'held', 'held.record_id, held.run')}
    WHERE mine.id = ${DESTINATION} AND held.record_id IS NOT NULL AND held.run > known.run
    ORDER BY held.run DESC LIMIT 1)`
  return `UPDATE links SET state = 'pending' WHERE ${SLICE} AND links.state = 'unchanged'
    AND (${exists(
      sql.knownOfEdge('known', DESTINATION, 'links'),
      `(known.source_id <> ${written} OR known.target_id <> ${target})`,
    )} OR NOT ${exists(sql.knownOfEdge('known', DESTINATION, 'links'), "known.state = 'linked'")})`
}

/** The columns of a planned link, of `links` with its row as `own`. */
function plannedColumns(sql: LinkSql): string {
  const held = sql.acceptedOfKey('held', DESTINATION, 'links.key')
  return `links.ordinal, links.number, ${edgeColumns('links')}, links."column", links.attempts, links.replayed, links.target_id,
    own.state AS row_state, coalesce(own.record_id,
      (SELECT held.record_id FROM ${held.table} WHERE ${held.on})) AS record_id,
    (SELECT CASE WHEN held.hash IS NOT NULL THEN 1 END FROM ${held.table} WHERE ${held.on}) AS is_accepted`
}

const IN_ORDER = 'ORDER BY links.ordinal, links.number'

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function linkOutbox(
  db: StatementRunner & TransactionRunner,
  sql: LinkSql,
  now: () => string,
): LinkOutbox {
  const texts = settlingTexts(sql)
  const overtaken = overtakenTexts(sql)
  const notKept = notKeptTexts(sql)
  const reopen = reopenSql(sql)
  const planned = `SELECT ${plannedColumns(sql)} FROM links LEFT JOIN items AS own
      ON own.run = links.run AND own.ordinal = links.ordinal`
  const lastPlace = (links: readonly PlannedLink[]): LinkPlace => {
    const { ordinal, number } = links.at(-1)!
    return { ordinal, number }
  }
  return {
    async claimLinks(run) {
      return await db.transact(function* () {
        const [row] = yield* read(CLAIM_SQL, [run])
        // The links of a closed run are not sent.
        if (!row) throw new FenceLost(run, 0)
        return Number(row['fence'])
      })
    },

    async reopenLinks(run, fence, onSlice) {
      const reopened = await eachSlice(
        db,
        run,
        function* (slice) {
          yield* checkStep(sql, run, fence)
          const links = yield* write(reopen, sliceValues(run, slice))
          yield* addCounts(run, { planned: links, open: links, unchanged: -links })
          return links
        },
        { onSlice },
      )
      return reopened.reduce((sum, links) => sum + links, 0)
    },

    async forgetLinks(run, fence, { of }, onSlice) {
      const { table, on } = sql.knownLeft('known', DESTINATION)
      const isRead =
        of === 'all'
          ? ''
          : `AND ${exists(sql.itemsOfKey('own', '$1', 'known.key'), saysLinks('own'))}`
      const forgotten = await eachKnownSlice(
        db,
        sql,
        { run, found: { table, on }, rows: LEDGER_ROWS_MAX, onSlice },
        function* ({ range, values }) {
          yield* checkStep(sql, run, fence)
          return yield* write(
            `DELETE FROM ${table} WHERE ${on} AND ${range} ${isRead}
               AND NOT ${exists(sql.linksOfEdge('other', '$1', 'known'), "other.state <> 'not_wanted'")}`,
            values,
          )
        },
      )
      await leaveSource(db, sql, { run, fence, of, onSlice })
      return forgotten.reduce((sum, links) => sum + links, 0)
    },

    async plannedLinks(run, { after, limit, attemptsBelow }) {
      const from = [run, after.ordinal, after.number]
      const end = await db.one(endOfSliceSql(SCANNED), from)
      const until = end ? [Number(end['ordinal']), Number(end['number'])] : []
      const rows = await db.all(
        `${planned} WHERE links.run = $1 AND (links.ordinal, links.number) > ($2, $3)
           ${end ? 'AND (links.ordinal, links.number) <= ($6, $7)' : ''}
           AND links.state = 'pending' AND links.attempts < $4 ${IN_ORDER} LIMIT $5`,
        [...from, columnBound(attemptsBelow), Math.min(limit, LEDGER_ROWS_MAX), ...until],
      )
      const links = rows.map(plannedLinkOfRow)
      const isFull = links.length === Math.min(limit, LEDGER_ROWS_MAX)
      return { links, next: isFull ? lastPlace(links) : end ? placeOfRow(end) : null }
    },

    async sentLinks(run, { after, limit }) {
      const most = Math.min(limit, LEDGER_ROWS_MAX)
      const rows = await db.all(
        `SELECT ${plannedColumns(sql)} FROM links ${sql.indexedBy('links_sent')} LEFT JOIN items AS own
           ON own.run = links.run AND own.ordinal = links.ordinal
         WHERE links.run = $1 AND (links.ordinal, links.number) > ($2, $3) AND links.state = 'in_flight'
         ${IN_ORDER} LIMIT $4`,
        [run, after.ordinal, after.number, most],
      )
      const links = rows.map(plannedLinkOfRow)
      return { links, next: links.length === most ? lastPlace(links) : null }
    },

    async recordLinksSent(run, fence, links, { isReplayed = false } = {}) {
      if (links.length === 0) return
      await db.transact(function* () {
        yield* checkStep(sql, run, fence)
        yield* writeGiven(
          {
            columns: SENT_COLUMNS,
            rows: links.map(({ ordinal, number, sourceId, targetId }) => [
              run,
              ordinal,
              number,
              sourceId,
              targetId,
            ]),
          },
          SEND_SQL,
          [isReplayed ? 1 : 0],
        )
        yield* write('UPDATE link_steps SET sent_at = $2 WHERE run = $1', [run, now()])
        yield* addCounts(run, { requests: links.length })
      })
    },

    async settleLinks(run, fence, links, bounds) {
      if (links.length === 0) return { replaced: 0 }
      return await db.transact(function* () {
        yield* checkStep(sql, run, fence)
        return { replaced: yield* settleGroup(sql, texts, run, links, bounds) }
      })
    },

    overtakenLinks: (run, links, bounds) =>
      db.transact(() => findOvertaken(sql, overtaken, run, links, bounds)),

    async noteNotKept(run, fence, given) {
      if (given.length === 0) return 0
      return await db.transact(function* () {
        yield* checkStep(sql, run, fence)
        return yield* noteNotKept(notKept, run, given)
      })
    },
  }
}
