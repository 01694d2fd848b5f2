// How far a live run is, as the ledger has it: what `status`, `run` and `watch` show, because its books are counted only when it
// ends.

import { countOf } from '../core/domain/outcome-counts.ts'
import { LIVE_STATES } from '../core/domain/books.ts'
import { sumOfDifferences } from '../core/domain/differences.ts'
import { keepsBefore } from '../core/domain/protection.ts'
import { countText, formatNumber } from '../core/format.ts'
import type {
  Differences,
  Removals,
  Run,
  RunCounters,
  Runs,
  StepStates,
  Streams,
} from '../ledger/ledger.ts'
import { streamTotals } from './account.ts'
import { jobOf } from '../runs/job.ts'
import { readSentAgain, sentAgainText } from '../runs/sent-again.ts'
import { readShare } from '../runs/step-share.ts'

/** The part of the ledger that it is read from. */
export type ProgressLedger = Differences & Removals & Runs & StepStates & Streams

type Phase =
  | 'staging'
  | 'comparing'
  | 'deleting'
  | 'sending'
  | 'linking'
  | 'verifying'
  | 'closing'
  /** Of a mirror. */
  | 'reading'

/** Where a live run is. */
export interface LiveProgress {
  readonly phase: Phase
  /** Of the phase, 0 to 100; null while it is not known how much there is. */
  readonly percent: number | null
  /** Of an import. */
  readonly counters: RunCounters | null
  /** What is done in the phase: `41,000 of 100,000 rows`. */
  readonly amount: string
  /** What the phase counts, and how much of it there is; null where no rate is shown. */
  readonly work: { readonly done: number; readonly total: number | null } | null
  /** More of it, the important first. */
  readonly details: readonly string[]
  /** Why it does not move although it is at work. */
  readonly waits?: string
  /** Rows are looked up right before they are sent: where the quota is small, again and again. */
  readonly looksFirst?: true
}

/** Whether the run keeps what records held before it wrote them, or applies a plan. */
function keepsImages(run: Run): boolean {
  const { sync, plan, undo } = jobOf(run, 'import')
  return keepsBefore(sync.import) || plan !== undefined || undo !== undefined
}

/** The counters of an import, for programs. */
export const countersToJson = ({ lookUps = 0, ...counters }: RunCounters) => ({
  ...counters,
  look_up_requests: lookUps,
})

/** Null for a run that has ended. */
export async function liveProgressOf(
  ledger: ProgressLedger,
  run: Run,
): Promise<LiveProgress | null> {
  if (!LIVE_STATES.includes(run.state)) return null
  return run.kind === 'mirror' ? await ofMirror(ledger, run) : await ofImport(ledger, run)
}

const percentOf = (done: number, total: number): number =>
  total === 0 ? 100 : Math.floor((100 * Math.min(done, total)) / total)

const rowsOf = (done: number, total: number, what = 'rows'): string =>
  `${formatNumber(done)} of ${formatNumber(total)} ${what}`

async function ofImport(ledger: ProgressLedger, run: Run): Promise<LiveProgress> {
  const counters = await ledger.progress(run.id)
  if (run.rowsRead === null) return await ofStaging(ledger, run, counters)
  const { planned, requests, lookUps = 0 } = counters
  // A reconciliation compares first; it sends, or deletes, only what differs then.
  if (run.purpose === 'reconcile' && (requests === 0 || planned === 0))
    return await ofComparison(ledger, run, counters)
  const { created, updated, skipped, rejected } = counters
  const done = created + updated + skipped + rejected
  const again = done < planned ? await readSentAgain(ledger, run.id) : null
  const waits = again && { waits: sentAgainText(again) }
  const details = [
    ...(waits ? [waits.waits] : []),
    countText(requests, lookUps > 0 ? 'writing request' : 'request'),
    ...(lookUps > 0 ? [countText(lookUps, 'look-up')] : []),
    ...(skipped > 0 ? [`${formatNumber(skipped)} skipped`] : []),
    ...(rejected > 0 ? [`${formatNumber(rejected)} rejected`] : []),
  ]
  if (done < planned) {
    const percent = percentOf(done, planned)
    const work = { done, total: planned }
    const amount = rowsOf(done, planned)
    const looked = keepsImages(run) && { looksFirst: true as const }
    return { phase: 'sending', percent, counters, amount, work, details, ...waits, ...looked }
  }
  const linking = linkingProgress(counters)
  if (linking !== null) return linking
  const removals = await ledger.removalCounts(run.id)
  const open = countOf(removals, null)
  if (open > 0) {
    const total = Object.values(removals).reduce((sum, records) => sum + records, 0)
    const removed = total - open
    return {
      phase: 'deleting',
      percent: percentOf(removed, total),
      counters,
      amount: rowsOf(removed, total, 'records'),
      work: { done: removed, total },
      details,
    }
  }
  const verified = await readShare(ledger, run.id, 'verify')
  const percent = verified === null ? null : Math.floor(100 * verified)
  const phase = verified === null ? 'closing' : 'verifying'
  const amount = `${countText(done - skipped, 'row')} sent`
  return { phase, percent, counters, amount, work: null, details }
}

/** Of a run whose rows are all sent; null if no link is left to be sent. */
function linkingProgress(counters: RunCounters): LiveProgress | null {
  const { links, requests } = counters
  if (links === undefined) return null
  const { planned: total, linked, target_missing: waiting } = links
  const rejected = links.refused + links.outcome_unknown + links.not_sent
  const done = linked + waiting + rejected
  if (done >= total) return null
  return {
    phase: 'linking',
    percent: percentOf(done, total),
    counters,
    amount: rowsOf(done, total, 'links'),
    work: { done, total },
    details: [
      countText(requests, 'request'),
      ...(waiting > 0 ? [`${formatNumber(waiting)} waiting`] : []),
      ...(rejected > 0 ? [`${formatNumber(rejected)} rejected`] : []),
    ],
  }
}

async function ofStaging(
  ledger: ProgressLedger,
  run: Run,
  counters: RunCounters,
): Promise<LiveProgress> {
  const share = await readShare(ledger, run.id, 'stage')
  return { ...stagingProgress(counters.read, share), counters }
}

/** @param share of the source that was read, 0 to 1; null if its length is not known */
export function stagingProgress(read: number, share: number | null): LiveProgress {
  return {
    phase: 'staging',
    percent: share === null ? null : Math.floor(100 * share),
    counters: null,
    amount: `${countText(read, 'row')} read`,
    // The rows that are left are as long as those that were read.
    work: { done: read, total: share === null || share === 0 ? null : Math.round(read / share) },
    details: [],
  }
}

async function ofComparison(
  ledger: ProgressLedger,
  run: Run,
  counters: RunCounters,
): Promise<LiveProgress> {
  const { found, left } = await ledger.differenceCounts(run.id)
  if (counters.requests > 0) {
    const done = found.extra - left.extra
    return {
      phase: 'deleting',
      percent: percentOf(done, found.extra),
      counters,
      amount: rowsOf(done, found.extra, 'records'),
      work: { done, total: found.extra },
      details: [countText(counters.requests, 'request')],
    }
  }
  const total = run.rowsRead ?? 0
  const done = total - counters.planned
  return {
    phase: 'comparing',
    percent: percentOf(done, total),
    counters,
    amount: `${rowsOf(done, total)} are settled`,
    work: { done, total },
    details: [`${formatNumber(sumOfDifferences(found))} differ`],
  }
}

async function ofMirror(ledger: Streams, run: Run): Promise<LiveProgress> {
  const streams = await ledger.streams(run.id)
  const { ended, read, inserted, changed, deleted, requests } = streamTotals(streams)
  const waiting = streams.filter(({ state }) => state === 'approval').length
  const isKnown = streams.length > 0
  return {
    phase: 'reading',
    percent: isKnown ? percentOf(ended, streams.length) : null,
    counters: null,
    amount: isKnown ? rowsOf(ended, streams.length, 'tables') : 'asking what there is to mirror',
    // How many records there are is known only when a table is complete.
    work: isKnown ? { done: read, total: null } : null,
    details: isKnown
      ? [
          `${countText(read, 'row')} read`,
          ...(waiting > 0 ? [`${formatNumber(waiting)} waiting for approval`] : []),
          `${formatNumber(inserted + changed)} changed`,
          `${formatNumber(deleted)} deleted`,
          countText(requests, 'request'),
        ]
      : [],
  }
}

/** `sending 41 %` */
export const phaseText = ({ phase, percent }: Pick<LiveProgress, 'phase' | 'percent'>): string =>
  percent === null ? phase : `${phase} ${percent} %`
