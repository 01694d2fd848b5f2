// The plan of an import, as text and as JSON.

import { tallyOf } from '../../core/domain/outcome-counts.ts'
import { approvalText, type LimitExceeded } from '../../core/domain/limit-exceeded.ts'
import { keepsBefore } from '../../core/domain/protection.ts'
import type { DeletionCounts } from '../../core/domain/deletions.ts'
import type { ImportSync } from '../../../config/index.ts'
import { rulesOf, type StageResult } from '../../import/index.ts'
import type { LinkCounters, RejectGroup, ReportedRemoval } from '../../ledger/ledger.ts'
import type { Forecast } from '../shared/forecast.ts'
import { countText, printWrapped, safeText, table, type Terminal } from '../shared/terminal.ts'
import { printPlannedRemovals } from './removals.ts'
import { printRejectGroups, REJECT_GROUPS_SHOWN, rejectGroupToJson } from './reject-groups.ts'

/** What a run would do, in counts. It is JSON: a plan that is kept has it in the ledger. */
export interface ImportPlan {
  readonly staged: Omit<StageResult, 'fence'>
  /** Keys that were accepted before. */
  readonly known: number
  /** Null if the sync has none. */
  readonly links: LinkCounters | null
  readonly groups: readonly (RejectGroup & { readonly detail: string | null })[]
  /** The first records that would be removed, or are held back. */
  readonly removals: readonly ReportedRemoval[]
  /** Limits of the sync that the plan exceeds. */
  readonly excesses: readonly LimitExceeded[]
  readonly forecast: Forecast
}

export const importPlanToJson = (
  sync: ImportSync,
  {
    staged: {
      links: _counts,
      carriedLinks: _carried,
      rows,
      planned,
      unchanged,
      superseded,
      invalid,
      corrected,
      withdrawn,
      ...others
    },
    known,
    links,
    groups,
    excesses,
    forecast,
  }: ImportPlan,
) => ({
  sync: sync.name,
  kind: sync.kind,
  ...others,
  rows_read: rows,
  rows: {
    read: rows,
    ...tallyOf('row', {
      pending: planned,
      unchanged,
      superseded,
      invalid,
      corrected: corrected ?? 0,
      deletion_requested: withdrawn ?? 0,
    }),
  },
  ...(links && {
    links: { read: links.read, pending: links.planned, unchanged: links.unchanged },
  }),
  known_keys: known,
  new_keys: planned - known,
  keeps_before: keepsBefore(sync.import),
  requests: forecast.requests,
  requests_per_minute: forecast.perMinute,
  minutes: forecast.minutes,
  asks_first: excesses,
  rejects: groups.map(rejectGroupToJson),
})

const PLAN = 'Plan'
const CHANGES_FOR_GOOD =
  'An undo of this run would delete the records that it makes, and could not give values back: keep_before: true keeps what records held'

/** Whether a run may change values that nobody keeps. One that applies a plan which is kept keeps them. */
const changesForGood = (
  { import: given }: ImportSync,
  { planned }: Pick<StageResult, 'planned'>,
): boolean => planned > 0 && given.mode !== 'create' && given.mode !== 'link' && !keepsBefore(given)

/** @param title of a plan that is kept */
export function printImportPlan(
  terminal: Terminal,
  sync: ImportSync,
  plan: ImportPlan,
  title = PLAN,
): void {
  const { staged, known, groups, forecast } = plan
  const created = staged.planned - known
  terminal.out(`${title} of ${sync.name} (nothing was written):`)
  terminal.out(table(['', 'rows'], stagedRows(sync, plan)))
  printWrapped(terminal, forecast.text)
  for (const ask of asksText(sync.import, plan.excesses, { planned: staged.planned, created }))
    printWrapped(terminal, ask, { style: 'yellow' })
  if (title === PLAN && changesForGood(sync, staged))
    printWrapped(terminal, CHANGES_FOR_GOOD, { style: 'dim' })
  for (const warning of staged.warnings)
    terminal.out(terminal.style('yellow', `warning: ${safeText(warning, 1_000)}`))
  printPlannedRemovals(terminal, plan.removals, staged.removals)
  printRejectGroups(terminal, groups, false)
  const expectations = groups
    .slice(0, REJECT_GROUPS_SHOWN)
    .filter(({ detail }) => detail !== null)
    .map(({ reason, column, detail }) => {
      const where = [reason, ...(column === null ? [] : [safeText(column, 30)])].join(', ')
      return `${where}: ${safeText(detail!, 300)}`
    })
  for (const expectation of new Set(expectations)) printWrapped(terminal, expectation)
  const rows = Math.max(0, ...groups.map(({ example }) => example).filter((row) => row <= ROWS_MAX))
  if (rows > 0)
    printWrapped(terminal, `\`check --rows ${rows}\` shows the cells of these rows`, {
      style: 'dim',
    })
}

/** Rows that `check` shows at most. */
const ROWS_MAX = 1_000

/** What staging found, in words and counts. */
export function stagedRows(
  sync: ImportSync,
  { staged, known, links }: ImportPlan,
): readonly (readonly [name: string, count: number])[] {
  const created = staged.planned - known
  return [
    ['read', staged.rows],
    ['to send', staged.planned],
    ['  keys accepted before', known],
    ['  keys new to us', created],
    ['unchanged', staged.unchanged],
    ['superseded by a later row', staged.superseded],
    ...(staged.corrected
      ? [['corrected by a retry, old in the source', staged.corrected] as const]
      : []),
    ['invalid', staged.invalid],
    ...removalRows(sync, staged.removals, staged.withdrawn ?? 0),
    ['cells that clear a property', staged.cleared],
    ...(links === null ? [] : linkCounts(links)),
  ]
}

const linkCounts = ({ read, planned, unchanged }: LinkCounters): [string, number][] => [
  ['links', read],
  ['  to send, at most', planned],
  ['  linked before', unchanged],
]

/** Rows that ask for a deletion, and records that a run would remove; nothing for a sync that removes none. */
function removalRows(
  { import: { missing_rows: missing = 'ignore', delete_when: when } }: ImportSync,
  { pending: planned = 0, not_sent: unsent = 0, not_owned: untracked = 0 }: DeletionCounts,
  withdrawn: number,
): [string, number][] {
  if (missing === 'ignore' && when === undefined) return []
  return [
    ...(when === undefined ? [] : ([['asking for a deletion', withdrawn]] as [string, number][])),
    [
      typeof missing === 'object'
        ? 'records without a row, to be changed'
        : 'records without a row, to be deleted',
      planned,
    ],
    ...(unsent > 0
      ? ([['  held back: their rows may be there', unsent]] as [string, number][])
      : []),
    ...(untracked > 0 ? ([['  never written by this sync', untracked]] as [string, number][]) : []),
  ]
}

/** What a run asks a person first, by the limits of the sync; `created`: rows whose keys no run has brought in. */
export function asksText(
  config: ImportSync['import'],
  excesses: readonly LimitExceeded[],
  { planned, created }: { readonly planned: number; readonly created: number },
): string[] {
  const { creates_max_percent: createsMax } = rulesOf(config)
  const isAsked = createsMax !== undefined && created * 100 > planned * createsMax
  return [
    ...(excesses.length > 0 ? [`A run asks first: ${approvalText(planned, excesses)}`] : []),
    ...(isAsked
      ? [
          `A run looks up ${countText(created, 'key')}, and asks first where more than ${createsMax} % of its rows are new records (creates_max_percent)`,
        ]
      : []),
  ]
}
