// Rows of `accepted`, and what an upsert of it keeps.

import { writeJson } from '../../core/json.ts'
import type {
  AcceptedOfKey,
  AcceptedRecord,
  CorrectedRow,
  KeptBefore,
  SentInDoubt,
  WrittenKey,
} from '../roles/accepted-records.ts'
import type { UncomparedItem } from '../roles/reconciliation.ts'
import { plannedOfRow, watermarkOf } from './items.ts'
import { text, type Row } from './values.ts'

/** @param prefix of the names of the columns */
export const acceptedOfRow = (row: Row, prefix = ''): AcceptedRecord => ({
  key: String(row[`${prefix}key`]),
  recordId: text(row[`${prefix}record_id`]),
  hash: text(row[`${prefix}hash`]),
  marks: text(row[`${prefix}marks`]),
  run: Number(row[`${prefix}run`]),
  readBack: text(row[`${prefix}read_back`]),
  ...(typeof row[`${prefix}watermark`] === 'string' && {
    watermark: String(row[`${prefix}watermark`]),
  }),
  ...(Number(row[`${prefix}normalised`]) === 1 && { normalised: true as const }),
  ...(typeof row[`${prefix}seen`] === 'string' && {
    seen: String(row[`${prefix}seen`]),
    seenRun: Number(row[`${prefix}read_back_run`]),
  }),
  ...(row[`${prefix}records`] !== null && { records: recordsOf(row[`${prefix}records`]) }),
})

const recordsOf = (records: unknown): readonly string[] =>
  records === null ? [] : (JSON.parse(String(records)) as string[])

export const acceptedOfKey = (row: Row): AcceptedOfKey => ({
  recordId: String(row['record_id']),
  run: Number(row['run']),
  records: recordsOf(row['records']),
})

export const writtenKey = (row: Row): WrittenKey => ({
  ...acceptedOfKey(row),
  recordId: text(row['record_id']),
})

export const sentInDoubtOfRow = (row: Row): SentInDoubt => ({
  key: String(row['key']),
  hash: String(row['hash']),
  sent: text(row['sent']),
  isNew: row['verdict'] === 'create',
})

export const keptBeforeOfRow = (row: Row): KeptBefore => ({
  run: Number(row['run']),
  key: String(row['key']),
  kept: text(row['kept']),
})

/** The column `records` of a key that has these. */
export const recordsColumn = (records: readonly string[]): string | null =>
  records.length < 2 ? null : writeJson([...records])

/** The columns that `uncomparedOfRow` reads of `accepted`. */
export const ACCEPTED_COLUMNS = `accepted.key AS accepted_key, accepted.record_id AS accepted_record_id, accepted.hash AS accepted_hash,
  accepted.marks AS accepted_marks, accepted.run AS accepted_run, accepted.watermark AS accepted_watermark,
  accepted.read_back AS accepted_read_back, accepted.normalised AS accepted_normalised,
  accepted.records AS accepted_records, accepted.seen AS accepted_seen, accepted.read_back_run AS accepted_read_back_run`

/** Of `items` with its payload, and with what was accepted for its key. */
export const uncomparedOfRow = (row: Row): UncomparedItem => ({
  ...plannedOfRow(row),
  ...watermarkOf(row),
  accepted: row['accepted_key'] === null ? null : acceptedOfRow(row, 'accepted_'),
})

/** The columns that `writtenOfRow` reads of `accepted`. */
export const KNOWN_COLUMNS = `accepted.run AS known_run, accepted.marks AS known_marks, accepted.last_run AS known_last_run,
  accepted.last_marks AS known_last_marks, accepted.read_back_run AS known_seen_run, accepted.seen AS known_seen`

/** Of an upsert: the values sent before stay next to those sent now. */
export const keepsLast = `last_marks = CASE WHEN accepted.run < excluded.run THEN accepted.marks ELSE accepted.last_marks END,
  last_run = CASE WHEN accepted.run < excluded.run THEN accepted.run ELSE accepted.last_run END`

/** Of an upsert of what was read back as it was sent: the baseline hashes; those of an earlier run are of other values. */
export const marksOnceVerified =
  'coalesce(excluded.marks, CASE WHEN accepted.run = excluded.run THEN accepted.marks END)'

/** Of a key, the run that brought it in as `retry`, and run and ordinal of the row that was corrected. */
export const readCorrectedRow = (row: Row): [key: string, corrected: CorrectedRow] => [
  String(row['key']),
  row['run'] === null
    ? { run: Number(row['retry']), ordinal: null }
    : { run: Number(row['run']), ordinal: Number(row['ordinal']) },
]
