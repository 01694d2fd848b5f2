// What was accepted, by key and by record. Keys are asked one by one: in a JSON list SQLite ends a text at U+0000.

import { OTHER_KEY } from '../../core/domain/held-back.ts'
import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
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
import { bulkStatement } from '../../sqlite/bulk.ts'
import type { SqliteDatabase } from './database.ts'
import { originOf } from './origins.ts'

const DESTINATION = '(SELECT destination FROM runs WHERE id = ?1)'
/** The destination of the run `?1`, as its sync has written to it by whichever address. */
const SAME_AT_ANY_ADDRESS = `(SELECT same.id FROM destinations AS own JOIN destinations AS same
  ON same.sync = own.sync AND same.org_id = own.org_id AND same.object_type = own.object_type
    AND same.matching_property = own.matching_property
  WHERE own.id = ${DESTINATION})`
const IS_KNOWN = `EXISTS (SELECT 1 FROM accepted WHERE accepted.destination = ${DESTINATION} AND accepted.key = items.key)`

/** Whether a record is one of the run's rows: `?1` is the run, `?2` the record's id. */
const OF_ROWS_SQL = `SELECT 1 FROM items INDEXED BY items_record WHERE run = ?1 AND record_id = ?2
  UNION ALL
  SELECT 1 FROM differences INDEXED BY differences_record
    WHERE run = ?1 AND record_id = ?2 AND ordinal IS NOT NULL
  UNION ALL
  SELECT 1 FROM accepted INDEXED BY accepted_record
    CROSS JOIN items INDEXED BY items_key ON items.run = ?1 AND items.key = accepted.key AND ${isOfRow('items')}
    WHERE accepted.destination = ${DESTINATION} AND accepted.record_id = ?2
  LIMIT 1`

const CORRECTED_SQL = `SELECT held.key, held.run AS retry, held.origin >> 32 AS run, held.origin & 4294967295 AS ordinal
  FROM (SELECT accepted.key, accepted.run, accepted.destination, runs.sync,
      (SELECT ${originOf('items.run', 'items.ordinal')} FROM items INDEXED BY items_key
       WHERE items.run = accepted.run AND items.key = accepted.key AND ${isBroughtIn('items')}
       ORDER BY items.ordinal DESC LIMIT 1) AS origin
    FROM accepted JOIN runs ON runs.id = accepted.run
    WHERE accepted.destination = ${DESTINATION} AND accepted.key = ?2
      AND runs.purpose = 'retry') AS held
  WHERE NOT EXISTS (SELECT 1 FROM items AS corrected
      WHERE corrected.run = held.origin >> 32 AND corrected.ordinal = held.origin & 4294967295
        AND corrected.key = held.key)
    AND NOT EXISTS (SELECT 1 FROM runs AS since
      CROSS JOIN items AS own INDEXED BY items_key ON own.run = since.id AND own.key = held.key
      WHERE since.sync = held.sync AND since.mode = 'run' AND since.id > held.run
        AND since.destination = held.destination AND since.of_run IS NULL)`

/** The destinations of the run's org and object type, in the order of their syncs; its own is one of them. */
function destinationsOfOrg(db: SqliteDatabase, run: number) {
  return db
    .sql(
      `SELECT others.id, others.sync, others.sync = own.sync AS is_own, others.origin = own.origin AS is_here,
         others.matching_property = own.matching_property AS has_same_keys
       FROM runs CROSS JOIN destinations AS own ON own.id = runs.destination
         CROSS JOIN destinations AS others
           ON others.org_id = own.org_id AND others.object_type = own.object_type
       WHERE runs.id = ? ORDER BY others.sync, others.id`,
    )
    .all(run)
    .map((row) => ({
      id: Number(row['id']),
      sync: String(row['sync']),
      isOwn: row['is_own'] === 1,
      isHere: row['is_here'] === 1,
      hasSameKeys: row['has_same_keys'] === 1,
    }))
}

/** Those of them at the run's origin. */
const destinationsOfType = (db: SqliteDatabase, run: number) =>
  destinationsOfOrg(db, run).filter(({ isHere }) => isHere)

/**
 * Nothing is accepted any more for records that are gone, whichever sync wrote them, nor for their keys: of one that was gone before, only
 * if its key has no other record by now. Within a transaction.
 */
export function forgetRecords(
  db: SqliteDatabase,
  run: number,
  records: readonly GoneRecord[],
): void {
  const forget = db.sql(
    `DELETE FROM accepted WHERE destination = ${DESTINATION} AND key = ?2
       AND (NOT ?3 OR record_id IS NULL OR record_id = ?4)`,
  )
  const forgetElsewhere = db.sql(
    'DELETE FROM accepted INDEXED BY accepted_record WHERE destination = ? AND record_id = ?',
  )
  const destinations = destinationsOfType(db, run)
  for (const { key, recordId, wasGone = false } of records) {
    forget.run(run, key, wasGone ? 1 : 0, recordId)
    for (const { id } of destinations) forgetElsewhere.run(id, recordId)
  }
}

const IN_DOUBT = `accepted SET hash = ${HASH_IN_DOUBT}`
const DOUBT_KEY = `UPDATE ${IN_DOUBT} WHERE destination = ${DESTINATION} AND key = ?2 AND ${IS_NOT_IN_DOUBT}`
const DOUBT_RECORD = `UPDATE ${IN_DOUBT} WHERE destination = ? AND record_id = ? AND ${IS_NOT_IN_DOUBT}`

/** Marks the differences as repaired that say that these records are extra. Within a transaction. */
export function repairExtra(
  db: SqliteDatabase,
  run: number,
  records: readonly { readonly key: string }[],
): void {
  const repair = db.sql(
    "UPDATE differences INDEXED BY differences_subject SET repaired = 1 WHERE run = ? AND subject = ? AND kind = 'extra'",
  )
  for (const { key } of records) repair.run(run, subjectOf({ key, recordId: null }))
}

/** The same for records that may be gone: their rows are sent again. */
export function doubtRecords(
  db: SqliteDatabase,
  run: number,
  records: readonly { readonly key: string; readonly recordId: string | null }[],
): void {
  const destinations = destinationsOfType(db, run)
  for (const { key, recordId } of records) {
    db.sql(DOUBT_KEY).run(run, key)
    if (recordId === null) continue
    for (const { id } of destinations) db.sql(DOUBT_RECORD).run(id, recordId)
  }
}

const RECORDS_OF_KEYS = bulkStatement(
  '(?)',
  (keys) => `WITH keys (key) AS (VALUES ${keys})
  SELECT accepted.key, record_id, run, records FROM keys CROSS JOIN accepted
    ON destination = (SELECT destination FROM runs WHERE id = ?) AND accepted.key = keys.key
  WHERE record_id IS NOT NULL`,
)

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const acceptedRecordMethods = (db: SqliteDatabase): AcceptedRecords => ({
  async knownKeys(run) {
    const row = db
      .sql(
        `SELECT count(*) AS keys FROM items WHERE run = ?1 AND state = 'pending' AND ${IS_KNOWN}`,
      )
      .get(run)
    return Number(row?.['keys'] ?? 0)
  },

  async hasAccepted(run) {
    const row = db
      .sql(
        `SELECT 1 FROM accepted WHERE destination = ${DESTINATION} AND record_id IS NOT NULL LIMIT 1`,
      )
      .get(run)
    return row !== undefined
  },

  async keysWithoutRecord(run, { after, limit }) {
    return db
      .sql(
        `SELECT ${PLANNED_COLUMNS}, raw_key FROM items JOIN payloads USING (run, ordinal)
         WHERE run = ?1 AND ordinal > ?2 AND state = 'pending' AND NOT ${IS_KNOWN}
         ORDER BY ordinal LIMIT ?3`,
      )
      .upTo(LEDGER_CHARS_MAX, run, after, limit)
      .rows.map(plannedOfRow)
  },

  async acceptedRecords(run, keys) {
    const values = keys.map((key) => [key])
    const rows = RECORDS_OF_KEYS.all(db, values, { behind: [run] })
    return new Map(rows.map((row) => [String(row['key']), acceptedOfKey(row)]))
  },

  async acceptedValues(run, keys) {
    const find = db.sql(
      `SELECT * FROM accepted WHERE destination = ${DESTINATION} AND accepted.key = ?2`,
    )
    return new Map(
      keys.flatMap((key) => {
        const row = find.get(run, key)
        return row ? [[key, acceptedOfRow(row)]] : []
      }),
    )
  },

  async acceptedOfRecords(run, records) {
    const own = destinationsOfOrg(db, run).filter(({ isOwn }) => isOwn)
    const byRecord = db.sql(
      'SELECT * FROM accepted INDEXED BY accepted_record WHERE destination = ? AND record_id = ?',
    )
    const byKey = db.sql(
      'SELECT * FROM accepted WHERE destination = ? AND key = ? AND record_id IS NULL',
    )
    const recordIds = new Set(records.map(({ recordId }) => recordId))
    const keys = new Set(records.map(({ key }) => key))
    return own
      .flatMap(({ id, hasSameKeys }) => [
        ...[...recordIds].flatMap((recordId) => byRecord.all(id, recordId)),
        ...(hasSameKeys ? [...keys].flatMap((key) => byKey.all(id, key)) : []),
      ])
      .map((row) => acceptedOfRow(row))
  },

  async recordsElsewhere(run, keys) {
    const others = destinationsOfType(db, run).filter((one) => !one.isOwn && one.hasSameKeys)
    if (others.length === 0) return new Map()
    const ids = others.map(({ id }) => id).join()
    const find = db.sql(
      `SELECT record_id, run, records FROM accepted
       WHERE destination IN (${ids}) AND key = ? AND record_id IS NOT NULL ORDER BY run DESC LIMIT 1`,
    )
    return new Map(
      keys.flatMap((key) => {
        const row = find.get(key)
        return row ? [[key, acceptedOfKey(row)]] : []
      }),
    )
  },

  async noteRecordsOfKeys(run, keys) {
    const note = db.sql(
      `UPDATE accepted SET records = ?3, hash = CASE WHEN ?3 IS NULL THEN hash END
       WHERE destination = ${DESTINATION} AND key = ?2`,
    )
    db.transaction(() => {
      for (const { key, records } of keys) note.run(run, key, recordsColumn(records))
    })
  },

  async runsInDoubt(run, { ofAnyKey }) {
    return db
      .sql(
        `SELECT id FROM runs WHERE destination IN ${SAME_AT_ANY_ADDRESS} AND id < ?1
           AND json_extract(counts, '$.inDoubt') > 0
           AND (?2 OR key_fingerprint IS NOT (SELECT key_fingerprint FROM runs WHERE id = ?1)
             OR EXISTS (SELECT 1 FROM streams WHERE run = runs.id AND stream = '${OTHER_KEY}'))
         ORDER BY id DESC LIMIT 20`,
      )
      .all(run, ofAnyKey ? 1 : 0)
      .map((row) => Number(row['id']))
  },

  async keysInDoubt(run, keys) {
    const find = db.sql(
      `SELECT hash FROM items INDEXED BY items_key WHERE run = ?1 AND key = ?2
         AND in_doubt = 1 AND coalesce(verified, '') <> 'equal' LIMIT 1`,
    )
    return new Map(
      keys.flatMap((key) => {
        const row = find.get(run, key)
        return row === undefined ? [] : [[key, String(row['hash'])]]
      }),
    )
  },

  async sentInDoubt(run, keys) {
    const find = db.sql(
      `SELECT items.key, items.hash, image.sent, image.verdict FROM items INDEXED BY items_key
         LEFT JOIN before_images AS image ON image.run = items.run AND image.ordinal = items.ordinal
       WHERE items.run = ?1 AND items.key = ?2 AND in_doubt = 1 AND coalesce(verified, '') <> 'equal'`,
    )
    return keys.flatMap((key) => find.all(run, key).map(sentInDoubtOfRow))
  },

  async keptBefore(rows) {
    const find = db.sql(
      `SELECT items.run, items.key, image.kept FROM items INDEXED BY items_key
         JOIN before_images AS image ON image.run = items.run AND image.ordinal = items.ordinal
       WHERE items.run = ?1 AND items.key = ?2`,
    )
    return rows.flatMap(({ run, key }) => find.all(run, key).map(keptBeforeOfRow))
  },

  async absentWithSeveral(run) {
    const row = db
      .sql(
        `SELECT count(*) AS keys FROM accepted INDEXED BY accepted_several
         WHERE destination = ${DESTINATION} AND records IS NOT NULL AND NOT EXISTS
           (SELECT 1 FROM items INDEXED BY items_key WHERE items.run = ?1 AND items.key = accepted.key)`,
      )
      .get(run)
    return Number(row?.['keys'] ?? 0)
  },

  async absentKeys(run, { after, limit }) {
    const rows = db
      .sql(
        `SELECT key, record_id, hash, marks, run, read_back, normalised, records, EXISTS
           (SELECT 1 FROM items INDEXED BY items_key WHERE items.run = ?1 AND items.key = accepted.key AND ${isOfRow('items')}) AS present
         FROM accepted WHERE destination = ${DESTINATION} AND key ${after === null ? '>=' : '>'} ?2
         ORDER BY key LIMIT ?3`,
      )
      .all(run, after ?? '', limit)
    return {
      keys: rows
        .filter((row) => row['present'] === 0 && row['record_id'] !== null)
        .map((row) => ({ ...acceptedOfRow(row), place: String(row['key']) })),
      next: rows.length < limit ? null : String(rows.at(-1)!['key']),
    }
  },

  async writtenElsewhere(run, records) {
    const others = destinationsOfType(db, run).filter(({ isOwn }) => !isOwn)
    const byKey = db.sql('SELECT 1 FROM accepted WHERE destination = ? AND key = ?')
    const byRecord = db.sql(
      'SELECT 1 FROM accepted INDEXED BY accepted_record WHERE destination = ? AND record_id = ?',
    )
    const written = new Map<string, string>()
    for (const { key, recordId } of records) {
      const other = others.find(
        ({ id, hasSameKeys }) => (hasSameKeys && byKey.get(id, key)) || byRecord.get(id, recordId),
      )
      if (other) written.set(key, other.sync)
    }
    return written
  },

  async recordsOfRows(run, recordIds) {
    const find = db.sql(OF_ROWS_SQL)
    return new Set(recordIds.filter((id) => find.get(run, id) !== undefined))
  },

  async broughtByCorrection(run, keys) {
    const find = db.sql(CORRECTED_SQL)
    return new Map(
      keys.flatMap((key) => {
        const row = find.get(run, key)
        return row === undefined ? [] : [readCorrectedRow(row)]
      }),
    )
  },

  async recordDeleted(run, records) {
    db.transaction(() => {
      forgetRecords(db, run, records)
      repairExtra(db, run, records)
    })
  },
})
