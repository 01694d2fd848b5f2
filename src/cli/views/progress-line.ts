// The one line that a person sees of a run while it goes on.

import { sumOfDifferences } from '../../core/domain/differences.ts'
import type { Differences, Run, Runs, Streams } from '../../ledger/ledger.ts'
import type { CommandContext } from '../shared/context.ts'
import { streamTotals } from '../../report/account.ts'
import { bar, countText, elapsedText, formatNumber, safeText } from '../shared/terminal.ts'

type Line = (ledger: Differences & Runs & Streams, run: Run) => Promise<string>

type Hints = Pick<CommandContext, 'hint'>

/** A run that is blocked: who has to do something about it. */
const blocked = (run: Run, context: Hints): string => {
  const why = safeText(run.message ?? 'blocked', 300)
  return run.reason === 'approval'
    ? `${run.sync}  ${why}; waits for ${context.hint(`approve ${run.id}`)}, or reject`
    : `${run.sync}  ${why}; asking again`
}

/** Of an import. `planned` is called once: staging is complete, and so many rows are to be sent. */
export function importProgressLine(planned: (rows: number) => void, context: Hints): Line {
  let isPlanned = false
  let pushing: { readonly at: number; readonly done: number } | null = null
  return async (ledger, run) => {
    const progress = await ledger.progress(run.id)
    if (!isPlanned && run.rowsRead !== null) {
      isPlanned = true
      planned(progress.planned)
    }
    if (run.state === 'blocked') return blocked(run, context)
    if (run.rowsRead === null) return `${run.sync}  staging  ${formatNumber(progress.read)} rows`
    const rejects = progress.rejected + progress.failed
    const done = progress.created + progress.updated + rejects
    if (progress.planned > 0 && done >= progress.planned)
      return `${run.sync}  ${formatNumber(done)} rows sent  verifying  ${countText(progress.requests, 'request')}`
    pushing ??= { at: Date.now(), done }
    const seconds = (Date.now() - pushing.at) / 1_000
    const rate = seconds > 0.5 ? (done - pushing.done) / seconds : 0
    const share = progress.planned === 0 ? 1 : done / progress.planned
    const speed =
      rate > 0
        ? `  ${formatNumber(Math.round(rate))}/s, ${elapsedText(((progress.planned - done) / rate) * 1_000)} left`
        : ''
    return [
      `${run.sync}  ${bar(share)} ${Math.floor(share * 100)} %`,
      `${formatNumber(done)} of ${formatNumber(progress.planned)} rows${speed}`,
      `${countText(progress.requests, 'request')}${rejects > 0 ? `, ${formatNumber(rejects)} rejected` : ''}`,
    ].join('  ')
  }
}

/** Of a reconciliation of an import: first it compares, then it may send. */
export function compareProgressLine(context: Hints): Line {
  const sending = importProgressLine(() => {}, context)
  return async (ledger, run) => {
    const progress = await ledger.progress(run.id)
    const isSending = progress.requests > 0 && progress.planned > 0
    if (run.state === 'blocked' || run.rowsRead === null || isSending)
      return await sending(ledger, run)
    const { found, left } = await ledger.differenceCounts(run.id)
    if (progress.requests > 0)
      return `${run.sync}  deleting  ${formatNumber(found.extra - left.extra)} of ${formatNumber(found.extra)} records  ${countText(progress.requests, 'request')}`
    const differ = sumOfDifferences(found)
    const rest = `${formatNumber(run.rowsRead - progress.planned)} of ${formatNumber(run.rowsRead)} rows are settled`
    return `${run.sync}  comparing  ${rest}, ${formatNumber(differ)} differ`
  }
}

/** Of a mirror. What waits for approval has a line of its own, once. */
export function mirrorProgressLine(context: Pick<CommandContext, 'terminal' | 'hint'>): Line {
  const reported = new Set<string>()
  return async (ledger, run) => {
    const streams = await ledger.streams(run.id)
    for (const { stream, state, message } of streams) {
      if (state !== 'approval') reported.delete(stream)
      else if (!reported.has(stream)) {
        reported.add(stream)
        const how = context.hint(`approve ${run.id} --stream "${stream}"`)
        context.terminal.err(
          `${run.sync}  ${safeText(stream, 80)}: ${safeText(message ?? 'deletions wait for approval', 300)}: ${how}`,
        )
      }
    }
    if (run.state === 'blocked' && run.reason !== 'approval') return blocked(run, context)
    if (streams.length === 0) return `${run.sync}  asking what there is to mirror`
    const totals = streamTotals(streams)
    const waiting = streams.filter(({ state }) => state === 'approval').length
    return [
      `${run.sync}  ${formatNumber(totals.ended)} of ${formatNumber(streams.length)} tables`,
      `${formatNumber(totals.read)} rows read, ${formatNumber(totals.inserted + totals.changed)} changed, ${formatNumber(totals.deleted)} deleted`,
      countText(totals.requests, 'request'),
      ...(waiting > 0 ? [`${formatNumber(waiting)} waiting for approval`] : []),
    ].join('  ')
  }
}
