// The rejects of a run that can be corrected in place: 50 rows on a page, with the columns that are wrong or asked for. Promises kept
// here: it has values of rows only where the configuration shows them; rows are looked through in a bounded number of reads.

import { z } from 'zod'
import { LIVE_STATES } from '../../core/domain/books.ts'
import { propertyOfField } from '../../core/domain/error-field.ts'
import { IN_DOUBT } from '../../core/domain/in-doubt.ts'
import { mappedColumns } from '../../core/domain/mapped-columns.ts'
import { ownValue, type Json } from '../../core/json.ts'
import { cellText, createRejectsSheet, leftPages, rejectDetail } from '../../corrections/index.ts'
import { textHash } from '../../import/index.ts'
import type { Ledger, RejectGroup, ReportedItem, Run } from '../../ledger/ledger.ts'
import { shortened } from '../../report/plan-rows.ts'
import { jobOf } from '../../runs/job.ts'
import { runOffers } from './offers.ts'
import type { ConsoleDeps } from '../deps.ts'
import { ITEMS_MAX_MS } from '../readings.ts'
import { openCorrections } from './kept-corrections.ts'
import { numberOf } from './run.ts'
import { runViewHead, runViewHeadOf } from './run-head.ts'
import { count, countOrNull, anyText as text, textOrNull } from './shapes.ts'
import { valuesFor } from '../values.ts'

/** Rows of a page, and pages of the ledger that are looked through for a group. */
const PAGE_ROWS = 50
const READS_MAX = 20
/** Columns where no error names one. */
const FIRST_COLUMNS = 3
/** A longer cell is corrected in a file. */
export const CELL_CHARS_MAX = 4_000
const GROUP_CHARS = 12
const VERSION_CHARS = 12

const correctedRow = z.object({
  row: count.describe('Number of the row in the run.'),
  line: count,
  key: textOrNull,
  of: count.describe(
    'The run whose cells these are: this one, or the newest retry that had the row.',
  ),
  corrected: z.boolean().describe('Whether the cells are those of the correction.'),
  version: text.describe(
    'Names these cells: sent back with others, it tells whether they are old.',
  ),
  cells: z.array(
    z.object({
      column: count.describe('Place of the column in `columns`.'),
      value: text,
      wrong: textOrNull.describe('What was expected; null: nothing is known to be wrong with it.'),
      is_long: z.boolean().describe('Too long to be corrected here.'),
    }),
  ),
  detail: textOrNull.describe('What is wrong with the row, where that is of no cell.'),
})

export const correctionsView = z
  .object({
    ...runViewHead,
    possible: z.boolean().describe('Whether rows of the run can be corrected here and retried.'),
    groups: z.array(
      z.object({
        group: text.describe('Names the group as `group`.'),
        code: textOrNull,
        reason: textOrNull,
        column: textOrNull,
        state: text,
        rows: count,
        accepted: text,
      }),
    ),
    group: textOrNull.describe('The group that the rows are of; null: of any.'),
    columns: z.array(text),
    shown: z.array(count).describe('Places of the columns that `cells` have.'),
    rows: z.array(correctedRow),
    next_after: countOrNull,
    correction: z
      .object({ correction: count, rows: count, more: z.boolean(), overtaken: count })
      .nullable()
      .describe(
        'What is kept as corrected, and not sent yet: the correction that is asked for, or the newest that no retry has taken. `more`: it has more rows than were counted. `overtaken`: those of it that were brought in or sent again since, and are not sent.',
      ),
    commands: z.object({ show: text, files: text, send: text }),
  })
  .meta({ id: 'Corrections' })
export type CorrectionsView = z.output<typeof correctionsView>
export type EnteredRow = CorrectionsView['rows'][number]

/** A row of the page as the ledger has it. */
export interface LeftRowCells {
  readonly raw: readonly Json[]
  /** Its cells in the correction, if it is in it. */
  readonly kept: readonly Json[] | null
  readonly of: number
  /** As in the view. */
  readonly version: string
}

export interface CorrectionsPage {
  readonly view: CorrectionsView
  readonly run: Run
  readonly rows: ReadonlyMap<number, LeftRowCells>
}

type Query = Readonly<Record<string, string>>

export const readCorrectionsView = async (
  deps: ConsoleDeps,
  id: number,
  query: Query,
): Promise<CorrectionsView | null> => (await readCorrectionsPage(deps, id, query))?.view ?? null

/** Null if there is no such import. @throws LedgerAway */
export async function readCorrectionsPage(
  deps: ConsoleDeps,
  id: number,
  query: Query,
): Promise<CorrectionsPage | null> {
  const { config } = await deps.readings.config()
  const values = valuesFor(deps, config)
  return await deps.readings.ledger(async (ledger) => {
    const run = await ledger.run(id)
    if (run === null || run.mode !== 'run' || run.kind !== 'import') return null
    const isOver = !LIVE_STATES.includes(run.state)
    const isRetried = runOffers(run, { plan: null, streams: [] }).some(
      ({ action }) => action === 'retry',
    )
    const isPossible = isOver && isRetried && values === 'shown'
    const scene = isPossible ? await readScene(ledger, run, query) : NOTHING
    const { hint } = deps.parts
    const view: CorrectionsView = {
      ...runViewHeadOf(run, { nowMs: deps.now(), values: valuesFor(deps, config) }),
      possible: isPossible,
      columns: [...(run.sourceColumns ?? [])],
      ...scene.shown,
      commands: {
        show: hint(`rejects ${id}`),
        files: hint(`rejects ${id}`),
        send: hint(`retry ${id} --file rejects-${id}/*.csv`),
      },
    }
    return { view, run, rows: scene.rows }
  }, ITEMS_MAX_MS)
}

type Shown = Pick<
  CorrectionsView,
  'groups' | 'group' | 'shown' | 'rows' | 'next_after' | 'correction'
>
interface CorrectionScene {
  readonly shown: Shown
  readonly rows: ReadonlyMap<number, LeftRowCells>
}

const NOTHING: CorrectionScene = {
  shown: { groups: [], group: null, shown: [], rows: [], next_after: null, correction: null },
  rows: new Map(),
}

async function readScene(ledger: Ledger, run: Run, query: Query): Promise<CorrectionScene> {
  const groups = await ledger.rejectGroups(run.id, { isLeft: true })
  const wanted = groups.map(groupName).find((name) => name === query['group']) ?? null
  const { items, next } = await readItems(ledger, run, wanted, numberOf(query['after']) ?? 0)
  const correction = await readCorrection(ledger, run, numberOf(query['correction']))
  const kept = correction === null ? new Map() : await keptRows(ledger, run, correction, items)
  const wrong = new Map(items.map((item) => [item.ordinal, wrongColumns(run, item)]))
  const shown = shownColumns(run, wrong, query['columns'])
  const sheet = createRejectsSheet(run, false)
  return {
    shown: {
      groups: groups.map((group) => ({
        group: groupName(group),
        code: group.code,
        reason: group.reason,
        column: group.column ?? mappedColumns(mappingOf(run, group.field) ?? {})[0] ?? null,
        state: group.state,
        rows: group.items,
        accepted: acceptedBy(run, sheet, group),
      })),
      group: wanted,
      shown,
      rows: items.map((item) => rowOf(run, item, { wrong, shown, kept })),
      next_after: next,
      correction,
    },
    rows: new Map(
      items.map((item) => [
        item.ordinal,
        {
          raw: item.raw!,
          kept: kept.get(item.ordinal) ?? null,
          of: item.attempt?.run ?? run.id,
          version: versionOf(run, item, kept.get(item.ordinal)),
        },
      ]),
    ),
  }
}

const nameOfError = (...parts: readonly unknown[]): string =>
  textHash(JSON.stringify(parts)).slice(0, GROUP_CHARS)

const groupName = ({ state, code, reason, column, field, isMore }: RejectGroup): string =>
  nameOfError(state, code, reason, column, field, isMore === true)

/** The groups that count the row: by its own error, and by further ones. */
export function rejectGroupsOf(item: ReportedItem): readonly string[] {
  const { state, code, column, field, inDoubt, more } = item
  const reason = inDoubt && code === null ? (item.reason ?? IN_DOUBT) : item.reason
  return [
    nameOfError(state, code, reason, column, field, false),
    ...more.map((each) => nameOfError(state, code, each.reason, each.column, each.field, true)),
  ]
}

async function readItems(
  ledger: Ledger,
  run: Run,
  group: string | null,
  after: number,
): Promise<{ readonly items: readonly ReportedItem[]; readonly next: number | null }> {
  const items: ReportedItem[] = []
  let reads = 0
  let place = after
  for await (const page of leftPages(ledger, run, after)) {
    for (const item of page) {
      if (item.raw === null || (group !== null && !rejectGroupsOf(item).includes(group))) continue
      if (items.length === PAGE_ROWS) return { items, next: items.at(-1)!.ordinal }
      items.push(item)
    }
    place = page.at(-1)!.ordinal
    if (++reads === READS_MAX) return { items, next: place }
  }
  return { items, next: null }
}

type Wrong = ReadonlyMap<string, string>

const mappingOf = (run: Run, field: string | null) => {
  const { properties } = jobOf(run, 'import').sync.import
  const property = propertyOfField(field, (name) => ownValue(properties, name) !== undefined)
  return property === null ? null : (ownValue(properties, property) ?? null)
}

/** The columns in error, each with what was expected. */
function wrongColumns(run: Run, item: ReportedItem): Wrong {
  const config = jobOf(run, 'import').sync.import
  const errors = [
    { column: item.column, field: item.field, detail: item.detail ?? rejectDetail(item, config) },
    ...item.more,
  ]
  return new Map(
    errors.flatMap(({ column, field, detail }) =>
      (column === null ? mappedColumns(mappingOf(run, field) ?? {}) : [column]).map(
        (name) => [name, shortened(detail) ?? ''] as const,
      ),
    ),
  )
}

/** Places of the columns in error on this page, and of those that are asked for. */
function shownColumns(
  { sourceColumns }: Run,
  wrong: ReadonlyMap<number, Wrong>,
  asked = '',
): number[] {
  const columns = sourceColumns ?? []
  if (asked === 'all') return columns.map((_, at) => at)
  const named = new Set([...wrong.values()].flatMap((each) => [...each.keys()]))
  const wanted = new Set(
    asked.split(',').flatMap((each) => (/^\d{1,5}$/.test(each) ? [Number(each)] : [])),
  )
  const found = columns.flatMap((name, at) => (named.has(name) || wanted.has(at) ? [at] : []))
  return found.length > 0 ? found : columns.slice(0, FIRST_COLUMNS).map((_, at) => at)
}

function rowOf(
  run: Run,
  item: ReportedItem,
  page: {
    readonly wrong: ReadonlyMap<number, Wrong>
    readonly shown: readonly number[]
    readonly kept: ReadonlyMap<number, readonly Json[]>
  },
): EnteredRow {
  const columns = run.sourceColumns ?? []
  const wrong = page.wrong.get(item.ordinal)!
  const kept = page.kept.get(item.ordinal)
  const isPlaced = page.shown.some((at) => wrong.has(columns[at]!))
  return {
    row: item.ordinal,
    line: item.line,
    key: item.key,
    of: item.attempt?.run ?? run.id,
    corrected: kept !== undefined,
    version: versionOf(run, item, kept),
    cells: page.shown.map((column) => {
      const value = cellText((kept ?? item.raw!)[column])
      const isLong = value.length > CELL_CHARS_MAX
      return {
        column,
        value: isLong ? value.slice(0, CELL_CHARS_MAX) : value,
        wrong: wrong.get(columns[column]!) ?? null,
        is_long: isLong,
      }
    }),
    detail: isPlaced ? null : shortened(rejectDetail(item, jobOf(run, 'import').sync.import)),
  }
}

/** The run whose cells they are, and what a correction made of them. */
const versionOf = (run: Run, { attempt }: ReportedItem, kept?: readonly Json[]): string =>
  `${attempt?.run ?? run.id}${kept === undefined ? '' : `-${textHash(JSON.stringify(kept)).slice(0, VERSION_CHARS)}`}`

function acceptedBy(
  run: Run,
  sheet: ReturnType<typeof createRejectsSheet>,
  { field }: RejectGroup,
): string {
  const { properties } = jobOf(run, 'import').sync.import
  const property = propertyOfField(field, (name) => ownValue(properties, name) !== undefined)
  return property === null ? '' : sheet.acceptedOf(property)
}

/** Rows of a correction that are counted at most: 1,000 at a time. */
export const CORRECTED_ROWS_MAX = 20_000
const READ_ROWS = 1_000

/** The rows of a correction that a retry would take still; null if nothing of one is known. */
async function readCorrection(
  ledger: Ledger,
  run: Run,
  asked: number | null,
): Promise<CorrectionsView['correction']> {
  const open = await openCorrections(ledger, run)
  const correction = asked ?? open[0]?.correction
  if (correction === undefined) return null
  let rows = 0
  for await (const page of correctionPages(ledger, run, correction)) rows += page.length
  const more = rows >= CORRECTED_ROWS_MAX
  const all = open.find((each) => each.correction === correction)?.rows ?? rows
  const overtaken = more ? 0 : all - rows
  return rows + overtaken === 0 ? null : { correction, rows, more, overtaken }
}

/** The rows of a correction, as far as they are counted. */
export async function* correctionPages(ledger: Ledger, run: Run, correction: number) {
  let after = 0
  for (let rows = 0; rows < CORRECTED_ROWS_MAX;) {
    const page = await ledger.retryRows(run.id, { correction }, { after, limit: READ_ROWS })
    if (page.length === 0) return
    rows += page.length
    after = page.at(-1)!.ordinal
    yield page
  }
}

async function keptRows(
  ledger: Ledger,
  run: Run,
  { correction }: { readonly correction: number },
  items: readonly ReportedItem[],
): Promise<ReadonlyMap<number, readonly Json[]>> {
  const rows = items.map(({ ordinal }) => [ordinal, ordinal] as const)
  const page = { after: 0, limit: READ_ROWS }
  const found = items.length === 0 ? [] : await ledger.retryRows(run.id, { correction, rows }, page)
  return new Map(found.map(({ ordinal, raw }) => [ordinal, raw]))
}
