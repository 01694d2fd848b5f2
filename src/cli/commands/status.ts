// `records-sync status`: every configured sync with its latest run.

import { countRejects, LIVE_STATES } from '../../core/domain/books.ts'
import { sparedText } from '../../core/domain/spared.ts'
import { readLedgerPlace, type Config, type SyncConfig } from '../../../config/index.ts'
import { deprecationToJson } from '../../client/deprecation.ts'
import {
  connectionsOf,
  deprecatedText,
  readDeprecations,
  type DeprecatedConnection,
} from '../../resources/deprecations.ts'
import { otherLedgerText } from '../../dev/known-ledgers.ts'
import type { QuotaStore } from '../../core/ports.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { readRunAccount, type RunAccount } from '../../report/account.ts'
import { figuresOf } from '../../report/run-figures.ts'
import { runToJson } from '../views/run-summary.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import type { QuotaView } from '../../client/pacer/view.ts'
import { findQuotas } from '../shared/forecast.ts'
import { quotaWaitText, quotaWaitUntil, readRunQuota } from '../../resources/run-quota.ts'
import {
  latestRuns,
  NEVER_VERIFIED,
  readRejectsLeft,
  readVerified,
  stateText,
  type VerifiedThrough,
} from '../../report/sync-status.ts'
import { refusalsText, refusalsToJson } from '../shared/run-quota.ts'
import { ledgerLock, type LedgerLock } from '../shared/ledger-lock.ts'
import { lostLedgerText } from '../shared/lost-ledger.ts'
import { heldUpRun } from '../../temporal/held-up.ts'
import { workOn } from '../../actions/worked-on.ts'
import { readScheduleStatuses } from '../../actions/schedule-statuses.ts'
import { scheduleLines, scheduleToJson } from '../views/schedule-status.ts'
import { countersToJson, liveProgressOf, type LiveProgress } from '../../report/live-progress.ts'
import { formatNumber, outputWidth, safeText, table } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

const minute = (time: string, length = 16): string => time.slice(0, length).replace('T', ' ')

/** `2026-11-21 10:00`, or `never`, and what differs since then. */
function verifiedText({ through, left }: VerifiedThrough): string | null {
  const when = through === null ? null : minute(through)
  return left > 0 ? `${when ?? 'never'}, ${formatNumber(left)} differ` : when
}

/** The quota of a run at work; null if nothing is known of it. */
async function quotaOf(
  context: CommandContext,
  quotas: QuotaStore | null,
  run: Run | undefined,
): Promise<QuotaView | null> {
  if (!quotas || !run || !LIVE_STATES.includes(run.state)) return null
  return await readRunQuota(await context.loadConfig(), quotas, run)
}

/** Says which syncs wait for their quota, and what to do about it. */
function quotaWaitTexts(context: CommandContext, run: Run, quota: QuotaView): string[] {
  const sync = safeText(run.sync, 60)
  const waits = quotaWaitText(quota, run, Date.now())
  const refused = refusalsText(quota, Date.now())
  const see = `see ${context.hint('quota')}`
  return [
    ...(refused === null
      ? []
      : [`${sync}: ${refused}. The run asks again by itself; a person has to ask the service why`]),
    ...(waits === null
      ? []
      : [
          `${sync} ${waits}${quota.closedUntilMs === null ? '' : ', as the service asked'}; ${see}`,
        ]),
  ]
}

/** That a run is live in the ledger alone, and how it goes on. */
const idleText =
  ({ hint }: CommandContext, why: string) =>
  ({ sync, run }: SyncStatus): string =>
    `Run ${run!.id} of ${safeText(sync, 60)}: nobody works on it, ${safeText(why, 200)}. It goes on with ${hint('worker')}, or ${hint(`run ${sync} --local`)}`

/** That nothing can be written, as long as another program lets nobody. */
const lockLines = (lock: LedgerLock | null): string[] =>
  lock === null
    ? []
    : [`Now ${lock.text}: runs wait, also to begin, and go on by themselves when it ends`]

/** What the last run has not written, because its mode does not. */
function sparedLines({ sync, run }: SyncStatus): string[] {
  const text = run?.counts ? sparedText(run.counts) : null
  return text === null ? [] : [`Run ${run!.id} of ${safeText(sync, 60)}: ${text}`]
}

/** A run as the table has it, but for the last column. */
function cellsOf(run: Run, account: RunAccount | null, progress: LiveProgress | null) {
  return [
    run.sync,
    run.id,
    stateText(run, progress),
    minute(run.openedAt, 19),
    ...figuresOf(run, account, progress),
  ]
}

/** The same, with the rejects that no later run has brought in. */
function leftCells({ run, account, progress, rejectsLeft }: SyncStatus) {
  const cells = cellsOf(run!, account, progress)
  if (rejectsLeft === null) return cells
  const links = Number(cells[REJECTS]) - countRejects(run!.counts!)
  const left = rejectsLeft + links
  return cells
    .with(REJECTS, left)
    .with(STATE, left === 0 ? `${cells[STATE]}, mended` : cells[STATE]!)
}

/** Ends of their APIs that the services of the configured syncs announce. */
async function deprecationsOf(context: CommandContext, config: Config) {
  const store = await findQuotas(context)
  try {
    return await readDeprecations(config, Object.keys(config.connections), store)
  } finally {
    await store?.close()
  }
}

const deprecationsToJson = (sync: SyncConfig, all: readonly DeprecatedConnection[]) =>
  all
    .filter(({ connection }) => connectionsOf(sync).includes(connection))
    .map(({ connection, deprecation }) => ({ connection, ...deprecationToJson(deprecation) }))

type SyncStatus = Awaited<ReturnType<typeof readStatuses>>[number]

/** Every configured sync with its latest run, and the reconciliation since. */
export async function status(context: CommandContext): Promise<number> {
  const config = await context.loadConfig()
  const ledger = await context.findLedger()
  try {
    const read = await readStatuses(context, Object.keys(config.syncs), ledger)
    const schedules = await readScheduleStatuses(context, config)
    const isAtWork = ({ run }: SyncStatus) =>
      run !== undefined && LIVE_STATES.includes(run.state) && run.state !== 'paused'
    const atWork = read.filter(isAtWork).map(({ run }) => run!)
    const { idle, held } = await workOn(context, config, atWork)
    const syncs = read.map((each) => ({
      ...each,
      run: each.run && heldUpRun(each.run, held.get(each.run.id) ?? null),
    }))
    const deprecated = ledger === null ? [] : await deprecationsOf(context, config)
    const lock = ledger === null ? null : await ledgerLock(config)
    const place = await readLedgerPlace(config.ledger, context.env)
    const known = { place, ledger, syncs: Object.keys(config.syncs) }
    const lost =
      (ledger === null ? lostLedgerText(config) : null) ?? (await otherLedgerText(config, known))
    if (lost !== null) context.terminal.err(context.terminal.style('yellow', lost))
    if (context.json)
      printJson(
        context.terminal,
        syncs.map((each) => ({
          ...statusToJson(each),
          ledger_locked_by: lock?.holder ?? null,
          deprecations: deprecationsToJson(config.syncs[each.sync]!, deprecated),
          ...(isAtWork(each) && { nobody_works: idle !== null }),
          schedule: scheduleToJson(config, each.sync, schedules),
        })),
      )
    else {
      printStatuses(context, syncs, lost === null ? 'never run' : 'not known')
      const idleLines = idle === null ? [] : syncs.filter(isAtWork).map(idleText(context, idle))
      for (const line of syncs.flatMap(sparedLines)) context.terminal.out(line)
      const ends = deprecated.map((one) => deprecatedText(one, Date.now()))
      const lines = [
        ...lockLines(lock),
        ...idleLines,
        ...scheduleLines(context, schedules),
        ...ends,
      ]
      for (const line of lines) context.terminal.out(context.terminal.style('yellow', line))
    }
    return EXIT.done
  } finally {
    await ledger?.close()
  }
}

/** What is known of the configured syncs. */
async function readStatuses(
  context: CommandContext,
  syncs: readonly string[],
  ledger: Ledger | null,
) {
  let quotas: QuotaStore | null = null
  try {
    const statuses = []
    for (const sync of syncs) {
      const { run, reconciliation, followUp } = await latestRuns(ledger, sync)
      const account = async (of: Run | undefined) =>
        ledger && of ? await readRunAccount(ledger, of) : null
      if (run && LIVE_STATES.includes(run.state)) quotas ??= await findQuotas(context)
      statuses.push({
        quota: await quotaOf(context, quotas, run),
        sync,
        run,
        account: await account(run),
        follows: followUp && { run: followUp, account: await account(followUp) },
        compared: reconciliation && { run: reconciliation, account: await account(reconciliation) },
        progress: ledger && run ? await liveProgressOf(ledger, run) : null,
        rejectsLeft: ledger && run ? await readRejectsLeft(ledger, run) : null,
        verified: ledger ? await readVerified(ledger, sync) : NEVER_VERIFIED,
      })
    }
    return statuses
  } finally {
    await quotas?.close()
  }
}

const progressToJson = ({ phase, percent, counters }: LiveProgress) => ({
  phase,
  percent,
  ...(counters && { progress: countersToJson(counters) }),
})

const statusToJson = (status: SyncStatus) => {
  const { sync, run, account, follows, compared, progress, verified, quota } = status
  const waitsUntil = quota && quotaWaitUntil(quota, Date.now())
  return {
    ...(run ? runToJson(run, account) : { sync, run: null }),
    ...(progress && progressToJson(progress)),
    follow_up: follows ? runToJson(follows.run, follows.account) : null,
    latest_reconciliation: compared ? runToJson(compared.run, compared.account) : null,
    verified_through: verified.through,
    differences_left: verified.left,
    rejects_left: status.rejectsLeft,
    waits_for_quota_until: waitsUntil === null ? null : new Date(waitsUntil).toISOString(),
    refuses_all: quota && refusalsToJson(quota),
  }
}

/** On a screen that is narrower, a column of zeros makes room. */
const WIDE = 100
const STATE = 2
const REJECTS = 6
const DIFFER = 7

const COLUMNS = [
  'sync',
  'run',
  'state',
  'started',
  'rows',
  'written',
  'rejects',
  'differ',
  'verified through',
]

/** @param none what is said of a sync without a run */
function printStatuses(context: CommandContext, syncs: readonly SyncStatus[], none: string): void {
  const { terminal } = context
  const rows = syncs.flatMap((status) => {
    const { sync, run, follows, compared, verified } = status
    if (!run) return [[sync, null, none, null, null, null, null, null, null]]
    const next = [follows, compared].filter((one) => one !== undefined && one.run.id > run.id)
    return [
      [...leftCells(status), verifiedText(verified)],
      ...next.map((one) => [...cellsOf(one!.run, one!.account, null), null]),
    ]
  })
  const differs = rows.some((row) => row[DIFFER])
  const isTight = !differs && outputWidth() < WIDE
  // A column without anything goes where a table is too wide.
  terminal.out(table(COLUMNS, isTight ? rows.map((row) => row.with(DIFFER, null)) : rows))
  for (const { run } of syncs) {
    const isStopped =
      run?.state === 'paused' || run?.state === 'blocked' || run?.state === 'skipped'
    if (isStopped && run.message)
      terminal.out(`Run ${run.id} of ${run.sync}: ${safeText(run.message, 2_000)}`)
  }
  for (const { run, progress } of syncs)
    if (run && progress?.waits !== undefined)
      terminal.out(`Run ${run.id} of ${run.sync}: ${progress.waits}`)
  for (const { run, quota } of syncs)
    for (const text of run && quota ? quotaWaitTexts(context, run, quota) : [])
      terminal.out(terminal.style('yellow', text))
}
