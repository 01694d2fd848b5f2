// Reconciliations: what is to be compared, what comparing showed, and the differences that are left.

import type { Difference } from '../../core/differences.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { ItemComparison, Ledger } from '../ledger.ts'
import { partition, REPLACED_MAX } from '../ranges.ts'
import {
  acceptedOfRow,
  byRecord,
  DIFFERENCE_COLUMNS,
  differenceCountsOfRows,
  differenceGroupOfRow,
  differenceOfRow,
  differenceValues,
  liveStates,
  subjectOf,
  uncomparedOfRow,
  writtenStates,
} from '../rows.ts'
import type { PostgresDatabase, Session } from './session.ts'
import { acceptItems, isWanted, itemsAt, wanted, withPayload } from './items.ts'

type ReconcileMethods = Pick<
  Ledger,
  | 'uncompared'
  | 'recordCompared'
  | 'absentKeys'
  | 'noteDifferences'
  | 'writtenElsewhere'
  | 'recordDeleted'
  | 'settleDifferences'
  | 'differenceCounts'
  | 'differenceGroups'
  | 'differences'
  | 'reconciled'
  | 'loadStepState'
  | 'saveStepState'
  | 'noteRequests'
>

/** Whether `differences` has a row of the item that the columns `run` and `ordinal` of `other` name; by its index only. */
const isOfItem = (other: string) =>
  `((differences.run::bigint << 32) | differences.ordinal) = ((${other}.run::bigint << 32) | ${other}.ordinal)
    AND differences.ordinal IS NOT NULL`

/** Whether `differences` has a row of the record that the columns `run` and `subject` of `other` name; by its index only. */
const isOfSubject = (other: string) =>
  `hashtextextended(differences.subject, differences.run) = hashtextextended(${other}.subject, ${other}.run)
    AND differences.subject = ${other}.subject AND differences.run + 0 = ${other}.run`

const differenceLists = DIFFERENCE_COLUMNS.map(
  (column, at) => `$${at + 3}::${column === 'ordinal' ? 'integer' : 'text'}[]`,
).join(', ')

async function insertDifferences(
  session: Session,
  run: number,
  differences: readonly Difference[],
  repaired: boolean,
): Promise<void> {
  const rows = differences.map(differenceValues)
  await session.run(
    `INSERT INTO differences (run, repaired, ${DIFFERENCE_COLUMNS.join(', ')})
     SELECT $1::integer, $2::smallint, * FROM unnest(${differenceLists})`,
    [run, repaired ? 1 : 0, ...DIFFERENCE_COLUMNS.map((_, at) => rows.map((row) => row[at]!))],
  )
}

async function recordPart(session: Session, run: number, part: readonly ItemComparison[]) {
  const ordinals = part.map(({ ordinal }) => ordinal)
  const segments = await session.all(
    `SELECT first, last FROM segments WHERE run = $1 AND first <= $2 AND last >= $3
     ORDER BY first FOR UPDATE`,
    [run, Math.max(...ordinals), Math.min(...ordinals)],
  )
  const rows = await session.all(
    `SELECT items.ordinal ${wanted} JOIN items ON ${isWanted} WHERE items.state = 'planned'
     ORDER BY items.ordinal FOR NO KEY UPDATE OF items`,
    itemsAt(run, part),
  )
  const planned = new Set(rows.map((row) => Number(row['ordinal'])))
  const items = part.filter(({ ordinal }) => planned.has(ordinal))
  const equal = items.filter(({ kind }) => kind === null)
  const held = items.filter((item) => item.kind !== null && item.held !== null)
  await session.run(
    `UPDATE items SET state = 'unchanged', verified = 'equal', record_id = told.record_id,
       normalised = told.normalised
     FROM unnest($1::integer[], $2::integer[], $3::text[], $4::smallint[]) AS told (run, ordinal, record_id, normalised)
     WHERE items.run = told.run AND items.ordinal = told.ordinal`,
    [
      ...itemsAt(run, equal),
      equal.map(({ recordId }) => recordId),
      equal.map(({ normalised }) => (normalised ? 1 : 0)),
    ],
  )
  await session.run(acceptItems('excluded.marks', 'normalised = excluded.normalised'), [
    ...itemsAt(run, equal),
    equal.map(({ marks }) => marks),
  ])
  await session.run(
    `DELETE FROM payloads USING unnest($1::integer[], $2::integer[]) AS wanted (run, ordinal)
     WHERE payloads.run = wanted.run AND payloads.ordinal = wanted.ordinal`,
    itemsAt(run, equal),
  )
  await session.run(
    `UPDATE items SET state = 'unsent', reason = told.reason, detail = told.detail
     FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[]) AS told (run, ordinal, reason, detail)
     WHERE items.run = told.run AND items.ordinal = told.ordinal`,
    [
      ...itemsAt(run, held),
      held.map((item) => item.held!.reason),
      held.map((item) => item.held!.detail),
    ],
  )
  await session.run(
    `DELETE FROM differences USING unnest($1::integer[], $2::integer[]) AS wanted (run, ordinal)
     WHERE ${isOfItem('wanted')}`,
    itemsAt(run, items),
  )
  await insertDifferences(
    session,
    run,
    items.flatMap(({ ordinal, differences }) =>
      differences.map((difference) => ({ ...difference, ordinal })),
    ),
    false,
  )
  for (const segment of segments) {
    const [first, last] = [Number(segment['first']), Number(segment['last'])]
    const settled = [...equal, ...held].filter(({ ordinal }) => ordinal >= first && ordinal <= last)
    await session.run('UPDATE segments SET planned = planned - $1 WHERE run = $2 AND first = $3', [
      settled.length,
      run,
      first,
    ])
  }
}

/** The destinations that hold records of the same kind as the destination `own` of a run, itself included. */
const besides = `FROM runs JOIN destinations AS own ON own.id = runs.destination
  JOIN destinations AS other ON other.origin = own.origin AND other.org_id = own.org_id
    AND other.object_type = own.object_type`

export function reconcileMethods(db: PostgresDatabase): ReconcileMethods {
  return {
    async uncompared(run, { after, limit }) {
      const rows = await db.all(
        `SELECT items.ordinal, items.key, payload, items.hash, attempts, raw_key, known.*
         FROM items ${withPayload} LEFT JOIN LATERAL
           (SELECT accepted.key AS accepted_key, record_id AS accepted_record_id, accepted.hash AS accepted_hash,
              marks AS accepted_marks, accepted.run AS accepted_run, read_back AS accepted_read_back,
              accepted.normalised AS accepted_normalised
            FROM accepted WHERE destination = (SELECT destination FROM runs WHERE id = $1)
              AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0)
              AND accepted.key = items.key LIMIT 1) AS known ON true
         WHERE items.run = $1 AND items.ordinal > $2 AND items.state = 'planned'
           AND (SELECT true FROM differences WHERE ${isOfItem('items')} LIMIT 1) IS NULL
         ORDER BY items.ordinal LIMIT $3`,
        [run, after, limit],
      )
      return rows.map(uncomparedOfRow)
    },

    async recordCompared(run, items) {
      for (const part of partition(
        items,
        ({ differences }) => 1 + differences.length,
        REPLACED_MAX,
      ))
        await db.transaction((session) => recordPart(session, run, part))
    },

    async absentKeys(run, { after, limit }) {
      const rows = await db.all(
        `SELECT key, record_id, hash, marks, run, read_back, normalised, hashtextextended(key, 0)::text AS place,
           (SELECT true FROM items
            WHERE hashtextextended(items.key, items.run) = hashtextextended(accepted.key, $1)
              AND items.key = accepted.key AND items.run + 0 = $1 LIMIT 1) AS present
         FROM accepted WHERE destination = (SELECT destination FROM runs WHERE id = $1)
           AND hashtextextended(key, 0) ${after === null ? '>=' : '>'} $2
         ORDER BY hashtextextended(key, 0) LIMIT $3`,
        [run, after ?? '-9223372036854775808', limit],
      )
      return {
        keys: rows
          .filter((row) => row['present'] === null && row['record_id'] !== null)
          .map((row) => ({ ...acceptedOfRow(row), place: String(row['place']) })),
        next: rows.length < limit ? null : String(rows.at(-1)!['place']),
      }
    },

    async noteDifferences(run, differences, { repaired }) {
      for (const part of partition(byRecord(differences), (record) => record.length, REPLACED_MAX))
        await db.transaction(async (session) => {
          // One notes at a time: of two that note the same record, the later one's stay.
          await session.one('SELECT id FROM runs WHERE id = $1 FOR NO KEY UPDATE', [run])
          await session.run(
            `DELETE FROM differences
             USING unnest($1::integer[], $2::text[], $3::text[]) AS noted (run, subject, stream)
             WHERE ${isOfSubject('noted')} AND differences.stream = noted.stream`,
            [
              part.map(() => run),
              part.map((record) => subjectOf(record[0]!)),
              part.map((record) => record[0]!.stream),
            ],
          )
          await insertDifferences(session, run, part.flat(), repaired)
        })
    },

    async writtenElsewhere(run, records) {
      const rows = await db.all(
        `SELECT asked.key, min(held.sync COLLATE "C") AS sync
         FROM unnest($2::text[], $3::text[]) AS asked (key, record_id) CROSS JOIN LATERAL
           (SELECT other.sync ${besides} AND other.sync <> own.sync
              AND other.matching_property = own.matching_property
            JOIN accepted ON accepted.destination = other.id
              AND hashtextextended(accepted.key, 0) = hashtextextended(asked.key, 0)
              AND accepted.key = asked.key
            WHERE runs.id = $1
            UNION ALL
            SELECT other.sync ${besides} AND other.sync <> own.sync
            JOIN accepted ON accepted.destination = other.id AND accepted.record_id = asked.record_id
              AND hashtextextended(accepted.record_id, 0) = hashtextextended(asked.record_id, 0)
            WHERE runs.id = $1) AS held
         GROUP BY asked.key`,
        [run, records.map(({ key }) => key), records.map(({ recordId }) => recordId)],
      )
      return new Map(rows.map((row) => [String(row['key']), String(row['sync'])]))
    },

    async recordDeleted(run, records) {
      await db.transaction(async (session) => {
        await session.run(
          `DELETE FROM accepted USING unnest($2::text[]) AS gone (record_id)
           WHERE accepted.destination IN (SELECT other.id ${besides} WHERE runs.id = $1)
             AND hashtextextended(accepted.record_id, 0) = hashtextextended(gone.record_id, 0)
             AND accepted.record_id = gone.record_id`,
          [run, records.map(({ recordId }) => recordId)],
        )
        await session.run(
          `DELETE FROM accepted USING unnest($2::text[]) AS gone (key)
           WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
             AND hashtextextended(accepted.key, 0) = hashtextextended(gone.key, 0)
             AND accepted.key = gone.key`,
          [run, records.map(({ key }) => key)],
        )
        await session.run(
          `UPDATE differences SET repaired = 1 FROM unnest($1::integer[], $2::text[]) AS gone (run, subject)
           WHERE ${isOfSubject('gone')} AND kind = 'extra'`,
          [records.map(() => run), records.map(subjectOf)],
        )
      })
    },

    async settleDifferences(run) {
      let after = 0
      // Bounded by the differences of the run: every pass goes beyond the last one, or ends.
      for (;;) {
        const slice = await db.one(
          `SELECT max(number) AS last FROM
             (SELECT number FROM differences WHERE run = $1 AND number > $2 ORDER BY number LIMIT $3) AS slice`,
          [run, after, LEDGER_ROWS_MAX],
        )
        if (!slice || slice['last'] === null) return
        const last = Number(slice['last'])
        await db.run(
          `UPDATE differences SET repaired = 1 WHERE run = $1 AND number > $2 AND number <= $3 AND repaired = 0
             AND (SELECT state IN (${writtenStates}) AND coalesce(verified, 'equal') = 'equal'
               FROM items WHERE items.run = differences.run AND items.ordinal = differences.ordinal)`,
          [run, after, last],
        )
        after = last
      }
    },

    async differenceCounts(run) {
      return differenceCountsOfRows(
        await db.all(
          `SELECT kind, count(*) AS found, count(*) FILTER (WHERE repaired = 0) AS remaining FROM
             (SELECT kind, min(repaired) AS repaired FROM differences
              WHERE run = $1 GROUP BY subject, stream, kind) AS records
           GROUP BY kind`,
          [run],
        ),
      )
    },

    async differenceGroups(run) {
      const rows = await db.all(
        `SELECT stream, kind, field, whose, count(*) AS differences, sum(repaired) AS repaired,
           min(ordinal) AS example
         FROM differences WHERE run = $1 GROUP BY stream, kind, field, whose
         ORDER BY differences DESC, stream COLLATE "C", kind COLLATE "C", field COLLATE "C" NULLS FIRST,
           whose COLLATE "C" LIMIT 1000`,
        [run],
      )
      return rows.map(differenceGroupOfRow)
    },

    async differences(run, { after, limit, kind, isRepaired }) {
      const rows = await db.all(
        `SELECT * FROM differences WHERE run = $1 AND number > $2 AND ($4::text IS NULL OR kind = $4::text)
           AND ($5::smallint IS NULL OR repaired = $5::smallint) ORDER BY number LIMIT $3`,
        [run, after, limit, kind ?? null, isRepaired === undefined ? null : Number(isRepaired)],
      )
      return {
        rows: rows.map(differenceOfRow),
        next: rows.length < limit ? null : Number(rows.at(-1)!['number']),
      }
    },

    async reconciled(sync) {
      const verified = await db.one(
        `SELECT verified_through FROM runs WHERE sync = $1 AND purpose = 'reconcile' AND mode = 'run'
           AND verified_through IS NOT NULL ORDER BY id DESC LIMIT 1`,
        [sync],
      )
      return {
        verifiedThrough: verified ? (verified['verified_through'] as Date).toISOString() : null,
      }
    },

    async loadStepState(run, stream) {
      const row = await db.one(
        'SELECT place FROM streams WHERE run = $1 AND stream = $2 AND place IS NOT NULL',
        [run, stream],
      )
      return row ? String(row['place']) : null
    },

    async saveStepState(run, stream, place) {
      await db.run(
        `INSERT INTO streams (run, stream, place, state, requests, read, inserted, changed, unchanged, deleted)
           SELECT id, $2::text, $3::text, 'place', 0, 0, 0, 0, 0, 0 FROM runs
           WHERE id = $1 AND state IN (${liveStates})
         ON CONFLICT (run, stream) DO UPDATE SET place = excluded.place`,
        [run, stream, place],
      )
    },

    async noteRequests(run, step, count) {
      await db.run(
        `INSERT INTO streams (run, stream, state, requests, read, inserted, changed, unchanged, deleted)
           SELECT id, $2::text, 'place', $3::integer, 0, 0, 0, 0, 0 FROM runs
           WHERE id = $1 AND state IN (${liveStates})
         ON CONFLICT (run, stream) DO UPDATE SET requests = streams.requests + excluded.requests`,
        [run, step, count],
      )
    },
  }
}
