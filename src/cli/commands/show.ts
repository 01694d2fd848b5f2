// `records-sync show RUN`: one run: its state, its books and its rejects by kind, or its streams.

import { systemClock } from '../../core/ports.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import type {
  Ledger,
  NotedDifference,
  ReportedLink,
  ReportedRemoval,
  Run,
} from '../../ledger/ledger.ts'
import { readNotAsPlanned } from '../../import/index.ts'
import { collectReport } from '../../report/collect.ts'
import { readActionLog } from '../../report/action-log.ts'
import { readSchemaChanges } from '../../report/schema-changes.ts'
import { leftoversText } from '../../report/leftovers.ts'
import { undoText } from '../../report/later-runs.ts'
import { readRejectGroups } from '../../report/reject-groups.ts'
import type { ShownRun } from '../../report/run-report.ts'
import { jobOf } from '../../runs/job.ts'
import { EXIT, orNull, withLedger, type CommandContext } from '../shared/context.ts'
import { quotaWaitText } from '../../resources/run-quota.ts'
import { RunQuotas } from '../shared/run-quota.ts'
import { hintHere } from '../shared/hint-here.ts'
import { findRunWithRows } from '../shared/find-run.ts'
import { countText, formatNumber, safeText } from '../shared/terminal.ts'
import { printActions } from '../views/action-log.ts'
import { nextStepOf, printFirstDifferences, readFirstDifferences } from '../views/differences.ts'
import { printLeftLinks, readLeftLinks } from '../views/left-links.ts'
import { printRejectGroups, rejectGroupToJson } from '../views/reject-groups.ts'
import { printNotedRemovals, readNotedRemovals } from '../views/removals.ts'
import { printSchemaChanges } from '../views/schema-changes.ts'
import { printRunAccount, reconcileToJson, runPurposeText } from '../views/run-summary.ts'
import { printJson } from '../json.ts'

export async function show(context: CommandContext, runText?: string): Promise<number> {
  return await withLedger(context, async (ledger) => {
    const run = await findRunWithRows(ledger, runText, context)
    const shown = await readShown(context, ledger, run)
    if (context.json) printJson(context.terminal, shown)
    else {
      const { differences } = shown
      const first = differences ? await readFirstDifferences(ledger, run.id, differences) : []
      const hint = await hintHere(context, run.sync)
      const noted = run.kind === 'import' ? await readNotedRemovals(ledger, run.id) : []
      const links = shown.books?.links ? await readLeftLinks(ledger, run.id) : []
      const waits = LIVE_STATES.includes(run.state) ? await quotaWaitOf(context, run) : null
      const { lookUps = 0 } = await ledger.progress(run.id)
      const more = { first, noted, links, lookUps, waits }
      printShown({ terminal: context.terminal, hint }, run, shown, more)
    }
    return EXIT.done
  })
}

/** The report as the ledger alone knows it: `show` works although the rest of the configuration is wrong. */
async function readShown(context: CommandContext, ledger: Ledger, run: Run): Promise<ShownRun> {
  const rejects = await readRejectGroups(ledger, run)
  const { run: facts, ...report } = await collectReport(
    ledger,
    run,
    {
      madeAt: new Date(systemClock.now()).toISOString(),
      hint: (command) => context.hint(command),
      ui: null,
      limitPerMinute: null,
    },
    rejects,
  )
  const { left, work } = report
  const { reconcile, plan = null } = jobOf(run)
  const unlike = plan === null ? null : await readNotAsPlanned(ledger, run.id)
  return {
    ...report,
    ...facts,
    requests: work.requests,
    plan:
      plan === null
        ? null
        : {
            number: plan,
            not_as_planned: unlike && { parts: unlike.parts, rows: unlike.rows, keys: unlike.keys },
          },
    reconcile: reconcileToJson(reconcile),
    rejects: rejects.map(rejectGroupToJson),
    schema_changes: run.kind === 'mirror' ? await readSchemaChanges(ledger, { run: run.id }) : null,
    actions: await readActionLog(ledger, { run: run.id }),
    left: left && {
      ...left,
      rejects: (await readRejectGroups(ledger, run, { isLeft: true })).map(rejectGroupToJson),
    },
  }
}

/** What a run at work waits for, as far as its quota can be read; null if it does not wait. */
async function quotaWaitOf(context: CommandContext, run: Run): Promise<string | null> {
  const config = await orNull(() => context.loadConfig())
  if (config === null) return null
  const quotas = new RunQuotas(context, config)
  try {
    const quota = await quotas.of(run)
    return quota && quotaWaitText(quota, run, systemClock.now())
  } finally {
    await quotas.close()
  }
}

function printShown(
  context: Pick<CommandContext, 'terminal' | 'hint'>,
  run: Run,
  shown: ShownRun,
  {
    first,
    noted,
    links,
    ...made
  }: {
    first: readonly NotedDifference[]
    noted: readonly ReportedRemoval[]
    links: readonly ReportedLink[]
    lookUps: number
    waits: string | null
  },
): void {
  const { terminal } = context
  const { books, streams, differences, retries, undos, left, rejects } = shown
  printHead(context, run, shown, made)
  terminal.out()
  printRunAccount(terminal, { run: shown, books, streams, differences })
  printSchemaChanges(terminal, shown.schema_changes ?? [])
  printFirstDifferences(terminal, run.kind, first)
  printNotedRemovals(terminal, noted)
  printLeftLinks(terminal, links)
  for (const { run: id, of, state, mended } of retries) {
    const what = mended === null ? state : `${formatNumber(mended)} brought in`
    terminal.out(`  Retried by run ${id}${of === run.id ? '' : ` (retry of run ${of})`}: ${what}`)
  }
  for (const { run: id, state, taken_back_by: takenBackBy } of undos)
    terminal.out(`  ${undoText({ id, state, takenBackBy })}`)
  printActions(terminal, shown.actions)
  if (left && (left.rows < left.of || retries.length > 0))
    terminal.out(`  ${leftoversText(left, run.id)}`)
  if (run.kind === 'mirror') return
  if (differences) {
    const next = nextStepOf(context, run, differences)
    if (next) terminal.out(`  ${next}`)
  }
  // What a reconciliation only compared is unsent, and no reject.
  const groups = (left?.rejects ?? rejects).filter(
    ({ state }) => !differences || state !== 'not_sent',
  )
  if (groups.length === 0) return
  terminal.out()
  printRejectGroups(terminal, groups, true)
  const files = context.hint(`rejects ${run.id}`)
  terminal.out(
    run.purpose === 'undo'
      ? `All of them, each with why: ${files}. What is left is undone by: ${context.hint(`undo ${run.of}`)}`
      : `All of them, with the original columns: ${files}`,
  )
}

function printHead(
  { terminal }: Pick<CommandContext, 'terminal'>,
  run: Run,
  shown: ShownRun,
  { lookUps, waits }: { readonly lookUps: number; readonly waits: string | null },
): void {
  const reason = run.reason ? ` (${run.reason})` : ''
  terminal.out(`Run ${run.id} of ${run.sync}: ${terminal.style('bold', run.state)}${reason}`)
  const about = runPurposeText(run)
  if (about !== null) terminal.out(`  ${safeText(about, 300)}`)
  if (run.message) terminal.out(`  ${safeText(run.message, 2_000)}`)
  terminal.out(`  started ${run.openedAt}${run.closedAt ? `, ended ${run.closedAt}` : ''}`)
  terminal.out(`  workflow ${run.workflowId}`)
  const key = run.keyFingerprint ? `key#${run.keyFingerprint}, ` : ''
  // An import counts the requests that wrote, not those that read back or looked up.
  const what = run.kind === 'import' ? 'writing request' : 'request'
  const deleted = shown.deleted ?? 0
  const gone = deleted > 0 ? `, ${countText(deleted, 'record')} deleted` : ''
  const looked = lookUps > 0 ? `, ${countText(lookUps, 'look-up')}` : ''
  terminal.out(`  ${key}${countText(shown.requests, what)}${looked}${gone}`)
  if (waits !== null) terminal.out(terminal.style('yellow', `  ${waits}`))
  if (run.sourceDigest) terminal.out(`  source sha256 ${run.sourceDigest.slice(0, 16)}…`)
  const { keys = [], rows = 0 } = shown.plan?.not_as_planned ?? {}
  if (keys.length > 0) {
    const named = keys.map((key) => safeText(key, 60)).join(', ')
    terminal.out(
      `  not as planned: ${named}${rows > keys.length ? `, and ${formatNumber(rows - keys.length)} more` : ''}`,
    )
  }
  for (const warning of run.warnings)
    terminal.out(terminal.style('yellow', `  warning: ${safeText(warning, 1_000)}`))
}
