// What the ledger has of one key or record over all runs, as every engine reads it.

import type { ItemState } from '../../core/domain/outcomes.ts'
import type { KnownKey, RowHistories, RowItem, RowSubject } from '../roles/row-history.ts'
import type { Run } from '../roles/runs.ts'
import { differenceOfRow, subjectOf } from '../rows/differences.ts'
import { reportedRemovalOfRow } from '../rows/removals.ts'
import { destinationOfRow } from '../rows/runs.ts'
import { number, text, type Row } from '../rows/values.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'

const RUN_OF = 'runs.id AS of_run, runs.sync AS of_sync, runs.purpose, runs.opened_at'

const ITEM_COLUMNS = `items.ordinal, items.line, items.key, items.state, items.record_id, items.hash, items.attempts, items.http_status,
  items.request_id, items.verified, items.code, items.reason, items."column", items.field, items.in_doubt,
  (SELECT kept_values FROM before_images AS image WHERE image.run = items.run AND image.ordinal = items.ordinal) AS kept_values,
  (SELECT sent_at FROM requests WHERE requests.run = items.run AND requests.batch = items.batch
   ORDER BY requests.attempt DESC LIMIT 1) AS sent_at`

const NEWEST = "WHERE runs.mode = 'run' ORDER BY runs.id DESC"

/** How rows are read. */
function readers(time: SqlDialect['time']) {
  const ofRun = (row: Row) => ({
    run: Number(row['of_run']),
    sync: String(row['of_sync']),
    purpose: row['purpose'] as Run['purpose'],
    openedAt: time(row['opened_at']),
  })
  const itemOfRow = (row: Row): RowItem => ({
    ...ofRun(row),
    ordinal: Number(row['ordinal']),
    line: Number(row['line']),
    key: text(row['key']),
    state: row['state'] as ItemState,
    recordId: text(row['record_id']),
    hash: text(row['hash']),
    attempts: Number(row['attempts']),
    sentAt: row['sent_at'] === null ? null : time(row['sent_at']),
    httpStatus: number(row['http_status']),
    requestId: text(row['request_id']),
    verified: text(row['verified']),
    code: text(row['code']),
    reason: text(row['reason']),
    column: text(row['column']),
    field: text(row['field']),
    inDoubt: Number(row['in_doubt']) === 1,
    keptValues: Number(row['kept_values'] ?? 0),
  })
  return { ofRun, itemOfRow }
}

export const rowHistoryStatements = (
  db: StatementRunner,
  { time, ofAllRuns, acceptedOf }: SqlDialect,
): RowHistories => {
  const { ofRun, itemOfRow } = readers(time)
  const knownOfRow = (row: Row): KnownKey => ({
    ...destinationOfRow(row),
    key: String(row['key']),
    recordId: text(row['record_id']),
    run: Number(row['run']),
  })
  const read = async (
    table: 'items' | 'removals' | 'differences',
    column: 'key' | 'record_id' | 'subject',
    [value, limit]: readonly [string, number],
  ) =>
    await db.all(
      `SELECT ${table === 'items' ? ITEM_COLUMNS : `${table}.*`}, ${RUN_OF} ${ofAllRuns(table, column)}
       ${NEWEST}, ${table}.${table === 'items' ? 'ordinal' : 'number'} DESC LIMIT $2`,
      [value, limit],
    )
  return {
    async rowHistory(subject, limit) {
      const [column, value] = columnOf(subject)
      const id = subjectOf(
        'key' in subject ? { ...subject, recordId: null } : { ...subject, key: null },
      )
      const items = await read('items', column, [value, limit])
      // Of a record they are found by its key alone.
      const removals = column === 'key' ? await read('removals', column, [value, limit]) : []
      const differences = await read('differences', 'subject', [id, limit])
      const known = await db.all(
        `SELECT destinations.sync, destinations.origin, destinations.org_id, destinations.object_type,
           destinations.matching_property, accepted.key, accepted.record_id, accepted.run
         ${acceptedOf(column)} ORDER BY accepted.run DESC LIMIT $2`,
        [value, limit],
      )
      return {
        items: items.map(itemOfRow),
        removals: removals.map((row) => ({ ...ofRun(row), ...reportedRemovalOfRow(row) })),
        // A key may be the text of a record's id: their fingerprints are the same.
        differences: differences
          .filter(isOfSubject(subject))
          .map((row) => ({ ...ofRun(row), ...differenceOfRow(row) })),
        known: known.map(knownOfRow),
      }
    },
  }
}

const isOfSubject = (subject: RowSubject) => (row: Row) =>
  'key' in subject ? row['key'] === subject.key : row['key'] === null

const columnOf = (subject: RowSubject): readonly ['key' | 'record_id', string] =>
  'key' in subject ? ['key', subject.key] : ['record_id', subject.recordId]
