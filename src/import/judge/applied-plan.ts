// A run that keeps to a plan: whether it may be opened, whether what it has staged is what was planned, and whose images its rows are
// compared with before they are sent. A plan of its own is one that a run has made and that a person has approved.

import { countText } from '../../core/format.ts'
import { SyncError } from '../../core/errors.ts'
import { LEDGER_ROWS_MAX, PLAN_AGE_MAX_MS } from '../../core/limits.ts'
import { WRITTEN_STATES } from '../../core/domain/outcomes.ts'
import { isComplete } from '../../core/domain/run-states.ts'
import type { BeforeImages, Plans, Run, Runs, StepStates } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import type { ImportDeps } from '../ports.ts'
import { differingParts, planDigest, type DigestedLedger, type PlanPart } from './plan-digest.ts'
import { readPlan } from './stored-plan.ts'

/** A plan that a run keeps to. */
export interface AppliedPlan {
  /** The run that has its images. */
  readonly run: number
  /** The number that people know it by. */
  readonly number: number
}

/** What of a run is not as its plan has it. */
export interface NotAsPlanned {
  readonly plan: number
  readonly parts: readonly PlanPart[]
  /** Keys of planned rows that differ, and the first of them. */
  readonly rows: number
  readonly keys: readonly string[]
  /** The newest run of the sync since the plan was made: what it sent is not to be sent any more. Left out if there is none. */
  readonly since?: number
}

/** Next to the positions of the steps, under a name that no object type has. */
const NOT_AS_PLANNED = '@not_as_planned'
const KEYS_NAMED = 10

const refused = (plan: number, why: string, remedy: string): SyncError =>
  new SyncError('plan_refused', `Plan ${plan} cannot be applied: ${why}. ${remedy}`, { plan })

const makeAgain = (sync: string) => `Make a new one: records-sync plan ${sync} --diff`

/**
 * Whether a run of the sync may apply the plan, as far as that is known before its rows are read.
 * @param own the workflow execution that asks: its own run does not count
 * @throws SyncError `plan_refused`, with what to do
 */
export async function checkPlan(
  ledger: Plans & Runs & StepStates,
  plan: number,
  { sync, now, own }: { readonly sync: string; readonly now: number; readonly own: string },
): Promise<void> {
  const made = await ledger.run(-plan)
  if (made === null || made.mode !== 'plan')
    throw refused(plan, 'there is none of this number', makeAgain(sync))
  if (made.sync !== sync)
    throw refused(
      plan,
      `it is a plan of ${made.sync}`,
      `Apply it with: records-sync run ${made.sync} --plan ${plan}`,
    )
  const stored = await readPlan(ledger, -plan)
  if (stored === null) throw refused(plan, 'it did not come to its end', makeAgain(sync))
  if (!stored.isWhole)
    throw refused(
      plan,
      'only some of its rows were looked up (--sample or --limit-requests)',
      makeAgain(sync),
    )
  if (Date.parse(stored.at) + PLAN_AGE_MAX_MS < now)
    throw refused(plan, `it is of ${stored.at.slice(0, 10)}, more than 7 days old`, makeAgain(sync))
  const applied = await ledger.runs({ sync, plan, limit: LEDGER_ROWS_MAX })
  for (const run of applied.toReversed()) {
    if (run.workflowRunId === own) continue
    const { requests } = await ledger.progress(run.id)
    if (requests > 0 || isComplete(run.state))
      throw refused(
        plan,
        `run ${run.id} has applied it${isComplete(run.state) ? '' : ', and did not come to its end'}`,
        makeAgain(sync),
      )
  }
}

/**
 * Compares what a run has staged with its plan.
 * @throws SyncError `plan_refused`: what has changed; the ledger keeps the first keys, which no message names
 */
export async function checkStaged(
  deps: Pick<
    ImportDeps<DigestedLedger & BeforeImages & Plans & StepStates>,
    'ledger' | 'signal' | 'beat'
  >,
  { run, sync, plan }: { readonly run: number; readonly sync: string; readonly plan: number },
): Promise<void> {
  const { ledger } = deps
  const stored = await readPlan(ledger, -plan)
  const found = await planDigest(deps, run)
  const parts = stored
    ? differingParts(stored.parts, found.parts).filter((part) => part !== 'images')
    : []
  if (parts.length > 0) {
    const otherwise = parts.includes('rows')
      ? await ledger.plannedOtherwise(run, -plan, KEYS_NAMED)
      : { rows: 0, keys: [] }
    const since = parts.includes('rows') ? await sentSince(ledger, { run, sync, plan }) : null
    const unlike: NotAsPlanned = { plan, parts, ...otherwise, ...(since !== null && { since }) }
    await ledger.saveStepState(run, NOT_AS_PLANNED, JSON.stringify(unlike))
    throw refused(plan, `${notAsPlannedText(unlike)}; nothing was sent`, makeAgain(sync))
  }
  // Pruned since the plan was looked for.
  const { planned } = await ledger.progress(run)
  const images = Object.values(await ledger.imageCounts(-plan)).reduce((sum, one) => sum + one, 0)
  if (stored === null || images < planned)
    throw refused(plan, 'the ledger does not have its rows any more', makeAgain(sync))
}

/** Runs that may have come between. */
const SINCE_MAX = 100

/** The newest other run that was opened after the plan and has brought rows in; null if there is none. */
async function sentSince(
  ledger: Runs,
  { run, sync, plan }: { readonly run: number; readonly sync: string; readonly plan: number },
): Promise<number | null> {
  const made = await ledger.run(-plan)
  const between = (await ledger.runs({ sync, limit: SINCE_MAX })).find(
    ({ id, mode, counts, openedAt }) =>
      id !== run &&
      mode === 'run' &&
      made !== null &&
      openedAt > made.openedAt &&
      counts !== null &&
      WRITTEN_STATES.some((state) => counts.states[state] > 0),
  )
  return between?.id ?? null
}

/** Of a run that was refused because it is not as its plan has it; null of another one. */
export async function readNotAsPlanned(
  ledger: StepStates,
  run: number,
): Promise<NotAsPlanned | null> {
  const text = await ledger.loadStepState(run, NOT_AS_PLANNED)
  return text === null ? null : (JSON.parse(text) as NotAsPlanned)
}

/** The plan that a run keeps to: the one that it applies, or its own; null if there is none. */
export async function appliedPlan(ledger: StepStates, run: Run): Promise<AppliedPlan | null> {
  const { plan } = jobOf(run)
  if (plan !== undefined) return { run: -plan, number: plan }
  return (await readPlan(ledger, run.id)) === null ? null : { run: run.id, number: run.id }
}

const CHANGED: Readonly<Record<Exclude<PlanPart, 'rows' | 'images'>, string>> = {
  mapping: 'the configuration of the import',
  schema: 'the properties at the service',
  destination: 'the org, object type or matching property that is written to',
  removals: 'the records to be removed',
  links: 'the links',
}

/** `3 rows, the mapping have changed since`, without a key. */
export function notAsPlannedText({ parts, rows, since }: NotAsPlanned): string {
  const changed = parts.flatMap((part) => {
    if (part === 'images') return []
    if (part !== 'rows') return [CHANGED[part]]
    if (since !== undefined && rows > 0)
      return [`what is to be sent of ${countText(rows, 'row')}, as run ${since} came between`]
    return [
      rows === 0
        ? 'the order of the rows'
        : countText(rows, 'row of the source', 'rows of the source'),
    ]
  })
  return `changed since it was made: ${changed.join(', ')}`
}
