// Everything that the ledger has of one key, or of one record: what each run did with it. What was asked for is shown; no value of the
// row is.

import { z } from 'zod'
import { publicError } from '../../contract/index.ts'
import type { Ledger, RowHistory, RowItem, RowSubject } from '../../ledger/ledger.ts'
import { joinSome } from '../../core/format.ts'
import { isAllowed } from '../../core/domain/roles.ts'
import { jobOf } from '../../runs/job.ts'
import type { ConsoleDeps } from '../deps.ts'
import {
  anyText as text,
  count,
  countOrNull,
  textOrNull,
  time,
  timeOrNull,
  tone,
} from './shapes.ts'
import { valuesFor } from '../values.ts'

/** Of each kind, the newest. */
const EVENTS_MAX = 200
/** What may be in a key or a record id. */
export const SUBJECT_CHARS_MAX = 500

const rowEvent = z.object({
  run: count,
  sync: text,
  purpose: text,
  at: time.describe('When it was sent, or else when the run began.'),
  kind: z.enum(['row', 'removal', 'difference']),
  state: text.describe('The state of the row or the removal, or the kind of the difference.'),
  tone,
  key: textOrNull,
  record_id: textOrNull,
  row: countOrNull.describe('Its number in the source.'),
  line: countOrNull,
  hash: textOrNull.describe('Of what was sent: the same hash is the same content.'),
  attempts: countOrNull,
  http_status: countOrNull,
  request_id: textOrNull,
  verified: textOrNull.describe('What reading it back showed.'),
  code: textOrNull,
  reason: textOrNull,
  property: textOrNull.describe('Or several, of a difference.'),
  column: textOrNull,
  in_doubt: z.boolean(),
  kept_values: count.describe('Values that others changed, and that were left as they were.'),
  changed_by: textOrNull.describe('Of a difference: the side that changed it last.'),
  repaired: z.boolean().nullable().describe('Of a difference.'),
})
export type RowEvent = z.output<typeof rowEvent>

export const rowView = z
  .object({
    v: z.literal(1),
    made_at: time,
    key: textOrNull,
    record: textOrNull,
    known: z
      .array(
        z.object({
          sync: text,
          object_type: text,
          origin: text,
          key: text,
          record_id: textOrNull,
          run: count.describe('The run that wrote it last.'),
        }),
      )
      .describe('What was accepted last, in each destination.'),
    asks: z
      .boolean()
      .describe('Whether the person may see the record as it is now: POST /rows/today.'),
    events: z.array(rowEvent).describe('Newest first.'),
    up_to: timeOrNull.describe(
      'Events before it may be missing; null: all that are kept are here.',
    ),
  })
  .meta({ id: 'Row' })
export type RowView = z.output<typeof rowView>

/** A key as it may be kept: as it was typed, composed, and in small letters. */
const formsOf = (typed: string): string[] => {
  const text = typed.trim().normalize('NFC')
  return [...new Set([text, text.toLowerCase()])]
}

const isEmpty = ({ items, removals, differences, known }: RowHistory): boolean =>
  items.length + removals.length + differences.length + known.length === 0

/** The history of what was typed, and by which form of it that is found; null if there is none. */
async function find(
  ledger: Ledger,
  asked: RowSubject,
): Promise<{ history: RowHistory; subject: RowSubject } | null> {
  const forms: RowSubject[] =
    'key' in asked
      ? formsOf(asked.key).map((key) => ({ key }))
      : [{ recordId: asked.recordId.trim() }]
  for (const subject of forms) {
    const history = await ledger.rowHistory(subject, EVENTS_MAX)
    if (!isEmpty(history)) return { history, subject }
  }
  return null
}

/** Null if the ledger has nothing of it. @throws LedgerAway */
export async function readRow(
  { readings, now, visitor }: ConsoleDeps,
  { key, record }: { readonly key?: string | undefined; readonly record?: string | undefined },
): Promise<RowView | null> {
  const asked = key ? { key } : record ? { recordId: record } : null
  if (asked === null) return null
  const { config } = await readings.config()
  const mayAsk = isAllowed(visitor?.role ?? 'viewer', 'operator')
  return await readings.ledger(async (ledger) => {
    const found = await find(ledger, asked)
    if (found === null) return null
    const { history, subject } = found
    const { items, removals, differences, known } = history
    const events = await eventsOf(ledger, history)
    const isCut = [items, removals, differences].some(({ length }) => length >= EVENTS_MAX)
    return {
      v: 1,
      made_at: new Date(now()).toISOString(),
      key: 'key' in subject ? subject.key : null,
      record: 'key' in subject ? null : subject.recordId,
      known: known.map(({ sync, objectType, origin, key: of, recordId, run }) => ({
        sync,
        object_type: objectType,
        origin,
        key: of,
        record_id: recordId,
        run,
      })),
      asks: mayAsk && valuesFor({ visitor }, config) === 'shown',
      events,
      up_to: isCut ? (events.at(-1)?.at ?? null) : null,
    }
  })
}

/** Whether the ledger has anything of it, as a key or as a record. */
export async function knowsRow(
  ledger: Ledger,
  words: string,
): Promise<{ readonly key: boolean; readonly record: boolean }> {
  const has = async (subject: RowSubject) => (await find(ledger, subject)) !== null
  return { key: await has({ key: words }), record: await has({ recordId: words }) }
}

const NO_EVENT = {
  key: null,
  record_id: null,
  row: null,
  line: null,
  hash: null,
  attempts: null,
  http_status: null,
  request_id: null,
  verified: null,
  code: null,
  reason: null,
  property: null,
  column: null,
  in_doubt: false,
  kept_values: 0,
  changed_by: null,
  repaired: null,
} as const

async function eventsOf(ledger: Ledger, history: RowHistory): Promise<RowEvent[]> {
  const { items, removals, differences } = history
  const isMapped = await mappedReader(ledger, items)
  const events = [
    ...items.map((item) => eventOfItem(item, isMapped(item.run))),
    ...removals.map(eventOfRemoval),
    ...togetherByRun(differences).map(eventOfDifferences),
  ]
  return events.toSorted((one, other) => other.run - one.run || (other.at < one.at ? -1 : 1))
}

const eventOfRemoval = (removal: RowHistory['removals'][number]): RowEvent => ({
  ...NO_EVENT,
  run: removal.run,
  sync: removal.sync,
  purpose: removal.purpose,
  at: removal.openedAt,
  kind: 'removal',
  state: removal.state,
  tone: 'none',
  key: removal.key,
  record_id: removal.recordId,
  http_status: removal.httpStatus,
  in_doubt: removal.inDoubt,
})

type OneDifference = RowHistory['differences'][number]

/** Those of a run that are alike but for their field. */
function togetherByRun(differences: readonly OneDifference[]): OneDifference[][] {
  const groups = new Map<string, OneDifference[]>()
  for (const difference of differences) {
    const { run, stream, kind, whose, repaired } = difference
    const like = JSON.stringify([run, stream, kind, whose, repaired])
    groups.set(like, [...(groups.get(like) ?? []), difference])
  }
  return [...groups.values()]
}

const PROPERTIES_SHOWN = 10

function eventOfDifferences(group: readonly OneDifference[]): RowEvent {
  const { run, sync, purpose, openedAt, key, recordId, kind, whose, repaired } = group[0]!
  const names = group.flatMap(({ field }) => (field === null ? [] : [field]))
  return {
    ...NO_EVENT,
    run,
    sync,
    purpose,
    at: openedAt,
    kind: 'difference',
    state: kind,
    tone: repaired ? 'good' : 'look',
    key,
    record_id: recordId,
    property: names.length === 0 ? null : joinSome(names.toSorted(), PROPERTIES_SHOWN),
    changed_by: whose,
    repaired,
  }
}

/** Which properties each of these runs maps: other words of the service may be values. */
async function mappedReader(ledger: Ledger, items: readonly RowItem[]) {
  const wrong = new Set(items.flatMap(({ run, field }) => (field === null ? [] : [run])))
  const mapped = new Map<number, object>()
  for (const id of wrong) {
    const run = await ledger.run(id)
    if (run?.kind === 'import') mapped.set(id, jobOf(run, 'import').sync.import.properties)
  }
  return (run: number) => (name: string) => Object.hasOwn(mapped.get(run) ?? {}, name)
}

const TONES: Partial<Record<RowItem['state'], RowEvent['tone']>> = {
  created: 'good',
  updated: 'good',
  unchanged: 'none',
  pending: 'live',
  in_flight: 'live',
  invalid: 'look',
  refused: 'bad',
  outcome_unknown: 'bad',
  conflict: 'look',
  not_sent: 'look',
}

function eventOfItem(item: RowItem, isMapped: (name: string) => boolean): RowEvent {
  const { run, sync, purpose, openedAt, sentAt, state, verified } = item
  const isOff = verified !== null && verified !== 'equal'
  return {
    ...NO_EVENT,
    run,
    sync,
    purpose,
    at: sentAt ?? openedAt,
    kind: 'row',
    state,
    tone: isOff ? 'look' : (TONES[state] ?? 'none'),
    key: item.key,
    record_id: item.recordId,
    row: item.ordinal,
    line: item.line,
    hash: item.hash,
    attempts: item.attempts,
    http_status: item.httpStatus,
    request_id: item.requestId,
    verified,
    ...publicError(item, isMapped),
    column: item.column,
    in_doubt: item.inDoubt,
    kept_values: item.keptValues,
  }
}
