// Rows of `streams`.

import type { StreamBooks } from '../roles/streams.ts'
import { number, text, type Row } from './values.ts'

/** Whether a row has the books of a stream, and not only the state of a step. */
export const isStream = "state <> 'place'"

type Column = readonly [
  type: 'text' | 'bigint',
  valueOf: (books: StreamBooks) => string | number | null,
]

/** The columns next to the run. */
const COLUMNS: Readonly<Record<string, Column>> = {
  stream: ['text', ({ stream }) => stream],
  table_name: ['text', ({ table }) => table],
  state: ['text', ({ state }) => state],
  mode: ['text', ({ mode }) => mode],
  requests: ['bigint', ({ requests }) => requests],
  read: ['bigint', ({ read }) => read],
  inserted: ['bigint', ({ inserted }) => inserted],
  changed: ['bigint', ({ changed }) => changed],
  unchanged: ['bigint', ({ unchanged }) => unchanged],
  deleted: ['bigint', ({ deleted }) => deleted],
  misfits: ['bigint', ({ misfits }) => misfits],
  service_count: ['bigint', ({ serviceCount }) => serviceCount],
  table_count: ['bigint', ({ tableCount }) => tableCount],
  message: ['text', ({ message }) => message],
  older: ['bigint', ({ older }) => older],
  reverted: ['bigint', ({ reverted }) => reverted],
  differs: ['bigint', ({ differs }) => (differs === null ? null : Number(differs))],
}
export const STREAM_COLUMNS = Object.keys(COLUMNS)
export const STREAM_TYPES = Object.values(COLUMNS).map(([type]) => type)

/** In the order of the columns. */
export const streamValues = (books: StreamBooks): readonly (string | number | null)[] =>
  Object.values(COLUMNS).map(([, valueOf]) => valueOf(books))

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
  older: Number(row['older']),
  reverted: Number(row['reverted']),
  differs: row['differs'] === null ? null : Number(row['differs']) === 1,
})
