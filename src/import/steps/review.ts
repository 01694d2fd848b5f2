// Review: compares what a run will do with the limits above which the sync asks a person first. It writes nothing.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import type { LimitExceeded } from '../../core/domain/limit-exceeded.ts'
import type { RowVerdict } from '../../core/domain/row-changes.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type {
  AcceptedRecords,
  Differences,
  Outbox,
  PlannedItem,
  Removals,
  Runs,
  StepStates,
} from '../../ledger/ledger.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { lookUpItems, parsed, readImportedType } from '../look/look-up.ts'
import { lostInSource } from './source-visibility.ts'
import { reasonToAsk } from '../judge/source-as-read.ts'
import { WHOLE_RUN } from '../look/whole-run.ts'
import { stepPosition } from '../step-position.ts'
import { rulesOf, type ApprovalRules } from './approval-rules.ts'
import { currentMatchingProperty } from '../mapping/types.ts'

/** Records that a reconciliation deletes before it asks, by those that its sync has written: what it deletes, and its rows. */
const DELETES_MAX_PERCENT = 1
const DELETES_UNASKED = 10

/** The same of rows that are gone, if the sync sets no other. */
const REMOVALS_MAX_PERCENT = 10
const REMOVALS_UNASKED = 10

/** Step: the look-up of rows without a known record. */
const CREATES = 'creates'

/**
 * The limits that the planned items of a run are above.
 * @param job.deletes whether the extra records of a reconciliation are deleted
 */
export async function reviewLimits(
  deps: ImportDeps<AcceptedRecords & Differences & Outbox & Removals & Runs & StepStates>,
  job: StagedImport & {
    planned: number
    deletes?: boolean
    /** Whether it reads all of its source: it is no retry, and reads neither a window nor a part. */
    isRegular?: boolean
    /** Whether every row was compared with its record: a reconciliation. */
    isCompared?: boolean
    /** Whether the service is asked which rows are new records; a plan does not. Default true. */
    looksUp?: boolean
    /** Whether the rule that every run asks is about this one. Default true. */
    isAsked?: boolean
    /** Of an undo: deletions that a person has confirmed. Default: none. */
    confirmed?: number | undefined
    /** What its rows change, if all of them were looked up. Default: that is not known. */
    verdicts?: Readonly<Record<RowVerdict, number>> | null
  },
): Promise<readonly LimitExceeded[]> {
  const { planned, verdicts = null } = job
  const rules = rulesOf(job.config)
  const { rows_max, creates_max_percent, clears_max_percent } = rules
  const excesses: LimitExceeded[] = [
    ...(job.deletes ? await deletions(deps, job.run) : []),
    ...(await removals(deps, job)),
  ]
  const { links } = await deps.ledger.progress(job.run)
  const isAsked = rules.always && job.isAsked !== false
  if (
    isAsked &&
    (planned > 0 ||
      excesses.length > 0 ||
      (links?.planned ?? 0) > 0 ||
      (await removes(deps, job.run)))
  )
    excesses.unshift({ limit: 'plan', is: planned, max: 0 })
  const add = (limit: LimitExceeded['limit'], is: number, max: number) =>
    excesses.push({ limit, is, max })
  if (rules.rows_min !== undefined && job.isRegular === true) {
    const { read } = await deps.ledger.progress(job.run)
    if (read < rules.rows_min) add('rows_min', read, rules.rows_min)
  }
  if (planned === 0) return excesses
  if (rows_max !== undefined && planned > rows_max) add('rows_max', planned, rows_max)
  if (clears_max_percent !== undefined) {
    const { cleared, values } = await clearedValues(deps, job.run)
    if (cleared * 100 > values * clears_max_percent)
      add('clears_max_percent', percent(cleared, values), clears_max_percent)
  }
  if (verdicts !== null) excesses.push(...updatesAbove(rules, planned, verdicts))
  if (creates_max_percent !== undefined && job.looksUp !== false) {
    const creates = verdicts
      ? verdicts.create + verdicts.unknown
      : job.isCompared
        ? await deps.ledger.plannedMissing(job.run)
        : await missing(deps, job)
    if (creates * 100 > planned * creates_max_percent)
      add('creates_max_percent', percent(creates, planned), creates_max_percent)
  }
  return excesses
}

const removes = async ({ ledger }: ImportDeps<Removals>, run: number): Promise<boolean> =>
  ((await ledger.removalCounts(run)).pending ?? 0) > 0

/** Rules about records that get other values. */
function updatesAbove(
  { updates_max: max, updates_max_percent: maxPercent }: ApprovalRules,
  planned: number,
  { update }: Readonly<Record<RowVerdict, number>>,
): readonly LimitExceeded[] {
  const isAbove = maxPercent !== undefined && update * 100 > planned * maxPercent
  return [
    ...(max !== undefined && update > max
      ? [{ limit: 'updates_max', is: update, max } as const]
      : []),
    ...(isAbove
      ? [{ limit: 'updates_max_percent', is: percent(update, planned), max: maxPercent } as const]
      : []),
  ]
}

/** Deletions need approval above a percentage of the records; a few do only where the key of the source sees less than before. */
async function deletions(
  { ledger }: ImportDeps<Differences & Runs & StepStates>,
  run: number,
): Promise<LimitExceeded[]> {
  const { left } = await ledger.differenceCounts(run)
  // What the key may not see is never deleted.
  const extra = left.extra - (await hiddenExtra(ledger, run))
  const { read } = await ledger.progress(run)
  const all = read + extra
  const lost = extra > 0 ? await lostInSource(ledger, run) : null
  const isExcess = extra > DELETES_UNASKED && extra * 100 > all * DELETES_MAX_PERCENT
  if (!isExcess && lost === null) return []
  const reason = lost === null ? {} : { reason: `${lost}; the source may have rows for them` }
  const is = percent(extra, all)
  return [{ limit: 'deletes_max_percent', is, max: DELETES_MAX_PERCENT, records: extra, ...reason }]
}

/** Removals need approval above the percentage that the sync sets; fewer do only where what is gone is not certain. */
async function removals(
  { ledger }: ImportDeps<Removals & StepStates>,
  { run, config, confirmed = 0 }: StagedImport & { readonly confirmed?: number | undefined },
): Promise<LimitExceeded[]> {
  const { pending: records = 0 } = await ledger.removalCounts(run)
  if (records <= confirmed) return []
  const max = rulesOf(config).missing_rows_max_percent ?? REMOVALS_MAX_PERCENT
  const all = Math.max(records, await ledger.trackedRecords(run))
  const is = percent(records, all)
  const isMany = records > REMOVALS_UNASKED && records * 100 > all * max
  const lost = await lostInSource(ledger, run)
  const reason =
    lost === null ? await reasonToAsk(ledger, run) : `${lost}; the source may have rows for them`
  if (!isMany && max > 0 && reason === null) return []
  return [
    {
      limit: 'missing_rows_max_percent',
      is,
      max,
      records,
      ...(reason !== null && { reason }),
      ...(typeof config.missing_rows === 'object' && { clears: true }),
    },
  ]
}

/** Extra records of a run that the key in use may not see. */
async function hiddenExtra(ledger: Differences, run: number): Promise<number> {
  const groups = await ledger.differenceGroups(run)
  return groups
    .filter(({ kind, whose }) => kind === 'extra' && whose === 'unknown')
    .reduce((sum, { differences, repaired }) => sum + differences - repaired, 0)
}

/** With one decimal, rounded up: what is above a limit does not read as equal to it. */
const percent = (part: number, whole: number): number => Math.ceil((part / whole) * 1_000) / 10

/** Pages of the items that `next` returns, in order. Bounded by the run's items. */
async function* pages(
  deps: ImportDeps,
  next: (after: number) => Promise<readonly PlannedItem[]>,
  first = 0,
): AsyncGenerator<readonly PlannedItem[]> {
  for (let after = first; ;) {
    deps.signal.throwIfAborted()
    const items = await next(after)
    if (items.length === 0) return
    yield items
    deps.beat()
    after = items.at(-1)!.ordinal
  }
}

/** Values of the planned items, and how many of them clear a property. */
async function clearedValues(
  deps: ImportDeps<Outbox>,
  run: number,
): Promise<{ cleared: number; values: number }> {
  const next = (after: number) =>
    deps.ledger.nextPlanned(run, WHOLE_RUN, { after, attemptsBelow: 1, limit: LEDGER_ROWS_MAX })
  const counts = { cleared: 0, values: 0 }
  for await (const items of pages(deps, next))
    for (const { payload } of items) {
      const { properties } = JSON.parse(payload) as { properties: Record<string, unknown> }
      for (const value of Object.values(properties)) {
        counts.values++
        if (value === null || (Array.isArray(value) && value.length === 0)) counts.cleared++
      }
    }
  return counts
}

/** Planned items that have no record: those that no run has written before are looked up. */
async function missing(
  deps: ImportDeps<AcceptedRecords & StepStates>,
  { run, config, schema }: StagedImport,
): Promise<number> {
  const { properties } = await readImportedType(deps, config)
  // Staging found it a moment ago; without it nothing can be found, and the push reports why.
  if (!properties.some(({ name }) => name === config.matching_property)) return 0
  const matching = currentMatchingProperty(config, properties, schema)
  const next = (after: number) =>
    deps.ledger.keysWithoutRecord(run, { after, limit: IN_VALUES_MAX })
  const place = await stepPosition(deps.ledger, run, CREATES, { after: 0, creates: 0 })
  let { creates } = place.kept
  for await (const items of pages(deps, next, place.kept.after)) {
    const found = await lookUpItems(deps, config, matching, items.map(parsed), [matching.name])
    creates += items.filter(({ key }) => !found.has(key)).length
    await place.keep({ after: items.at(-1)!.ordinal, creates })
  }
  return creates
}
