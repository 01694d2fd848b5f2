// Runs of every kind in a real ledger, for tests of what a report says of them. What must never be in a report is in all of
// them: values, keys and record ids that begin with `SECRET`.

import type { SchemaChange } from '../../../src/core/domain/schema-changes.ts'
import type { Json } from '../../../src/core/json.ts'
import type { Difference } from '../../../src/core/domain/differences.ts'
import type { ReconcileScope, Purpose } from '../../../src/core/domain/purpose.ts'
import type { ItemComparison, Ledger, StagedItem, StreamBooks } from '../../../src/ledger/ledger.ts'
import { WHOLE_SCOPE } from '../../../src/core/domain/purpose.ts'
import {
  answered,
  close,
  destination,
  outcome,
  row,
  send,
  stream,
} from '../../suites/ledger/scene.ts'

/** Texts that people and services choose; a test makes them hostile. */
export interface Names {
  readonly sync: string
  readonly property: string
  readonly column: string
  readonly reason: string
  readonly message: string
  readonly warning: string
}

export const plainNames: Names = {
  sync: 'contacts',
  property: 'svc_email',
  column: 'Mail',
  reason: 'schema_invalid',
  message: 'something to know',
  warning: 'a warning of the mapping',
}

let workflows = 0

async function open(
  ledger: Ledger,
  names: Names,
  kind: 'import' | 'mirror',
  config: Record<string, Json> = {},
  task: { purpose?: Purpose; of?: number } = {},
): Promise<number> {
  workflows++
  const opened = await ledger.openRun({
    sync: names.sync,
    kind,
    mode: 'run',
    workflowId: `${kind}-${names.sync}`,
    workflowRunId: `workflow-run-${workflows}`,
    config: {
      name: names.sync,
      kind,
      import: {
        from: { csv: '/home/SECRET-folder/contacts.csv' },
        to: 'crm',
        object_type: 'svc_contact',
        matching_property: 'svc_external_id',
        properties: {
          svc_source: { value: 'SECRET constant' },
          [names.property]: names.column,
        },
      },
      mirror: { from: 'crm', to: 'lake', schema: 'crm_copy' },
      ...config,
    },
    ...task,
  })
  if (!('run' in opened)) throw new Error(`run ${opened.heldBy.id} holds the sync`)
  return opened.run.id
}

const good = (ordinal: number): StagedItem => row(ordinal, `SECRET key ${ordinal}`, 'SECRET value')

const bad = (ordinal: number, names: Names): StagedItem => ({
  ordinal,
  line: ordinal + 1,
  raw: JSON.stringify(['SECRET raw']),
  valid: false,
  key: `SECRET key ${ordinal}`,
  reason: names.reason,
  column: names.column,
  field: names.property,
  value: 'SECRET value',
  detail: 'SECRET detail',
})

async function stage(
  ledger: Ledger,
  run: number,
  names: Names,
  items: readonly StagedItem[],
  skipUnchanged = true,
) {
  await ledger.bindDestination(
    run,
    { ...destination, sync: names.sync },
    { keyFingerprint: '1a2b3c4d5e6f', warnings: [names.warning], schema: {} },
  )
  const fence = await ledger.beginStage(run, ['id', names.column])
  await ledger.stageItems(run, fence, items)
  const source = {
    rows: items.length,
    digest: 'ab'.repeat(32),
    rowsPerSegment: 1_000,
    skipUnchanged,
  }
  await ledger.finishStage(run, fence, source)
}

/** Sends what is planned; every `rejectEvery`-th row is refused. */
async function push(ledger: Ledger, run: number, names: Names, rejectEvery = 0) {
  const [segment] = await ledger.openSegments(run)
  if (!segment) return
  const fence = await ledger.claimSegment(run, segment)
  const claim = { run, segment, fence }
  for (let batch = await send(ledger, claim); batch.items.length > 0;) {
    const outcomes = batch.items.map(({ ordinal }) => ({
      ...(rejectEvery > 0 && ordinal % rejectEvery === 0
        ? outcome(ordinal, 'refused', {
            reason: names.reason,
            field: `/properties/${names.property}`,
            detail: 'SECRET detail',
          })
        : outcome(ordinal, ordinal % 3 === 0 ? 'updated' : 'created')),
      recordId: `SECRET record ${ordinal}`,
    }))
    await ledger.settle(run, segment, fence, batch, answered, outcomes)
    const more = await ledger.nextPlanned(run, segment, { after: 0, attemptsBelow: 5, limit: 1 })
    if (more.length === 0) break
    batch = await send(ledger, claim)
  }
}

async function end(ledger: Ledger, run: number, state: 'complete' | 'complete_with_rejects') {
  await ledger.settleLeftovers(run)
  await ledger.closeRun(run, { state, books: await ledger.books(run) })
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

/** 100 rows: 8 did not map, 9 were refused. */
export async function importWithRejects(ledger: Ledger, names = plainNames): Promise<number> {
  const run = await open(ledger, names, 'import')
  await stage(ledger, run, names, [
    ...numbers(92).map(good),
    ...numbers(8).map((index) => bad(92 + index, names)),
  ])
  await push(ledger, run, names, 10)
  await end(ledger, run, 'complete_with_rejects')
  return run
}

/** 100 rows, of which the first 50 are settled. */
export async function liveImport(ledger: Ledger, names = plainNames): Promise<number> {
  const run = await open(ledger, names, 'import')
  await stage(ledger, run, names, numbers(100).map(good))
  const [segment] = await ledger.openSegments(run)
  const fence = await ledger.claimSegment(run, segment!)
  const batch = await send(ledger, { run, segment: segment!, fence })
  const outcomes = batch.items.map(({ ordinal }) => outcome(ordinal, 'created'))
  await ledger.settle(run, segment!, fence, batch, answered, outcomes)
  return run
}

/** An import that was closed although a row has no outcome. */
export async function unbalancedImport(ledger: Ledger, names = plainNames): Promise<number> {
  const run = await open(ledger, names, 'import')
  await stage(ledger, run, names, numbers(10).map(good))
  await push(ledger, run, names)
  const books = await ledger.books(run)
  await ledger.closeRun(run, {
    state: 'failed',
    message: names.message,
    books: { ...books, read: books.read + 1 },
  })
  return run
}

export async function emptyImport(ledger: Ledger, names = plainNames): Promise<number> {
  const run = await open(ledger, names, 'import')
  await stage(ledger, run, names, [])
  await close(ledger, run)
  return run
}

/** An import of 1,000,000 rows: as the ledger keeps it when its items are gone. */
export async function largeImport(ledger: Ledger, names = plainNames): Promise<number> {
  const run = await open(ledger, names, 'import')
  const books = await ledger.books(run)
  await ledger.closeRun(run, {
    state: 'complete_with_rejects',
    books: {
      ...books,
      read: 1_000_000,
      states: { ...books.states, created: 999_999, refused: 1 },
    },
  })
  return run
}

/** Waits for a verdict: what it would send is above a limit. */
export async function blockedImport(
  ledger: Ledger,
  reason: 'approval' | 'auth',
  names = plainNames,
): Promise<number> {
  const run = await open(ledger, names, 'import')
  await stage(ledger, run, names, numbers(10).map(good))
  await ledger.setRunState(run, 'blocked', reason, names.message)
  return run
}

/** Takes the 17 rows again that `importWithRejects` left; 8 of them map no better. */
export async function retry(ledger: Ledger, of: number, names = plainNames): Promise<number> {
  const task = { purpose: 'retry', of } as const
  const choice = { reasons: [names.reason], rows: [[1, 92]] }
  const run = await open(ledger, names, 'import', { retry: { of, choice } }, task)
  const again = (item: StagedItem, index: number): StagedItem => ({ ...item, of: (index + 1) * 10 })
  await stage(
    ledger,
    run,
    names,
    [...numbers(9).map(good), ...numbers(8).map((index) => bad(9 + index, names))].map(again),
  )
  await push(ledger, run, names)
  await end(ledger, run, 'complete_with_rejects')
  return run
}

/** 10 rows of which 2 do not map, and the retry that brings both in. */
export async function mendedImport(ledger: Ledger, names = plainNames): Promise<number> {
  const run = await open(ledger, names, 'import')
  const rows = [...numbers(8).map(good), ...numbers(2).map((index) => bad(8 + index, names))]
  await stage(ledger, run, names, rows)
  await push(ledger, run, names)
  await end(ledger, run, 'complete_with_rejects')
  const task = { purpose: 'retry', of: run } as const
  const retried = await open(ledger, names, 'import', { retry: { of: run, choice: {} } }, task)
  const again = numbers(2).map((index) => ({ ...good(index), of: 8 + index }))
  await stage(ledger, retried, names, again)
  await push(ledger, retried, names)
  await end(ledger, retried, 'complete')
  return run
}

/** An undo of a run. @param state null: it is at work */
export async function undo(
  ledger: Ledger,
  of: number,
  state: 'complete' | null = 'complete',
  names = plainNames,
): Promise<number> {
  const run = await open(
    ledger,
    names,
    'import',
    { undo: { of, choice: {} } },
    { purpose: 'undo', of },
  )
  await stage(ledger, run, names, numbers(2).map(good))
  if (state === null) return run
  await push(ledger, run, names)
  await end(ledger, run, state)
  return run
}

/** A mirror of three tables, one of which failed. */
export async function mirror(ledger: Ledger, names = plainNames): Promise<number> {
  const run = await open(ledger, names, 'mirror')
  for (const books of streamsOf(names)) await ledger.noteStream(run, books)
  const changes = schemaChangesOf(names)
  await ledger.noteSchemaChanges(run, 'svc_contact', changes)
  // The last one is of a worker that ended before.
  await ledger.endSchemaChanges(run, 'svc_contact', numbers(changes.length - 1))
  await ledger.closeRun(run, { state: 'failed', message: names.message, books: null })
  return run
}

const schemaChangesOf = ({ property }: Names): SchemaChange[] => {
  const none = { before: null, now: null, columns: [] }
  return [
    {
      ...none,
      property,
      kind: 'removed',
      before: 'text',
      handling: 'column_kept',
      columns: [property],
    },
    {
      ...none,
      property: 'svc_score',
      kind: 'retyped',
      before: 'number',
      now: 'text',
      handling: 'column_added',
      columns: ['svc_score__text'],
    },
    { ...none, property: 'svc_tier', kind: 'added', now: 'select[]', handling: 'left_out' },
    {
      ...none,
      property: 'svc_price',
      kind: 'back',
      now: 'currency',
      handling: 'column_revived',
      columns: ['svc_price', 'svc_price_unit'],
    },
  ]
}

const streamsOf = (names: Names): StreamBooks[] => {
  const full = { mode: 'full', read: 1_200, inserted: 1_200, requests: 13, misfits: 0 } as const
  return [
    stream('svc_contact', { ...full, state: 'complete', serviceCount: 1_200, tableCount: 1_199 }),
    stream('svc_company', {
      ...full,
      state: 'complete',
      table: 'crm_copy.svc_company',
      misfits: 2,
    }),
    stream(names.property, { ...full, state: 'failed', message: names.message }),
  ]
}

const scope = (more: Partial<ReconcileScope>): Json =>
  ({ ...WHOLE_SCOPE, ...more }) as unknown as Json

/** How many fields a reconciliation of `reconciledImport` finds. */
export const FIELDS = 30

/**
 * A reconciliation of 40 rows: 30 equal, 3 missing, 3 stale, 4 different in many fields, and 2 extra records. With repair
 * all but the extra ones are mended.
 */
export async function reconciledImport(
  ledger: Ledger,
  more: Partial<ReconcileScope> = {},
  names = plainNames,
): Promise<number> {
  const task = { purpose: 'reconcile' } as const
  const run = await open(ledger, names, 'import', { reconcile: scope(more) }, task)
  await stage(ledger, run, names, numbers(40).map(good), false)
  await ledger.recordCompared(
    run,
    numbers(40).map((ordinal) => compared(ordinal, names)),
  )
  const extra = numbers(2).map((index) =>
    difference({ kind: 'extra', key: `SECRET extra ${index}`, recordId: `SECRET record ${index}` }),
  )
  await ledger.noteDifferences(run, extra, { repaired: false })
  if (more.repair) await push(ledger, run, names)
  if (more.repair) await ledger.settleDifferences(run)
  await end(ledger, run, 'complete_with_rejects')
  return run
}

/** A reconciliation that found both sides equal. */
export async function equalImport(ledger: Ledger, names = plainNames): Promise<number> {
  const task = { purpose: 'reconcile' } as const
  const run = await open(ledger, names, 'import', { reconcile: scope({}) }, task)
  await stage(ledger, run, names, numbers(40).map(good), false)
  await ledger.recordCompared(
    run,
    numbers(40).map((ordinal) => compared(1, names, ordinal)),
  )
  await ledger.settleLeftovers(run)
  const verifiedThrough = '2026-11-21T14:00:00.000Z'
  await ledger.closeRun(run, { state: 'complete', books: await ledger.books(run), verifiedThrough })
  return run
}

const difference = (more: Partial<Difference>): Difference => ({
  stream: 'svc_contact',
  key: null,
  recordId: null,
  ordinal: null,
  kind: 'different',
  field: null,
  whose: 'unknown',
  ours: null,
  theirs: null,
  ...more,
})

/** What comparing row `as` shows. */
function compared(as: number, names: Names, ordinal = as): ItemComparison {
  const kind = as <= 30 ? null : as <= 33 ? 'missing' : as <= 36 ? 'stale' : 'different'
  const about = { key: `SECRET key ${ordinal}`, recordId: `SECRET record ${ordinal}`, ordinal }
  const values = { ours: '"SECRET ours"', theirs: '"SECRET theirs"' }
  const field = (name: string, index: number): Difference =>
    difference({
      ...about,
      ...values,
      kind: kind!,
      field: name,
      whose: kind === 'stale' ? 'source' : index % 2 === 0 ? 'service' : 'both',
    })
  const fields = [names.property, ...numbers(FIELDS - 1).map((index) => `svc_field_${index}`)]
  return {
    ordinal,
    recordId: about.recordId,
    kind,
    marks: 'SECRET marks',
    held: null,
    differences:
      kind === null
        ? []
        : kind === 'missing'
          ? [difference({ ...about, kind })]
          : kind === 'stale'
            ? [field(names.property, 0)]
            : fields.map(field),
  }
}

/** A reconciliation of a mirror's two tables with a difference of each kind. */
export async function reconciledMirror(
  ledger: Ledger,
  more: Partial<ReconcileScope> = {},
  names = plainNames,
): Promise<number> {
  const task = { purpose: 'reconcile' } as const
  const run = await open(ledger, names, 'mirror', { reconcile: scope(more) }, task)
  for (const name of ['svc_contact', names.property])
    await ledger.noteStream(
      run,
      stream(name, { state: 'complete', requests: 7, serviceCount: 500, tableCount: 500 }),
    )
  const found = [
    difference({ kind: 'missing', recordId: 'SECRET record 1' }),
    difference({ kind: 'extra', recordId: 'SECRET record 2' }),
    difference({ kind: 'stale', recordId: 'SECRET record 3', whose: 'service' }),
    difference({
      kind: 'different',
      recordId: 'SECRET record 4',
      stream: names.property,
      field: names.column,
      whose: 'warehouse',
      ours: '"SECRET ours"',
      theirs: '"SECRET theirs"',
    }),
  ]
  await ledger.noteDifferences(run, found, { repaired: more.repair ?? false })
  await ledger.closeRun(run, {
    state: more.repair ? 'complete' : 'complete_with_rejects',
    books: null,
  })
  return run
}
