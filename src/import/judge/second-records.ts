// Rows that were written to a record that is not the only one of their key, as far as it is known: the record that the key was
// written to before, or one that an earlier run named, still exists, or the API key in use may not see it.

import { mappedColumns } from '../../core/domain/mapped-columns.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import { isWritten } from '../../core/domain/outcomes.ts'
import { OTHER_KEY, SECOND_RECORD } from '../../core/domain/held-back.ts'
import type {
  AcceptedRecords,
  ItemOutcome,
  RowStaging,
  Run,
  Runs,
  SentBatch,
  StepStates,
} from '../../ledger/ledger.ts'
import { stagedMatchingProperty } from '../mapping/types.ts'
import { hiddenFrom } from '../look/key-view.ts'
import { hasOtherRecords, otherRecordsReader, UNKNOWN_RECORD } from '../look/other-records.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'

const WRITTEN_BEFORE = 'this key was written to another record before'
const MAYBE_WRITTEN_BEFORE = 'this key may have been written to another record before'

const UNREAD_REACH = 'the reach of the key could not be read'

/** Notes that a run goes on with another API key. */
export async function noteOtherKey(
  ledger: StepStates,
  run: Pick<Run, 'id' | 'keyFingerprint'>,
  keyFingerprint: string,
): Promise<void> {
  if (keyFingerprint !== run.keyFingerprint)
    await ledger.saveStepState(run.id, OTHER_KEY, keyFingerprint)
}

/**
 * The same while the run sends: the client reads its key again after a 401, and so does every other step that uses the connection.
 * To be called after each request, before its answer is recorded.
 */
export function otherKeyNoter(
  { ledger, client }: ImportDeps<Runs & StepStates>,
  run: number,
): () => Promise<void> {
  let opened: ReturnType<Runs['run']> | null = null
  let noted: string | null = null
  return async () => {
    const inUse = await client.keyFingerprint().catch(() => null)
    // A key that cannot be read has sent nothing.
    if (inUse === null || inUse === noted) return
    opened ??= ledger.run(run)
    const row = await opened
    if (row !== null) await noteOtherKey(ledger, row, inUse)
    noted = inUse
  }
}

/** Asked once for a batch: each one reads the reach of the key. */
type Hidden = ReturnType<typeof hiddenFrom>

/** What the ledger notes of the records of a key. */
type Note = Parameters<AcceptedRecords['noteRecordsOfKeys']>[1][number]

export interface NotedOutcomes {
  readonly outcomes: readonly ItemOutcome[]
  /** To note once the outcomes are settled: until then nothing is accepted for these keys. */
  readonly later: readonly Note[]
}

/** Adds to each outcome of a batch, before it is settled, that its key has a second record now, or may have one. */
export function secondRecordReader(
  deps: ImportDeps<AcceptedRecords & RowStaging & Runs & StepStates>,
  job: StagedImport,
): (
  batch: Pick<SentBatch, 'attempt' | 'items'>,
  outcomes: readonly ItemOutcome[],
) => Promise<NotedOutcomes> {
  const { ledger, tuning } = deps
  const { run, config, schema } = job
  const { name } = stagedMatchingProperty(config, schema)
  const field = `/properties/${name}`
  const column = mappedColumns(config.properties[name] ?? {})[0] ?? null

  const inDoubt = doubtReader(ledger, run)

  return async (batch, outcomes) => {
    const { items } = batch
    const written = outcomes.filter(({ state, recordId }) => isWritten(state) && recordId !== null)
    if (written.length === 0) return { outcomes, later: [] }
    const keyOf = new Map(items.map(({ ordinal, key }) => [ordinal, key]))
    const keys = written.map(({ ordinal }) => keyOf.get(ordinal)!)
    const created = keys.filter((_, index) => written[index]!.state === 'created')
    // What another sync has written is a record of the key as well: a sync may have been renamed.
    const [own, elsewhere] = await Promise.all([
      ledger.acceptedRecords(run, keys),
      created.length === 0 ? [] : ledger.recordsElsewhere(run, created),
    ])
    const accepted = new Map([...elsewhere, ...own])
    const details = new Map<number, string>()
    const notes: Note[] = []
    const later: Note[] = []
    const hidden = hiddenFrom(deps, job)
    const read = otherRecordsReader(deps, job, hidden)
    // Mostly none: a promise for each row would cost more than all the rest here.
    const several = written.filter(({ ordinal, recordId }) =>
      hasOtherRecords(accepted.get(keyOf.get(ordinal)!), recordId!),
    )
    await forEachConcurrent(several, tuning.in_flight, async ({ ordinal, recordId, state }) => {
      const key = keyOf.get(ordinal)!
      const known = accepted.get(key)!
      const now = { recordId: recordId!, isCreated: state === 'created' }
      // The answer is recorded even if the look-up fails.
      const { detail, records } = await read(key, known, now).catch(() => ({
        detail: `${known.recordId}, or one that was named before; they could not be read now`,
        records: [recordId!, known.recordId, ...known.records],
      }))
      if (detail !== null) details.set(ordinal, `${WRITTEN_BEFORE}: ${detail}`)
      const note = { key, records: [...new Set(records)] }
      if (own.has(key)) notes.push(note)
      else later.push(note)
    })
    if (notes.length > 0) await ledger.noteRecordsOfKeys(run, notes)
    const unknownBefore = written.flatMap(({ ordinal, state, recordId }) => {
      const key = keyOf.get(ordinal)!
      return accepted.has(key) ? [] : [{ ordinal, state, key, recordId: recordId! }]
    })
    const doubts = await inDoubt(batch, unknownBefore, hidden)
    for (const { ordinal, key, recordId } of unknownBefore) {
      const reason = doubts.get(ordinal)
      if (reason === undefined) continue
      details.set(ordinal, `${MAYBE_WRITTEN_BEFORE}: ${reason}`)
      later.push({ key, records: [recordId, UNKNOWN_RECORD] })
    }
    return { outcomes: withDetails(outcomes, details, { field, column }), later }
  }
}

/** @param details by ordinal: why the row has a second record, or may have one */
const withDetails = (
  outcomes: readonly ItemOutcome[],
  details: ReadonlyMap<number, string>,
  at: { readonly field: string; readonly column: string | null },
): readonly ItemOutcome[] =>
  outcomes.map((outcome) => {
    const detail = details.get(outcome.ordinal)
    if (detail === undefined) return outcome
    return { ...outcome, answered: { reason: SECOND_RECORD, detail, value: null, ...at } }
  })

/** A row that was written, and whose key has no known record from before. */
interface NewRow {
  readonly ordinal: number
  readonly key: string
  readonly state: ItemOutcome['state']
}

/**
 * Reads why rows whose keys have no known record may have written a second one, by ordinal: a run with another key left their keys
 * in doubt, or this run has sent them before with another key.
 */
function doubtReader(
  ledger: AcceptedRecords & StepStates,
  run: number,
): (
  batch: Pick<SentBatch, 'attempt' | 'items'>,
  rows: readonly NewRow[],
  hidden: Hidden,
) => Promise<ReadonlyMap<number, string>> {
  let runs: Promise<readonly number[]> | null = null
  return async ({ items, attempt }, rows, hidden) => {
    const found = new Map<number, string>()
    const before = new Set(
      items.filter(({ attempts }) => attempt > 1 || attempts > 0).map(({ ordinal }) => ordinal),
    )
    const again = rows.filter(({ ordinal }) => before.has(ordinal))
    const reason = again.length === 0 ? null : await sentWithOtherKey(ledger, run, hidden)
    if (reason !== null) for (const { ordinal } of again) found.set(ordinal, reason)
    const open = rows.filter(({ ordinal }) => !found.has(ordinal))
    if (open.length === 0) return found
    runs ??= ledger.runsInDoubt(run, { ofAnyKey: false })
    for (const earlier of await runs) {
      // A row that two keys have sent may have a record of each: the one that is updated now says nothing of the other.
      const isOfTwo = (await ledger.loadStepState(earlier, OTHER_KEY)) !== null
      const asked = isOfTwo ? open : open.filter(({ state }) => state === 'created')
      const keys = asked.map(({ key }) => key)
      const doubtful = keys.length === 0 ? [] : await ledger.sentInDoubt(earlier, keys)
      if (doubtful.length === 0) continue
      const keysInDoubt = new Set(doubtful.map((sent) => sent.key))
      const why = await hidden(earlier).catch(() => UNREAD_REACH)
      if (why === null) continue
      for (const { ordinal, key } of asked)
        if (keysInDoubt.has(key)) found.set(ordinal, `run ${earlier} left it in doubt: ${why}`)
    }
    return found
  }
}

/** Why a row that the run has sent before may have a record that the key in use does not see; null if it sees all. */
export async function sentWithOtherKey(
  ledger: StepStates,
  run: number,
  hidden: Hidden,
): Promise<string | null> {
  if ((await ledger.loadStepState(run, OTHER_KEY)) === null) return null
  const reason = await hidden(run).catch(() => UNREAD_REACH)
  return (
    reason &&
    'the run has sent the row before, and its key was changed since to one of reach user, which does not see the private records of others'
  )
}
