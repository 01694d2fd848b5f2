// Staging: one item per source row, then decisions by SQL, slice by slice.

import type { ItemState } from '../../core/domain/outcomes.ts'
import { FenceLost } from '../../core/errors.ts'
import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import type { RunSegment } from '../roles/outbox.ts'
import type { RowStaging, StagedItem, StagedSource } from '../roles/staging.ts'
import { isMapped, isUnread, takesPlace } from '../rows/items.ts'
import { liveStates } from '../rows/runs.ts'
import { countsOfRow } from '../rows/values.ts'
import { partition } from '../../core/slices.ts'
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
import { postgresDialect } from './dialect.ts'
import { checkStageFence } from './fences.ts'
import { listsOf, unlessNulls } from './items.ts'
import { postgresLinkSql } from './link-sql.ts'
import { narrowingMethods } from './narrowing.ts'
import { gaveWayToNewer, itemsWith } from './origins.ts'
import type { PostgresDatabase, Session, SentStatement } from './session.ts'
import { runSteps } from './transactions.ts'
import { deleteWork } from './work.ts'

const charsOf = (item: StagedItem): number =>
  item.raw.length + (item.valid ? item.payload.length : 0)

const INSERT_ITEMS_SQL = `INSERT INTO items (run, ordinal, line, of_ordinal, state, key, hash, code, reason, "column", field, value, detail,
    raw_key, more, answered_key, watermark)
  SELECT $1, * FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])`

const INSERT_PAYLOADS_SQL = `INSERT INTO payloads (run, ordinal, raw, payload)
  SELECT $1, * FROM unnest($2::integer[], $3::text[], $4::text[])`

/** Divides by zero if another worker began staging. */
const HOLD_SQL = `WITH held AS (UPDATE runs SET rows_staged = rows_staged + $3 WHERE id = $1 AND stage_fence = $2 RETURNING 1)
  SELECT 1 / count(*) FROM held`

type ValidItem = Extract<StagedItem, { valid: true }>
const isSent = (item: StagedItem): item is ValidItem => item.valid && item.withdrawn !== true
const stateOf = (item: StagedItem): ItemState =>
  !item.valid
    ? item.corrected
      ? 'corrected'
      : 'invalid'
    : item.withdrawn
      ? 'deletion_requested'
      : item.held
        ? 'unchanged'
        : 'pending'

const hashOf = (item: StagedItem): string | null =>
  isSent(item)
    ? item.hash
    : !item.valid && item.corrected
      ? hashOfPlace(item.key, item.corrected)
      : null

function insertItems(run: number, items: readonly StagedItem[]): readonly SentStatement[] {
  const invalid = <Fact extends string | null>(
    fact: (item: Extract<StagedItem, { valid: false }>) => Fact,
  ) => unlessNulls(items.map((item) => (item.valid ? null : fact(item))))
  const insert: SentStatement = {
    text: INSERT_ITEMS_SQL,
    values: [
      run,
      ...listsOf(items, 'ordinal', 'line', 'of'),
      items.map(stateOf),
      items.map((item) => item.key),
      items.map(hashOf),
      invalid(({ corrected }) => (corrected ? null : 'row_invalid')),
      invalid((item) => item.reason),
      invalid((item) => item.column),
      invalid((item) => item.field),
      invalid((item) => item.value),
      invalid((item) => item.detail),
      unlessNulls(items.map((item) => (item.valid ? (item.rawKey ?? null) : null))),
      invalid(({ more }) => (more ? JSON.stringify(more) : null)),
      invalid(({ corrected }) => corrected?.key ?? null),
      ...listsOf(items, 'watermark'),
    ],
  }
  const payloads = partition(items, charsOf, LEDGER_CHARS_MAX).map((part): SentStatement => ({
    text: INSERT_PAYLOADS_SQL,
    values: [
      run,
      ...listsOf(part, 'ordinal', 'raw'),
      part.map((item) => (isSent(item) ? item.payload : null)),
    ],
  }))
  return [insert, ...payloads]
}

// What a decision needs of another table is read item by item, one search of an index each: no plan can turn it into a search
// of the whole table.
const SLICE = "run = $1 AND ordinal BETWEEN $2 AND $3 AND state = 'pending'"
const LAST_OF_KEY = `(SELECT later.ordinal FROM items AS later
  WHERE hashtextextended(later.key, later.run) = hashtextextended(items.key, items.run)
    AND later.key = items.key AND later.run + 0 = items.run AND ${takesPlace('later')}
  ORDER BY later.ordinal::bigint DESC LIMIT 1)`
const ofKey = (column: string) => `(SELECT accepted.${column} FROM accepted WHERE destination = $4
  AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0) AND accepted.key = items.key)`
/** Rows of one record are sent together: only then is it known which of them the record holds. */
const OF_SAME_RECORD = `(SELECT true FROM accepted AS other JOIN LATERAL
    (SELECT 1 FROM items AS same
     WHERE hashtextextended(same.key, same.run) = hashtextextended(other.key, items.run)
       AND same.key = other.key AND same.run + 0 = items.run AND ${isMapped('same')} LIMIT 1) AS found ON true
  WHERE other.destination = $4 AND hashtextextended(other.record_id, 0) = hashtextextended(${ofKey('record_id')}, 0)
    AND other.record_id = ${ofKey('record_id')} AND other.key <> items.key LIMIT 1)`

const GIVE_WAY_SQL = `UPDATE items SET state = 'superseded'
  WHERE ${SLICE} AND of_ordinal IS NOT NULL AND ${gaveWayToNewer}`

const SUPERSEDE_SQL = `UPDATE items SET state = 'superseded', twin = ${LAST_OF_KEY}
  WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state IN ('pending', 'deletion_requested') AND ordinal < ${LAST_OF_KEY}`

const UNCHANGED_SQL = `UPDATE items SET state = 'unchanged', normalised = coalesce(${ofKey('normalised')}, 0)
  WHERE ${SLICE} AND hash = ${ofKey('hash')} AND ${ofKey('run')} > $5 AND ${OF_SAME_RECORD} IS NULL`

const DISTRUSTED_SQL = `SELECT count(*) AS items FROM items
  WHERE ${SLICE} AND hash = ${ofKey('hash')} AND ${ofKey('run')} <= $5`

/** Whether what `items` has was written by one of the runs of a list to the destination `$4`, and not read back by it. */
const isUnreadOf = (runs: string) => `coalesce((SELECT true FROM items AS earlier
  WHERE ${itemsWith(ofKey('run'), 'items.key', 'earlier')} AND ${ofKey('run')} = ANY (${runs}::integer[])
    AND ${isUnread('earlier')} LIMIT 1), false)`

const UNCHANGED_BUT_UNREAD_SQL = `${UNCHANGED_SQL} AND NOT ${isUnreadOf('$6')}`
const notAfterOlder = (given: string) => `AND NOT ${isSentAfterOlder('$1', given)}`

/** @param isDropped which of the items that are not sent need their payloads no more */
const dropSql = (
  isDropped: string,
) => `DELETE FROM payloads WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND
    (SELECT state IN ('superseded', 'unchanged') ${isDropped}
     FROM items WHERE items.run = payloads.run AND items.ordinal = payloads.ordinal)`
const DROP_SQL = dropSql('')
/** An item that is unchanged and has its payload is read back. */
const DROP_READ_SQL = dropSql(`AND (state = 'superseded' OR NOT ${isUnreadOf('$5')})`)

const UNREAD_RUNS_SQL = unreadRuns(postgresDialect)
const NEWER = newerRows(postgresLinkSql)

const COUNT_SQL = `SELECT count(*) FILTER (WHERE state = 'pending') AS planned, count(*) FILTER (WHERE state = 'invalid') AS invalid,
    count(*) FILTER (WHERE state = 'deletion_requested') AS withdrawn
  FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3`

function leaveUnchanged(
  session: Session,
  at: readonly (number | null)[],
  { after, unread }: NonNullable<Reliance>,
  source: StagedSource,
): Promise<number> {
  const given = Number(at[1]) <= givenRows(source) && source.again ? [givenRows(source)] : []
  const older = (place: string) => (given.length > 0 ? notAfterOlder(place) : '')
  return unread?.become === 'plan'
    ? session.run(`${UNCHANGED_BUT_UNREAD_SQL} ${older('$7')}`, [
        ...at,
        after,
        unread.runs,
        ...given,
      ])
    : session.run(`${UNCHANGED_SQL} ${older('$6')}`, [...at, after, ...given])
}

/** Decides about the items of a slice, and drops the payloads of those that are not sent. */
async function decide(
  session: Session,
  run: number,
  segment: RunSegment,
  destination: number | null,
  relied: Reliance,
  { source, readings }: Decision,
): Promise<SliceCounts> {
  const slice = [run, segment.first, segment.last]
  const newer = await session.run(GIVE_WAY_SQL, slice)
  const repeated = source.keysRepeat ? 0 : await session.run(SUPERSEDE_SQL, slice)
  const placed = [...slice, destination]
  const gone =
    readings === null ? 0 : await runSteps(session, NEWER.goneFromSource(run, segment, readings))
  const older = await runSteps(session, NEWER.giveWayToGreater(run, segment, source))
  const superseded = newer + repeated + gone + older
  const unread = relied?.unread ?? null
  const unchanged = relied ? await leaveUnchanged(session, placed, relied, source) : 0
  const unknown = await runSteps(session, NEWER.noteWatermarks(run, segment, source))
  if (superseded + unchanged > 0)
    await (unread?.become === 'read'
      ? session.run(DROP_READ_SQL, [...slice, destination, unread.runs])
      : session.run(DROP_SQL, slice))
  const distrusted =
    relied && relied.restored > 0
      ? Number(
          (await session.one(DISTRUSTED_SQL, [...slice, destination, relied.restored]))?.['items'],
        )
      : 0
  const row = await session.one(COUNT_SQL, slice)
  const [planned, invalid] = [Number(row?.['planned']), Number(row?.['invalid'])]
  const withdrawn = Number(row?.['withdrawn'])
  const seldom = { newer, gone, older, unknown, distrusted }
  return { planned, superseded, unchanged, invalid, withdrawn, ...seldom }
}

/** Whether `key` has a record in the destination of the run `$1`. */
const isAccepted = (key: string) => `(SELECT true FROM accepted
  WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
    AND hashtextextended(accepted.key, 0) = hashtextextended(${key}, 0)
    AND accepted.key = ${key} AND accepted.record_id IS NOT NULL LIMIT 1)`

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function stagingMethods(db: PostgresDatabase, links: LinkDecisions) {
  return {
    ...narrowingMethods(db, links),

    async beginStage(run, columns, seen) {
      const row = await db.transaction(async (session) => {
        // Who claims one waits for the end of this, and finds none.
        const segments = await session.all('SELECT fence FROM segments WHERE run = $1 FOR UPDATE', [
          run,
        ])
        // What is being sent is not staged again, by a worker that stood still until then.
        if (segments.some((segment) => Number(segment['fence']) > 0)) throw new FenceLost(run, 0)
        const begun = await session.one(
          `UPDATE runs SET stage_fence = stage_fence + 1, rows_read = NULL, source_columns = $1::json
           WHERE id = $2 AND stage_fence = coalesce($3, stage_fence) AND state IN (${liveStates}) RETURNING stage_fence`,
          [JSON.stringify(columns), run, seen ?? null],
        )
        // Nor a closed run, nor one that another attempt has staged meanwhile.
        if (!begun) throw new FenceLost(run, 0)
        await session.run('DELETE FROM segments WHERE run = $1', [run])
        return begun
      })
      const fence = Number(row['stage_fence'])
      // The counts fall with the items and links, so that the books balance whenever this is interrupted; and a worker that is overtaken
      // here must not delete what the next one stages.
      await deleteWork(
        db,
        run,
        (session) => checkStageFence(session, run, fence),
        async (session, table, rows) => {
          if (table === 'items')
            await session.run('UPDATE runs SET rows_staged = rows_staged - $1 WHERE id = $2', [
              rows,
              run,
            ])
          if (table === 'links')
            await session.run('UPDATE link_steps SET read = read - $1 WHERE run = $2', [rows, run])
        },
      )
      await db.transaction(async (session) => {
        await checkStageFence(session, run, fence)
        await session.run('DELETE FROM link_steps WHERE run = $1', [run])
      })
      return fence
    },

    async stageItems(run, fence, items) {
      await db.together([
        { text: HOLD_SQL, values: [run, fence, items.length], orElse: new FenceLost(run, 0) },
        ...insertItems(run, items),
      ])
    },

    async finishStage(run, fence, source, onSlice) {
      const project = await db.one('SELECT restored_after FROM project')
      const elsewhere = await db.one(
        `SELECT ${newestRunElsewhere(postgresDialect, 'runs.destination')} AS run FROM runs WHERE id = $1`,
        [run],
      )
      const relied = relianceOf(source, {
        elsewhere: elsewhere?.['run'],
        restored: project?.['restored_after'],
        writers: source.unread === undefined ? [] : await db.all(UNREAD_RUNS_SQL, [run]),
      })
      const readings = source.isRetry
        ? (await db.all(NEWER.readings, [run])).map((row) => Number(row['id']))
        : null
      const decideSlice = (slice: RunSegment) =>
        db.transaction(async (session) => {
          const destination = await checkStageFence(session, run, fence)
          return await decide(session, run, slice, destination, relied, {
            source,
            readings,
          })
        })
      const { segments, counts } = await decideSlices(source, decideSlice, onSlice)
      const linked = await links.decide(run, fence, source, relied, onSlice)
      await db.transaction(async (session) => {
        await checkStageFence(session, run, fence)
        await session.run(
          `INSERT INTO segments (run, first, last, planned)
           SELECT $1, * FROM unnest($2::integer[], $3::integer[], $4::integer[])`,
          [run, ...listsOf(segments, 'first', 'last', 'planned')],
        )
        const watermark = source.watermark ? JSON.stringify(source.watermark) : null
        await session.run(
          'UPDATE runs SET rows_read = $1, source_digest = $2, watermark = $3::json WHERE id = $4',
          [source.rows, source.digest, watermark, run],
        )
      })
      return { ...counts, ...(linked && { links: linked }) }
    },

    async keyCounts(run) {
      const counts = { loose: 0, keyless: 0, merged: 0, variants: 0 }
      const end = await db.one('SELECT max(ordinal) AS last FROM items WHERE run = $1', [run])
      for (const { first, last } of ordinalSlices(Number(end?.['last'] ?? 0), KEY_COUNT_ROWS)) {
        const row = await db.one(
          `SELECT
             (SELECT count(*) FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND raw_key IS NOT NULL) AS loose,
             (SELECT count(*) FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND key IS NULL AND state <> 'corrected') AS keyless,
             (SELECT count(*) FROM items JOIN items AS later
                ON later.run = items.run AND later.ordinal = items.twin
              WHERE items.run = $1 AND items.ordinal BETWEEN $2 AND $3 AND items.twin IS NOT NULL AND items.state = 'superseded'
                AND coalesce(items.raw_key, items.key) <> coalesce(later.raw_key, later.key)) AS merged,
             (SELECT count(*) FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state IN ('pending', 'unchanged')
                AND key <> lower(key) AND coalesce(
                  (SELECT true FROM items AS other
                   WHERE hashtextextended(other.key, other.run) = hashtextextended(lower(items.key), $1)
                     AND other.key = lower(items.key) AND other.run + 0 = $1 AND ${isMapped('other')} LIMIT 1),
                  ${isAccepted('lower(items.key)')}, false)) AS variants`,
          [run, first, last],
        )
        const found = countsOfRow(KEY_COUNTS, row)
        for (const name of KEY_COUNTS) counts[name] += found[name]
      }
      return counts
    },

    async stagedKeys(run, keys, { upTo }) {
      const rows = await db.all(
        `SELECT wanted.key FROM unnest($1::integer[], $2::text[]) AS wanted (run, key)
         WHERE (SELECT true FROM items
           WHERE hashtextextended(items.key, items.run) = hashtextextended(wanted.key, wanted.run)
             AND items.key = wanted.key AND items.run + 0 = wanted.run AND items.ordinal::bigint <= $3 LIMIT 1)`,
        [keys.map(() => run), keys, upTo],
      )
      return new Set(rows.map((row) => String(row['key'])))
    },
  } satisfies RowStaging
}
