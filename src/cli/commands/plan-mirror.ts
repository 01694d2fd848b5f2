// `records-sync plan SYNC` of a mirror: what there is to mirror, and what reading it costs. It asks the service and writes
// nothing, neither into the ledger nor into the warehouse.

import { PAGE_LIMIT_MAX } from '../../contract/index.ts'
import { LISTED_ALWAYS_MAX } from '../../core/domain/mirror.ts'
import type { MirrorSync } from '../../../config/index.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import type { Forecast } from '../shared/forecast.ts'
import { readMirrorTarget, type MirroredType } from '../shared/mirror-target.ts'
import { loadWarehouse } from '../../warehouses/index.ts'
import type { PlanParts } from './plan-import.ts'
import { formatNumber, printWrapped, safeText, table, type Terminal } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

/** Requests of a run next to those of its types: whose key it is, object types, field types, associations. */
const OF_A_RUN = 4
/** Of a type next to its pages: its properties, its count before and after, the last change, and what changed meanwhile. */
const OF_A_TYPE = 5
/** The same if nothing changed: its properties, what changed, its count. */
const OF_A_TYPE_UNCHANGED = 3

interface PlannedType extends MirroredType {
  readonly records: number
  /** Requests that read all of its records. */
  readonly pages: number
}

type MirrorPlan = Awaited<ReturnType<typeof makePlan>>

export async function planMirror(
  context: CommandContext,
  sync: MirrorSync,
  parts: PlanParts,
): Promise<number> {
  // A run would end at once without it.
  const { warehouses } = await context.loadConfig()
  await loadWarehouse(warehouses[sync.mirror.to]!)
  const plan = await makePlan(context, sync, parts)
  if (context.json) printJson(context.terminal, planToJson(sync, plan))
  else printPlan(context.terminal, sync, plan)
  return EXIT.done
}

async function makePlan(
  { json, terminal }: CommandContext,
  sync: MirrorSync,
  { client, forecastOf }: PlanParts,
) {
  const target = await readMirrorTarget(client, sync)
  const types: PlannedType[] = []
  for (const type of target.types) {
    if (!json)
      terminal.live(
        `${sync.name}  counting, ${types.length} of ${target.types.length} object types`,
      )
    const { results } = await client.aggregateRecords(
      type.schema.name,
      { aggregations: [{ op: 'count' }] },
      { priority: 'interactive' },
    )
    const records = Number(results[0]?.value ?? 0)
    types.push({ ...type, records, pages: Math.max(1, Math.ceil(records / PAGE_LIMIT_MAX)) })
  }
  terminal.endLive()
  const associations = target.associations.map(({ name, source, target: to }) => ({
    name,
    source,
    target: to,
    requests: types.find(({ schema }) => schema.name === source)!.records,
  }))
  // One answer has all links of a record, so associations with the same source share it.
  const sources = new Map(associations.map(({ source, requests }) => [source, requests]))
  const ofType = (type: PlannedType) => OF_A_TYPE_UNCHANGED + (isReadAlways(type) ? type.pages : 0)
  return {
    types,
    associations,
    full: await forecastOf(OF_A_RUN + sum(types, ({ pages }) => pages + OF_A_TYPE)),
    unchanged: await forecastOf(OF_A_RUN + sum(types, ofType)),
    // All of them are checked in the time that is left over.
    edges: await forecastOf(
      sum([...sources.values()], (requests) => requests),
      'backfill',
    ),
    warnings: target.warnings,
  }
}

const sum = <Item>(items: readonly Item[], of: (item: Item) => number): number =>
  items.reduce((total, item) => total + of(item), 0)

const isReadAlways = ({ modified, records }: PlannedType) =>
  !modified && records <= LISTED_ALWAYS_MAX

/** How changes of a type are found. */
function changesText(type: PlannedType, { full_every_hours: hours }: MirrorSync['mirror']): string {
  if (type.modified) return safeText(type.modified.name, 60)
  return isReadAlways(type) ? 'reading all, each run' : `reading all, every ${hours} h`
}

const planToJson = (sync: MirrorSync, plan: MirrorPlan) => ({
  sync: sync.name,
  kind: sync.kind,
  object_types: plan.types.map(({ schema, modified, records, pages }) => ({
    name: schema.name,
    records,
    properties: schema.properties.length,
    modification_property: modified?.name ?? null,
    pages,
  })),
  associations: plan.associations,
  full: costs(plan.full),
  unchanged: costs(plan.unchanged),
  edges: costs(plan.edges),
  warnings: plan.warnings,
})

function printPlan(terminal: Terminal, { name, mirror }: MirrorSync, plan: MirrorPlan): void {
  const { to, schema } = mirror
  terminal.out(`Plan of ${name} (nothing was written): tables in ${to}, schema ${schema}`)
  terminal.out(
    table(
      ['object type', 'records', 'properties', 'changes found by', 'pages'],
      plan.types.map((type) => [
        safeText(type.schema.name, 60),
        type.records,
        type.schema.properties.length,
        changesText(type, mirror),
        type.pages,
      ]),
    ),
  )
  const records = sum(plan.types, (type) => type.records)
  printWrapped(terminal, `All ${formatNumber(records)} records: ${plan.full.text}`)
  printWrapped(terminal, `A run after which nothing changed: ${plan.unchanged.text}`)
  if (plan.associations.length > 0) {
    terminal.out(
      table(
        ['association', 'from', 'to', 'requests'],
        plan.associations.map((link) => [
          safeText(link.name, 60),
          safeText(link.source, 60),
          safeText(link.target, 60),
          link.requests,
        ]),
      ),
    )
    const { text } = plan.edges
    printWrapped(terminal, `All links, one request for each record that they begin at: ${text}`)
  }
  for (const warning of plan.warnings)
    terminal.out(terminal.style('yellow', `warning: ${safeText(warning, 1_000)}`))
}

const costs = ({ requests, perMinute, minutes }: Forecast) => ({
  requests,
  requests_per_minute: perMinute,
  minutes,
})
