// Staging: one item per source row, then decisions by SQL, slice by slice.

import { FenceLost } from '../../core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { Ledger, StagedItem } from '../ledger.ts'
import type { PostgresDatabase, Session } from './session.ts'
import { sampleStart, sampleBound, partition, sampleOrderSql } from '../ranges.ts'
import { liveStates, plannedOfRow } from '../rows.ts'
import { withPayload } from './items.ts'
import { gaveWayToNewer, newestRunElsewhere } from './origins.ts'

type StageMethods = Pick<
  Ledger,
  'beginStage' | 'stageItems' | 'finishStage' | 'keepSample' | 'knownKeys' | 'keysWithoutRecord'
>

/** Characters of payloads that one statement writes: a row can have a million. */
const STATEMENT_CHARS_MAX = 4_000_000
const charsOf = (item: StagedItem): number =>
  item.raw.length + (item.valid ? item.payload.length : 0)

// Items go last: while a run has any, what is left of the others is still found.
const workTables = ['payloads', 'requests', 'corrections', 'differences', 'items'] as const

/** By what their rows are deleted in order, beside the run. */
const workKeys: Readonly<Record<(typeof workTables)[number], string>> = {
  payloads: 'ordinal',
  requests: 'batch',
  corrections: 'ordinal',
  differences: 'number',
  items: 'ordinal',
}

/**
 * Deletes a run's items and all that goes with them, in slices of at most 1,000; returns the number of rows removed.
 * `before` and `after` are part of each slice's transaction, and undo it by throwing.
 */
export async function deleteWork(
  db: PostgresDatabase,
  run: number,
  before: (session: Session) => Promise<unknown> = async () => {},
  after: (
    session: Session,
    table: (typeof workTables)[number],
    rows: number,
  ) => Promise<unknown> = async () => {},
): Promise<number> {
  let removed = 0
  for (const table of workTables) {
    const key = workKeys[table]
    let deleted = -1
    // Bounded by the table's rows: every pass goes beyond the last one, over what it deleted, or ends.
    for (;;) {
      const slice = await db.transaction(async (session) => {
        await before(session)
        const row = await session.one(
          `SELECT max(${key}) AS last FROM
             (SELECT ${key} FROM ${table} WHERE run = $1 AND ${key} > $2 ORDER BY ${key} LIMIT $3) AS slice`,
          [run, deleted, LEDGER_ROWS_MAX],
        )
        if (!row || row['last'] === null) return null
        const last = Number(row['last'])
        const rows = await session.run(
          `DELETE FROM ${table} WHERE run = $1 AND ${key} > $2 AND ${key} <= $3`,
          [run, deleted, last],
        )
        await after(session, table, rows)
        return { last, rows }
      })
      if (!slice) break
      deleted = slice.last
      removed += slice.rows
    }
  }
  return removed
}

export function stageMethods(db: PostgresDatabase): StageMethods {
  /** Holds the run until the transaction ends; gives its destination. */
  const checkFence = async (session: Session, run: number, fence: number) => {
    const row = await session.one(
      'SELECT stage_fence, destination FROM runs WHERE id = $1 FOR NO KEY UPDATE',
      [run],
    )
    if (Number(row?.['stage_fence']) !== fence) throw new FenceLost(run, 0)
    return row?.['destination'] as number | null
  }
  return {
    async beginStage(run, columns) {
      const row = await db.one(
        `UPDATE runs SET stage_fence = stage_fence + 1, rows_read = NULL, source_columns = $1::json
         WHERE id = $2 AND state IN (${liveStates}) RETURNING stage_fence`,
        [JSON.stringify(columns), run],
      )
      // Nobody begins a closed run anew.
      if (!row) throw new FenceLost(run, 0)
      const fence = Number(row['stage_fence'])
      // The count falls with the items, so that the books balance wherever this is interrupted; and whoever is overtaken
      // here must not delete what the next one stages.
      await deleteWork(
        db,
        run,
        (session) => checkFence(session, run, fence),
        async (session, table, rows) => {
          if (table === 'items')
            await session.run('UPDATE runs SET rows_staged = rows_staged - $1 WHERE id = $2', [
              rows,
              run,
            ])
        },
      )
      await db.transaction(async (session) => {
        await checkFence(session, run, fence)
        await session.run('DELETE FROM segments WHERE run = $1', [run])
      })
      return fence
    },

    async stageItems(run, fence, items) {
      await db.transaction(async (session) => {
        await checkFence(session, run, fence)
        await session.run(
          `INSERT INTO items (run, ordinal, line, of_ordinal, state, key, hash, code, reason, "column", field, value, detail,
             raw_key, more)
           SELECT $1, * FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::text[],
             $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[])`,
          [
            run,
            items.map((item) => item.ordinal),
            items.map((item) => item.line),
            items.map((item) => item.of ?? null),
            items.map((item) => (item.valid ? 'planned' : 'invalid')),
            items.map((item) => item.key),
            items.map((item) => (item.valid ? item.hash : null)),
            items.map((item) => (item.valid ? null : 'row_invalid')),
            items.map((item) => (item.valid ? null : item.reason)),
            items.map((item) => (item.valid ? null : item.column)),
            items.map((item) => (item.valid ? null : item.field)),
            items.map((item) => (item.valid ? null : item.value)),
            items.map((item) => (item.valid ? null : item.detail)),
            items.map((item) => (item.valid ? (item.rawKey ?? null) : null)),
            items.map((item) => (!item.valid && item.more ? JSON.stringify(item.more) : null)),
          ],
        )
        for (const part of partition(items, charsOf, STATEMENT_CHARS_MAX))
          await session.run(
            `INSERT INTO payloads (run, ordinal, raw, payload)
             SELECT $1, * FROM unnest($2::integer[], $3::text[], $4::text[])`,
            [
              run,
              part.map((item) => item.ordinal),
              part.map((item) => item.raw),
              part.map((item) => (item.valid ? item.payload : null)),
            ],
          )
        await session.run('UPDATE runs SET rows_staged = rows_staged + $1 WHERE id = $2', [
          items.length,
          run,
        ])
      })
    },

    async finishStage(run, fence, source, onSlice) {
      const counts = { planned: 0, superseded: 0, unchanged: 0, invalid: 0 }
      let newerRows = 0
      let distrusted = 0
      const project = await db.one('SELECT restored_after FROM project')
      const segments: { first: number; last: number; planned: number }[] = []
      const elsewhere = await db.one(
        `SELECT ${newestRunElsewhere('runs.destination')} AS run FROM runs WHERE id = $1`,
        [run],
      )
      const believed =
        source.believes === false
          ? null
          : { after: Number(elsewhere?.['run']), restored: Number(project?.['restored_after']) }
      for (let first = 1; first <= source.rows; first += LEDGER_ROWS_MAX) {
        const last = Math.min(first + LEDGER_ROWS_MAX - 1, source.rows)
        const slice = await db.transaction(async (session) => {
          const destination = await checkFence(session, run, fence)
          return await decide(session, [run, first, last], destination, believed)
        })
        counts.planned += slice.planned
        counts.superseded += slice.superseded
        newerRows += slice.newer
        distrusted += slice.distrusted
        counts.unchanged += slice.unchanged
        counts.invalid += slice.invalid
        if (slice.planned > 0) {
          const open = segments.at(-1)
          if (open && open.planned + slice.planned <= source.rowsPerSegment) {
            open.last = last
            open.planned += slice.planned
          } else segments.push({ first, last, planned: slice.planned })
        }
        onSlice?.()
      }
      await db.transaction(async (session) => {
        await checkFence(session, run, fence)
        await session.run(
          `INSERT INTO segments (run, first, last, planned)
           SELECT $1, * FROM unnest($2::integer[], $3::integer[], $4::integer[])`,
          [
            run,
            segments.map(({ first }) => first),
            segments.map(({ last }) => last),
            segments.map(({ planned }) => planned),
          ],
        )
        await session.run(
          'UPDATE runs SET rows_read = $1, source_digest = $2, watermark = $3::json WHERE id = $4',
          [
            source.rows,
            source.digest,
            source.watermark ? JSON.stringify(source.watermark) : null,
            run,
          ],
        )
      })
      return {
        ...counts,
        ...(newerRows > 0 && { newer: newerRows }),
        ...(distrusted > 0 && { distrusted }),
      }
    },

    async keepSample(run, fence, rows) {
      const spread = sampleOrderSql('ordinal::bigint', '$2')
      const beginning = sampleStart(run)
      // Their counts stay until the sample is taken: whoever begins again takes the same one.
      const before = await db.one(
        'SELECT coalesce(sum(planned), 0) AS planned FROM segments WHERE run = $1',
        [run],
      )
      const lowest = await db.one(
        `SELECT min(${spread}) AS lowest, max(ordinal) AS last FROM items
         WHERE run = $1 AND state = 'planned'`,
        [run, beginning],
      )
      const end = Number(lowest?.['last'] ?? 0)
      const kept = Math.max(
        sampleBound(rows, Number(before?.['planned'])),
        Number(lowest?.['lowest'] ?? 0) + 1,
      )
      const others = `run = $1 AND ordinal BETWEEN $3 AND $4 AND ${spread} >= $5`
      for (let first = 1; first <= end; first += LEDGER_ROWS_MAX)
        await db.transaction(async (session) => {
          await checkFence(session, run, fence)
          const slice = [run, beginning, first, first + LEDGER_ROWS_MAX - 1, kept]
          await session.run(
            `DELETE FROM payloads WHERE ${others} AND
               (SELECT state FROM items WHERE items.run = payloads.run AND items.ordinal = payloads.ordinal) = 'planned'`,
            slice,
          )
          const taken = await session.run(
            `DELETE FROM items WHERE ${others} AND state = 'planned'`,
            slice,
          )
          await session.run(
            'UPDATE runs SET rows_read = rows_read - $1, rows_staged = rows_staged - $1 WHERE id = $2',
            [taken, run],
          )
        })
      return await db.transaction(async (session) => {
        await checkFence(session, run, fence)
        const counted = await session.all(
          `UPDATE segments SET planned = (SELECT count(*) FROM items WHERE items.run = segments.run
             AND items.ordinal BETWEEN segments.first AND segments.last AND items.state = 'planned')
           WHERE run = $1 RETURNING planned`,
          [run],
        )
        return counted.reduce((sum, segment) => sum + Number(segment['planned']), 0)
      })
    },

    async knownKeys(run) {
      const row = await db.one(
        `SELECT count(*) AS keys FROM items WHERE run = $1 AND state = 'planned'
           AND (SELECT true FROM accepted
             WHERE destination = (SELECT destination FROM runs WHERE id = $1)
               AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0)
               AND accepted.key = items.key)`,
        [run],
      )
      return Number(row?.['keys'] ?? 0)
    },

    async keysWithoutRecord(run, { after, limit }) {
      const rows = await db.all(
        `SELECT ordinal, key, payload, hash, attempts, raw_key FROM items ${withPayload}
         WHERE run = $1 AND ordinal > $2 AND state = 'planned'
           AND (SELECT true FROM accepted
             WHERE destination = (SELECT destination FROM runs WHERE id = $1)
               AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0)
               AND accepted.key = items.key) IS NULL
         ORDER BY ordinal LIMIT $3`,
        [run, after, limit],
      )
      return rows.map(plannedOfRow)
    },
  }
}

/**
 * Decides about the items of a slice (run, first, last), and drops the payloads of those that are not sent. What is asked of
 * another table is asked item by item, one look into an index each: no plan can make a search of the whole table out of it.
 * @param believed what was accepted by runs after both of these is left out as unchanged, and those up to `restored`, before the
 *   ledger was put back from a backup, are counted; null: nothing is
 */
async function decide(
  session: Session,
  slice: readonly [number, number, number],
  destination: number | null,
  believed: { readonly after: number; readonly restored: number } | null,
) {
  const lastOfKey = `(SELECT later.ordinal FROM items AS later
    WHERE hashtextextended(later.key, later.run) = hashtextextended(items.key, items.run)
      AND later.key = items.key AND later.run + 0 = items.run AND later.state <> 'invalid'
    ORDER BY later.ordinal::bigint DESC LIMIT 1)`
  const ofKey = (column: string) => `(SELECT accepted.${column} FROM accepted WHERE destination = $4
    AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0) AND accepted.key = items.key)`
  // Rows of one record are sent together: which of them it holds is known only then.
  const ofSameRecord = `(SELECT true FROM accepted AS other JOIN LATERAL
      (SELECT 1 FROM items AS same
       WHERE hashtextextended(same.key, same.run) = hashtextextended(other.key, items.run)
         AND same.key = other.key AND same.run + 0 = items.run AND same.state <> 'invalid' LIMIT 1) AS found ON true
    WHERE other.destination = $4 AND hashtextextended(other.record_id, 0) = hashtextextended(${ofKey('record_id')}, 0)
      AND other.record_id = ${ofKey('record_id')} AND other.key <> items.key LIMIT 1)`
  const newer = await session.run(
    `UPDATE items SET state = 'superseded'
     WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state = 'planned' AND of_ordinal IS NOT NULL AND ${gaveWayToNewer}`,
    slice,
  )
  const later = await session.run(
    `UPDATE items SET state = 'superseded', twin = ${lastOfKey}
     WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state = 'planned' AND ordinal < ${lastOfKey}`,
    slice,
  )
  const superseded = later + newer
  const unchanged = believed
    ? await session.run(
        `UPDATE items SET state = 'unchanged', normalised = coalesce(${ofKey('normalised')}, 0)
         WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state = 'planned' AND hash = ${ofKey('hash')}
           AND ${ofKey('run')} > $5 AND ${ofSameRecord} IS NULL`,
        [...slice, destination, Math.max(believed.after, believed.restored)],
      )
    : 0
  const distrusted =
    believed && believed.restored > 0
      ? await session.one(
          `SELECT count(*) AS items FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state = 'planned'
           AND hash = ${ofKey('hash')} AND ${ofKey('run')} <= $5`,
          [...slice, destination, believed.restored],
        )
      : undefined
  if (superseded + unchanged > 0)
    await session.run(
      `DELETE FROM payloads WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND
         (SELECT state FROM items WHERE items.run = payloads.run AND items.ordinal = payloads.ordinal)
           IN ('superseded', 'unchanged')`,
      slice,
    )
  const row = await session.one(
    `SELECT count(*) FILTER (WHERE state = 'planned') AS planned, count(*) FILTER (WHERE state = 'invalid') AS invalid
     FROM items WHERE run = $1 AND ordinal BETWEEN $2 AND $3`,
    slice,
  )
  const invalid = Number(row?.['invalid'])
  return {
    planned: Number(row?.['planned']),
    superseded,
    newer,
    unchanged,
    invalid,
    distrusted: Number(distrusted?.['items'] ?? 0),
  }
}
