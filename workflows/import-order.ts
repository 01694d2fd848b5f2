// The order of a run's steps. It does nothing itself: the workflow drives it with activities, tests drive it without Temporal.

import { forEachConcurrent } from '../src/core/concurrency.ts'
import type { ReconcileScope } from '../src/core/domain/purpose.ts'

export type ImportStepName =
  | 'stage'
  | 'plan'
  | 'compare'
  | 'review'
  | 'push'
  | 'link'
  | 'remove'
  | 'close'

/** What staging tells of the run. */
export interface StagedOrder<Segment> {
  readonly segments: readonly Segment[]
  /** How many of the segments, from the first one on, hold what earlier runs have read. */
  readonly older?: number
  readonly hasLimits: boolean
  readonly makesPlan?: boolean
  readonly hasLinks?: boolean
  readonly removals: number
}

interface Slice {
  readonly done: boolean
}

export type OrderedEnding =
  | { readonly kind: 'finished' }
  | { readonly kind: 'cancelled'; readonly message: string }

/** The steps. One that returns `done` works for a slice of time, and is called until it is done. */
export interface ImportSteps<Segment, Staged extends StagedOrder<Segment>, Closed> {
  /** Told before a step begins, whatever number of slices it takes. */
  begin(step: ImportStepName): void | Promise<void>
  stage(): Promise<Staged>
  /** Looks all rows up. */
  plan(): Promise<Slice>
  /** Asks the service for every row; `hasLimits`: a review is due before anything is repaired. */
  compare(): Promise<Slice & { readonly hasLimits: boolean }>
  /** Returns why the run may not go on; null if it may. */
  review(): Promise<string | null>
  /** Sends a whole segment. */
  push(segment: Segment): Promise<void>
  /** Sends the links of the rows, which need the records of all of them. */
  link(): Promise<Slice>
  /** Removes the records of rows that are gone, or that ask for it. */
  remove(): Promise<Slice>
  close(ending: OrderedEnding): Promise<Closed>
}

/** Bounded by the slices that a run may have. */
async function untilDone<Result extends Slice>(slice: () => Promise<Result>): Promise<Result> {
  for (;;) {
    const result = await slice()
    if (result.done) return result
  }
}

/** @param scope of a reconciliation; null: of another run @param segmentsInFlight how many segments are pushed at once, at most */
export async function runImportSteps<Segment, Staged extends StagedOrder<Segment>, Closed>(
  steps: ImportSteps<Segment, Staged, Closed>,
  scope: ReconcileScope | null,
  segmentsInFlight: number,
): Promise<Closed> {
  await steps.begin('stage')
  const staged = await steps.stage()
  if (staged.makesPlan) {
    await steps.begin('plan')
    await untilDone(() => steps.plan())
  }
  if (scope !== null) await steps.begin('compare')
  const { hasLimits } = scope === null ? staged : await untilDone(() => steps.compare())
  if (hasLimits) await steps.begin('review')
  const refusal = hasLimits ? await steps.review() : null
  if (refusal !== null) return await steps.close({ kind: 'cancelled', message: refusal })
  if (scope === null || scope.repair) await send(steps, staged, segmentsInFlight)
  await steps.begin('close')
  return await steps.close({ kind: 'finished' })
}

async function send<Segment, Staged extends StagedOrder<Segment>>(
  steps: ImportSteps<Segment, Staged, unknown>,
  { segments, older = 0, hasLinks, removals }: Staged,
  segmentsInFlight: number,
): Promise<void> {
  const push = (segment: Segment) => steps.push(segment)
  await steps.begin('push')
  // What earlier runs have read is sent before anything newer: the service may take two keys for one.
  await forEachConcurrent(segments.slice(0, older), segmentsInFlight, push)
  await forEachConcurrent(segments.slice(older), segmentsInFlight, push)
  if (hasLinks) {
    await steps.begin('link')
    await untilDone(() => steps.link())
  }
  if (removals > 0) {
    await steps.begin('remove')
    await untilDone(() => steps.remove())
  }
}
