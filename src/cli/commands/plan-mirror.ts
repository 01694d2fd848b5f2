// `records-sync plan SYNC` of a mirror: what there is to mirror, and what reading it costs. It asks the service and writes
// nothing, neither into the ledger nor into the warehouse.

import { PAGE_LIMIT_MAX } from '../../contract/index.ts'
import { LISTED_ALWAYS_MAX } from '../../core/mirror.ts'
import type { MirrorSync } from '../../../config/index.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import type { Forecast } from '../shared/forecast.ts'
import { readMirrorTarget, type MirroredType } from '../shared/mirror-target.ts'
import type { PlanParts } from './plan-parts.ts'
import { formatNumber, safeText, table, wrapped } from '../shared/terminal.ts'

/** Requests of a run beside those of its types: whose key it is, object types, field types, associations. */
const OF_A_RUN = 4
/** Of a type beside its pages: its properties, its count before and after, the last change, and what changed meanwhile. */
const OF_A_TYPE = 5
/** The same where nothing changed: its properties, what changed, its count. */
const OF_A_TYPE_UNCHANGED = 3

interface Planned extends MirroredType {
  readonly records: number
  /** Requests that read all of its records. */
  readonly pages: number
}

export async function planMirror(
  context: CommandContext,
  sync: MirrorSync,
  { client, forecastOf }: PlanParts,
): Promise<number> {
  const { terminal } = context
  const { types, associations, warnings } = await readMirrorTarget(client, sync)
  const planned: Planned[] = []
  for (const type of types) {
    if (!context.json)
      terminal.live(`${sync.name}  counting, ${planned.length} of ${types.length} object types`)
    const { results } = await client.aggregateRecords(
      type.schema.name,
      { aggregations: [{ op: 'count' }] },
      { priority: 'interactive' },
    )
    const records = Number(results[0]?.value ?? 0)
    planned.push({ ...type, records, pages: Math.max(1, Math.ceil(records / PAGE_LIMIT_MAX)) })
  }
  terminal.endLive()
  const sum = (of: (type: Planned) => number) =>
    planned.reduce((total, type) => total + of(type), 0)
  const toldBy = ({ modified, records }: Pick<Planned, 'modified' | 'records'>): string =>
    modified
      ? safeText(modified.name, 60)
      : records <= LISTED_ALWAYS_MAX
        ? 'reading all, each run'
        : `reading all, every ${sync.mirror.full_every_hours} h`
  const isReadAlways = ({ modified, records }: Planned) => !modified && records <= LISTED_ALWAYS_MAX
  const links = associations.map(({ name, source, target }) => ({
    name,
    source,
    target,
    requests: planned.find(({ schema }) => schema.name === source)!.records,
  }))
  // One answer tells all links of a record, so that associations with the same source share it.
  const sources = new Map(links.map(({ source, requests }) => [source, requests]))
  const full = await forecastOf(OF_A_RUN + sum(({ pages }) => pages + OF_A_TYPE))
  const unchanged = await forecastOf(
    OF_A_RUN + sum((type) => OF_A_TYPE_UNCHANGED + (isReadAlways(type) ? type.pages : 0)),
  )
  const asked = [...sources.values()].reduce((total, records) => total + records, 0)
  // All of them are looked at in the time that is left over.
  const edges = await forecastOf(asked, 'backfill')

  if (context.json) {
    terminal.out(
      JSON.stringify({
        sync: sync.name,
        kind: sync.kind,
        object_types: planned.map(({ schema, modified, records, pages }) => ({
          name: schema.name,
          records,
          properties: schema.properties.length,
          modification_property: modified?.name ?? null,
          pages,
        })),
        associations: links,
        full: costs(full),
        unchanged: costs(unchanged),
        edges: costs(edges),
        warnings,
      }),
    )
    return EXIT.done
  }
  const { to, schema } = sync.mirror
  terminal.out(`Plan of ${sync.name} (nothing was written): tables in ${to}, schema ${schema}`)
  terminal.out(
    table(
      ['object type', 'records', 'properties', 'changes are told by', 'pages'],
      planned.map(({ schema: { name, properties }, modified, records, pages }) => [
        safeText(name, 60),
        records,
        properties.length,
        toldBy({ modified, records }),
        pages,
      ]),
    ),
  )
  const say = (text: string) => {
    for (const line of wrapped(text, 0)) terminal.out(line)
  }
  say(`All ${formatNumber(sum(({ records }) => records))} records: ${full.text}`)
  say(`A run after which nothing changed: ${unchanged.text}`)
  if (links.length > 0) {
    terminal.out(
      table(
        ['association', 'from', 'to', 'requests'],
        links.map(({ name, source, target, requests }) => [
          safeText(name, 60),
          safeText(source, 60),
          safeText(target, 60),
          requests,
        ]),
      ),
    )
    say(`All links, one request for each record that they begin at: ${edges.text}`)
  }
  for (const warning of warnings)
    terminal.out(terminal.style('yellow', `warning: ${safeText(warning, 1_000)}`))
  return EXIT.done
}

const costs = ({ requests, perMinute, minutes }: Forecast) => ({
  requests,
  requests_per_minute: perMinute,
  minutes,
})
