// Staging: one item per source row, then decisions by SQL, slice by slice.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { FenceLost } from '../../core/errors.ts'
import type { RunSegment } from '../roles/outbox.ts'
import type { RowStaging, StagedSource } from '../roles/staging.ts'
import { isMapped, isUnread, takesPlace } from '../rows/items.ts'
import { liveStates } from '../rows/runs.ts'
import { countsOfRow } from '../rows/values.ts'
import { ordinalSlices } from '../rules/ranges.ts'
import {
  KEY_COUNT_ROWS,
  KEY_COUNTS,
  decideSlices,
  givenRows,
  hashOfPlace,
  isSentAfterOlder,
  relianceOf,
  type Decision,
  type Reliance,
  type SliceCounts,
} from '../rules/staging.ts'
import type { LinkDecisions } from '../statements/links/staging.ts'
import { newerRows } from '../statements/newer-rows.ts'
import { newestRunElsewhere, unreadRuns } from '../statements/origins.ts'
import { bulkStatement } from '../../sqlite/bulk.ts'
import type { SqliteDatabase, Value } from './database.ts'
import { sqliteDialect, sqliteText } from './dialect.ts'
import { checkStageFence } from './fences.ts'
import { sqliteLinkSql } from './link-sql.ts'
import { narrowingMethods } from './narrowing.ts'
import { gaveWayToNewer } from './origins.ts'
import { runSteps } from './transactions.ts'
import { deleteWork } from './work.ts'

const INSERT_VALID = bulkStatement(
  "(?1, ?, ?, 'pending', ?, ?)",
  (rows) => `INSERT INTO items (run, ordinal, line, state, key, hash) VALUES ${rows}`,
)

/** Rows of a retry, with a key that is sent in another form, or with a watermark. */
const INSERT_VALID_OF = bulkStatement(
  "(?1, ?, ?, 'pending', ?, ?, ?, ?, ?)",
  (rows) =>
    `INSERT INTO items (run, ordinal, line, state, key, hash, of_ordinal, raw_key, watermark) VALUES ${rows}`,
)

/** Rows that are only read back. */
const INSERT_HELD = bulkStatement(
  "(?1, ?, ?, 'unchanged', ?, ?, ?)",
  (rows) => `INSERT INTO items (run, ordinal, line, state, key, hash, watermark) VALUES ${rows}`,
)

/** Rows that ask for the deletion of their records. */
const INSERT_WITHDRAWN = bulkStatement(
  "(?1, ?, ?, ?, 'deletion_requested', ?, ?)",
  (rows) =>
    `INSERT INTO items (run, ordinal, line, of_ordinal, state, key, watermark) VALUES ${rows}`,
)

const INSERT_INVALID = bulkStatement(
  "(?1, ?, ?, ?, 'invalid', ?, 'row_invalid', ?, ?, ?, ?, ?, ?, ?)",
  (rows) =>
    `INSERT INTO items (run, ordinal, line, of_ordinal, state, key, code, reason, "column", field, value, detail, more, watermark) VALUES ${rows}`,
)

/** Rows of which a correction stands. */
const INSERT_CORRECTED = bulkStatement(
  "(?1, ?, ?, ?, 'corrected', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  (rows) =>
    `INSERT INTO items (run, ordinal, line, of_ordinal, state, key, reason, "column", field, value, detail, more, watermark, hash, answered_key) VALUES ${rows}`,
)

const INSERT_PAYLOADS = bulkStatement(
  '(?1, ?, ?, ?)',
  (rows) => `INSERT INTO payloads (run, ordinal, raw, payload) VALUES ${rows}`,
)

const SLICE = "run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND state = 'pending'"
const DESTINATION = '(SELECT destination FROM runs WHERE id = ?1)'
const ACCEPTED = `SELECT 1 FROM accepted WHERE accepted.destination = ${DESTINATION}
  AND accepted.key = items.key AND accepted.hash = items.hash`

const GIVE_WAY_SQL = `UPDATE items SET state = 'superseded'
  WHERE ${SLICE} AND of_ordinal IS NOT NULL AND ${gaveWayToNewer}`

const SUPERSEDE_SQL = `UPDATE items SET state = 'superseded',
    twin = (SELECT max(later.ordinal) FROM items AS later INDEXED BY items_key
      WHERE later.run = ?1 AND later.key = items.key AND ${takesPlace('later')})
  WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND state IN ('pending', 'deletion_requested') AND EXISTS
    (SELECT 1 FROM items AS later INDEXED BY items_key WHERE later.run = ?1 AND later.key = items.key
      AND later.ordinal > items.ordinal AND ${takesPlace('later')})`

/** Rows of one record are sent together: only then is it known which of them the record holds. */
const UNCHANGED_SQL = `UPDATE items SET state = 'unchanged', normalised = (SELECT accepted.normalised FROM accepted
    WHERE accepted.destination = ${DESTINATION} AND accepted.key = items.key)
  WHERE ${SLICE} AND EXISTS (${ACCEPTED} AND accepted.run > ?4)
    AND NOT EXISTS (SELECT 1 FROM accepted AS own CROSS JOIN accepted AS other INDEXED BY accepted_record
        CROSS JOIN items AS same INDEXED BY items_key
      WHERE own.destination = ${DESTINATION} AND own.key = items.key
        AND other.destination = own.destination AND other.record_id = own.record_id AND other.key <> own.key
        AND same.run = ?1 AND same.key = other.key AND ${isMapped('same')})`

/** Whether what `items` has was written by one of the runs of a list, and not read back by it. */
const isUnreadOf = (
  runs: string,
) => `EXISTS (SELECT 1 FROM accepted CROSS JOIN items AS earlier INDEXED BY items_key
    ON earlier.run = accepted.run AND earlier.key = accepted.key
  WHERE accepted.destination = ${DESTINATION} AND accepted.key = items.key
    AND accepted.run IN (SELECT value FROM json_each(${runs})) AND ${isUnread('earlier')})`

const UNCHANGED_BUT_UNREAD_SQL = `${UNCHANGED_SQL} AND NOT ${isUnreadOf('?5')}`
const NOT_AFTER_OLDER = `AND NOT ${isSentAfterOlder('?1', '?6')}`

/** @param isDropped which of the items that are not sent need their payloads no more */
const dropSql = (
  isDropped: string,
) => `DELETE FROM payloads WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND EXISTS
    (SELECT 1 FROM items WHERE items.run = ?1 AND items.ordinal = payloads.ordinal
      AND items.state IN ('superseded', 'unchanged') ${isDropped})`
const DROP_SQL = dropSql('')
/** An item that is unchanged and has its payload is read back. */
const DROP_READ_SQL = dropSql(`AND (items.state = 'superseded' OR NOT ${isUnreadOf('?4')})`)

const UNREAD_RUNS_SQL = sqliteText(unreadRuns(sqliteDialect))

const NEWER = newerRows(sqliteLinkSql)
const READINGS_SQL = sqliteText(NEWER.readings)

const DISTRUSTED_SQL = `SELECT count(*) AS items FROM items WHERE ${SLICE} AND EXISTS (${ACCEPTED} AND accepted.run <= ?4)`

const COUNT_SQL = `SELECT count(*) FILTER (WHERE state = 'pending') AS planned, count(*) FILTER (WHERE state = 'invalid') AS invalid,
    count(*) FILTER (WHERE state = 'deletion_requested') AS withdrawn
  FROM items WHERE run = ? AND ordinal BETWEEN ? AND ?`

function leaveUnchanged(
  db: SqliteDatabase,
  slice: readonly [number, number, number],
  { after, unread }: NonNullable<Reliance>,
  source: StagedSource,
): number {
  const isOlder = slice[1] <= givenRows(source) && source.again
  const runs = unread?.become === 'plan' ? JSON.stringify(unread.runs) : null
  const text = runs === null ? UNCHANGED_SQL : UNCHANGED_BUT_UNREAD_SQL
  if (isOlder)
    return db.sql(`${text} ${NOT_AFTER_OLDER}`).run(...slice, after, runs, givenRows(source))
      .changes
  return db.sql(text).run(...slice, after, ...(runs === null ? [] : [runs])).changes
}

/** Decides about the items of a slice, and drops the payloads of those that are not sent. */
function decide(
  db: SqliteDatabase,
  run: number,
  segment: RunSegment,
  relied: Reliance,
  { source, readings }: Decision,
): SliceCounts {
  const slice = [run, segment.first, segment.last] as const
  const [supersede, giveWay] = [db.sql(SUPERSEDE_SQL), db.sql(GIVE_WAY_SQL)]
  const newer = giveWay.run(...slice).changes
  const repeated = source.keysRepeat ? 0 : supersede.run(...slice).changes
  const gone = readings === null ? 0 : runSteps(db, NEWER.goneFromSource(run, segment, readings))
  const older = runSteps(db, NEWER.giveWayToGreater(run, segment, source))
  const superseded = newer + repeated + gone + older
  const unread = relied?.unread ?? null
  const unchanged = relied ? leaveUnchanged(db, slice, relied, source) : 0
  const unknown = runSteps(db, NEWER.noteWatermarks(run, segment, source))
  if (superseded + unchanged > 0) {
    if (unread?.become === 'read') db.sql(DROP_READ_SQL).run(...slice, JSON.stringify(unread.runs))
    else db.sql(DROP_SQL).run(...slice)
  }
  const distrusted =
    relied && relied.restored > 0
      ? Number(db.sql(DISTRUSTED_SQL).get(...slice, relied.restored)?.['items'])
      : 0
  const row = db.sql(COUNT_SQL).get(...slice)
  const [planned, invalid] = [Number(row?.['planned']), Number(row?.['invalid'])]
  const withdrawn = Number(row?.['withdrawn'])
  const seldom = { newer, gone, older, unknown, distrusted }
  return { planned, superseded, unchanged, invalid, withdrawn, ...seldom }
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function stagingMethods(db: SqliteDatabase, links: LinkDecisions) {
  return {
    ...narrowingMethods(db, links),

    async beginStage(run, columns, seen) {
      const row = db.transaction(() => {
        // What is being sent is not staged again, by a worker that stood still until then.
        const claimed = 'SELECT 1 FROM segments WHERE run = ? AND fence > 0 LIMIT 1'
        if (db.sql(claimed).get(run) !== undefined) throw new FenceLost(run, 0)
        const begun = db
          .sql(
            `UPDATE runs SET stage_fence = stage_fence + 1, rows_read = NULL, source_columns = ?
             WHERE id = ? AND stage_fence = coalesce(?, stage_fence) AND state IN (${liveStates}) RETURNING stage_fence`,
          )
          .get(JSON.stringify(columns), run, seen ?? null)
        // Nor a closed run, nor one that another attempt has staged meanwhile.
        if (!begun) throw new FenceLost(run, 0)
        db.sql('DELETE FROM segments WHERE run = ?').run(run)
        return begun
      })
      const fence = Number(row['stage_fence'])
      const uncount = db.sql('UPDATE runs SET rows_staged = rows_staged - ? WHERE id = ?')
      const uncountLinks = db.sql('UPDATE link_steps SET read = read - ? WHERE run = ?')
      // The counts fall with the items and links, so that the books balance whenever this is interrupted; and a worker that is overtaken
      // here must not delete what the next one stages.
      await deleteWork(db, run, (table, rows) => {
        checkStageFence(db, run, fence)
        if (table === 'items') uncount.run(rows, run)
        if (table === 'links') uncountLinks.run(rows, run)
      })
      db.transaction(() => {
        checkStageFence(db, run, fence)
        db.sql('DELETE FROM link_steps WHERE run = ?').run(run)
      })
      return fence
    },

    async stageItems(run, fence, items) {
      const valid: Value[][] = []
      const validOf: Value[][] = []
      const held: Value[][] = []
      const withdrawn: Value[][] = []
      const corrected: Value[][] = []
      const invalid: Value[][] = []
      const payloads: Value[][] = []
      for (const item of items) {
        const { ordinal, line, key, of = null, watermark = null } = item
        if (item.valid && item.withdrawn) withdrawn.push([ordinal, line, of, key, watermark])
        else if (item.valid) {
          const { hash, rawKey = null } = item
          if (item.held) held.push([ordinal, line, key, hash, watermark])
          else if (of === null && rawKey === null && watermark === null)
            valid.push([ordinal, line, key, hash])
          else validOf.push([ordinal, line, key, hash, of, rawKey, watermark])
        } else {
          const { reason, column, field, value, detail, more } = item
          const further = more ? JSON.stringify(more) : null
          const place = [ordinal, line, of, key, reason, column, field, value, detail]
          const found = [...place, further, watermark]
          const { corrected: by } = item
          if (by) corrected.push([...found, hashOfPlace(item.key, by), by.key])
          else invalid.push(found)
        }
        payloads.push([ordinal, item.raw, item.valid && !item.withdrawn ? item.payload : null])
      }
      const shared = { before: [run] }
      db.transaction(() => {
        checkStageFence(db, run, fence)
        INSERT_VALID.run(db, valid, shared)
        INSERT_VALID_OF.run(db, validOf, shared)
        INSERT_HELD.run(db, held, shared)
        INSERT_WITHDRAWN.run(db, withdrawn, shared)
        INSERT_CORRECTED.run(db, corrected, shared)
        INSERT_INVALID.run(db, invalid, shared)
        INSERT_PAYLOADS.run(db, payloads, shared)
        db.sql('UPDATE runs SET rows_staged = rows_staged + ? WHERE id = ?').run(items.length, run)
      })
    },

    async finishStage(run, fence, source, onSlice) {
      const elsewhere = db
        .sql(
          `SELECT ${newestRunElsewhere(sqliteDialect, 'runs.destination')} AS run FROM runs WHERE id = ?`,
        )
        .get(run)
      const project = db.sql('SELECT restored_after FROM project').get()
      const relied = relianceOf(source, {
        elsewhere: elsewhere?.['run'],
        restored: project?.['restored_after'],
        writers: source.unread === undefined ? [] : db.sql(UNREAD_RUNS_SQL).all(run),
      })
      const readings = source.isRetry
        ? db
            .sql(READINGS_SQL)
            .all(run)
            .map((row) => Number(row['id']))
        : null
      const decideSlice = async (slice: RunSegment) => {
        const counts = db.transaction(() => {
          checkStageFence(db, run, fence)
          return decide(db, run, slice, relied, { source, readings })
        })
        await yieldToOthers()
        return counts
      }
      const { segments, counts } = await decideSlices(source, decideSlice, onSlice)
      const linked = await links.decide(run, fence, source, relied, onSlice)
      db.transaction(() => {
        checkStageFence(db, run, fence)
        const insert = db.sql(
          'INSERT INTO segments (run, first, last, planned) VALUES (?, ?, ?, ?)',
        )
        for (const { first, last, planned } of segments) insert.run(run, first, last, planned)
        const watermark = source.watermark ? JSON.stringify(source.watermark) : null
        db.sql('UPDATE runs SET rows_read = ?, source_digest = ?, watermark = ? WHERE id = ?').run(
          source.rows,
          source.digest,
          watermark,
          run,
        )
      })
      return { ...counts, ...(linked && { links: linked }) }
    },

    async keyCounts(run) {
      const counts = { loose: 0, keyless: 0, merged: 0, variants: 0 }
      const last = db.sql('SELECT max(ordinal) AS last FROM items WHERE run = ?').get(run)?.['last']
      const slice = db.sql(
        `SELECT
           (SELECT count(*) FROM items INDEXED BY items_raw_key
            WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND raw_key IS NOT NULL) AS loose,
           (SELECT count(*) FROM items WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND key IS NULL AND state <> 'corrected') AS keyless,
           (SELECT count(*) FROM items INDEXED BY items_twin JOIN items AS later
              ON later.run = items.run AND later.ordinal = items.twin
            WHERE items.run = ?1 AND items.ordinal BETWEEN ?2 AND ?3 AND items.twin IS NOT NULL AND items.state = 'superseded'
              AND coalesce(items.raw_key, items.key) <> coalesce(later.raw_key, later.key)) AS merged,
           (SELECT count(*) FROM items WHERE run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND state IN ('pending', 'unchanged')
              AND key <> lower(key) AND (
                EXISTS (SELECT 1 FROM items AS other INDEXED BY items_key
                  WHERE other.run = ?1 AND other.key = lower(items.key) AND ${isMapped('other')})
                OR EXISTS (SELECT 1 FROM accepted
                  WHERE accepted.destination = ${DESTINATION}
                    AND accepted.key = lower(items.key) AND accepted.record_id IS NOT NULL))) AS variants`,
      )
      for (const { first, last: end } of ordinalSlices(Number(last ?? 0), KEY_COUNT_ROWS)) {
        const found = countsOfRow(KEY_COUNTS, slice.get(run, first, end))
        for (const name of KEY_COUNTS) counts[name] += found[name]
        await yieldToOthers()
      }
      return counts
    },

    async stagedKeys(run, keys, { upTo }) {
      // Key by key: in a JSON list SQLite ends a text at U+0000.
      const find = db.sql(
        'SELECT 1 FROM items INDEXED BY items_key WHERE run = ? AND key = ? AND ordinal <= ? LIMIT 1',
      )
      return new Set(keys.filter((key) => find.get(run, key, upTo)))
    },
  } satisfies RowStaging
}
