// Which records a run is to remove, decided at the end of staging: those of rows that the last complete reading had and this one does
// not, and those whose rows ask for it. Promises kept here: only a complete reading is compared with a complete one; a source that
// shrank to nothing is refused; nothing is sent yet.

import { STILL_IN_SOURCE } from '../../core/domain/held-back.ts'
import { SourceError } from '../../core/errors.ts'
import { formatNumber } from '../../core/format.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { DeletionCounts } from '../../core/domain/deletions.ts'
import { jobOf } from '../../runs/job.ts'
import type { ImportConfig, ImportSync } from '../../../config/index.ts'
import type {
  AcceptedRecords,
  NewRemoval,
  Removals,
  RowStaging,
  Run,
  RunReports,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import { readsAll } from '../look/run-configs.ts'
import type { Source } from '../../sources/source.ts'
import { keylessText } from '../judge/keyless-rows.ts'
import { stillInSourceText, type KeysOfSource } from './source-keys.ts'
import { readingFacts } from '../judge/source-as-read.ts'
import type { ImportDeps } from '../ports.ts'

type PlanningLedger = AcceptedRecords & Removals & RowStaging & RunReports & Runs & StepStates

/** A run whose rows are staged. */
export interface StagedReading {
  readonly run: number
  readonly fence: number
  readonly sync: ImportSync
  /** Rows of the source. */
  readonly rows: number
  /** Rows that ask for the deletion of their record. */
  readonly withdrawn: number
  /** Whether it is no retry, no reconciliation, and no window. */
  readonly isRegular: boolean
  /** Whether it is regular, and its source was read whole. */
  readonly isWhole: boolean
  readonly source: Pick<Source, 'stamp'>
  /** Rows that the source has as they were before they were corrected. */
  readonly corrected: { readonly keys: ReadonlySet<string> }
  /** The keys that the source has, beyond what was read; null if that is no source of records. */
  readonly keys: KeysOfSource | null
}

export interface PlannedRemovals {
  readonly counts: DeletionCounts
  readonly warnings: readonly string[]
}

/** Reason of a removal that a row without a key that can be read has kept from being sent. */
const KEYLESS = 'keyless_rows'

const rows = (count: number): string => (count === 1 ? '1 row' : `${formatNumber(count)} rows`)

/** @throws SourceError if the source has no row, and had some */
export async function planRemovals(
  deps: ImportDeps<PlanningLedger>,
  reading: StagedReading,
): Promise<PlannedRemovals> {
  const { ledger } = deps
  const { run, sync, withdrawn, isRegular } = reading
  const { missing_rows: missing = 'ignore', delete_when: when } = sync.import
  if (missing === 'ignore' && when === undefined) return { counts: {}, warnings: [] }
  if (!isRegular)
    return {
      counts: {},
      warnings:
        withdrawn === 0
          ? []
          : [
              `${rows(withdrawn)} ask for the deletion of their record (delete_when): only regular runs, which records-sync run starts, delete`,
            ],
    }
  const planner = new Planner(deps, reading)
  const previous = await ledger.previousReading(run)
  const earlier = previous && (await ledger.run(previous.run))
  const isMissing = missing !== 'ignore' && reading.isWhole
  const obstacle = isMissing ? await obstacleOf(deps, reading, earlier, previous?.isKept) : null
  if (when !== undefined) await planner.addAsked()
  if (earlier !== null) await planner.addCarried(earlier.id, isMissing && obstacle === null)
  if (isMissing && obstacle === null && earlier !== null) {
    const reason = otherSource(sync.import, earlier)
    await (
      await readingFacts(ledger, run)
    ).keep({ reason, stamp: reading.source.stamp?.() ?? null })
    await planner.addMissing(earlier.id)
    await planner.addMade(earlier.id)
  }
  const { counts, keyless } = await planner.end()
  const held = counts.not_sent ?? 0
  const { stillThere } = planner
  return {
    counts,
    warnings: [
      ...(obstacle === null || obstacle === '' ? [] : [`missing_rows: ${obstacle}`]),
      ...(stillThere > 0
        ? [`missing_rows: ${stillInSourceText(stillThere, reading.keys!.records)}`]
        : []),
      ...(held > 0
        ? [
            `missing_rows: nothing was removed (${formatNumber(held)} without a row): ${rows(keyless)} ${keyless === 1 ? 'has' : 'have'} no key that can be read${await keylessText(ledger, run)}, so a record that seems gone may be ${keyless === 1 ? 'its' : 'theirs'}; give ${keyless === 1 ? 'it a key' : 'them keys'} in the source, and the next run looks again`,
          ]
        : []),
    ],
  }
}

/**
 * Why it cannot be said which rows are gone, in words; empty if there were none before; null if it can.
 * @throws SourceError if the source has no row, and had some
 */
async function obstacleOf(
  { ledger }: ImportDeps<PlanningLedger>,
  { run, rows: read, sync }: StagedReading,
  earlier: Run | null,
  isKept = false,
): Promise<string | null> {
  if (earlier === null)
    return (await ledger.hasAccepted(run))
      ? 'nothing is removed, because no complete reading of the source is there to compare this one with; the next run compares with this one'
      : ''
  if (!readsAll(earlier))
    return `nothing is removed, because run ${earlier.id} did not read its source whole; the next run compares with this one`
  if (read === 0 && (earlier.rowsRead ?? 0) > 0)
    throw new SourceError(
      'source_shrank_to_nothing',
      `The source has no rows, and run ${earlier.id} read ${formatNumber(earlier.rowsRead!)}. Taken at its word, missing_rows would remove the record of each of them, so the run is refused, and nothing is sent. If the export broke, mend it and run again. If the source is empty on purpose, set missing_rows: ignore, and delete the records with: records-sync reconcile ${sync.name} --repair --delete-extra`,
    )
  if (!isKept)
    return `nothing is removed, because the rows of run ${earlier.id} are not in the ledger any more; the next run compares with this one`
  return null
}

/** That the source or its key column was set otherwise in an earlier run, in words; null if it was not. */
function otherSource(config: ImportConfig, earlier: Run): string | null {
  const before = jobOf(earlier, 'import').sync.import
  const sourceOf = ({ from, matching_property: matching, properties }: ImportConfig) =>
    canonicalJson([from, properties[matching] ?? null] as unknown as Json)
  return sourceOf(before) === sourceOf(config)
    ? null
    : `the source, or the column of its keys, is set otherwise than in run ${earlier.id}`
}

/** Notes removals in parts, and counts them. */
class Planner {
  readonly #deps: ImportDeps<PlanningLedger>
  readonly #reading: StagedReading
  #number = 0
  #stillThere = 0
  #keyless: number | null = null

  constructor(deps: ImportDeps<PlanningLedger>, reading: StagedReading) {
    this.#deps = deps
    this.#reading = reading
  }

  /** Records without a row whose own record the source still has. */
  get stillThere(): number {
    return this.#stillThere
  }

  async addAsked(): Promise<void> {
    const { ledger } = this.#deps
    const { run } = this.#reading
    // Bounded by the items of the run: every pass goes on after the one before it.
    for (let after = 0; ;) {
      const page = await ledger.askedKeys(run, { after, limit: LEDGER_ROWS_MAX })
      if (page.length === 0) return
      await this.#add(page.map((one) => ({ ...one, cause: 'asked', state: 'pending' })))
      after = page.at(-1)!.ordinal
    }
  }

  /** What the last run left open: the source does not say it again. */
  async addCarried(earlier: number, isMissing: boolean): Promise<void> {
    const { ledger } = this.#deps
    const { run, sync } = this.#reading
    const isAsked = sync.import.delete_when !== undefined
    for (let after = 0; ;) {
      const page = await ledger.carriedKeys(run, { earlier, after, limit: LEDGER_ROWS_MAX })
      if (page.length === 0) return
      const still = page.filter(({ cause }) => (cause === 'asked' ? isAsked : isMissing))
      await this.#add(
        still.flatMap((one) =>
          one.cause === 'asked' ? [{ ...one, state: 'pending' as const }] : [],
        ),
      )
      await this.#addGone(still.filter(({ cause }) => cause === 'missing'))
      after = page.at(-1)!.number
    }
  }

  async addMissing(earlier: number): Promise<void> {
    const { ledger } = this.#deps
    const { run } = this.#reading
    for (let after: number | null = 0; after !== null;) {
      const page: Awaited<ReturnType<Removals['missingKeys']>> = await ledger.missingKeys(run, {
        earlier,
        after,
        limit: LEDGER_ROWS_MAX,
      })
      const untracked = page.keys.filter((one) => !one.isTracked)
      const names = untracked.map(({ key }) => key)
      const removed =
        names.length === 0 ? new Set() : await ledger.removedSince(run, earlier, names)
      const tracked = page.keys.filter((one) => one.isTracked)
      await this.#addGone(tracked)
      await this.#add(
        untracked
          .filter(({ key, isWithdrawn }) => !isWithdrawn && !removed.has(key))
          .map((one) => ({ ...one, cause: 'missing' as const, state: 'not_owned' as const })),
      )
      after = page.next
    }
  }

  /** Records that runs since have written, whose rows that reading need not have had. */
  async addMade(earlier: number): Promise<void> {
    const { ledger } = this.#deps
    const { run } = this.#reading
    // Bounded by what is accepted: every stretch goes on behind the one before it.
    for (let after: string | null = null; ;) {
      const page: Awaited<ReturnType<Removals['madeKeys']>> = await ledger.madeKeys(run, {
        earlier,
        after,
        limit: LEDGER_ROWS_MAX,
      })
      await this.#addGone(page.keys)
      if (page.next === null) return
      after = page.next
    }
  }

  async end(): Promise<{ counts: DeletionCounts; keyless: number }> {
    const counts = await this.#deps.ledger.removalCounts(this.#reading.run)
    return { counts, keyless: this.#keyless ?? 0 }
  }

  /** Those that the source still has are left. */
  async #addGone(
    found: readonly (Pick<NewRemoval, 'key' | 'recordId'> & {
      readonly rawKey?: string | null
    })[],
  ): Promise<void> {
    const { corrected } = this.#reading
    const missing = found.filter(({ key }) => !corrected.keys.has(key))
    if (missing.length === 0) return
    const state = await this.#stateOfMissing(true)
    const there = (await this.#reading.keys?.have(missing)) ?? new Set()
    this.#stillThere += there.size
    await this.#add(
      missing.map(({ key, recordId }) => ({
        key,
        recordId,
        cause: 'missing' as const,
        state: there.has(key) ? 'still_wanted' : state,
      })),
    )
  }

  /** A row whose key cannot be read may be that of any record. */
  async #stateOfMissing(isAsked: boolean): Promise<'pending' | 'not_sent'> {
    if (!isAsked) return 'pending'
    this.#keyless ??= (await this.#deps.ledger.keyCounts(this.#reading.run)).keyless
    return this.#keyless > 0 ? 'not_sent' : 'pending'
  }

  async #add(
    found: readonly (Omit<NewRemoval, 'number' | 'reason'> & { readonly key: string })[],
  ): Promise<void> {
    const { ledger, signal, beat } = this.#deps
    const { run, fence } = this.#reading
    signal.throwIfAborted()
    beat()
    if (found.length === 0) return
    const removals = found.map(({ key, recordId, cause, state }) => ({
      number: ++this.#number,
      key,
      recordId,
      cause,
      state,
      reason: state === 'not_sent' ? KEYLESS : state === 'still_wanted' ? STILL_IN_SOURCE : null,
    }))
    await ledger.addRemovals(run, fence, removals)
  }
}
