// `status` and `show`: what the ledger says.

import { isComplete, LIVE_STATES, countRejects } from '../../core/states.ts'
import { sumOfDifferences } from '../../core/differences.ts'
import { jobOf } from '../../runs/job.ts'
import { isWholeScope } from '../../core/purpose.ts'
import type { QuotaStore } from '../../core/ports.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { countBroughtIn, readLeftovers, leftoversText } from '../../report/leftovers.ts'
import {
  countKnownDifferent,
  runPurposeText,
  readRunAccount,
  printRunAccount,
  runToJson,
  type RunAccount,
} from '../views/run-summary.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { deletedOf, readRunDifferences, nextStepOf } from '../views/differences.ts'
import { closedUntil, findQuotas, readKeyQuota } from '../shared/forecast.ts'
import { findRun } from '../shared/find-run.ts'
import { scheduleLines, readScheduleStatuses, scheduleToJson } from '../views/schedule-status.ts'
import {
  importProgressOf,
  importProgressText,
  type ImportProgressView,
} from '../views/import-progress.ts'
import { streamTotals } from '../views/streams.ts'
import {
  formatNumber,
  requestsText,
  safeText,
  table,
  utc,
  type Terminal,
} from '../shared/terminal.ts'

/**
 * Rows that were read, those that were written (records, or rows of tables), those that were not, and those that are known to
 * differ although they were written.
 */
function figuresOf(
  run: Run,
  account: RunAccount | null,
  standing: ImportProgressView | null,
): (number | null)[] {
  if (standing) {
    const { read, created, updated, rejected, failed } = standing.progress
    return [run.rowsRead ?? read, created + updated, rejected + failed, null]
  }
  if (account?.kind === 'mirror') {
    const { read, written, deleted } = streamTotals(account.streams)
    return [read, written + deleted, null, null]
  }
  if (!account) return [run.rowsRead, null, null, null]
  const { states } = account.books
  // What a reconciliation only looked at is unsent, and nothing has rejected it.
  const isLook = jobOf(run).reconcile?.repair === false
  // Nor has anything rejected the rows that a cancelled run did not come to.
  const isUnsentOnly = isLook || run.state === 'cancelled'
  const rejects = countRejects(account.books) - (isUnsentOnly ? states.unsent : 0)
  const written = states.created + states.updated + deletedOf(run, account.findings)
  return [run.rowsRead, written, rejects, countKnownDifferent(account)]
}

/** How far both sides of a sync are known to be equal. */
interface Verified {
  /** When the last whole reconciliation without a difference began. */
  readonly through: string | null
  /** Records that the last whole reconciliation left different, or one of a part since. */
  readonly left: number
}

/** Reconciliations that are looked through for the last whole one. */
const COMPARED_MAX = 50

const NEVER: Verified = { through: null, left: 0 }

async function verifiedOf(ledger: Ledger, sync: string): Promise<Verified> {
  const { verifiedThrough: through } = await ledger.reconciled(sync)
  let left = 0
  for (const run of await ledger.runs({ sync, limit: COMPARED_MAX, isCompared: true })) {
    if (!isComplete(run.state)) continue
    left = Math.max(left, sumOfDifferences((await ledger.differenceCounts(run.id)).left))
    // A part takes nothing back of what a whole one found.
    const { reconcile } = jobOf(run)
    if (reconcile && isWholeScope(reconcile)) break
  }
  return { through, left }
}

const minute = (time: string, length = 16): string => time.slice(0, length).replace('T', ' ')

/** `2026-11-21 10:00`, and what differs since then. */
function verifiedText({ through, left }: Verified): string | null {
  const differ = left > 0 ? `${formatNumber(left)} differ` : null
  return [through === null ? null : minute(through), differ].filter(Boolean).join(', ') || null
}

/** The runs that tell how a sync stands. */
interface Latest {
  /** The live one, or else the newest that moved rows; where there is none, the newest reconciliation. */
  readonly run: Run | undefined
  readonly reconciliation: Run | undefined
}

async function latestOf(ledger: Ledger | null, sync: string): Promise<Latest> {
  const first = async (isCompared?: boolean) =>
    (await ledger?.runs({ sync, limit: 1, ...(isCompared !== undefined && { isCompared }) }))?.[0]
  const newest = await first()
  const isCompared = newest?.purpose === 'reconcile'
  const reconciliation = isCompared ? newest : await first(true)
  if (!isCompared || LIVE_STATES.includes(newest.state)) return { run: newest, reconciliation }
  return { run: (await first(false)) ?? newest, reconciliation }
}

/** Until when a run at work waits for the quota of its org, as all processes know it; null where it does not. */
async function quotaWaitOf(
  context: CommandContext,
  quotas: QuotaStore | null,
  run: Run | undefined,
): Promise<number | null> {
  if (!quotas || !run || !LIVE_STATES.includes(run.state)) return null
  const { connections, syncs } = await context.loadConfig()
  const sync = syncs[run.sync]
  const connection = sync && connections[sync.kind === 'import' ? sync.import.to : sync.mirror.from]
  if (!connection) return null
  const { origin } = new URL(connection.service)
  const { keyFingerprint: fingerprint } = run
  if (fingerprint === null) return await closedUntil(quotas, origin)
  return (await readKeyQuota(quotas, { origin, fingerprint }))?.closedUntilMs ?? null
}

/** Says which syncs wait for their quota, and what to do about it. */
function quotaWaitText(context: CommandContext, run: Run, untilMs: number): string {
  const sync = safeText(run.sync, 60)
  return `${sync} waits for the quota until ${utc(untilMs, Date.now())}, as the service asked; see ${context.hint('quota')}`
}

/** A run as the table has it, but for the last column. */
function cellsOf(run: Run, account: RunAccount | null, standing: ImportProgressView | null) {
  const stands = run.reason ? `${run.state}: ${run.reason}` : run.state
  const state = standing ? `${stands}, ${importProgressText(standing)}` : stands
  return [
    run.sync,
    run.id,
    run.purpose === 'sync' ? state : `${state} (${run.purpose})`,
    minute(run.openedAt, 19),
    ...figuresOf(run, account, standing),
  ]
}

/** Every configured sync with its latest run, and the reconciliation since. */
export async function status(context: CommandContext): Promise<number> {
  const config = await context.loadConfig()
  const ledger = await context.findLedger()
  let quotas: QuotaStore | null = null
  try {
    const rows = []
    for (const sync of Object.keys(config.syncs)) {
      const { run, reconciliation } = await latestOf(ledger, sync)
      const account = async (of: Run | undefined) =>
        ledger && of ? await readRunAccount(ledger, of) : null
      if (run && LIVE_STATES.includes(run.state)) quotas ??= await findQuotas(context)
      rows.push({
        quotaWait: await quotaWaitOf(context, quotas, run),
        sync,
        run,
        account: await account(run),
        compared: reconciliation && { run: reconciliation, account: await account(reconciliation) },
        standing: ledger && run ? await importProgressOf(ledger, run) : null,
        verified: ledger ? await verifiedOf(ledger, sync) : NEVER,
      })
    }
    const schedules = await readScheduleStatuses(context, config)
    if (context.json) {
      context.terminal.out(
        JSON.stringify(
          rows.map(({ sync, run, account, compared, standing, verified, quotaWait }) => ({
            ...(run ? runToJson(run, account) : { sync, run: null }),
            ...(standing && {
              phase: standing.phase,
              percent: standing.percent,
              progress: standing.progress,
            }),
            latest_reconciliation: compared ? runToJson(compared.run, compared.account) : null,
            verified_through: verified.through,
            differences_left: verified.left,
            waits_for_quota_until: quotaWait === null ? null : new Date(quotaWait).toISOString(),
            schedule: scheduleToJson(config, sync, schedules),
          })),
        ),
      )
      return EXIT.done
    }
    context.terminal.out(
      table(
        [
          'sync',
          'run',
          'state',
          'started',
          'rows',
          'written',
          'rejects',
          'differ',
          'verified through',
        ],
        rows.flatMap(({ sync, run, account, compared, standing, verified }) => {
          if (!run) return [[sync, null, 'never run', null, null, null, null, null, null]]
          const isNewer = compared !== undefined && compared.run.id > run.id
          return [
            [...cellsOf(run, account, standing), verifiedText(verified)],
            ...(isNewer ? [[...cellsOf(compared.run, compared.account, null), null]] : []),
          ]
        }),
      ),
    )
    for (const { run } of rows) {
      const stands = run && (run.state === 'paused' || run.state === 'blocked')
      if (stands && run.message)
        context.terminal.out(`Run ${run.id} of ${run.sync}: ${safeText(run.message, 2_000)}`)
    }
    for (const { run, quotaWait } of rows)
      if (run && quotaWait !== null)
        context.terminal.out(
          context.terminal.style('yellow', quotaWaitText(context, run, quotaWait)),
        )
    for (const line of scheduleLines(context, schedules))
      context.terminal.out(context.terminal.style('yellow', line))
    return EXIT.done
  } finally {
    await quotas?.close()
    await ledger?.close()
  }
}

/** One run: its state, its books and its rejects by kind, or its streams. */
export async function show(context: CommandContext, runText?: string): Promise<number> {
  const ledger = await context.openLedger()
  const { terminal } = context
  try {
    const run = await findRun(ledger, runText)
    if (run.kind === 'mirror') {
      const account = (await readRunAccount(ledger, run))!
      if (context.json) terminal.out(JSON.stringify(runToJson(run, account)))
      else {
        printHead(terminal, run, requestsText(streamTotals(await ledger.streams(run.id)).requests))
        terminal.out()
        printRunAccount(terminal, run, account)
      }
      return EXIT.done
    }
    const books = run.counts ?? (await ledger.books(run.id))
    const findings = await readRunDifferences(ledger, run)
    const retries = await ledger.retries(run.id)
    const groups = await ledger.rejectGroups(run.id)
    const left = findings === null ? await readLeftovers(ledger, run, groups.length > 0) : null
    const leftGroups = left && (await ledger.rejectGroups(run.id, { isLeft: true }))
    const progress = await ledger.progress(run.id)
    if (context.json) {
      terminal.out(
        JSON.stringify({
          ...runToJson(run, { kind: 'import', books, findings }),
          retries: retries.map(({ id, of, state, counts }) => ({
            run: id,
            of,
            state,
            states: counts?.states ?? null,
          })),
          requests: progress.requests,
          rejects: groups,
          left: left && {
            rows: left.rows,
            of: left.of,
            by_run: left.byRun,
            rejects: leftGroups,
          },
        }),
      )
      return EXIT.done
    }
    const deleted = deletedOf(run, findings)
    printHead(
      terminal,
      run,
      // What was read back or looked up is not counted.
      `${requestsText(progress.requests, 'writing ')}${deleted > 0 ? `, ${formatNumber(deleted)} ${deleted === 1 ? 'record' : 'records'} deleted` : ''}`,
    )
    terminal.out()
    printRunAccount(terminal, run, { kind: 'import', books, findings })
    for (const again of retries) {
      const what = again.counts
        ? `${formatNumber(countBroughtIn(again.counts))} brought in`
        : again.state
      const of = again.of === run.id ? '' : ` (retry of run ${again.of})`
      terminal.out(`  Retried by run ${again.id}${of}: ${what}`)
    }
    if (left && (left.rows < left.of || retries.length > 0))
      terminal.out(`  ${leftoversText(left, run.id)}`)
    const next = findings && nextStepOf(context, run, findings)
    if (next) terminal.out(`  ${next}`)
    const told = leftGroups ?? groups
    if (told.length > 0 && findings === null) {
      terminal.out()
      terminal.out(
        table(
          ['rows', 'state', 'reason', 'column', 'property', 'first row'],
          told
            .slice(0, 20)
            .map((group) => [
              group.items,
              group.state,
              `${group.reason ?? group.code ?? '–'}${group.isMore ? ' (also)' : ''}`,
              safeText(group.column ?? '–', 30),
              safeText(group.field ?? '–', 40),
              group.example,
            ]),
        ),
      )
      if (told.some(({ isMore }) => isMore))
        terminal.out(
          '(also): rows that are in another line too, because more than one cell is wrong',
        )
      terminal.out(`All of them, with the original columns: ${context.hint(`rejects ${run.id}`)}`)
    }
    return EXIT.done
  } finally {
    await ledger.close()
  }
}

/** What a run is, and how it stands. */
function printHead(terminal: Terminal, run: Run, work: string): void {
  terminal.out(
    `Run ${run.id} of ${run.sync}: ${terminal.style('bold', run.state)}${run.reason ? ` (${run.reason})` : ''}`,
  )
  const about = runPurposeText(run)
  if (about !== null) terminal.out(`  ${safeText(about, 300)}`)
  if (run.message) terminal.out(`  ${safeText(run.message, 2_000)}`)
  terminal.out(`  started ${run.openedAt}${run.closedAt ? `, ended ${run.closedAt}` : ''}`)
  terminal.out(`  workflow ${run.workflowId}`)
  const key = run.keyFingerprint ? `key#${run.keyFingerprint}, ` : ''
  terminal.out(`  ${key}${work}`)
  if (run.sourceDigest) terminal.out(`  source sha256 ${run.sourceDigest.slice(0, 16)}…`)
  for (const warning of run.warnings)
    terminal.out(terminal.style('yellow', `  warning: ${safeText(warning, 1_000)}`))
}
