// What the drivers of the ledger share: the rows of its tables as what they mean, because the columns have the same names
// whatever database holds them.

import { hash as digestOf } from 'node:crypto'
import {
  noDifferences,
  type Difference,
  type DifferenceCounts,
  type DifferenceKind,
  type Whose,
} from '../core/differences.ts'
import type { Json } from '../core/json.ts'
import { LEDGER_ROWS_MAX } from '../core/limits.ts'
import type { RetryChoice } from '../core/purpose.ts'
import { LIVE_STATES, REJECT_STATES, type ItemState } from '../core/states.ts'
import type {
  Accepted,
  DifferenceGroup,
  ExportName,
  Ledger,
  PlannedItem,
  ReportedItem,
  StoredManifest,
  StreamBooks,
  UncomparedItem,
} from './ledger.ts'

type Row = Readonly<Record<string, unknown>>
type RejectGroup = Awaited<ReturnType<Ledger['rejectGroups']>>[number]

const text = (value: unknown): string | null => (value === null ? null : String(value))
const number = (value: unknown): number | null => (value === null ? null : Number(value))

/** The states of a run that is not over, as a list of SQL. */
export const liveStates = LIVE_STATES.map((state) => `'${state}'`).join(', ')

/** The states of a run whose watermark counts, as a list of SQL. */
export const completeStates = "'complete', 'complete_with_rejects'"

/** The purposes of runs that bring in what is new, as a list of SQL. */
export const regularPurposes = "'sync', 'backfill'"

/** Runs after the last complete one of which the streams are looked at, to tell how old a mirror's tables are. */
export const STREAM_RUNS_MAX = 20

/** Whether a closed run left an item over: what it brought in is accepted, and was found where it was read back. */
export const isLeft = (item: string): string =>
  `(${item}.state IN (${REJECT_STATES.map((state) => `'${state}'`).join(', ')}) OR ${item}.verified <> 'equal')`

/** The marks of what was read back as it was sent, of an upsert of `accepted`; those of an earlier run are of other values. */
export const marksOnceVerified =
  'coalesce(excluded.marks, CASE WHEN accepted.run = excluded.run THEN accepted.marks END)'

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
  of: number(row['of_ordinal']),
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

/** Whether `streams` has the books of a stream, and not only the place where a reconciliation of it stands. */
export const isNoted = "state <> 'place'"

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

/** Of `accepted`. */
export const acceptedOfRow = (row: Row): Accepted => ({
  key: String(row['key']),
  recordId: text(row['record_id']),
  hash: text(row['hash']),
  marks: text(row['marks']),
  run: Number(row['run']),
})

/** Of `items` with its payload, and with what was accepted for its key. */
export const uncomparedOfRow = (row: Row): UncomparedItem => ({
  ...plannedOfRow(row),
  accepted:
    row['accepted_key'] === null
      ? null
      : {
          key: String(row['accepted_key']),
          recordId: text(row['accepted_record_id']),
          hash: text(row['accepted_hash']),
          marks: text(row['accepted_marks']),
          run: Number(row['accepted_run']),
        },
})

/** The record that a difference is of, within its stream: 128 bits of the SHA-256 of the key, or else of the record id. */
export const subjectOf = ({ key, recordId }: Pick<Difference, 'key' | 'recordId'>): string =>
  digestOf('sha256', key ?? recordId ?? '', 'hex').slice(0, 32)

/** The columns of `differences` beside its run, its number and `repaired`, in the order of `differenceValues`. */
export const DIFFERENCE_COLUMNS = [
  'stream',
  'subject',
  'key',
  'record_id',
  'ordinal',
  'kind',
  'field',
  'whose',
  'ours',
  'theirs',
] as const

export const differenceValues = (difference: Difference): readonly (string | number | null)[] => [
  difference.stream,
  subjectOf(difference),
  difference.key,
  difference.recordId,
  difference.ordinal,
  difference.kind,
  difference.field,
  difference.whose,
  difference.ours,
  difference.theirs,
]

/** Of `differences`. */
export const differenceOfRow = (row: Row): Difference & { readonly repaired: boolean } => ({
  stream: String(row['stream']),
  key: text(row['key']),
  recordId: text(row['record_id']),
  ordinal: number(row['ordinal']),
  kind: row['kind'] as DifferenceKind,
  field: text(row['field']),
  whose: row['whose'] as Whose,
  ours: text(row['ours']),
  theirs: text(row['theirs']),
  repaired: Number(row['repaired']) === 1,
})

/** Of differences counted by kind, field and side. */
export const differenceGroupOfRow = (row: Row): DifferenceGroup => ({
  stream: String(row['stream']),
  kind: row['kind'] as DifferenceKind,
  field: text(row['field']),
  whose: row['whose'] as Whose,
  differences: Number(row['differences']),
  repaired: Number(row['repaired']),
  example: number(row['example']),
})

/** Of records counted by kind of difference. */
export function differenceCountsOfRows(rows: readonly Row[]): {
  found: DifferenceCounts
  left: DifferenceCounts
} {
  const found = noDifferences()
  const left = noDifferences()
  for (const row of rows) {
    found[row['kind'] as DifferenceKind] = Number(row['found'])
    left[row['kind'] as DifferenceKind] = Number(row['remaining'])
  }
  return { found, left }
}

/** The differences of each record together, in the order of their first ones. */
export function byRecord(differences: readonly Difference[]): Difference[][] {
  const records = new Map<string, Difference[]>()
  for (const difference of differences) {
    const record = `${difference.stream} ${subjectOf(difference)}`
    const known = records.get(record)
    if (known) known.push(difference)
    else records.set(record, [difference])
  }
  return [...records.values()]
}

/** Rows that one transaction replaces: so many are deleted, and as many written. */
export const REPLACED_MAX = LEDGER_ROWS_MAX / 2

/** The list in order, in parts whose sizes sum up to at most `max`, or of one element that is larger. */
export function inParts<Element>(
  list: readonly Element[],
  sizeOf: (element: Element) => number,
  max: number,
): Element[][] {
  const parts: Element[][] = []
  let room = 0
  for (const element of list) {
    const size = sizeOf(element)
    if (size > room || parts.length === 0) {
      parts.push([])
      room = max
    }
    parts.at(-1)!.push(element)
    room -= size
  }
  return parts
}

/** The highest ordinal that every ledger can hold. */
const ORDINAL_MAX = 2_147_483_647

/** The ordinals above `after` that are wanted, as ranges in order that do not overlap; all of them where none are named. */
export function wantedRanges(
  rows: RetryChoice['rows'],
  after: number,
): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = []
  for (const [first, last] of (rows ?? [[1, ORDINAL_MAX]]).toSorted(([a], [b]) => a - b)) {
    const from = Math.max(first, after + 1, (ranges.at(-1)?.[1] ?? 0) + 1)
    const to = Math.min(last, ORDINAL_MAX)
    if (from <= to) ranges.push([from, to])
  }
  return ranges
}

// How a sample of a run is chosen. Rows are spread over 0 to SPREAD - 1, evenly in every part of the run, because the factor
// is the golden section of it; in every run from another beginning. Those below a bound are the sample.
const SPREAD = 2_147_483_647

/** SQL: where a row is, by its ordinal, an integer of 64 bits. */
export const spreadOf = (ordinal: string, beginning: string): string =>
  `((${ordinal} * 1327217885 + ${beginning}) % ${SPREAD})`

export const beginningOf = (run: number): number =>
  (((run * 889_516_852) % SPREAD) + SPREAD) % SPREAD

/** The bound below which there are about `rows` of so many. */
export const boundOf = (rows: number, of: number): number =>
  of <= rows ? SPREAD : Math.floor((SPREAD * rows) / of)

/** Of `manifests`. */
export const manifestOfRow = (row: Row): StoredManifest => ({
  run: Number(row['run']),
  sync: String(row['sync']),
  body: String(row['body']),
  digest: String(row['digest']),
  signature: text(row['signature']),
})

/** The columns that the rows of an export are in the order of; no two rows are equal in them. */
export const EXPORT_KEYS: Readonly<Record<ExportName, readonly string[]>> = {
  runs: ['id'],
  results: ['run', 'ordinal'],
  differences: ['run', 'number'],
  last_accepted: ['destination', 'key'],
  requests: ['run', 'batch', 'attempt'],
  streams: ['run', 'stream'],
  manifests: ['run'],
}

/** Where a page of an export begins: behind these values of its keys. Runs without a number people see are left out. */
export function exportPlace(name: ExportName, after: string | null): readonly (string | number)[] {
  if (after !== null) return JSON.parse(after) as (string | number)[]
  return EXPORT_KEYS[name].map((key) => (key === 'key' || key === 'stream' ? '' : 0))
}
