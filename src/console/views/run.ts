// A run: its state, its steps, its books, what it waits with. Promise kept here: it reads no item; the books of a run that is closed
// are in the run, those of a live one in its counters.

import { z } from 'zod'
import { LIVE_STATES } from '../../core/domain/books.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { loggedAction, readActionLog } from '../../report/action-log.ts'
import { readRunOutline, factsOf } from '../../report/account.ts'
import { readProvenance } from '../../report/collect.ts'
import { comparisonOf } from '../../report/comparison.ts'
import { secondsBetween } from '../../report/format.ts'
import { RUN_REPORT_SCHEMAS } from '../../report/run-report.ts'
import { readSchemaChanges, schemaChange } from '../../report/schema-changes.ts'
import { readUndos, type UndoOfRun, verdictWithLaterRuns } from '../../report/later-runs.ts'
import { reportVerdict } from '../../report/verdict.ts'
import { readPlan } from '../../import/index.ts'
import { allowedOffers, offeredAction, runOffers } from './offers.ts'
import type { ConsoleDeps } from '../deps.ts'
import { countKept } from './kept-corrections.ts'
import { isNothingLeft } from './nothing-left.ts'
import { stepsOfRun } from './run-steps.ts'
import { count, liveProgress, anyText as text, textOrNull, time, tone, runStep } from './shapes.ts'
import { toneOf } from './run-bars.ts'
import { valuesFor } from '../values.ts'

const { shape } = RUN_REPORT_SCHEMAS.report

export const runView = z
  .object({
    v: z.literal(1),
    made_at: time,
    tone,
    run: shape.run,
    retry_of: shape.retry_of,
    verdict: shape.verdict,
    live: liveProgress.nullable(),
    steps: z.array(runStep),
    books: shape.books,
    streams: shape.streams,
    schema_changes: z
      .array(schemaChange)
      .describe('Of a mirror: what it found changed at its object types, the newest first.'),
    comparison: shape.comparison,
    plan: z
      .object({
        number: count,
        digest: text,
        made_at: time,
        verdicts: z.array(z.object({ verdict: text, rows: count })),
        removals: count,
      })
      .nullable()
      .describe('The plan that the run waits with, in totals.'),
    related: z.array(z.object({ run: count, purpose: text, state: text, tone, opened_at: time })),
    provenance: shape.provenance,
    nothing_left: z
      .boolean()
      .describe('Whether later runs brought in all rows that it left; asked of at most 1,000.'),
    kept: count.describe('Rows that are kept as corrected, and not sent yet.'),
    correct: textOrNull.describe(
      'The page on which its rejects are corrected; null: none can be, or values are hidden.',
    ),
    actions: z.array(offeredAction).describe('What a person may do now.'),
    log: z.array(loggedAction).describe('What people did, the newest first.'),
  })
  .meta({ id: 'Run' })
export type RunView = z.output<typeof runView>

/** Null if it is no number that a run may have. */
export const numberOf = (text: string | undefined): number | null =>
  text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null

/** What `read` gives of a run; null where the text is no number of one. */
export async function ofNumber<Result>(
  text: string | undefined,
  read: (id: number) => Promise<Result | null>,
): Promise<Result | null> {
  const id = numberOf(text)
  return id === null ? null : await read(id)
}

/** Null if there is no such run. @throws LedgerAway */
export async function readRun(deps: ConsoleDeps, id: number): Promise<RunView | null> {
  const live = (await deps.live.read()).get(id)
  return await deps.readings.ledger(async (ledger) => {
    const run = await ledger.run(id)
    return run === null || run.mode !== 'run' ? null : await viewOf(deps, ledger, run, live)
  })
}

async function viewOf(
  deps: ConsoleDeps,
  ledger: Ledger,
  run: Run,
  live: Awaited<ReturnType<ConsoleDeps['live']['read']>> extends ReadonlyMap<number, infer Each>
    ? Each | undefined
    : never,
): Promise<RunView> {
  const { parts, readings } = deps
  const madeAt = new Date(deps.now()).toISOString()
  const { config } = await readings.config()
  const account = await readRunOutline(ledger, run)
  const comparison = account && comparisonOf(run, account)
  const books = account?.books ?? null
  const streams = account?.streams ?? null
  const facts = account?.run ?? factsOf(run)
  const hint = (command: string) => parts.hint(command)
  const plan = await planOf(ledger, run)
  const log = await readActionLog(ledger, { run: run.id })
  const isLeft = !(await isNothingLeft(ledger, run))
  const verdict = reportVerdict(run, { books, streams, comparison }, hint)
  const undos = await readUndos(ledger, run.id)
  const offers = runOffers(run, { plan, streams: streams ?? [] }).filter(
    ({ action }) => (isLeft || action !== 'retry') && (!undos.some(isUndoing) || action !== 'undo'),
  )
  const isRetried = offers.some(({ action }) => action === 'retry')
  return {
    v: 1,
    made_at: madeAt,
    tone: toneOf(run),
    run: mutable({ ...facts, seconds: secondsBetween(run.openedAt, run.closedAt ?? madeAt) }),
    retry_of: facts.retry_of,
    verdict: mutable(verdictWithLaterRuns(verdict, { isNothingLeft: !isLeft, undos })),
    live: live?.view ?? null,
    steps: stepsOfRun(
      run,
      live?.progress ?? null,
      await ledger.requestTimes(run.id),
      log.find(({ action, state }) => action === 'approve' && state === 'done')?.ended_at ?? null,
    ),
    books: mutable(books),
    streams: mutable(streams),
    schema_changes: run.kind === 'mirror' ? await readSchemaChanges(ledger, { run: run.id }) : [],
    comparison: mutable(comparison),
    plan,
    related: await relatedTo(ledger, run),
    provenance: mutable(await readProvenance(ledger, run, parts.uiOf(config))),
    nothing_left: !isLeft,
    kept: isRetried ? await countKept(ledger, run) : 0,
    correct:
      isRetried && valuesFor(deps, config) === 'shown' ? `/runs/${run.id}/corrections` : null,
    actions: allowedOffers(offers, deps.visitor?.role),
    log: [...log],
  }
}

/** Whether nothing is left for another undo: this one is at work, or has undone the run and was not taken back. */
const isUndoing = ({ state, takenBackBy }: UndoOfRun): boolean =>
  LIVE_STATES.includes(state) || (state === 'complete' && takenBackBy === null)

/** Reports are read-only, and what a schema gives is not. */
export type Mutable<Value> = Value extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : Value extends object
    ? { -readonly [Key in keyof Value]: Mutable<Value[Key]> }
    : Value
export const mutable = <Value>(value: Value): Mutable<Value> => value as Mutable<Value>

/** What an import waits with for a person. */
async function planOf(ledger: Ledger, run: Run): Promise<RunView['plan']> {
  if (run.kind !== 'import' || run.reason !== 'approval' || !LIVE_STATES.includes(run.state))
    return null
  const plan = await readPlan(ledger, run.id)
  if (plan === null) return null
  const counts = plan.totals?.verdicts ?? (await ledger.imageCounts(run.id))
  const removals = await ledger.removalCounts(run.id)
  return {
    number: run.id,
    digest: plan.digest,
    made_at: plan.at,
    verdicts: Object.entries(counts).flatMap(([verdict, rows]) =>
      rows > 0 ? [{ verdict, rows }] : [],
    ),
    removals: removals.pending ?? 0,
  }
}

/** The run that it is about, and those that are about it. */
async function relatedTo(ledger: Ledger, run: Run): Promise<RunView['related']> {
  const of = run.of === null ? null : await ledger.run(run.of)
  const runs = [
    ...(of === null ? [] : [of]),
    ...(await ledger.laterRuns(run.id, 'retry')),
    ...(await ledger.laterRuns(run.id, 'undo')),
  ]
  return runs.map((each) => ({
    run: each.id,
    purpose: each.purpose,
    state: each.state,
    tone: toneOf(each),
    opened_at: each.openedAt,
  }))
}
