// Runs that ask a person first (`approve: plan`): what they write is what their plan showed when it waited, a person has approved that plan,
// and a record that is not as the plan has it is left alone (docs/plan.md).

import type { World } from '../world/world.ts'
import type { RunRow } from './judge.ts'
import { isYoungChange } from './protected.ts'
import { isOfKey, isRekeyed, type Change } from './service-log.ts'

type Violate = (what: string) => void
type Values = Readonly<Record<string, string>>

/** What a plan shows of a row. */
interface PlannedRow {
  readonly verdict: string
  readonly recordId: string | null
  readonly before: Values | null
  readonly sent: Values
}

export interface ShownPlan {
  readonly at: number
  readonly digest: string
  /** By key. */
  readonly rows: ReadonlyMap<string, PlannedRow>
  readonly removals: ReadonlySet<string>
}

/** What a person has answered to a run that waits. */
export interface Verdict {
  readonly workflowId: string
  /** The number or the digest that was named; null: none was. */
  readonly plan: string | null
  readonly isApproved: boolean
}

const PLAN_SHOWN = /plan (?:of run )?(\d+) \(([0-9a-f]{12})\)/
const ASKING = ['sync', 'backfill', 'retry']

const textsOf = (json: string | null): Values | null =>
  json === null
    ? null
    : Object.fromEntries(
        Object.entries(JSON.parse(json) as Record<string, unknown>).flatMap(([name, value]) =>
          value === null ? [] : [[name, String(value as string | number)] as const],
        ),
      )

/** The digest that a run shows which waits; null: it does not wait with a plan. */
export const shownPlan = ({
  state,
  reason,
  message,
}: Pick<RunRow, 'state' | 'reason' | 'message'>): string | null =>
  state === 'blocked' && reason === 'approval'
    ? (PLAN_SHOWN.exec(message ?? '')?.[2] ?? null)
    : null

/** A plan that somebody has made, and may apply. */
export interface MadePlan {
  readonly sync: string
  readonly number: number
  /** When its making began: its rows were looked up after that. */
  readonly since: number
  readonly shown: ShownPlan
  /** The workflows that were to apply it. */
  readonly appliedBy: Set<string>
  /** The run that has written by it; null: none has. */
  writer: number | null
}

/** What a row of a plan that is to be sent may come to: it is sent, or it is not as the plan has it. */
const SENT = ['create', 'unknown', 'update']
const PLAN_REFUSED = /^plan/
const NOT_SENT = ['invalid', 'superseded', 'deletion_requested', 'not_found', 'exists']

/** @param run in which it is: of a plan that is made beforehand, less than zero */
export function readPlan(world: World, run: number, digest: string): ShownPlan {
  const images = world.query<{
    key: string
    verdict: string
    record_id: string | null
    before: string | null
    sent: string
  }>(
    `SELECT items.key, verdict, before_images.record_id, before, sent FROM before_images
     JOIN items USING (run, ordinal) WHERE run = ?`,
    run,
  )
  const removals = world.query<{ key: string }>(
    `SELECT key FROM removals WHERE run = ? AND state = 'pending'`,
    run,
  )
  return {
    at: world.loop.now(),
    digest,
    rows: new Map(
      images.map(({ key, verdict, record_id: recordId, before, sent }) => [
        key,
        { verdict, recordId, before: textsOf(before), sent: textsOf(sent)! },
      ]),
    ),
    removals: new Set(removals.map(({ key }) => key)),
  }
}

export class ApprovalJudge {
  readonly #world: World
  readonly #violate: Violate
  /** By run. */
  readonly #plans = new Map<number, ShownPlan>()

  constructor(world: World, violate: Violate) {
    this.#world = world
    this.#violate = violate
  }

  /** Called whenever the books have changed: a plan that waits is what a person sees. */
  see(run: RunRow): void {
    const made = this.#made(run)
    if (made !== undefined) this.#plans.set(run.id, made.shown)
    const digest = shownPlan(run)
    if (digest === null) return
    const known = this.#plans.get(run.id)
    if (known === undefined) this.#plans.set(run.id, readPlan(this.#world, run.id, digest))
    else if (known.digest !== digest)
      this.#violate(`(x) run ${run.id} has shown two plans: ${known.digest} and ${digest}`)
  }

  /** The plan that was made beforehand, and that a run applies. */
  #made = ({ workflow_id: workflowId }: RunRow): MadePlan | undefined =>
    this.#world.plans.find(({ appliedBy }) => appliedBy.has(workflowId))

  /** Whether a run has a plan that it keeps to: it asks, by its own configuration, or applies one. */
  #asks = (run: RunRow): boolean =>
    this.#made(run) !== undefined ||
    (ASKING.includes(run.purpose) && run.config.includes('"approve":"plan"'))

  /** Whether a run looks its rows up right before it writes, and leaves alone what is not as planned. */
  isApplying = (run: RunRow): boolean => this.#made(run) !== undefined

  /** The plan of a run, if a person has approved it. */
  #approved(run: RunRow, what: string): ShownPlan | null {
    const made = this.#made(run)
    if (made !== undefined) {
      made.writer ??= run.id
      if (made.writer !== run.id)
        this.#violate(
          `(x) run ${run.id} ${what} by plan ${made.number}, which run ${made.writer} has applied`,
        )
      return made.shown
    }
    const plan = this.#plans.get(run.id)
    const isApproved = this.#world.verdicts.some(
      (one) =>
        one.isApproved &&
        one.workflowId === run.workflow_id &&
        (one.plan === null ||
          one.plan === String(run.id) ||
          plan?.digest.startsWith(one.plan.slice(0, 12)) === true),
    )
    if (plan !== undefined && isApproved) return plan
    this.#violate(
      `(x) run ${run.id} ${what}, and ${plan === undefined ? 'has shown no plan' : 'nobody has approved its plan'}`,
    )
    return null
  }

  /** Called for each record that a run has written, with the properties that have changed. */
  judgeWrite(run: RunRow, change: Change, properties: readonly string[]): void {
    if (!this.#asks(run)) return
    const { id, code, before, values } = change
    const plan = this.#approved(run, `writes ${id}`)
    if (plan === null) return
    const row = plan.rows.get(code.trim())
    if (row === undefined || !['create', 'unknown', 'update'].includes(row.verdict))
      return this.#violate(
        `(x) run ${run.id} writes ${id}, and its plan says that the row is ${row?.verdict ?? 'not there'}`,
      )
    const isMade = row.verdict !== 'update'
    if (isMade !== (before === null) && !this.#isMoved(change, run))
      this.#violate(
        `(x) run ${run.id} ${before === null ? 'makes' : 'changes'} ${id}, and its plan says ${row.verdict}`,
      )
    for (const property of properties) {
      if (property !== 'code' && values![property] !== row.sent[property])
        this.#violate(`(x) run ${run.id} gives ${id} another ${property} than its plan shows`)
      if (before === null || before[property] === row.before?.[property]) continue
      if (!isYoungChange(this.#world, change, property) && !this.#isMoved(change, run))
        this.#violate(
          `(x) run ${run.id} changes ${property} of ${id}, which is not as its plan has found it`,
        )
    }
  }

  judgeRemoval(run: RunRow, { id, code }: Change): void {
    if (!this.#asks(run)) return
    const plan = this.#approved(run, `removes ${id}`)
    if (plan !== null && !plan.removals.has(code.trim()))
      this.#violate(`(x) run ${run.id} removes ${id}, which its plan does not`)
  }

  /** Others have made or removed the record of a key right before, or the run itself has sent the row before. */
  #isMoved(change: Change, run: RunRow): boolean {
    const since = this.#plans.get(run.id)!.at
    return this.#world.services.log.changes.some(
      (one) =>
        one !== change &&
        one.org === change.org &&
        isOfKey(one, change.code.trim()) &&
        (one.before === null || one.values === null || isRekeyed(one)) &&
        (one.by === 'us' ? one.at >= since : isYoungChange(this.#world, change, null, one)),
    )
  }

  /** A row that is left alone has a record that was changed since it was looked up. */
  judgeConflict(
    run: RunRow,
    item: { readonly ordinal: number; readonly key: string | null; readonly state: string },
    since: number,
  ): void {
    if (item.state !== 'conflict') return
    const from = this.#made(run)?.since ?? since
    const { syncs } = this.#world.plan.scene
    const { type } = syncs.find(({ name }) => name === run.sync)!
    // Another sync may write the same records.
    const isShared = syncs.filter((one) => one.type === type).length > 1
    const changed = this.#world.services.log.changes.some(
      ({ org, code, at, by, isCopy }) =>
        org === run.org_id &&
        at >= from &&
        (by === 'others' || isCopy || isShared || from < since) &&
        code.trim() === item.key,
    )
    if (!changed)
      this.#violate(
        `(x) run ${run.id}: row ${item.ordinal} is conflict, and nobody has changed its record since the run began`,
      )
  }

  /** Called when a run is closed: one that applies a plan has done all that it shows, or nothing, and says so. */
  judgeApplied(run: RunRow): void {
    const made = this.#made(run)
    if (made === undefined || run.purpose !== 'sync') return
    if (run.state === 'failed' && PLAN_REFUSED.test(run.reason ?? '') && made.writer === run.id)
      this.#violate(`(x) run ${run.id} refuses plan ${made.number}, and has written by it`)
    if (!run.state.startsWith('complete')) return
    const states = new Map<string, string>()
    // Several rows may have one key: it is the one that is sent that counts.
    for (const { key, state } of this.#world.query<{ key: string; state: string }>(
      'SELECT key, state FROM items WHERE run = ? AND key IS NOT NULL',
      run.id,
    ))
      if (!states.has(key) || !NOT_SENT.includes(state)) states.set(key, state)
    for (const [key, { verdict }] of made.shown.rows) {
      const state = states.get(key) ?? 'missing'
      if (SENT.includes(verdict) && (state === 'missing' || NOT_SENT.includes(state)))
        this.#violate(
          `(x) run ${run.id} is ${run.state}: a row that plan ${made.number} shows as ${verdict} is ${state}`,
        )
    }
  }
}
