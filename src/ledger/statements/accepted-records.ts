// What was accepted, by key and by record.

import { OTHER_KEY } from '../../core/domain/held-back.ts'
import type { AcceptedRecords, KeyedRecord } from '../roles/accepted-records.ts'
import {
  acceptedOfKey,
  acceptedOfRow,
  keptBeforeOfRow,
  readCorrectedRow,
  recordsColumn,
  sentInDoubtOfRow,
} from '../rows/accepted.ts'
import { subjectOf } from '../rows/differences.ts'
import { isBroughtIn, isOfRow, PLANNED_COLUMNS, plannedOfRow } from '../rows/items.ts'
import { HASH_IN_DOUBT, IS_NOT_IN_DOUBT } from '../rows/removals.ts'
import type { Row } from '../rows/values.ts'
import type { StatementRunner } from './engine.ts'
import { DESTINATION, exists, type LinkSql } from './link-sql.ts'
import {
  readGiven,
  writeGiven,
  type Given,
  type Transaction,
  type TransactionRunner,
} from './transaction.ts'

const keysOf = (keys: readonly string[]): Given => ({
  columns: { key: 'text' },
  rows: keys.map((key) => [key]),
})
const idsOf = (ids: readonly string[]): Given => ({
  columns: { record_id: 'text' },
  rows: ids.map((id) => [id]),
})
/** A key whose record is gone; null: nothing is known of it but the key. */
type GoneKey = Omit<KeyedRecord, 'recordId'> & {
  readonly recordId: string | null
  readonly wasGone?: boolean
}
const knownIds = (records: readonly Pick<GoneKey, 'recordId'>[]): Given =>
  idsOf(records.flatMap(({ recordId }) => (recordId === null ? [] : [recordId])))
const recordsGiven = (records: readonly KeyedRecord[]): Given => ({
  columns: { key: 'text', record_id: 'text' },
  rows: records.map(({ key, recordId }) => [key, recordId]),
})

const IN_DOUBT = `in_doubt = 1 AND coalesce(verified, '') <> 'equal'`

/** The destinations of the org and object type of the run `$1`, as `other`, its own included. */
const othersOf = ({ join }: LinkSql, which: string): string => `(SELECT other.id, other.sync,
      CASE WHEN other.matching_property = own.matching_property THEN 1 ELSE 0 END AS has_same_keys
    FROM runs ${join} destinations AS own ON own.id = runs.destination
      ${join} destinations AS other ON other.org_id = own.org_id AND other.object_type = own.object_type
    WHERE runs.id = $1 AND ${which}) AS other`
const IS_HERE = 'other.origin = own.origin'
const IS_ELSEWHERE = `${IS_HERE} AND other.sync <> own.sync`

/** Steps of transactions that take back what was accepted. */
export function acceptedSteps(sql: LinkSql) {
  const others = othersOf(sql, IS_HERE)
  const ofRecord = sql.joined(
    sql.acceptedOfRecord('held', 'other.id', 'given.record_id'),
    'held',
    'held.destination, held.key',
  )
  const ofKey = sql.joined(
    sql.acceptedOfKey('held', DESTINATION, 'given.key'),
    'held',
    'held.destination, held.key, held.record_id',
  )
  const forgetRecords = sql.deleteAccepted(
    `SELECT held.destination, held.key FROM given CROSS JOIN ${others} ${ofRecord}`,
  )
  const forgetKeys = sql.deleteAccepted(`SELECT held.destination, held.key FROM given ${ofKey}
    WHERE given.was_gone = 0 OR held.record_id IS NULL OR held.record_id = given.record_id`)
  const doubt = `UPDATE accepted SET hash = ${HASH_IN_DOUBT}`
  const doubtKeys = `${doubt} FROM given
    WHERE ${sql.acceptedOfKey('accepted', DESTINATION, 'given.key').on} AND ${IS_NOT_IN_DOUBT}`
  const doubtRecords = `${doubt} FROM (SELECT other.id, given.record_id FROM given CROSS JOIN ${others}) AS gone
    WHERE ${sql.acceptedOfRecord('accepted', 'gone.id', 'gone.record_id').on} AND ${IS_NOT_IN_DOUBT}`
  const repair = `UPDATE differences SET repaired = 1 FROM given
    WHERE ${sql.differencesOfSubject('differences', '$1', 'given.subject').on} AND differences.kind = 'extra'`
  return {
    /**
     * Nothing is accepted any more for records that are gone, whichever sync wrote them, nor for their keys: of one that was gone
     * before, only if its key has no other record by now.
     */
    *forgetRecords(run: number, records: readonly GoneKey[]): Transaction<void> {
      yield* writeGiven(knownIds(records), forgetRecords, [run])
      const given: Given = {
        columns: { key: 'text', record_id: 'text', was_gone: 'integer' },
        rows: records.map(({ key, recordId, wasGone = false }) => [key, recordId, wasGone ? 1 : 0]),
      }
      yield* writeGiven(given, forgetKeys, [run])
    },

    /** Of records that may be gone: their rows are sent again. */
    *doubtRecords(
      run: number,
      records: readonly { readonly key: string; readonly recordId: string | null }[],
    ): Transaction<void> {
      yield* writeGiven(keysOf(records.map(({ key }) => key)), doubtKeys, [run])
      yield* writeGiven(knownIds(records), doubtRecords, [run])
    },

    /** Marks the differences as repaired that say that these records are extra. */
    *repairExtra(run: number, records: readonly { readonly key: string }[]): Transaction<void> {
      const given: Given = {
        columns: { subject: 'text' },
        rows: records.map(({ key }) => [subjectOf({ key, recordId: null })]),
      }
      yield* writeGiven(given, repair, [run])
    },
  }
}

/** The destination of the run `$1`, as its sync has written to it by whichever address. */
const SAME_AT_ANY_ADDRESS = `(SELECT same.id FROM destinations AS own JOIN destinations AS same
  ON same.sync = own.sync AND same.org_id = own.org_id AND same.object_type = own.object_type
    AND same.matching_property = own.matching_property
  WHERE own.id = ${DESTINATION})`

// oxlint-disable-next-line max-lines-per-function -- a table of statements
const acceptedTexts = (sql: LinkSql) => {
  const { join } = sql
  const values = sql.acceptedOfKey('own', DESTINATION, 'given.key')
  const held = (by: 'key' | 'record', columns: string) =>
    sql.joined(
      by === 'key'
        ? sql.acceptedOfKey('held', 'other.id', 'given.key')
        : sql.acceptedOfRecord('held', 'other.id', 'given.record_id'),
      'held',
      columns,
    )
  const ofSync = 'other.sync = own.sync'
  const doubtful = sql.joined(
    sql.itemsOfKey('doubtful', '$1', 'given.key'),
    'doubtful',
    'doubtful.run, doubtful.ordinal, doubtful.hash, doubtful.in_doubt, doubtful.verified',
  )
  const kept = sql.joined(
    sql.itemsOfKey('item', 'given.run', 'given.key'),
    'item',
    'item.run, item.ordinal',
  )
  const corrected = sql.joined(
    sql.acceptedOfKey('held', DESTINATION, 'given.key'),
    'held',
    'held.run, held.destination',
  )
  const brought = sql.itemsOfKey('items', 'held.run', 'given.key')
  const row = {
    table: 'items AS corrected',
    on: 'corrected.run = came.origin >> 32 AND corrected.ordinal = (came.origin & 4294967295)',
  }
  return {
    isKnown: exists(sql.acceptedOfKey('known', DESTINATION, 'items.key')),
    values: `SELECT own.* FROM given ${sql.joined(values, 'own', '*')}`,
    ofRecords: `SELECT held.* FROM given CROSS JOIN ${othersOf(sql, ofSync)} ${held('record', '*')}`,
    ofKeys: `SELECT held.* FROM given CROSS JOIN ${othersOf(sql, `${ofSync} AND other.matching_property = own.matching_property`)}
      ${held('key', '*')} WHERE held.record_id IS NULL`,
    elsewhere: `SELECT held.key, held.record_id, held.run, held.records FROM given
      CROSS JOIN ${othersOf(sql, `${IS_ELSEWHERE} AND other.matching_property = own.matching_property`)}
      ${held('key', 'held.key, held.record_id, held.run, held.records')}
      WHERE held.record_id IS NOT NULL ORDER BY held.run`,
    note: `UPDATE accepted SET records = given.records, hash = CASE WHEN given.records IS NULL THEN accepted.hash END
      FROM given WHERE ${sql.acceptedOfKey('accepted', DESTINATION, 'given.key').on}`,
    runsInDoubt: `SELECT id FROM runs WHERE destination IN ${SAME_AT_ANY_ADDRESS} AND id < $1
      AND ${sql.counted('inDoubt')} > 0
      AND (CAST($2 AS integer) = 1 OR key_fingerprint IS DISTINCT FROM (SELECT key_fingerprint FROM runs WHERE id = $1)
        OR EXISTS (SELECT 1 FROM streams WHERE run = runs.id AND stream = '${OTHER_KEY}'))
      ORDER BY id DESC LIMIT 20`,
    inDoubt: `SELECT given.key, doubtful.hash, image.sent, image.verdict FROM given ${doubtful}
      LEFT JOIN before_images AS image ON image.run = doubtful.run AND image.ordinal = doubtful.ordinal
      WHERE doubtful.${IN_DOUBT}`,
    kept: `SELECT given.run, given.key, image.kept FROM given ${kept}
      JOIN before_images AS image ON image.run = item.run AND image.ordinal = item.ordinal`,
    several: `SELECT count(*) AS keys FROM accepted ${sql.indexedBy('accepted_several')}
      WHERE destination = ${DESTINATION} AND records IS NOT NULL
        AND NOT ${exists(sql.itemsOfKey('items', '$1', 'accepted.key'))}`,
    absent: (
      after: string | null,
    ) => `SELECT accepted.*, CAST(${sql.hashed('accepted.key')} AS text) AS place,
        CASE WHEN ${exists(sql.itemsOfKey('items', '$1', 'accepted.key'), isOfRow('items'))} THEN 1 ELSE 0 END AS present
      FROM accepted WHERE destination = ${DESTINATION}${after === null ? '' : ` AND ${sql.hashed('accepted.key')} > $3`}
      ORDER BY ${sql.hashed('accepted.key')} LIMIT $2`,
    written: `SELECT given.key, other.sync FROM given CROSS JOIN ${othersOf(sql, IS_ELSEWHERE)}
      WHERE other.has_same_keys = 1 AND ${exists(sql.acceptedOfKey('held', 'other.id', 'given.key'))}
        OR ${exists(sql.acceptedOfRecord('held', 'other.id', 'given.record_id'))}`,
    ofRows: `SELECT given.record_id FROM given WHERE ${exists(sql.itemsOfRecord('items', '$1', 'given.record_id'))}
      OR ${exists(sql.differencesOfRecord('differences', '$1', 'given.record_id'))}
      OR ${exists(
        sql.acceptedOfRecord('held', DESTINATION, 'given.record_id'),
        exists(sql.itemsOfKey('own', '$1', 'held.key'), isOfRow('own')),
      )}`,
    corrected: `SELECT came.key, came.retry, came.origin >> 32 AS run, came.origin & 4294967295 AS ordinal
      FROM (SELECT given.key, held.run AS retry, held.destination, retry.sync,
          (SELECT ${sql.originOf('items.run', 'items.ordinal')} FROM ${brought.table}
           WHERE ${brought.on} AND ${isBroughtIn('items')} ORDER BY items.ordinal DESC LIMIT 1) AS origin
        FROM given ${corrected} ${join} runs AS retry ON retry.id = held.run AND retry.purpose = 'retry') AS came
      WHERE NOT ${exists(row, 'corrected.key = came.key')}
        AND (SELECT 1 FROM runs AS since WHERE since.sync = came.sync AND since.mode = 'run' AND since.id > came.retry
          AND since.destination = came.destination AND since.of_run IS NULL
          AND ${exists(sql.itemsOfKey('later', 'since.id', 'came.key'))} LIMIT 1) IS NULL`,
  }
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function acceptedRecordMethods(
  db: StatementRunner & TransactionRunner,
  sql: LinkSql,
): AcceptedRecords {
  const text = acceptedTexts(sql)
  const steps = acceptedSteps(sql)
  const ask = async (run: number, given: Given, statement: string): Promise<readonly Row[]> =>
    await db.transact(() => readGiven(given, statement, [run]))
  const countOf = (row: Row | undefined) => Number(row?.['keys'] ?? 0)
  return {
    async knownKeys(run) {
      const counted = `SELECT count(*) AS keys FROM items WHERE run = $1 AND state = 'pending' AND ${text.isKnown}`
      return countOf(await db.one(counted, [run]))
    },

    async hasAccepted(run) {
      const found = `SELECT 1 FROM accepted WHERE destination = ${DESTINATION} AND record_id IS NOT NULL LIMIT 1`
      return (await db.one(found, [run])) !== undefined
    },

    async keysWithoutRecord(run, { after, limit }) {
      const { rows } = await db.page(
        `SELECT ${PLANNED_COLUMNS}, raw_key FROM items ${sql.withPayload}
         WHERE run = $1 AND ordinal > $2 AND state = 'pending' AND NOT ${text.isKnown}
         ORDER BY ordinal LIMIT $3`,
        [run, after, limit],
        'payload',
      )
      return rows.map(plannedOfRow)
    },

    async acceptedRecords(run, keys) {
      const rows = await ask(run, keysOf(keys), `${text.values} WHERE own.record_id IS NOT NULL`)
      return new Map(rows.map((row) => [String(row['key']), acceptedOfKey(row)]))
    },

    async acceptedValues(run, keys) {
      const rows = await ask(run, keysOf(keys), text.values)
      return new Map(rows.map((row) => [String(row['key']), acceptedOfRow(row)]))
    },

    async acceptedOfRecords(run, records) {
      const [ids, keys] = [
        [...new Set(records.map(({ recordId }) => recordId))],
        [...new Set(records.map(({ key }) => key))],
      ]
      const rows = [
        ...(await ask(run, idsOf(ids), text.ofRecords)),
        ...(await ask(run, keysOf(keys), text.ofKeys)),
      ]
      return rows.map((row) => acceptedOfRow(row))
    },

    // Of several runs, the newest comes last.
    async recordsElsewhere(run, keys) {
      const rows = await ask(run, keysOf(keys), text.elsewhere)
      const newest = rows.toSorted((one, other) => Number(one['run']) - Number(other['run']))
      return new Map(newest.map((row) => [String(row['key']), acceptedOfKey(row)]))
    },

    async noteRecordsOfKeys(run, keys) {
      const given: Given = {
        columns: { key: 'text', records: 'text' },
        rows: keys.map(({ key, records }) => [key, recordsColumn(records)]),
      }
      await db.transact(() => writeGiven(given, text.note, [run]))
    },

    async runsInDoubt(run, { ofAnyKey }) {
      const rows = await db.all(text.runsInDoubt, [run, ofAnyKey ? 1 : 0])
      return rows.map((row) => Number(row['id']))
    },

    async sentInDoubt(run, keys) {
      return (await ask(run, keysOf(keys), text.inDoubt)).map(sentInDoubtOfRow)
    },

    async keptBefore(rows) {
      const given: Given = {
        columns: { run: 'integer', key: 'text' },
        rows: rows.map(({ run, key }) => [run, key]),
      }
      return (await db.transact(() => readGiven(given, text.kept))).map(keptBeforeOfRow)
    },

    async absentWithSeveral(run) {
      return countOf(await db.one(text.several, [run]))
    },

    async absentKeys(run, { after, limit }) {
      const more = after === null ? [] : [after]
      const rows = await db.all(text.absent(after), [run, limit, ...more])
      return {
        keys: rows
          .filter((row) => Number(row['present']) === 0 && row['record_id'] !== null)
          .map((row) => ({ ...acceptedOfRow(row), place: String(row['place']) })),
        next: rows.length < limit ? null : String(rows.at(-1)!['place']),
      }
    },

    // The first sync by its name, where several have written one.
    async writtenElsewhere(run, records) {
      const written = new Map<string, string>()
      for (const row of await ask(run, recordsGiven(records), text.written)) {
        const [key, sync] = [String(row['key']), String(row['sync'])]
        const before = written.get(key)
        if (before === undefined || sync < before) written.set(key, sync)
      }
      return written
    },

    async recordsOfRows(run, recordIds) {
      const rows = await ask(run, idsOf(recordIds), text.ofRows)
      return new Set(rows.map((row) => String(row['record_id'])))
    },

    async broughtByCorrection(run, keys) {
      return new Map((await ask(run, keysOf(keys), text.corrected)).map(readCorrectedRow))
    },

    async recordDeleted(run, records) {
      await db.transact(function* () {
        yield* steps.forgetRecords(run, records)
        yield* steps.repairExtra(run, records)
      })
    },
  }
}
