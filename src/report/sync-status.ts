// How a sync stands, for people: the runs that show it, how far both sides are known to be equal, and its state in words.

import { isComplete, LIVE_STATES } from '../core/domain/books.ts'
import { sumOfDifferences } from '../core/domain/differences.ts'
import { isWholeScope, PURPOSES, type Purpose } from '../core/domain/purpose.ts'
import { lookOf } from '../core/domain/run-states.ts'
import type { Differences, Leftovers, Run, RunReports, Runs, Syncs } from '../ledger/ledger.ts'
import { jobOf } from '../runs/job.ts'
import { readLeftovers } from './leftovers.ts'
import { phaseText, type LiveProgress } from './live-progress.ts'

/** How far both sides of a sync are known to be equal. */
export interface VerifiedThrough {
  /** When the last whole reconciliation without a difference began. */
  readonly through: string | null
  /** Records that the last whole reconciliation left different, or one of a part since. */
  readonly left: number
}

/** Reconciliations that are looked through for the last whole one. */
const COMPARED_MAX = 50

export const NEVER_VERIFIED: VerifiedThrough = { through: null, left: 0 }

export async function readVerified(
  ledger: Differences & Runs & Syncs,
  sync: string,
): Promise<VerifiedThrough> {
  const { verifiedThrough: through } = await ledger.reconciled(sync)
  let left = 0
  for (const run of await ledger.runs({ sync, limit: COMPARED_MAX, purposes: ['reconcile'] })) {
    if (!isComplete(run.state)) continue
    left = Math.max(left, sumOfDifferences((await ledger.differenceCounts(run.id)).left))
    // A part takes nothing back of what a whole one found.
    const { reconcile } = jobOf(run)
    if (reconcile && isWholeScope(reconcile)) break
  }
  return { through, left }
}

/**
 * Rejects of a closed import that no later run has brought in; null where it had none, is not over, or its rows are not kept any more.
 */
export async function readRejectsLeft(
  ledger: Leftovers & Pick<RunReports, 'rejectGroups'>,
  run: Run,
): Promise<number | null> {
  if (run.kind !== 'import' || run.counts === null || lookOf(run.state) !== 'rejects') return null
  const isKept = (await ledger.rejectGroups(run.id)).length > 0
  return (await readLeftovers(ledger, run, isKept))?.rows ?? null
}

/** The runs that show the health of a sync. */
export interface LatestRuns {
  /** The live one, or else the newest that is no backfill, retry or the like; if there is none, the newest. */
  readonly run: Run | undefined
  readonly reconciliation: Run | undefined
  /** A backfill, a retry, an undo or a run of links that is newer than `run`. */
  readonly followUp: Run | undefined
}

export async function latestRuns(ledger: Runs | null, sync: string): Promise<LatestRuns> {
  const first = async (purposes?: readonly Purpose[]) =>
    (await ledger?.runs({ sync, limit: 1, ...(purposes && { purposes }) }))?.[0]
  const newest = await first()
  const reconciliation =
    newest?.purpose === 'reconcile' ? newest : newest && (await first(['reconcile']))
  if (newest === undefined || LIVE_STATES.includes(newest.state) || isRegular(newest))
    return { run: newest, reconciliation, followUp: undefined }
  const follows = await first(FOLLOW_UPS)
  const run = (await first(['sync'])) ?? follows ?? newest
  const followUp = follows !== undefined && follows.id > run.id ? follows : undefined
  return { run, reconciliation, followUp }
}

const isRegular = ({ purpose }: Run): boolean => purpose === 'sync'
const FOLLOW_UPS = PURPOSES.filter((purpose) => purpose !== 'reconcile' && purpose !== 'sync')

export const WAITS_FOR_APPROVAL = 'waits for approval'

/** `blocked: auth, sending 41 % (backfill)`; of a run that asks a person, that it `waits for approval`. */
export function stateText(
  run: Pick<Run, 'state' | 'reason' | 'purpose'>,
  progress: LiveProgress | null,
): string {
  const isAsking = run.state === 'blocked' && run.reason === 'approval'
  const known = isAsking
    ? WAITS_FOR_APPROVAL
    : run.reason
      ? `${run.state}: ${run.reason}`
      : run.state
  const state = progress && !isAsking ? `${known}, ${phaseText(progress)}` : known
  return run.purpose === 'sync' ? state : `${state} (${run.purpose})`
}
