// A sync: what it reads and writes, property by property, when it runs, and what its runs did. Promise kept here: its runs are read a
// page at a time; of items it reads those groups of rejects that it shows, once for each run.

import { z } from 'zod'
import type { ImportConfig, SyncConfig } from '../../../config/index.ts'
import { isComplete, LIVE_STATES } from '../../core/domain/books.ts'
import { mappedColumns } from '../../core/domain/mapped-columns.ts'
import { scheduleText } from '../../core/domain/schedule.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { loggedAction, readActionLog } from '../../report/action-log.ts'
import { readRunOutline } from '../../report/account.ts'
import { endsOf } from '../../report/collect.ts'
import { readRejectGroups } from '../../report/reject-groups.ts'
import { RUN_REPORT_SCHEMAS } from '../../report/run-report.ts'
import { readSchemaChanges, schemaChange } from '../../report/schema-changes.ts'
import { latestRuns } from '../../report/sync-status.ts'
import { allowedOffers, offeredAction, syncOffers } from './offers.ts'
import type { ConsoleDeps } from '../deps.ts'
import type { TemporalReading } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { readSummary, syncSummary } from './overview.ts'
import { barOf } from './run-bars.ts'
import {
  count,
  countOrNull,
  runBar,
  anyText as text,
  textOrNull,
  time,
  timeOrNull,
} from './shapes.ts'

/** Runs of a page of the list, and of the chart of the history. */
const RUNS_PAGE = 20
const HISTORY_MAX = 90
/** The last rejects are looked for in so many runs. */
const REJECT_RUNS_MAX = 20

const mappedProperty = z.object({
  property: text,
  columns: z.array(text).describe('None for a constant.'),
  note: textOrNull.describe('What is done with the cell.'),
  is_key: z.boolean(),
  rejects: count.describe('Rows that the last run with rejects set aside because of it.'),
  reasons: z.array(text),
})

const mappedLink = z.object({ association: text, to: text, column: text })

export const syncTable = RUN_REPORT_SCHEMAS.report.shape.streams.unwrap().element.extend({
  up_to: timeOrNull.describe('When the newest run began that brought it up to date.'),
})

export const syncView = z
  .object({
    v: z.literal(1),
    made_at: time,
    summary: syncSummary,
    from: text,
    to: text,
    mode: textOrNull.describe('Of an import.'),
    after: z.array(text).describe('Syncs that it begins after, where they run together.'),
    schedule: z
      .object({
        configured: text,
        times: z.array(time).describe('The next times, as the Temporal server has them.'),
      })
      .nullable(),
    mapping: z
      .object({
        properties: z.array(mappedProperty),
        links: z.array(mappedLink),
        rejects_of: countOrNull.describe('The run whose rejects are counted.'),
      })
      .nullable(),
    tables: z.array(syncTable).nullable().describe('Of a mirror: as its newest run left them.'),
    schema_changes: z
      .array(schemaChange)
      .nullable()
      .describe('Of a mirror: what its runs found changed at its object types, the newest first.'),
    history: z.array(runBar).describe('The newest runs, the oldest of them first.'),
    runs: z.array(runBar).describe('A page of the runs, newest first.'),
    actions: z.array(offeredAction).describe('What a person may do now.'),
    log: z.array(loggedAction).describe('What people did, the newest first.'),
    next_before: countOrNull.describe('`before` of the next page; null at the end.'),
  })
  .meta({ id: 'Sync' })
export type SyncView = z.output<typeof syncView>

/** Null if the configuration has no such sync. @throws LedgerAway */
export async function readSync(
  deps: ConsoleDeps,
  name: string,
  before?: number,
): Promise<SyncView | null> {
  const { config } = await deps.readings.config()
  const sync = Object.hasOwn(config.syncs, name) ? config.syncs[name] : undefined
  if (sync === undefined) return null
  const live = await deps.live.read()
  const temporal = await deps.readings.temporal(
    config,
    [...live.values()].map(({ run }) => run),
  )
  const read = async (ledger: Ledger | null) => ({
    ...known(deps, sync, temporal),
    actions: allowedOffers(
      syncOffers(sync, {
        isLive: [...live.values()].some(({ run }) => run.sync === name),
        schedule: scheduleStateOf(temporal?.schedules.views?.get(name)?.state),
      }),
      deps.visitor?.role,
    ),
    summary: await readSummary(deps, { config, ledger, live, temporal }, name),
    ...(ledger && (await ofLedger(ledger, sync, before))),
  })
  const found = await deps.readings.ledger(read)
  return found ?? (await read(null))
}

const scheduleStateOf = (state: string | undefined): 'active' | 'paused' | null =>
  state === 'active' || state === 'paused' ? state : null

/** What is known without the ledger. */
function known(
  deps: ConsoleDeps,
  sync: SyncConfig,
  temporal: TemporalReading | null,
): Omit<SyncView, 'summary'> {
  const { schedule } = sync
  const times = temporal?.schedules.views?.get(sync.name)?.times ?? []
  return {
    v: 1,
    made_at: new Date(deps.now()).toISOString(),
    ...endsOf(sync),
    mode: sync.kind === 'import' ? sync.import.mode : null,
    after: [...(sync.after ?? [])],
    schedule:
      schedule === undefined
        ? null
        : {
            configured: scheduleText(schedule),
            times: times.map((at) => at.toISOString()),
          },
    mapping: sync.kind === 'import' ? mappingOf(sync.import, null) : null,
    tables: null,
    schema_changes: null,
    history: [],
    runs: [],
    actions: [],
    log: [],
    next_before: null,
  }
}

async function ofLedger(ledger: Ledger, sync: SyncConfig, before?: number) {
  const history = (await ledger.runBriefs(sync.name, { limit: HISTORY_MAX })).map(barOf)
  const page = await ledger.runBriefs(sync.name, {
    limit: RUNS_PAGE + 1,
    ...(before !== undefined && { before }),
  })
  const runs = page.slice(0, RUNS_PAGE).map(barOf)
  return {
    log: [...(await readActionLog(ledger, { sync: sync.name }))],
    history: history.toReversed(),
    runs,
    next_before: page.length > RUNS_PAGE ? runs.at(-1)!.run : null,
    ...(sync.kind === 'import'
      ? { mapping: mappingOf(sync.import, await lastRejects(ledger, sync.name)) }
      : {
          tables: await tablesOf(ledger, sync.name),
          schema_changes: await readSchemaChanges(ledger, { sync: sync.name }),
        }),
  }
}

interface LastRejects {
  readonly run: number
  /** By column, and by property. */
  readonly fields: readonly {
    readonly column: string | null
    readonly field: string | null
    readonly items: number
    readonly why: string
  }[]
}

/** Of the newest run that is over and has any. */
async function lastRejects(ledger: Ledger, sync: string): Promise<LastRejects | null> {
  const runs = await ledger.runs({ sync, limit: REJECT_RUNS_MAX })
  const run = runs.find(
    (each) => !LIVE_STATES.includes(each.state) && (each.counts ? hasRejects(each) : false),
  )
  if (run === undefined) return null
  const groups = await readRejectGroups(ledger, run)
  return {
    run: run.id,
    fields: groups.map(({ column, field, items, reason, code, state }) => ({
      column,
      field,
      items,
      why: reason ?? code ?? state,
    })),
  }
}

const hasRejects = ({ state, counts }: Run): boolean =>
  isComplete(state) && state !== 'complete' && counts !== null

/** What is done with a cell on its way, in a few words. */
function noteOf(mapping: ImportConfig['properties'][string]): string | null {
  const { column: _column, columns: _columns, value, ...steps } = mapping
  const names = Object.entries(steps).flatMap(([name, set]) => (set === undefined ? [] : [name]))
  if (value !== undefined) return TEXT.constant
  return names.join(', ') || null
}

function mappingOf(config: ImportConfig, last: LastRejects | null): SyncView['mapping'] {
  const properties = Object.entries(config.properties).map(([property, mapping]) => {
    const columns = mappedColumns(mapping)
    const rejects = (last?.fields ?? []).filter(
      ({ column, field }) =>
        field === property ||
        field === `/properties/${property}` ||
        (column !== null && columns.includes(column)),
    )
    return {
      property,
      columns: [...columns],
      note: noteOf(mapping),
      is_key: property === config.matching_property,
      rejects: rejects.reduce((sum, { items }) => sum + items, 0),
      reasons: [...new Set(rejects.map(({ why }) => why))],
    }
  })
  const links = (config.links ?? []).map(({ association, to, column }) => ({
    association,
    to,
    column,
  }))
  return { properties, links, rejects_of: last?.run ?? null }
}

/** The tables as the newest run of a mirror that has any left them. */
async function tablesOf(ledger: Ledger, sync: string): Promise<SyncView['tables']> {
  const { run } = await latestRuns(ledger, sync)
  if (run === undefined) return null
  const account = await readRunOutline(ledger, run)
  const health = await ledger.syncHealth(sync)
  return (account?.streams ?? []).map((stream) => ({
    ...stream,
    up_to: health?.streams.get(stream.stream) ?? null,
  }))
}
