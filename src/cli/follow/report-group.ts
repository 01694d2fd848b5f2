// Reports how a group has ended, or where it stands, and gives the exit code: the worst of its syncs.

import { isComplete, LIVE_STATES } from '../../core/domain/books.ts'
import { countedStates, groupedRuns, type GroupedSync } from '../../core/domain/group-state.ts'
import type { Run } from '../../ledger/ledger.ts'
import { readRunAccount, type RunAccount } from '../../report/account.ts'
import { figuresOf } from '../../report/run-figures.ts'
import { runToJson } from '../views/run-summary.ts'
import { printJson } from '../json.ts'
import { EXIT, exitCodeOf, withLedger, type CommandContext } from '../shared/context.ts'
import { innermostMessage, isConfigFailure } from '../shared/follow.ts'
import type { GroupFollowed } from './follow-group.ts'
import { LedgerUnreachable } from '../shared/ledger-retry.ts'
import { whatToSee } from './report-end.ts'
import { messageLines, safeText, table } from '../shared/terminal.ts'
import { ServerAway } from '../shared/wait-for-end.ts'

export interface GroupRef {
  readonly label: string
  readonly workflowId: string
}

interface Account {
  readonly run: Run
  readonly account: RunAccount | null
}

type Accounts = ReadonlyMap<string, Account>

/** The whole group for programs: each sync, then the runs that there are. */
export function groupToJson(
  { label, workflowId }: GroupRef,
  { progress }: Pick<GroupFollowed, 'progress'>,
  accounts: Accounts,
) {
  return {
    group: label,
    workflow_id: workflowId,
    state: progress?.state ?? null,
    syncs: (progress?.syncs ?? []).map(({ sync, kind, after, state, run, reason, links }) => ({
      sync,
      kind,
      after,
      state,
      run,
      message: reason,
      ...(links && {
        links: { state: links.state, run: links.run, message: links.reason },
      }),
    })),
    runs: [...accounts.values()].map(({ run, account }) => runToJson(run, account)),
  }
}

/** The accounts of its runs, by sync. */
export async function readAccounts(
  context: CommandContext,
  runs: ReadonlyMap<string, Run>,
): Promise<Accounts> {
  if (runs.size === 0) return new Map()
  return await withLedger(context, async (ledger) => {
    const accounts = new Map<string, Account>()
    for (const [sync, run] of runs)
      accounts.set(sync, { run, account: await readRunAccount(ledger, run) })
    return accounts
  })
}

/** Reports a group that has ended, or whose end is not known here. */
export async function reportGroup(
  context: CommandContext,
  of: GroupRef,
  followed: GroupFollowed,
): Promise<number> {
  const { terminal, json, hint } = context
  const { error, progress } = followed
  const isAway = error instanceof ServerAway || error instanceof LedgerUnreachable
  const accounts = isAway ? new Map<string, Account>() : await readAccounts(context, followed.runs)
  const failure = error === null ? null : failureOf(error)
  if (json)
    printJson(terminal, {
      ...groupToJson(of, followed, accounts),
      ...(failure && { error: failure }),
    })
  else {
    if (progress !== null) printGroup(context, of, progress, accounts)
    const style = isAway ? 'yellow' : 'red'
    const see = isAway ? `. See it: ${hint('status')}` : ''
    for (const line of failure ? messageLines(safeText(failure.message + see, 4_000)) : [])
      terminal.err(terminal.style(style, line))
  }
  if (isAway) return EXIT.unknown
  if (error !== null) return isConfigFailure(error) ? EXIT.usage : EXIT.stopped
  return Math.max(...countedStates(progress?.syncs ?? []).map(exitCodeOf))
}

const failureOf = (error: unknown): { code?: string; message: string } =>
  error instanceof ServerAway || error instanceof LedgerUnreachable
    ? { code: error.code, message: error.message }
    : { message: innermostMessage(error) }

const COLUMNS = ['sync', 'run', 'state', 'rows', 'written', 'rejects']
/** Columns that are shown where they have something. */
const MORE_COLUMNS = ['differ', 'linked', 'waiting']

/** A row for each sync, then why those did not end well that did not, then what a person looks at. */
export function printGroup(
  { terminal, hint }: Pick<CommandContext, 'terminal' | 'hint'>,
  { label }: GroupRef,
  { state, syncs }: NonNullable<GroupFollowed['progress']>,
  accounts: Accounts,
): void {
  terminal.out(`Group ${safeText(label, 200)}: ${terminal.style('bold', state)}`)
  const runs = groupedRuns(syncs)
  const rows = runs.map((one) => {
    const { run, account } = accounts.get(one.sync) ?? {}
    const figures = run ? figuresOf(run, account ?? null, null) : [null, null, null, null]
    return [
      one.sync,
      one.run,
      one.state.replaceAll('_', ' '),
      ...figures,
      ...linkFigures(account ?? null),
    ]
  })
  const shown = [...COLUMNS, ...MORE_COLUMNS].map(
    (_, at) => at < COLUMNS.length || rows.some((row) => row[at]),
  )
  const only = <Cell>(cells: readonly Cell[]) => cells.filter((_, at) => shown[at])
  if (rows.length > 0) terminal.out(table(only([...COLUMNS, ...MORE_COLUMNS]), rows.map(only)))
  for (const one of runs) {
    const why = whyOf(one)
    if (why !== null) terminal.out(terminal.style('yellow', why))
    const run = accounts.get(one.sync)?.run
    const next = run && !isLookedAfter(one, syncs) ? whatToSee({ hint }, run) : null
    if (next !== null) terminal.out(next)
  }
}

/** Whether all that a run left was waiting links, which another run of the group has taken up. */
const isLookedAfter = ({ run }: GroupedSync, syncs: readonly GroupedSync[]): boolean =>
  syncs.some((one) => one.run === run && one.links?.run && one.onceLinked === 'complete')

/** Links that the service has, and those that wait for their targets; null where a run has none. */
export function linkFigures(account: RunAccount | null): readonly [number | null, number | null] {
  const links = account?.run.links ?? null
  if (links === null || links.read === 0) return [null, null]
  return [links.linked + links.unchanged, links.waiting]
}

/** Why a sync did not end well, or is not at work; null if there is nothing to say. */
function whyOf({ sync, state, reason }: GroupedSync): string | null {
  if (reason === null || state === 'waiting') return null
  const isSaid = !isComplete(state) || reason.startsWith('was at work')
  return isSaid && !LIVE_STATES.includes(state) ? `${sync}: ${safeText(reason, 1_000)}` : null
}
