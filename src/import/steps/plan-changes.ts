// What the planned rows of a run change at the service, before any of them is sent: each is looked up, 100 keys a request, and its
// image is stored with the run, also that of a row whose record has its values already. The images are the checkpoint: called again,
// the step goes on with the rows that have none.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import { LEDGER_CHARS_MAX, LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type {
  AcceptedRecords,
  BeforeImages,
  LedgerIdentity,
  Outbox,
  PlannedItem,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { lookUpNoter } from '../../runs/look-ups-made.ts'
import { rowFinder } from '../look/found-records.ts'
import { resolveKeyForms } from '../look/key-forms.ts'
import { stepPosition } from '../step-position.ts'
import { WHOLE_RUN } from '../look/whole-run.ts'
import { rowChangeReader } from '../judge/row-changes.ts'

export type PlanLedger = AcceptedRecords &
  BeforeImages &
  LedgerIdentity &
  Outbox &
  Runs &
  StepStates

export interface LookUpBounds {
  /** Rows that are looked up, spread evenly over the planned ones. Default: all. */
  readonly sample?: number | undefined
  /** Requests after which no further row is looked up. Default: as many as it takes. */
  readonly limitRequests?: number | undefined
}

/** What was looked up, in all calls together. */
export interface LookedUp {
  /** False if time ran out first (`tuning.segment_ms`): call again. */
  readonly done: boolean
  readonly planned: number
  /** Planned rows that have an image. */
  readonly rows: number
  readonly requests: number
}

/**
 * Looks planned rows of a run up, and stores their images.
 * @throws Blocked, ServiceFailure, QuotaWait: called again, it goes on
 */
export async function lookUpChanges(
  deps: ImportDeps<PlanLedger>,
  job: StagedImport,
  { sample, limitRequests = Infinity }: LookUpBounds = {},
): Promise<LookedUp> {
  const { ledger, clock, signal, tuning } = deps
  const { run } = job
  const deadline = clock.now() + tuning.segment_ms
  const find = rowFinder(deps, job)
  const readChanges = rowChangeReader(deps, job)
  const noteLookUps = lookUpNoter(deps, run)
  const place = await stepPosition(ledger, run, 'look_up', { requests: 0 })
  const { planned } = await ledger.progress(run)
  let { requests } = place.kept
  // As a push does it: what is sent, and so what is looked up, is the form that the service has.
  const segment = WHOLE_RUN
  requests += await resolveKeyForms(deps, { ...job, segment }, limitRequests - requests)
  await place.keep({ requests })
  let asked = 0
  const lookUp = async (slice: readonly PlannedItem[]) => {
    if (requests + asked >= limitRequests) return
    asked += 1
    let reads = 0
    try {
      signal.throwIfAborted()
      const found = await find(slice, { whole: true, onFound: (one) => (reads = one.reads) })
      const changes = await readChanges(found)
      await ledger.recordImages(
        run,
        changes.map(({ image }) => image),
      )
      await noteLookUps(reads)
    } finally {
      asked -= 1
      requests += reads
    }
    deps.beat(slice.length)
  }
  const end = async (done: boolean): Promise<LookedUp> => {
    const counts = Object.values(await ledger.imageCounts(run))
    return { done, planned, requests, rows: counts.reduce((sum, count) => sum + count, 0) }
  }
  for await (const rows of rowsToLookUp(ledger, run, { planned, sample })) {
    signal.throwIfAborted()
    try {
      await forEachConcurrent(slicesOf(rows, IN_VALUES_MAX), tuning.in_flight, lookUp)
    } finally {
      await place.keep({ requests })
    }
    if (requests >= limitRequests) break
    if (clock.now() >= deadline) return await end(false)
  }
  return await end(true)
}

/** Pages of the rows that have to be looked up and have no image. Bounded by the planned items. */
async function* rowsToLookUp(
  ledger: BeforeImages & Outbox,
  run: number,
  { planned, sample = planned }: { readonly planned: number; readonly sample?: number | undefined },
): AsyncGenerator<readonly PlannedItem[]> {
  const limit = LEDGER_ROWS_MAX
  if (sample >= planned) {
    for (let after = 0; ;) {
      const rows = await ledger.withoutImage(run, { after, limit })
      if (rows.length === 0) return
      yield rows
      after = rows.at(-1)!.ordinal
    }
  }
  let chosen: PlannedItem[] = []
  let chars = 0
  for (let after = 0, at = 0; ;) {
    const rows = await ledger.nextPlanned(run, WHOLE_RUN, { after, attemptsBelow: 1, limit })
    // Each row is chosen by its place among the planned ones, so that a second attempt chooses the same ones.
    const even = rows.filter((_, index) => isOfSample(at + index, sample, planned))
    const images = await ledger.imagesOf(
      run,
      even.map(({ ordinal }) => ordinal),
    )
    for (const row of even.filter(({ ordinal }) => !images.has(ordinal))) {
      chosen.push(row)
      chars += row.payload.length
    }
    const isEnd = rows.length === 0
    if (chosen.length > 0 && (isEnd || chosen.length >= limit || chars >= LEDGER_CHARS_MAX)) {
      yield chosen
      chosen = []
      chars = 0
    }
    if (isEnd) return
    at += rows.length
    after = rows.at(-1)!.ordinal
  }
}

/** Whether the row at this place, from 0, is one of `sample` that are spread evenly over `all`. */
const isOfSample = (at: number, sample: number, all: number): boolean =>
  Math.floor(((at + 1) * sample) / all) > Math.floor((at * sample) / all)
