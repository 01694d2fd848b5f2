// Rows of `streams`.

import type { StreamBooks } from '../roles/streams.ts'
import { number, text, type Row } from './values.ts'

/** Whether a row has the books of a stream, and not only the state of a step. */
export const isNoted = "state <> 'place'"

/** The columns next to the run, in the order of `streamValues`, with their types. */
const COLUMNS: Readonly<Record<string, 'text' | 'bigint'>> = {
  stream: 'text',
  table_name: 'text',
  state: 'text',
  mode: 'text',
  requests: 'bigint',
  read: 'bigint',
  inserted: 'bigint',
  changed: 'bigint',
  unchanged: 'bigint',
  deleted: 'bigint',
  misfits: 'bigint',
  service_count: 'bigint',
  table_count: 'bigint',
  message: 'text',
  older: 'bigint',
  reverted: 'bigint',
  differs: 'bigint',
}
export const STREAM_COLUMNS = Object.keys(COLUMNS)
export const STREAM_TYPES = Object.values(COLUMNS)

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
  books.older ?? null,
  books.reverted ?? null,
  books.differs == null ? null : Number(books.differs),
]

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
  // What an older version wrote lacks them, and so does its manifest.
  ...(row['older'] != null && { older: Number(row['older']) }),
  ...(row['reverted'] != null && { reverted: Number(row['reverted']) }),
  ...(row['differs'] != null && { differs: Number(row['differs']) === 1 }),
})
