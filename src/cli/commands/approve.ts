// `records-sync approve RUN` and `reject RUN`: what a person decides about what waits in a run: deletions of a mirror, or
// the rows of an import that is above one of its limits.

import { osActor } from '../../actions/recorded.ts'
import { decideRun } from '../../actions/control-run.ts'
import { ConfigError } from '../../core/errors.ts'
import { jobOf } from '../../runs/job.ts'
import type { Run } from '../../ledger/ledger.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import { liveRunNamed } from '../shared/find-run.ts'
import { formatNumber, safeText } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

/** `stream`: by its name; default: all that wait. */
export async function sendVerdict(
  context: CommandContext,
  runText: string,
  {
    verdict,
    stream,
    plan = null,
  }: {
    readonly verdict: 'approve' | 'reject'
    readonly stream: string | null
    /** A plan by its number, or by the first characters of its digest. */
    readonly plan?: string | null
  },
): Promise<number> {
  const run = await liveRunNamed(context, runText)
  if (plan !== null && run.kind === 'mirror')
    throw new ConfigError('--plan', `run ${run.id} is of a mirror, which has no plan to approve`)
  const doing = await planOf(context, run)
  const streams = await decideRun(context, osActor(), run, { verdict, stream, plan })
  if (context.json)
    printJson(context.terminal, { run: run.id, approved: verdict === 'approve', streams })
  else {
    const [yes, no] =
      run.kind === 'mirror'
        ? ['approved, the deletions are made now', 'the rows stay']
        : [doing, run.purpose === 'reconcile' ? 'nothing is sent or deleted' : 'nothing is sent']
    // An import has no streams: what waits is called by its sync.
    const names = run.kind === 'mirror' ? streams.map((name) => safeText(name, 80)).join(', ') : ''
    context.terminal.out(
      `Run ${run.id} of ${run.sync}: ${verdict === 'approve' ? yes : no}${names && `: ${names}`}`,
    )
  }
  return EXIT.done
}

/** What an import does once it may: `5 rows are sent, 32 records are deleted`. */
async function planOf(context: CommandContext, run: Run): Promise<string> {
  if (run.kind === 'mirror') return ''
  const { sync, reconcile } = jobOf(run, 'import')
  const deletesExtra = reconcile?.deleteExtra === true
  return await withLedger(context, async (ledger) => {
    const { planned } = await ledger.progress(run.id)
    const removals = (await ledger.removalCounts(run.id)).pending ?? 0
    if (!deletesExtra && removals === 0) return 'approved, the rows are sent now'
    // If a key is not known, nothing is deleted.
    const deletes = deletesExtra && (await ledger.keyCounts(run.id)).keyless === 0
    const extra = deletes ? (await ledger.differenceCounts(run.id)).left.extra : 0
    const clears = typeof sync.import.missing_rows === 'object'
    const count = (number: number, what: string) =>
      number === 1 ? `1 ${what} is` : `${formatNumber(number)} ${what}s are`
    const sent = planned > 0 ? [`${count(planned, 'row')} sent`] : []
    const removed = `${count(extra + removals, 'record')} ${clears ? 'changed' : 'deleted'}`
    return [...sent, removed].join(', ')
  })
}
