// The plan that a run waits with or has kept to: what becomes of the rows, in totals, and a page of them. Promise kept here: no more rows
// are read than the page shows, but those that a property is looked for in, which have a bound.

import { z } from 'zod'
import { LIVE_STATES } from '../../core/domain/books.ts'
import { ROW_VERDICTS, verdictMeaning, type RowVerdict } from '../../core/domain/row-changes.ts'
import { writeJson } from '../../core/json.ts'
import { namesOf } from '../../core/register.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import {
  appliedPlan,
  imageChangeReader,
  readPlan,
  type PropertyChange,
  type StoredPlan,
} from '../../import/index.ts'
import type { ImagedItem, Ledger, Run } from '../../ledger/ledger.ts'
import { CHANGE_DOES, planPageRow } from '../../report/plan-rows.ts'
import { jobOf } from '../../runs/job.ts'
import { offeredAction, runOffers, type OfferedAction } from './offers.ts'
import type { ConsoleDeps } from '../deps.ts'
import { ITEMS_MAX_MS } from '../readings.ts'
import { numberOf } from './run.ts'
import { runViewHead, runViewHeadOf } from './run-head.ts'
import { anyText as text, count, countOrNull, textOrNull, time } from './shapes.ts'
import { valuesFor } from '../values.ts'

/** Rows of a page, and how often the ledger is asked for rows that have a property. */
const PAGE_ROWS = 50
const READS_MAX = 20

const change = z.object({
  property: text,
  does: z
    .enum(namesOf(CHANGE_DOES))
    .describe('`keeps`: others changed the value, and it stays as it is.'),
  before: textOrNull.describe('Null: no value, or values are hidden.'),
  after: textOrNull,
})

const planned = z.object({
  number: count,
  digest: text,
  made_at: time,
  waits: z.boolean().describe('Whether the run waits for approval with it.'),
  planned: countOrNull.describe('Rows to be sent; null if that is not kept.'),
  looked_up: count.describe(
    'Rows whose record was looked up: what becomes of others is not known.',
  ),
  verdicts: z.array(z.object({ verdict: text, meaning: text, rows: count })),
  properties: z
    .array(z.object({ property: text, rows: count, cleared: count, kept: count }))
    .nullable()
    .describe('Of the records that get other values; null if that is not kept.'),
  removals: count.describe('Records that are removed.'),
  filter: z.object({ verdict: textOrNull, property: textOrNull }),
  are_kept: z.boolean().describe('Whether the ledger has the rows still.'),
  rows: z.array(
    z.object({
      line: count,
      key: text,
      record_id: textOrNull,
      verdict: text,
      state: text.describe('What has become of the row since.'),
      changes: z.array(change),
      more_properties: count,
    }),
  ),
  next_after: countOrNull.describe('The next page is behind this place; null: there is none.'),
})

export const planView = z
  .object({
    ...runViewHead,
    plan: planned.nullable().describe('Null: the run has none.'),
    actions: z.array(offeredAction).describe('Approve and reject, while the run waits with it.'),
    commands: z.object({ show: text, approve: textOrNull, reject: textOrNull }),
  })
  .meta({ id: 'Plan' })
export type PlanView = z.output<typeof planView>
export type ShownPlan = NonNullable<PlanView['plan']>

type Applied = NonNullable<Awaited<ReturnType<typeof appliedPlan>>>
type Query = Readonly<Record<string, string>>

/** Null if there is no such import. @throws LedgerAway */
export async function readPlanView(
  deps: ConsoleDeps,
  id: number,
  query: Query,
): Promise<PlanView | null> {
  const { config } = await deps.readings.config()
  return await deps.readings.ledger(async (ledger) => {
    const run = await ledger.run(id)
    if (run === null || run.mode !== 'run' || run.kind !== 'import') return null
    const values = valuesFor(deps, config)
    const applied = await appliedPlan(ledger, run)
    const plan = applied && (await planOf(ledger, run, applied, query, values))
    const { hint } = deps.parts
    const asks = plan?.waits === true
    return {
      ...runViewHeadOf(run, { nowMs: deps.now(), values: valuesFor(deps, config) }),
      plan,
      actions: asks ? runOffers(run, { plan, streams: [] }).filter(isVerdict) : [],
      commands: {
        show: hint(showing(run, applied)),
        approve: asks ? hint(`approve ${id} --plan ${plan.digest.slice(0, 12)}`) : null,
        reject: asks ? hint(`reject ${id}`) : null,
      },
    }
  }, ITEMS_MAX_MS)
}

const isVerdict = ({ action }: OfferedAction): boolean =>
  action === 'approve' || action === 'reject'

const showing = ({ id, sync }: Run, applied: Applied | null): string =>
  applied === null
    ? `plan ${sync} --diff`
    : applied.run === id
      ? `plan ${sync} --run ${id}`
      : `plan ${sync} --number ${applied.number}`

async function planOf(
  ledger: Ledger,
  run: Run,
  applied: Applied,
  query: Query,
  values: PlanView['values'],
): Promise<ShownPlan | null> {
  const stored = await readPlan(ledger, applied.run)
  const made = applied.run === run.id ? run : await ledger.run(applied.run)
  if (stored === null || made === null) return null
  const { verdicts, properties, planned: rows } = await totalsOf(ledger, applied.run, stored)
  const filter = filterOf(query, made)
  const page = await readRows(ledger, made, { filter, after: numberOf(query['after']) ?? 0 })
  const { pending: removals = 0 } = await ledger.removalCounts(applied.run)
  const lookedUp = Object.values(verdicts).reduce((sum, each) => sum + each, 0)
  return {
    number: applied.number,
    digest: stored.digest,
    made_at: stored.at,
    waits: run.reason === 'approval' && LIVE_STATES.includes(run.state),
    planned: rows,
    looked_up: lookedUp,
    verdicts: ROW_VERDICTS.filter((verdict) => verdicts[verdict] > 0).map((verdict) => ({
      verdict,
      meaning: verdictMeaning(verdict),
      rows: verdicts[verdict],
    })),
    properties: properties?.map(({ kept = 0, ...each }) => ({ ...each, kept })) ?? null,
    removals,
    filter,
    are_kept: page.rows.length > 0 || lookedUp === 0 || (await hasImages(ledger, applied.run)),
    rows: page.rows.map((row) => rowOf(row, values)),
    next_after: page.next,
  }
}

/** Of a plan without totals its verdicts are counted, and nothing else. */
async function totalsOf(ledger: Ledger, run: number, { totals }: StoredPlan) {
  return totals ?? { planned: null, verdicts: await ledger.imageCounts(run), properties: null }
}

const hasImages = async (ledger: Ledger, run: number): Promise<boolean> =>
  (await ledger.images(run, { after: 0, limit: 1, verdicts: ROW_VERDICTS })).length > 0

/** What is not known as a verdict or a property of the import filters nothing. */
function filterOf({ verdict, property }: Query, made: Run): ShownPlan['filter'] {
  const { properties } = jobOf(made, 'import').sync.import
  return {
    verdict: ROW_VERDICTS.find((name) => name === verdict) ?? null,
    property: property !== undefined && Object.hasOwn(properties, property) ? property : null,
  }
}

type Read = ImagedItem & { readonly changes: readonly PropertyChange[] }

/** Rows behind a place, as many as a page has; `next`: there are more, or there may be. */
async function readRows(
  ledger: Ledger,
  made: Run,
  { filter, after }: { readonly filter: ShownPlan['filter']; readonly after: number },
): Promise<{ readonly rows: readonly Read[]; readonly next: number | null }> {
  const { property } = filter
  const changesOf = imageChangeReader({
    config: jobOf(made, 'import').sync.import,
    schema: made.schema,
  })
  const verdicts =
    filter.verdict === null ? ROW_VERDICTS : ([filter.verdict] as readonly RowVerdict[])
  const mentions = property === null ? {} : { mentions: writeJson(property) }
  const rows: Read[] = []
  let place = after
  // The first read has what a page has; further ones look for the property in rows that have its name somewhere.
  for (let reads = 0; reads < READS_MAX; reads++) {
    const limit = reads === 0 ? PAGE_ROWS + 1 : LEDGER_ROWS_MAX
    const images = await ledger.images(made.id, { verdicts, after: place, limit, ...mentions })
    if (images.length === 0) return { rows, next: null }
    for (const image of images) {
      const changes = changesOf(image)
      const isFound = property === null || changes.some((each) => each.property === property)
      if (isFound && rows.length === PAGE_ROWS) return { rows, next: place }
      if (isFound) rows.push({ ...image, changes })
      place = image.ordinal
    }
  }
  return { rows, next: place }
}

function rowOf(row: Read, values: PlanView['values']): ShownPlan['rows'][number] {
  const { line, verdict, state, recordId } = row
  const { key, changes, more } = planPageRow(row)
  const stays = verdict === 'protected' || verdict === 'changed'
  return {
    line,
    key,
    record_id: recordId,
    verdict,
    state,
    changes: changes.map(({ property, before, after, does }) => ({
      property,
      does: stays ? 'keeps' : does,
      before: values === 'shown' ? before : null,
      after: values === 'shown' ? after : null,
    })),
    more_properties: more,
  }
}
