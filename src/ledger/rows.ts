// What the drivers of the ledger share: the rows of its tables as what they mean, because the columns have the same names
// whatever database holds them.

import type { Json } from '../core/json.ts'
import { LIVE_STATES, REJECT_STATES, type ItemState } from '../core/states.ts'
import type { Ledger, PlannedItem, ReportedItem, StreamBooks } from './ledger.ts'

type Row = Readonly<Record<string, unknown>>
type RejectGroup = Awaited<ReturnType<Ledger['rejectGroups']>>[number]

const text = (value: unknown): string | null => (value === null ? null : String(value))
const number = (value: unknown): number | null => (value === null ? null : Number(value))

/** The states of a run that is not over, as a list of SQL. */
export const liveStates = LIVE_STATES.map((state) => `'${state}'`).join(', ')

/** The states of a run whose watermark counts, as a list of SQL. */
export const completeStates = "'complete', 'complete_with_rejects'"

/** Runs after the last complete one of which the streams are looked at, to tell how old a mirror's tables are. */
export const STREAM_RUNS_MAX = 20

/** Whether a closed run left an item over: what it brought in is accepted, and was found where it was read back. */
export const isLeft = (item: string): string =>
  `(${item}.state IN (${REJECT_STATES.map((state) => `'${state}'`).join(', ')}) OR ${item}.verified <> 'equal')`

/** Of `items` with its payload. */
export const plannedOfRow = (row: Row): PlannedItem => ({
  ordinal: Number(row['ordinal']),
  key: String(row['key']),
  payload: String(row['payload']),
  hash: String(row['hash']),
  attempts: Number(row['attempts']),
})

/** Of `items` with its payload. */
export const reportedOfRow = (row: Row): ReportedItem => ({
  ordinal: Number(row['ordinal']),
  line: Number(row['line']),
  key: text(row['key']),
  state: row['state'] as ItemState,
  raw: row['raw'] === null ? null : (JSON.parse(String(row['raw'])) as Json[]),
  httpStatus: number(row['http_status']),
  recordId: text(row['record_id']),
  code: text(row['code']),
  reason: text(row['reason']),
  column: text(row['column']),
  field: text(row['field']),
  value: text(row['value']),
  detail: text(row['detail']),
  requestId: text(row['request_id']),
  inDoubt: Number(row['in_doubt']) === 1,
})

/** Of items counted by kind of reject. */
export const rejectGroupOfRow = (row: Row): RejectGroup => ({
  state: row['state'] as ItemState,
  code: text(row['code']),
  reason: text(row['reason']),
  column: text(row['column']),
  field: text(row['field']),
  items: Number(row['items']),
  example: Number(row['example']),
})

/** The columns of `streams` beside its run, in the order of `streamValues`. */
export const STREAM_COLUMNS = [
  'stream',
  'table_name',
  'state',
  'mode',
  'requests',
  'read',
  'inserted',
  'changed',
  'unchanged',
  'deleted',
  'misfits',
  'service_count',
  'table_count',
  'message',
] as const

export const streamValues = (books: StreamBooks): readonly (string | number | null)[] => [
  books.stream,
  books.table,
  books.state,
  books.mode,
  books.requests,
  books.read,
  books.inserted,
  books.changed,
  books.unchanged,
  books.deleted,
  books.misfits,
  books.serviceCount,
  books.tableCount,
  books.message,
]

/** Of `streams`. */
export const streamOfRow = (row: Row): StreamBooks => ({
  stream: String(row['stream']),
  table: text(row['table_name']),
  state: row['state'] as StreamBooks['state'],
  mode: row['mode'] as StreamBooks['mode'],
  requests: Number(row['requests']),
  read: Number(row['read']),
  inserted: Number(row['inserted']),
  changed: Number(row['changed']),
  unchanged: Number(row['unchanged']),
  deleted: Number(row['deleted']),
  misfits: number(row['misfits']),
  serviceCount: number(row['service_count']),
  tableCount: number(row['table_count']),
  message: text(row['message']),
})
