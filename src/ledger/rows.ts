// What the drivers of the ledger share: the rows of its tables as what they mean, because the columns have the same names
// whatever database holds them.

import { hash as digestOf } from 'node:crypto'
import {
  noDifferences,
  type Difference,
  type DifferenceCounts,
  type DifferenceKind,
  type ChangedBy,
} from '../core/differences.ts'
import { HELD_BACK_REASONS } from '../core/held-back.ts'
import { parseJson, type Json } from '../core/json.ts'
import { REGULAR_PURPOSES } from '../core/purpose.ts'
import {
  ACCEPTED_STATES,
  isWritten,
  OPEN_STATES,
  REJECT_STATES,
  TIMED_STATES,
  WRITTEN_STATES,
  type ItemState,
} from '../core/item-states.ts'
import {
  countReadBackDifferent,
  COMPLETE_STATES,
  LIVE_STATES,
  type ReadBack,
} from '../core/states.ts'
import type {
  AcceptedRecord,
  CellError,
  CorrectedRow,
  Destination,
  DifferenceGroup,
  ExportName,
  PlannedItem,
  RejectGroup,
  ReportedItem,
  Run,
  StoredManifest,
  StreamBooks,
  UncomparedItem,
  WrittenItem,
} from './ledger.ts'

type Row = Readonly<Record<string, unknown>>

const text = (value: unknown): string | null => (value === null ? null : String(value))
const number = (value: unknown): number | null => (value === null ? null : Number(value))

/** Names of a register as a list of SQL. */
const listOf = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ')

export const acceptedStates = listOf(ACCEPTED_STATES)
export const openStates = listOf(OPEN_STATES)
export const timedStates = listOf(TIMED_STATES)
export const writtenStates = listOf(WRITTEN_STATES)

/** The states of a run that is not over, as a list of SQL. */
export const liveStates = listOf(LIVE_STATES)

/**
 * The states of a run whose watermark counts, as a list of SQL. What such a run left over, rejected or read back otherwise, is
 * carried into the next one.
 */
export const completeStates = listOf(COMPLETE_STATES)

/** The purposes of runs that bring in what is new, as a list of SQL. */
export const regularPurposes = listOf(REGULAR_PURPOSES)

/** Runs after the last complete one of which the streams are looked at, to tell how old a mirror's tables are. */
export const STREAM_RUNS_MAX = 20

/**
 * Whether a closed run left an item over: what it brought in is accepted, and was found where it was read back. A row that a later
 * one has overwritten is none: whoever sends it alone writes what is older over what is newer.
 */
export const isLeft = (item: string): string =>
  `(${item}.state IN (${listOf(REJECT_STATES)}) OR ${item}.verified NOT IN ('equal', 'overwritten'))`

/** Whether a retry takes an item, as SQL. */
export const isRetried = (item: string): string =>
  `coalesce(${item}.reason, '') NOT IN (${listOf(HELD_BACK_REASONS)})`

/** Of an item that nothing is told of. */
export const NO_HEALTH = {
  reason: null,
  field: null,
  detail: null,
  column: null,
  value: null,
} as const

/**
 * A column of what is told of an item that is read back. What its answer told stays only where the reading tells nothing of its
 * own and does not find it equal.
 * @param verdict, reason, value of the reading, as SQL
 */
export const readBackColumnSql = (
  column: string,
  told: { readonly verdict: string; readonly reason: string; readonly value: string },
): string =>
  `${column} = CASE WHEN items.verified = 'answered' AND (${told.verdict} = 'equal' OR ${told.reason} IS NOT NULL) THEN ${told.value}
     ELSE coalesce(${told.value}, items.${column}) END`

/** Whether a run ended and its state or its books say that the two sides do not hold the same. Rejects outweigh it as a state. */
export const knowsOfDifferences = ({ state, counts }: Pick<Run, 'state' | 'counts'>): boolean =>
  state === 'complete_with_differences' ||
  (state === 'complete_with_rejects' && counts !== null && countReadBackDifferent(counts) > 0)

/** Whether only `differences` says so of a run. */
export const mayLeaveDifferences = ({ state, purpose }: Pick<Run, 'state' | 'purpose'>): boolean =>
  state === 'complete_with_rejects' && purpose === 'reconcile'

/** Adds what reading back showed of items of a state to its counts. */
export function addReadBack(
  counts: { -readonly [Name in keyof ReadBack]: number },
  row: { state: ItemState; verified: unknown; normalised: boolean; items: number },
): void {
  const { state, verified, normalised, items } = row
  if (normalised) counts.normalised += items
  else if (!isWritten(state)) return
  else if (verified === 'overwritten') counts.overwritten = (counts.overwritten ?? 0) + items
  // What the answer showed counts until it is read.
  else if (verified === 'answered') counts.different += items
  else if (verified === 'equal' || verified === 'different' || verified === 'missing')
    counts[verified] += items
}

/** Whether an item was accepted and read back otherwise. */
export const isOtherwise = (item: string): string =>
  `(${item}.state IN (${writtenStates}) AND ${item}.verified <> 'equal')`

/** The marks of what was read back as it was sent, of an upsert of `accepted`; those of an earlier run are of other values. */
export const marksOnceVerified =
  'coalesce(excluded.marks, CASE WHEN accepted.run = excluded.run THEN accepted.marks END)'

/** Of `destinations`. */
export const destinationOfRow = (row: Row): Destination => ({
  sync: String(row['sync']),
  origin: String(row['origin']),
  orgId: Number(row['org_id']),
  objectType: String(row['object_type']),
  matchingProperty: String(row['matching_property']),
})

/** Of `items` with its payload. */
export const plannedOfRow = (row: Row): PlannedItem => ({
  ordinal: Number(row['ordinal']),
  key: String(row['key']),
  payload: String(row['payload']),
  hash: String(row['hash']),
  attempts: Number(row['attempts']),
  ...(typeof row['raw_key'] === 'string' && { rawKey: row['raw_key'] }),
})

/** Of `items` with its payload; or of the newest attempt of one that is left. */
export const reportedOfRow = (row: Row): ReportedItem => ({
  ordinal: Number(row['ordinal']),
  line: Number(row['line']),
  of: number(row['of_ordinal']),
  attempt: null,
  key: text(row['key']),
  state: row['state'] as ItemState,
  raw: row['raw'] === null ? null : (parseJson(String(row['raw'])) as Json[]),
  httpStatus: number(row['http_status']),
  recordId: text(row['record_id']),
  code: text(row['code']),
  reason: text(row['reason']),
  column: text(row['column']),
  field: text(row['field']),
  value: text(row['value']),
  detail: text(row['detail']),
  more: typeof row['more'] === 'string' ? (JSON.parse(row['more']) as CellError[]) : [],
  requestId: text(row['request_id']),
  inDoubt: Number(row['in_doubt']) === 1,
})

/** Of what the run left over. */
export const leftOfRow = (run: number, row: Row): ReportedItem => {
  const attempt = { run: Number(row['attempt_run']), ordinal: Number(row['attempt_ordinal']) }
  return { ...reportedOfRow(row), attempt: attempt.run === run ? null : attempt }
}

/** Of items counted by kind of reject. */
export const rejectGroupOfRow = (row: Row): RejectGroup => ({
  state: row['state'] as ItemState,
  code: text(row['code']),
  reason: text(row['reason']),
  column: text(row['column']),
  field: text(row['field']),
  items: Number(row['items']),
  example: Number(row['example']),
  ...(Number(row['is_more']) === 1 && { isMore: true as const }),
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
  'older',
  'reverted',
  'differs',
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
  books.older ?? null,
  books.reverted ?? null,
  books.differs == null ? null : Number(books.differs),
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
  // What an older version wrote does not have them, and neither has its manifest.
  ...(row['older'] != null && { older: Number(row['older']) }),
  ...(row['reverted'] != null && { reverted: Number(row['reverted']) }),
  ...(row['differs'] != null && { differs: Number(row['differs']) === 1 }),
})

/** Of `accepted`; `prefix`: what its columns are named with. */
export const acceptedOfRow = (row: Row, prefix = ''): AcceptedRecord => ({
  key: String(row[`${prefix}key`]),
  recordId: text(row[`${prefix}record_id`]),
  hash: text(row[`${prefix}hash`]),
  marks: text(row[`${prefix}marks`]),
  run: Number(row[`${prefix}run`]),
  readBack: text(row[`${prefix}read_back`]),
  ...(Number(row[`${prefix}normalised`]) === 1 && { normalised: true as const }),
})

/** Of `items` with its payload, to be read back. */
export const writtenOfRow = (row: Row): WrittenItem => ({
  ordinal: Number(row['ordinal']),
  key: String(row['key']),
  payload: String(row['payload']),
  hash: String(row['hash']),
  state: row['state'] as ItemState,
  recordId: text(row['record_id']),
  inDoubt: Number(row['in_doubt']) === 1,
  lastRead: text(row['last_read']),
  answered: text(row['answered']),
  answeredKey: text(row['answered_key']),
  known:
    row['known_run'] === null
      ? null
      : {
          run: Number(row['known_run']),
          marks: text(row['known_marks']),
          lastRun: number(row['known_last_run']),
          lastBaseline: text(row['known_last_marks']),
          seenRun: number(row['known_seen_run']),
          seen: text(row['known_seen']),
        },
})

/** What is read of `accepted` as `known_…` for an item that is read back. */
export const KNOWN_COLUMNS = `accepted.run AS known_run, accepted.marks AS known_marks, accepted.last_run AS known_last_run,
  accepted.last_marks AS known_last_marks, accepted.read_back_run AS known_seen_run, accepted.seen AS known_seen`

/** Of an upsert of `accepted`: what was sent before stays beside what is sent now. */
export const keepsLast = `last_marks = CASE WHEN accepted.run < excluded.run THEN accepted.marks ELSE accepted.last_marks END,
  last_run = CASE WHEN accepted.run < excluded.run THEN accepted.run ELSE accepted.last_run END`

/** Of `items` with its payload, and with what was accepted for its key. */
export const uncomparedOfRow = (row: Row): UncomparedItem => ({
  ...plannedOfRow(row),
  accepted: row['accepted_key'] === null ? null : acceptedOfRow(row, 'accepted_'),
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
  'version',
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
  difference.version ?? null,
]

/** Of `differences`. */
export const differenceOfRow = (row: Row): Difference & { readonly repaired: boolean } => ({
  stream: String(row['stream']),
  key: text(row['key']),
  recordId: text(row['record_id']),
  ordinal: number(row['ordinal']),
  kind: row['kind'] as DifferenceKind,
  field: text(row['field']),
  whose: row['whose'] as ChangedBy,
  ours: text(row['ours']),
  theirs: text(row['theirs']),
  ...(row['version'] != null && { version: String(row['version']) }),
  repaired: Number(row['repaired']) === 1,
})

/** Of differences counted by kind, field and side. */
export const differenceGroupOfRow = (row: Row): DifferenceGroup => ({
  stream: String(row['stream']),
  kind: row['kind'] as DifferenceKind,
  field: text(row['field']),
  whose: row['whose'] as ChangedBy,
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

/** Which copy of a ledger it is, by what only this one has. */
export const copyMark = (of: string): string => digestOf('sha256', of, 'hex').slice(0, 8)

/** Of a key, the run that brought it in as `retry`, and run and ordinal of the row that was corrected. */
export const readCorrectedRow = (row: Row): [key: string, corrected: CorrectedRow] => [
  String(row['key']),
  row['run'] === null
    ? { run: Number(row['retry']), ordinal: null }
    : { run: Number(row['run']), ordinal: Number(row['ordinal']) },
]
