// What the tests of every ledger driver share: rows, runs, and the questions they ask.

import type {
  Destination,
  Ledger,
  ItemOutcome,
  PlannedItem,
  Run,
  RunSegment,
  SentBatch,
  StagedItem,
  StreamBooks,
} from '../../../src/ledger/ledger.ts'
import type { Purpose } from '../../../src/core/domain/purpose.ts'
import { ITEM_STATES, type ItemState } from '../../../src/core/domain/outcomes.ts'
import { countAll } from '../../../src/core/domain/outcome-counts.ts'
import type { Watermark } from '../../../src/core/domain/watermark.ts'

/** A ledger of its own for one test. */
export interface Opened {
  readonly ledger: Ledger
  /** Another handle on the same store, as another process has it; the first stays usable, as a zombie's does. */
  reopen(): Promise<Ledger>
  /** Another handle, which signs with `SIGNING_KEY`. */
  signing(): Promise<Ledger>
  /** Asks the tables themselves, as users do. */
  query(text: string): Promise<readonly Record<string, unknown>[]>
  /** The ledger as it is now, after it was put back from a backup as `docs/ledger.md` says. */
  restored(): Promise<Ledger>
  cleanup(): Promise<void>
}
export type Open = () => Promise<Opened>

export const SIGNING_KEY = 'a key of the tests'

export const destination = {
  sync: 'contacts',
  origin: 'https://api.example.com',
  orgId: 1,
  objectType: 'svc_contact',
  matchingProperty: 'svc_external_id',
}
export const never = '9999-01-01T00:00:00.000Z'

/** A row that maps: its hash is its content, so equal content is equal work. */
export const row = (ordinal: number, key: string, content = 'a'): StagedItem => ({
  ordinal,
  line: ordinal + 1,
  raw: JSON.stringify([key, content]),
  valid: true,
  key,
  payload: `{"properties":{"id":${JSON.stringify(key)},"name":${JSON.stringify(content)}}}`,
  hash: `hash of ${content}`,
})

/** A row that does not map. */
export const badRow = (ordinal: number, key: string | null, reason = 'not_a_date'): StagedItem => ({
  ordinal,
  line: ordinal + 1,
  raw: JSON.stringify([key, 'x']),
  valid: false,
  key,
  reason,
  column: 'born',
  field: 'svc_born',
  value: 'x',
  detail: 'expected a day',
})

/** Rows 1 to `count` with a key each. */
export const rows = (count: number, content = 'a'): StagedItem[] =>
  Array.from({ length: count }, (_, index) => row(index + 1, `k${index + 1}`, content))

const CONFIGS = {
  import: {
    import: {
      from: { csv: '/rows.csv' },
      to: 'crm',
      object_type: 'svc_contact',
      matching_property: 'svc_external_id',
      properties: {},
    },
  },
  mirror: { mirror: { from: 'crm', to: 'lake', schema: 'crm_copy' } },
}

export interface OpenTask {
  readonly purpose?: Purpose
  readonly of?: number
  readonly verify?: 'all'
}

let opened = 0
export async function openRun(
  ledger: Ledger,
  mode: 'run' | 'plan' = 'run',
  sync = 'contacts',
  kind: Run['kind'] = 'import',
  { correction, verify, ...task }: OpenTask & { correction?: number } = {},
): Promise<Run> {
  opened++
  const result = await ledger.openRun({
    sync,
    kind,
    mode,
    workflowId: `w${opened}`,
    workflowRunId: `r${opened}`,
    config: {
      name: sync,
      kind,
      ...CONFIGS[kind],
      ...(verify && { import: { ...CONFIGS.import.import, verify } }),
      ...(correction !== undefined && { retry: { of: task.of!, choice: { correction } } }),
    },
    ...task,
  })
  if (!('run' in result)) throw new Error(`run ${result.heldBy.id} holds the sync`)
  return result.run
}

export interface StageOptions {
  readonly rowsPerSegment?: number
  readonly orgId?: number
  readonly destination?: Partial<Destination>
  readonly watermark?: Watermark
  readonly skipUnchanged?: boolean
  /** How many of the rows earlier runs have read. */
  readonly again?: number
  /** Default: that of all runs. */
  readonly keyFingerprint?: string
}

/** Stages the rows of a run, 1,000 at a time, to the end. */
export async function stage(
  ledger: Ledger,
  run: number,
  items: readonly StagedItem[],
  options: StageOptions = {},
) {
  await ledger.bindDestination(
    run,
    { ...destination, orgId: options.orgId ?? destination.orgId, ...options.destination },
    { keyFingerprint: options.keyFingerprint ?? 'fp', warnings: [], schema: {} },
  )
  const fence = await ledger.beginStage(run, ['id', 'name'])
  for (let first = 0; first < items.length; first += 1_000)
    await ledger.stageItems(run, fence, items.slice(first, first + 1_000))
  const source = {
    rows: items.length,
    digest: 'd',
    rowsPerSegment: options.rowsPerSegment ?? 100_000,
    watermark: options.watermark,
    ...(options.again !== undefined && { again: options.again }),
    ...(options.skipUnchanged !== undefined && { skipUnchanged: options.skipUnchanged }),
  }
  return { fence, counts: await ledger.finishStage(run, fence, source) }
}

/** The books of a stream of a mirror, as it begins. */
export const stream = (name: string, change: Partial<StreamBooks> = {}): StreamBooks => ({
  stream: name,
  table: null,
  state: 'waiting',
  mode: null,
  requests: 0,
  read: 0,
  inserted: 0,
  changed: 0,
  unchanged: 0,
  deleted: 0,
  older: 0,
  reverted: 0,
  differs: null,
  misfits: null,
  serviceCount: null,
  tableCount: null,
  message: null,
  ...change,
})

/** A row that asks for the deletion of its record. */
export const withdrawn = (ordinal: number, key: string): StagedItem => ({
  ordinal,
  line: ordinal + 1,
  raw: JSON.stringify([key, 'gone']),
  valid: true,
  key,
  payload: '',
  hash: '',
  withdrawn: true,
})

/** A run that is staged and whose first segment is claimed. */
export async function staged(
  ledger: Ledger,
  items: readonly StagedItem[],
  options: StageOptions & { task?: OpenTask } = {},
) {
  const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', options.task)
  const { counts } = await stage(ledger, run, items, options)
  const segment = (await ledger.openSegments(run))[0]!
  return { run, counts, segment, fence: await ledger.claimSegment(run, segment) }
}

/** A claimed segment. */
export interface Claim {
  readonly run: number
  readonly segment: RunSegment
  readonly fence: number
}

/** Writes the next `limit` planned items down as sent. */
export async function send(
  ledger: Ledger,
  { run, segment, fence }: Claim,
  limit = 50,
  isSent: (item: PlannedItem) => boolean = () => true,
): Promise<SentBatch> {
  const planned = await ledger.nextPlanned(run, segment, { after: 0, attemptsBelow: 5, limit })
  const items = planned.filter(isSent)
  const digest = `digest of ${items.map(({ ordinal }) => ordinal).join(' ')}`
  return await ledger.recordSend(run, segment, fence, { operation: 'batchUpsert', digest, items })
}

export const answered = { status: 200, requestId: 'req', durationMs: 12 }
export const unanswered = { status: null, requestId: null, durationMs: 30_000 }

/** The outcome of an item; written records have the item's ordinal as id. */
export function outcome(
  ordinal: number,
  state: ItemOutcome['state'],
  more: Partial<ItemOutcome> = {},
): ItemOutcome {
  const isWritten = state === 'created' || state === 'updated'
  return {
    ordinal,
    state,
    httpStatus: {
      created: 201,
      updated: 200,
      refused: 422,
      conflict: null,
      exists: 409,
      not_found: 404,
      protected: null,
      pending: 503,
      in_flight: 503,
    }[state],
    recordId: isWritten ? `record ${ordinal}` : null,
    code: isWritten ? null : 'request_invalid',
    reason: isWritten ? null : 'schema_invalid',
    field: isWritten ? null : '/properties/svc_email',
    detail: isWritten ? null : 'the service said why',
    inDoubt: state === 'in_flight',
    marks: isWritten ? `marks of ${ordinal}` : null,
    ...more,
  }
}

/** Settles a batch with one state for all, or with a state for each. */
export async function settle(
  ledger: Ledger,
  { run, segment, fence }: Claim,
  batch: SentBatch,
  states: ItemOutcome['state'] | readonly ItemOutcome['state'][],
  more: Partial<ItemOutcome> = {},
): Promise<void> {
  const outcomes = batch.items.map(({ ordinal }, index) =>
    outcome(ordinal, typeof states === 'string' ? states : states[index]!, more),
  )
  await ledger.settle(run, segment, fence, batch, answered, outcomes)
}

/** The state of every item of a run, by ordinal: fails where an ordinal has two items. */
export async function statesOf(ledger: Ledger, run: number): Promise<Record<number, ItemState>> {
  const items = await ledger.report(run, { states: ITEM_STATES, after: 0, limit: 1_000_000 })
  const states = Object.fromEntries(items.map(({ ordinal, state }) => [ordinal, state]))
  if (Object.keys(states).length !== items.length) throw new Error('an ordinal has two items')
  return states
}

/** The states that occur, with their numbers. */
export async function booked(
  ledger: Ledger,
  run: number,
): Promise<Partial<Record<ItemState, number>>> {
  const { states } = await ledger.books(run)
  return Object.fromEntries(Object.entries(states).filter(([, items]) => items > 0))
}

/** Rows read minus the sum of the states: 0 where every row has an item. */
export async function offBalance(ledger: Ledger, run: number): Promise<number> {
  const books = await ledger.books(run)
  return books.read - countAll(books.states)
}

/** Ends a run by itself. */
export async function close(ledger: Ledger, run: number): Promise<void> {
  await ledger.settleLeftovers(run)
  await ledger.closeRun(run, { state: 'complete', books: await ledger.books(run) })
}

/** Which of these rows a next run would leave alone because the service accepted them as they are. */
export async function accepted(
  ledger: Ledger,
  items: readonly StagedItem[],
  options: StageOptions = {},
): Promise<number[]> {
  const { id } = await openRun(ledger, 'plan')
  await stage(ledger, id, items, options)
  const states = await statesOf(ledger, id)
  await ledger.discard(id)
  return Object.keys(states)
    .map(Number)
    .filter((ordinal) => states[ordinal] === 'unchanged')
}

/** A closed run in which all these rows were created. */
export async function accept(
  ledger: Ledger,
  items: readonly StagedItem[],
  options: StageOptions = {},
) {
  const claim = await staged(ledger, items, options)
  for (let batch = await send(ledger, claim); batch.items.length > 0;) {
    await settle(ledger, claim, batch, 'created')
    const [next] = await ledger.nextPlanned(claim.run, claim.segment, {
      after: 0,
      attemptsBelow: 5,
      limit: 1,
    })
    if (!next) break
    batch = await send(ledger, claim)
  }
  await close(ledger, claim.run)
  return claim.run
}
