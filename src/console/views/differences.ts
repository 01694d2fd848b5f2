// What a run knows to differ: what a reconciliation found, by property and then record by record, or the rows of another run that were
// read back otherwise than they were sent. Promise kept here: a page reads the differences that it shows.

import { z } from 'zod'
import { countReadBackDifferent, READ_BACK_NAMES } from '../../core/domain/books.ts'
import {
  changedByText,
  DIFFERENCE_KINDS,
  differenceMeaning,
  sumOfDifferences,
} from '../../core/domain/differences.ts'
import { propertyOfField } from '../../core/domain/error-field.ts'
import { parseJson } from '../../core/json.ts'
import type { Ledger, NotedDifference, ReportedItem, Run } from '../../ledger/ledger.ts'
import { readRunOutline } from '../../report/account.ts'
import { comparisonOf } from '../../report/comparison.ts'
import { changedValueText, shortened } from '../../report/plan-rows.ts'
import { RUN_REPORT_SCHEMAS } from '../../report/run-report.ts'
import { reportVerdict } from '../../report/verdict.ts'
import { jobOf } from '../../runs/job.ts'
import type { ConsoleDeps } from '../deps.ts'
import { ITEMS_MAX_MS } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { mutable, numberOf } from './run.ts'
import { runViewHead, runViewHeadOf } from './run-head.ts'
import { anyText as text, count, countOrNull, step, textOrNull } from './shapes.ts'
import { valuesFor } from '../values.ts'

const { shape } = RUN_REPORT_SCHEMAS.report

/** Differences of a page: one of a record, or of a property of it. */
const PAGE_DIFFERENCES = 100

const difference = z.object({
  stream: textOrNull.describe('Object type; null of a row that was read back.'),
  key: textOrNull,
  record_id: textOrNull,
  row: countOrNull.describe('Of an import: the row of the source, unless it has none.'),
  kind: text,
  meaning: text,
  property: textOrNull.describe('Null: the record as a whole.'),
  changed_by: textOrNull.describe('Who changed it last; null of a row that was read back.'),
  ours: textOrNull.describe(
    'What the source of an import has, or the table of a mirror. Null: no value, or values are hidden.',
  ),
  theirs: textOrNull.describe('What the service has.'),
  detail: textOrNull.describe('Of a row that was read back: what was sent and what is held.'),
  repaired: z.boolean(),
})

export const differencesView = z
  .object({
    ...runViewHead,
    from: z
      .enum(['reconciliation', 'read_back'])
      .describe('Whether the run compared both sides, or read back what it had sent.'),
    comparison: shape.comparison,
    read_back: countOrNull.describe('Rows that were read back; null: none, or not yet.'),
    found: count.describe('Records that differ, or rows that were read back otherwise.'),
    left: count.describe('Those that this run did not mend.'),
    filter: z.object({ kind: textOrNull, property: textOrNull, left: z.boolean() }),
    differences: z.array(difference),
    next_after: countOrNull,
    next: z.array(step),
    commands: z.object({ show: text }).describe('The command that shows values.'),
  })
  .meta({ id: 'Differences' })
export type DifferencesView = z.output<typeof differencesView>
type Shown = Pick<DifferencesView, 'values' | 'filter'>
type Found = Pick<
  DifferencesView,
  'comparison' | 'read_back' | 'found' | 'left' | 'differences' | 'next_after' | 'next'
>

/** Null if there is no such run. @throws LedgerAway */
export async function readDifferences(
  deps: ConsoleDeps,
  id: number,
  query: Readonly<Record<string, string>>,
): Promise<DifferencesView | null> {
  const { config } = await deps.readings.config()
  return await deps.readings.ledger(async (ledger) => {
    const run = await ledger.run(id)
    if (run === null || run.mode !== 'run') return null
    const from = jobOf(run).reconcile === undefined ? 'read_back' : 'reconciliation'
    const { kind, property, left, after } = query
    const filter = {
      kind: DIFFERENCE_KINDS.find((name) => name === kind) ?? null,
      property: property === undefined || property === '' ? null : property,
      left: left === '1',
    }
    const shown = { values: valuesFor(deps, config), filter }
    const place = numberOf(after) ?? 0
    const read = from === 'reconciliation' ? comparedOf : readBackOf
    return {
      ...runViewHeadOf(run, { nowMs: deps.now(), values: valuesFor(deps, config) }),
      from,
      ...shown,
      commands: {
        show: deps.parts.hint(
          from === 'reconciliation' ? `ledger export run-${id} --run ${id}` : `rejects ${id}`,
        ),
      },
      ...(await read(ledger, run, shown, { place, hint: (command) => deps.parts.hint(command) })),
    }
  }, ITEMS_MAX_MS)
}

interface Asked {
  readonly place: number
  hint(command: string): string
}

async function comparedOf(
  ledger: Ledger,
  run: Run,
  { filter, values }: Shown,
  { place, hint }: Asked,
): Promise<Found> {
  const outline = await readRunOutline(ledger, run)
  const comparison = outline && comparisonOf(run, outline)
  const page = {
    limit: PAGE_DIFFERENCES,
    ...(filter.kind !== null && { kind: filter.kind as NotedDifference['kind'] }),
    ...(filter.property !== null && { field: filter.property }),
    ...(filter.left && { isRepaired: false }),
  }
  const { rows, next } = await ledger.differences(run.id, { ...page, after: place })
  const more =
    next !== null &&
    (await ledger.differences(run.id, { ...page, after: next, limit: 1 })).rows.length > 0
  const { books = null, streams = null } = outline ?? {}
  const verdict = reportVerdict(run, { books, streams, comparison }, hint)
  const left = comparison === null ? 0 : sumOfDifferences(comparison.left)
  return {
    comparison: mutable(comparison),
    read_back: null,
    found: comparison === null ? 0 : sumOfDifferences(comparison.found),
    left,
    differences: rows.map((row) => differenceOf(row, run, values)),
    next_after: more ? next : null,
    next: mutable(verdict.next),
  }
}

function differenceOf(
  row: NotedDifference,
  { kind: of }: Run,
  values: Shown['values'],
): DifferencesView['differences'][number] {
  const { stream, key, recordId, ordinal, kind, field, whose, ours, theirs, repaired } = row
  const shown = (json: string | null) => (values === 'shown' ? valueText(json) : null)
  return {
    stream,
    key: shortened(key),
    record_id: recordId,
    row: ordinal,
    kind,
    meaning: differenceMeaning(kind, of),
    property: field,
    changed_by: changedByText(whose),
    ours: shown(ours),
    theirs: shown(theirs),
    detail: null,
    repaired,
  }
}

/** The ledger keeps the beginning of a long value, which is no JSON then. */
function valueText(json: string | null): string | null {
  if (json === null) return null
  try {
    return shortened(changedValueText(parseJson(json)))
  } catch {
    return shortened(json)
  }
}

/** Rows that the run sent, and that the service does not hold as they were sent. */
async function readBackOf(
  ledger: Ledger,
  run: Run,
  { values }: Shown,
  { place, hint }: Asked,
): Promise<Found> {
  const none = { comparison: null, differences: [], next_after: null, next: [] }
  if (run.kind !== 'import') return { ...none, read_back: null, found: 0, left: 0 }
  const readBack = run.counts?.readBack
  const seen = READ_BACK_NAMES.reduce((sum, name) => sum + (readBack?.[name] ?? 0), 0)
  const found = run.counts ? countReadBackDifferent(run.counts) : 0
  const { properties } = jobOf(run, 'import').sync.import
  const items =
    found === 0
      ? []
      : await ledger.report(run.id, {
          states: [],
          readBack: true,
          after: place,
          limit: PAGE_DIFFERENCES + 1,
        })
  const rows = items.slice(0, PAGE_DIFFERENCES)
  const isMapped = (name: string) => Object.hasOwn(properties, name)
  return {
    comparison: null,
    read_back: readBack === undefined ? null : seen,
    found,
    left: found,
    differences: rows.map((item) => readBackDifference(item, values, isMapped)),
    next_after: items.length > rows.length ? rows.at(-1)!.ordinal : null,
    next: found > 0 ? [{ text: TEXT.differing.again, command: hint(`retry ${run.id}`) }] : [],
  }
}

const readBackDifference = (
  { key, recordId, ordinal, field, detail }: ReportedItem,
  values: Shown['values'],
  isMapped: (name: string) => boolean,
): DifferencesView['differences'][number] => ({
  stream: null,
  key: shortened(key),
  record_id: recordId,
  row: ordinal,
  kind: 'different',
  meaning: TEXT.rejectStates.different,
  property: propertyOfField(field, isMapped),
  changed_by: null,
  ours: null,
  theirs: null,
  detail: values === 'shown' ? shortened(detail) : null,
  repaired: false,
})
