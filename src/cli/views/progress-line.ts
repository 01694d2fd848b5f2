// The one line that a person sees of a run while it goes on.

import { approveCommand } from '../../core/domain/limit-exceeded.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { QuotaView } from '../../client/pacer/view.ts'
import type { CommandContext } from '../shared/context.ts'
import { quotaLeftMs, quotaWaitText } from '../../resources/run-quota.ts'
import { refusalsText } from '../shared/run-quota.ts'
import { bar, elapsedText, formatNumber, safeText } from '../shared/terminal.ts'
import {
  liveProgressOf,
  phaseText,
  type LiveProgress,
  type ProgressLedger,
} from '../../report/live-progress.ts'
import { RateMeter, type Pace } from '../../report/rate.ts'

type Line = (ledger: ProgressLedger, run: Run) => Promise<string>

type Hints = Pick<CommandContext, 'hint'>

/** Narrow, so that the figures fit next to it. */
const BAR_WIDTH = 10

/** What holds a run up, and who has to do something about it; null for one that moves. */
export function heldUpText(run: Run, { hint }: Hints): string | null {
  if (run.state === 'paused') {
    const why = run.message === null ? '' : `: ${safeText(run.message, 300)}`
    return `paused${why}; goes on with ${hint(`resume ${run.id}`)}`
  }
  if (run.state !== 'blocked') return null
  const why = safeText(run.message ?? 'blocked', 300)
  return run.reason === 'approval'
    ? `${why}; waits for ${hint(approveCommand(run))}, or reject`
    : `${why}; asking again`
}

/** `1,067/s, 3 min 05 s left`; while nothing moves what it takes at least, null if that is not known. */
export function paceText({ rate, leftMs }: Pace): string | null {
  if (rate === null || rate <= 0)
    return leftMs === null || leftMs <= 0 ? null : `at least ${elapsedText(leftMs)} left`
  const speed = `${formatNumber(rate < 10 ? Number(rate.toFixed(1)) : Math.round(rate))}/s`
  return leftMs === null ? speed : `${speed}, ${elapsedText(leftMs)} left`
}

/**
 * The pace of what a run does; of one that does not move it is not asked.
 * @param leastMs what the rest takes at least, by the quota: after a pause a run goes faster than the quota lets it go on
 */
export function paceOf(
  meter: RateMeter,
  nowMs: number,
  { phase, work }: LiveProgress,
  leastMs: number | null = null,
): Pace {
  if (work === null) return { rate: null, leftMs: null }
  const { rate, leftMs } = meter.pace(nowMs, phase, work)
  return { rate, leftMs: leftMs === null ? leastMs : Math.max(leftMs, leastMs ?? 0) }
}

/** The parts of the line, the important first: what does not fit falls off its end. */
export function progressParts(progress: LiveProgress, pace: Pace): string[] {
  const { phase, percent, amount, details } = progress
  const share = percent === null ? '' : `${bar(percent / 100, BAR_WIDTH)} `
  const speed = paceText(pace)
  return [`${share}${phaseText({ phase, percent })}`, amount, ...(speed ? [speed] : []), ...details]
}

/**
 * Of a run of any kind. `planned` is called once: an import is staged, and so many rows are to be sent.
 * @param quotaOf what is known of its quota
 */
export function progressLine(
  context: Pick<CommandContext, 'hint' | 'terminal'>,
  planned: (rows: number) => void = () => {},
  quotaOf: (run: Run) => Promise<QuotaView | null> = async () => null,
): Line {
  const meter = new RateMeter()
  const report = waitReporter(context)
  let isPlanned = false
  return async (ledger, run) => {
    const progress = await liveProgressOf(ledger, run)
    if (!isPlanned && run.rowsRead !== null && progress?.counters) {
      isPlanned = true
      planned(progress.counters.planned)
    }
    if (run.kind === 'mirror') await report(ledger, run)
    // A mirror goes on with its other tables while one of them waits for approval.
    const isApproval = run.kind === 'mirror' && run.reason === 'approval'
    const held = isApproval ? null : heldUpText(run, context)
    if (held !== null) {
      meter.reset()
      return `${run.sync}  ${held}`
    }
    if (progress === null) return `${run.sync}  ${run.state}`
    const quota = await quotaOf(run)
    const now = Date.now()
    const refused = quota && refusalsText(quota, now)
    const waits = quota && quotaWaitText(quota, run, now)
    const slow = [refused, waits].filter((text) => text !== null)
    const pace = paceOf(meter, now, progress, quota && quotaLeftMs(quota, progress, run))
    return [run.sync, ...slow, ...progressParts(progress, pace)].join('  ')
  }
}

/** Reports what of a mirror waits for approval, in a line of its own, once. */
function waitReporter(context: Pick<CommandContext, 'hint' | 'terminal'>) {
  const reported = new Set<string>()
  return async (ledger: ProgressLedger, run: Run): Promise<void> => {
    for (const { stream, state, message } of await ledger.streams(run.id)) {
      if (state !== 'approval') reported.delete(stream)
      else if (!reported.has(stream)) {
        reported.add(stream)
        const how = context.hint(`approve ${run.id} --stream "${stream}"`)
        context.terminal.err(
          `${run.sync}  ${safeText(stream, 80)}: ${safeText(message ?? 'deletions wait for approval', 300)}: ${how}`,
        )
      }
    }
  }
}
