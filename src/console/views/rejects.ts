// The rows of a run that need a person, by what is wrong with them. No value and no key of a row is in it.

import { z } from 'zod'
import { LIVE_STATES } from '../../core/domain/books.ts'
import { isReject, REJECT_STATES } from '../../core/domain/outcomes.ts'
import { propertyOfField } from '../../core/domain/error-field.ts'
import { CHANGED_BY_OTHERS } from '../../core/domain/protection.ts'
import { publicError } from '../../contract/index.ts'
import { createRejectsSheet, rejectDetail } from '../../corrections/index.ts'
import type { Ledger, RejectGroup, Run } from '../../ledger/ledger.ts'
import { shortened } from '../../report/plan-rows.ts'
import { readRejectGroups } from '../../report/reject-groups.ts'
import { jobOf } from '../../runs/job.ts'
import { runOffers } from './offers.ts'
import type { ConsoleDeps } from '../deps.ts'
import { ITEMS_MAX_MS } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { countKept } from './kept-corrections.ts'
import { runViewHead, runViewHeadOf } from './run-head.ts'
import { count, countOrNull, step, anyText as text, textOrNull } from './shapes.ts'
import { valuesFor } from '../values.ts'

export const rejectsView = z
  .object({
    ...runViewHead,
    rows: count.describe(
      'Rows of the run that were not accepted, or are not held as they were sent.',
    ),
    left: countOrNull.describe(
      'Those that no later run brought in; null while the run is live, and when its rows are not kept any more.',
    ),
    groups: z.array(
      z.object({
        rows: count,
        left: countOrNull,
        state: text,
        meaning: text.describe('What the state means.'),
        code: textOrNull,
        reason: textOrNull,
        column: textOrNull,
        property: textOrNull,
        example_row: count.describe('Number of the first row of the group.'),
        further: z.boolean().describe('Further errors of rows that are in another group too.'),
        helps: text.describe('What helps.'),
        accepted: text.describe(
          'What a cell must have to be accepted; empty if that is not known.',
        ),
        example: z
          .object({ column: textOrNull, value: textOrNull, detail: textOrNull })
          .nullable()
          .describe(
            'The first row of the group; null: values are hidden, or the group has no place.',
          ),
      }),
    ),
    next: z.array(step),
    correct: textOrNull.describe(
      'The page on which they are corrected; null: nothing can be retried, or values are hidden.',
    ),
    kept: count.describe('Rows that are kept as corrected, and not sent yet.'),
    show: text.describe('The command that shows the rows with their values.'),
  })
  .meta({ id: 'Rejects' })
export type RejectsView = z.output<typeof rejectsView>

/** Null if there is no such import. @throws LedgerAway */
export async function readRejects(deps: ConsoleDeps, id: number): Promise<RejectsView | null> {
  const { config } = await deps.readings.config()
  const values = valuesFor(deps, config)
  return await deps.readings.ledger(async (ledger) => {
    const run = await ledger.run(id)
    if (run === null || run.mode !== 'run' || run.kind !== 'import') return null
    const isLive = LIVE_STATES.includes(run.state)
    const groups = await readRejectGroups(ledger, run)
    const left = isLive ? null : await readRejectGroups(ledger, run, { isLeft: true })
    const sum = (of: readonly RejectGroup[]) =>
      of.reduce((total, { items, isMore }) => total + (isMore ? 0 : items), 0)
    const isKept = groups.length > 0
    const sheet = createRejectsSheet(run, true)
    const examples = values === 'shown' ? await examplesOf(ledger, run, groups) : new Map()
    return {
      ...runViewHeadOf(run, { nowMs: deps.now(), values: valuesFor(deps, config) }),
      rows: sum(groups),
      left: left === null || !isKept ? null : sum(left),
      groups: groups.map((group) => ({
        ...viewOf(run, group, left),
        accepted: acceptedBy(sheet, run, group),
        example: examples.get(group) ?? null,
      })),
      show: deps.parts.hint(`rejects ${id}`),
      correct:
        isKept && values === 'shown' && (left?.length ?? 0) > 0 && isRetried(run)
          ? `/runs/${id}/corrections`
          : null,
      kept: await countKept(ledger, run),
      next: isKept && !isLive ? stepsFor(run, left ?? [], deps.parts) : [],
    }
  }, ITEMS_MAX_MS)
}

const isRetried = (run: Run): boolean =>
  runOffers(run, { plan: null, streams: [] }).some(({ action }) => action === 'retry')

/** Groups whose first row is shown: each costs a look at one row. */
const EXAMPLES_MAX = 50

type Example = RejectsView['groups'][number]['example']

async function examplesOf(
  ledger: Ledger,
  run: Run,
  groups: readonly RejectGroup[],
): Promise<ReadonlyMap<RejectGroup, Example>> {
  const { import: config } = jobOf(run, 'import').sync
  const examples = new Map<RejectGroup, Example>()
  for (const group of groups.slice(0, EXAMPLES_MAX)) {
    const page = { states: REJECT_STATES, after: group.example - 1, limit: 1, readBack: true }
    const [item] = await ledger.report(run.id, page)
    if (item?.ordinal !== group.example) continue
    const other = item.more.find(({ column, reason }) =>
      group.isMore ? column === group.column && reason === group.reason : false,
    )
    examples.set(group, {
      column: shortened(other?.column ?? group.column),
      value: shortened(other?.value ?? item.value),
      detail: shortened(other?.detail ?? rejectDetail(item, config)),
    })
  }
  return examples
}

function acceptedBy(
  sheet: ReturnType<typeof createRejectsSheet>,
  run: Run,
  { field }: RejectGroup,
): string {
  const { properties } = jobOf(run, 'import').sync.import
  const property = propertyOfField(field, (name) => Object.hasOwn(properties, name))
  return property === null ? '' : sheet.acceptedOf(property)
}

const keyOf = ({ state, code, reason, column, field, isMore }: RejectGroup): string =>
  JSON.stringify([state, code, reason, column, field, isMore === true])

function viewOf(
  run: Run,
  group: RejectGroup,
  left: readonly RejectGroup[] | null,
): Omit<RejectsView['groups'][number], 'accepted' | 'example'> {
  const { properties } = jobOf(run, 'import').sync.import
  const { items, state, column, example, isMore } = group
  const kind =
    group.reason === CHANGED_BY_OTHERS && state === 'refused'
      ? 'set_aside'
      : isReject(state)
        ? state
        : 'different'
  const same = left?.find((each) => keyOf(each) === keyOf(group))
  return {
    rows: items,
    left: left === null ? null : (same?.items ?? 0),
    state,
    meaning: TEXT.rejectStates[kind],
    // A word that the service made up could contain a value.
    ...publicError(group, (name) => Object.hasOwn(properties, name)),
    column,
    example_row: example,
    further: isMore === true,
    helps: TEXT.helps[kind],
  }
}

function stepsFor(
  run: Run,
  left: readonly RejectGroup[],
  { hint }: Pick<ConsoleDeps['parts'], 'hint'>,
): RejectsView['next'] {
  if (left.length === 0) return []
  const { id } = run
  return [
    { text: TEXT.rejectSteps.files, command: hint(`rejects ${id}`) },
    { text: TEXT.rejectSteps.send, command: hint(`retry ${id} --file rejects-${id}/*.csv`) },
    { text: TEXT.rejectSteps.again, command: hint(`retry ${id}`) },
  ]
}
