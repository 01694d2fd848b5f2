// What was accepted, by key and by record.

import { OTHER_KEY } from '../../core/domain/held-back.ts'
import type { AcceptedRecords, GoneRecord } from '../roles/accepted-records.ts'
import {
  acceptedOfKey,
  acceptedOfRow,
  readCorrectedRow,
  recordsColumn,
  keptBeforeOfRow,
  sentInDoubtOfRow,
} from '../rows/accepted.ts'
import { HASH_IN_DOUBT, IS_NOT_IN_DOUBT } from '../rows/removals.ts'
import { subjectOf } from '../rows/differences.ts'
import { isBroughtIn, isOfRow, PLANNED_COLUMNS, plannedOfRow } from '../rows/items.ts'
import { isOfSubject } from './differences.ts'
import { withPayload } from './items.ts'
import { itemAt, itemsWith, originOf } from './origins.ts'
import { pageOfTexts } from './pages.ts'
import type { PostgresDatabase, Session } from './session.ts'

const DESTINATION = '(SELECT destination FROM runs WHERE id = $1)'
/** The destination of the run `$1`, as its sync has written to it by whichever address. */
const SAME_AT_ANY_ADDRESS = `(SELECT same.id FROM destinations AS own JOIN destinations AS same
  ON same.sync = own.sync AND same.org_id = own.org_id AND same.object_type = own.object_type
    AND same.matching_property = own.matching_property
  WHERE own.id = ${DESTINATION})`

/** Whether a row of `accepted` has this key, or this record; by its index only. */
export const hasKey = (key: string) =>
  `hashtextextended(accepted.key, 0) = hashtextextended(${key}, 0) AND accepted.key = ${key}`
const hasRecord = (recordId: string) =>
  `hashtextextended(accepted.record_id, 0) = hashtextextended(${recordId}, 0)
    AND accepted.record_id = ${recordId}`

/** True for an item whose key the run's destination has accepted, and null for the others. */
const IS_KNOWN = `(SELECT true FROM accepted WHERE destination = ${DESTINATION} AND ${hasKey('items.key')})`

/** The destinations that hold records of the same org and type as the destination `own` of a run, itself included. */
const OF_ORG = `FROM runs JOIN destinations AS own ON own.id = runs.destination
  JOIN destinations AS other ON other.org_id = own.org_id AND other.object_type = own.object_type`
/** The same at its origin. */
const OF_TYPE = `${OF_ORG} AND other.origin = own.origin`

const ELSEWHERE_SQL = `SELECT asked.key, min(held.sync COLLATE "C") AS sync
  FROM unnest($2::text[], $3::text[]) AS asked (key, record_id) CROSS JOIN LATERAL
    (SELECT other.sync ${OF_TYPE} AND other.sync <> own.sync
       AND other.matching_property = own.matching_property
     JOIN accepted ON accepted.destination = other.id AND ${hasKey('asked.key')}
     WHERE runs.id = $1
     UNION ALL
     SELECT other.sync ${OF_TYPE} AND other.sync <> own.sync
     JOIN accepted ON accepted.destination = other.id AND ${hasRecord('asked.record_id')}
     WHERE runs.id = $1) AS held
  GROUP BY asked.key`

const ofRecord = (table: string) =>
  `hashtextextended(${table}.record_id, ${table}.run) = hashtextextended(asked.record_id, $1)
    AND ${table}.record_id = asked.record_id AND ${table}.run + 0 = $1`

const OF_ROWS_SQL = `SELECT asked.record_id FROM unnest($2::text[]) AS asked (record_id)
  WHERE (SELECT true FROM items WHERE ${ofRecord('items')} LIMIT 1)
    OR (SELECT true FROM differences
      WHERE ${ofRecord('differences')} AND differences.ordinal IS NOT NULL LIMIT 1)
    OR (SELECT true FROM accepted
      JOIN LATERAL (SELECT 1 FROM items AS own
        WHERE ${itemsWith('$1', 'accepted.key', 'own')} AND ${isOfRow('own')} LIMIT 1) AS own ON true
      WHERE accepted.destination = ${DESTINATION} AND ${hasRecord('asked.record_id')} LIMIT 1)`

const CORRECTED_SQL = `SELECT asked.key, held.run AS retry, came.origin >> 32 AS run, came.origin & 4294967295 AS ordinal
  FROM unnest($2::text[]) AS asked (key)
  JOIN LATERAL (SELECT accepted.run, accepted.destination FROM accepted
    WHERE accepted.destination = ${DESTINATION} AND ${hasKey('asked.key')} LIMIT 1) AS held ON true
  JOIN runs AS retry ON retry.id = held.run AND retry.purpose = 'retry'
  LEFT JOIN LATERAL (SELECT ${originOf('brought.run', 'brought.ordinal')} AS origin
    FROM items AS brought WHERE ${itemsWith('held.run', 'asked.key', 'brought')} AND ${isBroughtIn('brought')}
    ORDER BY brought.ordinal DESC LIMIT 1) AS came ON true
  WHERE (SELECT true FROM ${itemAt('(came.origin >> 32)::integer', '(came.origin & 4294967295)::integer')} AS corrected
      WHERE corrected.key = asked.key) IS NULL
    AND (SELECT true FROM runs AS since
      JOIN LATERAL (SELECT 1 FROM items AS own
        WHERE ${itemsWith('since.id', 'asked.key', 'own')} LIMIT 1) AS own ON true
      WHERE since.sync = retry.sync AND since.mode = 'run' AND since.id > held.run
        AND since.destination = held.destination AND since.of_run IS NULL LIMIT 1) IS NULL`

const DOUBTED = `FROM removals WHERE removals.run = $1 AND removals.number BETWEEN $2 AND $3 AND removals.state IN ('in_flight', 'outcome_unknown')
  AND ${IS_NOT_IN_DOUBT}`
/** Of records that may be gone, by the removals `$2` to `$3` that a run has in flight, or that failed: their rows are sent again. */
export const DOUBT_SQL: readonly string[] = [
  `UPDATE accepted SET hash = ${HASH_IN_DOUBT} ${DOUBTED}
     AND accepted.destination = ${DESTINATION} AND ${hasKey('removals.key')}`,
  `UPDATE accepted SET hash = ${HASH_IN_DOUBT} ${DOUBTED}
     AND accepted.destination IN (SELECT other.id ${OF_TYPE} WHERE runs.id = $1) AND ${hasRecord('removals.record_id')}`,
]

/** Nothing is accepted any more for these keys of the run's destination. */
export const forgetKeys = (session: Session, run: number, keys: readonly string[]) =>
  session.run(
    `DELETE FROM accepted USING unnest($2::text[]) AS gone (key)
     WHERE accepted.destination = ${DESTINATION} AND ${hasKey('gone.key')}`,
    [run, keys],
  )

/** Marks the differences as repaired that say that the records of these keys are extra. */
export const repairExtra = (
  session: Session,
  run: number,
  records: readonly { readonly key: string }[],
): Promise<unknown> =>
  session.run(
    `UPDATE differences SET repaired = 1 FROM unnest($1::integer[], $2::text[]) AS gone (run, subject)
     WHERE ${isOfSubject('gone')} AND kind = 'extra'`,
    [records.map(() => run), records.map(({ key }) => subjectOf({ key, recordId: null }))],
  )

/**
 * The same for records that are gone, whichever sync wrote them, and for their keys: of one that was gone before, only if its key has no
 * other record by now.
 */
export async function forgetRecords(
  session: Session,
  run: number,
  records: readonly GoneRecord[],
): Promise<void> {
  await session.run(
    `DELETE FROM accepted USING unnest($2::text[]) AS gone (record_id)
     WHERE accepted.destination IN (SELECT other.id ${OF_TYPE} WHERE runs.id = $1)
       AND ${hasRecord('gone.record_id')}`,
    [run, records.map(({ recordId }) => recordId)],
  )
  await session.run(
    `DELETE FROM accepted USING unnest($2::text[], $3::text[], $4::integer[]) AS gone (key, record_id, was_gone)
     WHERE accepted.destination = ${DESTINATION} AND ${hasKey('gone.key')}
       AND (gone.was_gone = 0 OR accepted.record_id IS NULL OR accepted.record_id = gone.record_id)`,
    [
      run,
      records.map(({ key }) => key),
      records.map(({ recordId }) => recordId),
      records.map(({ wasGone = false }) => (wasGone ? 1 : 0)),
    ],
  )
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const acceptedRecordMethods = (db: PostgresDatabase): AcceptedRecords => ({
  async knownKeys(run) {
    const row = await db.one(
      `SELECT count(*) AS keys FROM items WHERE run = $1 AND state = 'pending' AND ${IS_KNOWN}`,
      [run],
    )
    return Number(row?.['keys'] ?? 0)
  },

  async hasAccepted(run) {
    const row = await db.one(
      `SELECT 1 FROM accepted WHERE destination = ${DESTINATION} AND record_id IS NOT NULL LIMIT 1`,
      [run],
    )
    return row !== undefined
  },

  async keysWithoutRecord(run, { after, limit }) {
    const { rows } = await pageOfTexts(
      db,
      `SELECT ${PLANNED_COLUMNS}, raw_key FROM items ${withPayload}
       WHERE run = $1 AND ordinal > $2 AND state = 'pending' AND ${IS_KNOWN} IS NULL
       ORDER BY ordinal LIMIT $3`,
      [run, after, limit],
      'payload',
    )
    return rows.map(plannedOfRow)
  },

  async acceptedRecords(run, keys) {
    const rows = await db.all(
      `SELECT asked.key, own.record_id, own.run, own.records FROM unnest($2::text[]) AS asked (key)
         JOIN LATERAL (SELECT record_id, run, records FROM accepted
           WHERE accepted.destination = ${DESTINATION} AND ${hasKey('asked.key')}
             AND accepted.record_id IS NOT NULL LIMIT 1) AS own ON true`,
      [run, keys],
    )
    return new Map(rows.map((row) => [String(row['key']), acceptedOfKey(row)]))
  },

  async acceptedValues(run, keys) {
    const rows = await db.all(
      `SELECT own.* FROM unnest($2::text[]) AS asked (key)
         JOIN LATERAL (SELECT * FROM accepted
           WHERE accepted.destination = ${DESTINATION} AND ${hasKey('asked.key')} LIMIT 1) AS own ON true`,
      [run, keys],
    )
    return new Map(rows.map((row) => [String(row['key']), acceptedOfRow(row)]))
  },

  async acceptedOfRecords(run, records) {
    const ofSync = `SELECT other.id ${OF_ORG} AND other.sync = own.sync`
    const rows = await db.all(
      `SELECT accepted.* FROM unnest($2::text[]) AS asked (record_id)
         JOIN accepted ON ${hasRecord('asked.record_id')} AND accepted.destination IN (${ofSync} WHERE runs.id = $1)
       UNION ALL SELECT accepted.* FROM unnest($3::text[]) AS asked (key)
         JOIN accepted ON ${hasKey('asked.key')} AND accepted.record_id IS NULL AND accepted.destination IN
           (${ofSync} AND other.matching_property = own.matching_property WHERE runs.id = $1)`,
      [
        run,
        [...new Set(records.map(({ recordId }) => recordId))],
        [...new Set(records.map(({ key }) => key))],
      ],
    )
    return rows.map((row) => acceptedOfRow(row))
  },

  async recordsElsewhere(run, keys) {
    const rows = await db.all(
      `SELECT asked.key, held.record_id, held.run, held.records FROM unnest($2::text[]) AS asked (key)
         JOIN LATERAL (SELECT record_id, accepted.run, records ${OF_TYPE} AND other.sync <> own.sync
             AND other.matching_property = own.matching_property
           JOIN accepted ON accepted.destination = other.id AND ${hasKey('asked.key')}
             AND accepted.record_id IS NOT NULL
           WHERE runs.id = $1 ORDER BY accepted.run DESC LIMIT 1) AS held ON true`,
      [run, keys],
    )
    return new Map(rows.map((row) => [String(row['key']), acceptedOfKey(row)]))
  },

  async noteRecordsOfKeys(run, keys) {
    await db.transaction((session) =>
      session.run(
        `UPDATE accepted SET records = noted.records,
           hash = CASE WHEN noted.records IS NULL THEN accepted.hash END
         FROM unnest($2::text[], $3::text[]) AS noted (key, records)
         WHERE accepted.destination = ${DESTINATION} AND ${hasKey('noted.key')}`,
        [run, keys.map(({ key }) => key), keys.map(({ records }) => recordsColumn(records))],
      ),
    )
  },

  async runsInDoubt(run, { ofAnyKey }) {
    const rows = await db.all(
      `SELECT id FROM runs WHERE destination IN ${SAME_AT_ANY_ADDRESS} AND id < $1
         AND (counts->>'inDoubt')::bigint > 0
         AND (CAST($2 AS integer) = 1 OR key_fingerprint IS DISTINCT FROM (SELECT key_fingerprint FROM runs WHERE id = $1)
           OR EXISTS (SELECT 1 FROM streams WHERE run = runs.id AND stream = '${OTHER_KEY}'))
       ORDER BY id DESC LIMIT 20`,
      [run, ofAnyKey ? 1 : 0],
    )
    return rows.map((row) => Number(row['id']))
  },

  async keysInDoubt(run, keys) {
    const rows = await db.all(
      `SELECT asked.key, doubtful.hash FROM unnest($2::text[]) AS asked (key)
         CROSS JOIN LATERAL (SELECT hash FROM items
           WHERE hashtextextended(items.key, items.run) = hashtextextended(asked.key, $1)
             AND items.key = asked.key AND items.run + 0 = $1
             AND in_doubt = 1 AND coalesce(verified, '') <> 'equal' LIMIT 1) AS doubtful`,
      [run, keys],
    )
    return new Map(rows.map((row) => [String(row['key']), String(row['hash'])]))
  },

  async sentInDoubt(run, keys) {
    const rows = await db.all(
      `SELECT asked.key, doubtful.hash, image.sent, image.verdict FROM unnest($2::text[]) AS asked (key)
         CROSS JOIN LATERAL (SELECT run, ordinal, hash FROM items
           WHERE hashtextextended(items.key, items.run) = hashtextextended(asked.key, $1)
             AND items.key = asked.key AND items.run + 0 = $1
             AND in_doubt = 1 AND coalesce(verified, '') <> 'equal') AS doubtful
         LEFT JOIN before_images AS image ON image.run = doubtful.run AND image.ordinal = doubtful.ordinal`,
      [run, keys],
    )
    return rows.map(sentInDoubtOfRow)
  },

  async keptBefore(rows) {
    const found = await db.all(
      `SELECT asked.run, asked.key, image.kept FROM unnest($1::bigint[], $2::text[]) AS asked (run, key)
         CROSS JOIN LATERAL (SELECT run, ordinal FROM items
           WHERE hashtextextended(items.key, items.run) = hashtextextended(asked.key, asked.run)
             AND items.key = asked.key AND items.run + 0 = asked.run) AS item
         JOIN before_images AS image ON image.run = item.run AND image.ordinal = item.ordinal`,
      [rows.map(({ run }) => run), rows.map(({ key }) => key)],
    )
    return found.map(keptBeforeOfRow)
  },

  async absentWithSeveral(run) {
    const row = await db.one(
      `SELECT count(*) AS keys FROM accepted
       WHERE destination = ${DESTINATION} AND records IS NOT NULL
         AND (SELECT true FROM items
              WHERE hashtextextended(items.key, items.run) = hashtextextended(accepted.key, $1)
                AND items.key = accepted.key AND items.run + 0 = $1 LIMIT 1) IS NULL`,
      [run],
    )
    return Number(row?.['keys'] ?? 0)
  },

  async absentKeys(run, { after, limit }) {
    const rows = await db.all(
      `SELECT key, record_id, hash, marks, run, read_back, normalised, records,
         hashtextextended(key, 0)::text AS place,
         (SELECT true FROM items
          WHERE hashtextextended(items.key, items.run) = hashtextextended(accepted.key, $1)
            AND items.key = accepted.key AND items.run + 0 = $1 AND ${isOfRow('items')} LIMIT 1) AS present
       FROM accepted WHERE destination = ${DESTINATION}
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

  async writtenElsewhere(run, records) {
    const keys = records.map(({ key }) => key)
    const recordIds = records.map(({ recordId }) => recordId)
    const rows = await db.all(ELSEWHERE_SQL, [run, keys, recordIds])
    return new Map(rows.map((row) => [String(row['key']), String(row['sync'])]))
  },

  async recordsOfRows(run, recordIds) {
    const rows = await db.all(OF_ROWS_SQL, [run, recordIds])
    return new Set(rows.map((row) => String(row['record_id'])))
  },

  async broughtByCorrection(run, keys) {
    return new Map((await db.all(CORRECTED_SQL, [run, keys])).map(readCorrectedRow))
  },

  async recordDeleted(run, records) {
    await db.transaction(async (session) => {
      await forgetRecords(session, run, records)
      await repairExtra(session, run, records)
    })
  },
})
