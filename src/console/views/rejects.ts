// The rows of a run that need a person, by what is wrong with them. No value and no key of a row is in it.

import { z } from 'zod'
import { LIVE_STATES, REJECT_STATES, type ItemState } from '../../core/domain/books.ts'
import { publicError } from '../../contract/index.ts'
import type { RejectGroup, Run } from '../../ledger/ledger.ts'
import { factsOf } from '../../report/account.ts'
import { readRejectGroups } from '../../report/reject-groups.ts'
import { RUN_REPORT_SCHEMAS } from '../../report/run-report.ts'
import { jobOf } from '../../runs/job.ts'
import { secondsBetween } from '../../report/format.ts'
import type { ConsoleDeps } from '../deps.ts'
import { ITEMS_MAX_MS } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { mutable } from './run.ts'
import { count, countOrNull, step, anyText as text, textOrNull, time } from './shapes.ts'

const { shape } = RUN_REPORT_SCHEMAS.report

export const rejectsView = z
  .object({
    v: z.literal(1),
    made_at: time,
    run: shape.run,
    retry_of: shape.retry_of,
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
      }),
    ),
    next: z.array(step),
  })
  .meta({ id: 'Rejects' })
export type RejectsView = z.output<typeof rejectsView>

/** Null if there is no such import. @throws LedgerAway */
export async function readRejects(deps: ConsoleDeps, id: number): Promise<RejectsView | null> {
  return await deps.readings.ledger(async (ledger) => {
    const run = await ledger.run(id)
    if (run === null || run.mode !== 'run' || run.kind !== 'import') return null
    const isLive = LIVE_STATES.includes(run.state)
    const groups = await readRejectGroups(ledger, run)
    const left = isLive ? null : await readRejectGroups(ledger, run, { isLeft: true })
    const madeAt = new Date(deps.now()).toISOString()
    const facts = factsOf(run)
    const sum = (of: readonly RejectGroup[]) =>
      of.reduce((total, { items, isMore }) => total + (isMore ? 0 : items), 0)
    const isKept = groups.length > 0
    return {
      v: 1,
      made_at: madeAt,
      run: mutable({ ...facts, seconds: secondsBetween(run.openedAt, run.closedAt ?? madeAt) }),
      retry_of: facts.retry_of,
      rows: sum(groups),
      left: left === null || !isKept ? null : sum(left),
      groups: groups.map((group) => viewOf(run, group, left)),
      next: isKept && !isLive ? stepsFor(run, left ?? [], deps.parts) : [],
    }
  }, ITEMS_MAX_MS)
}

const keyOf = ({ state, code, reason, column, field, isMore }: RejectGroup): string =>
  JSON.stringify([state, code, reason, column, field, isMore === true])

function viewOf(
  run: Run,
  group: RejectGroup,
  left: readonly RejectGroup[] | null,
): RejectsView['groups'][number] {
  const { properties } = jobOf(run, 'import').sync.import
  const { items, state, column, example, isMore } = group
  const same = left?.find((each) => keyOf(each) === keyOf(group))
  return {
    rows: items,
    left: left === null ? null : (same?.items ?? 0),
    state,
    meaning: TEXT.rejectStates[isRejectState(state) ? state : 'different'],
    // A word that the service made up could contain a value.
    ...publicError(group, (name) => Object.hasOwn(properties, name)),
    column,
    example_row: example,
    further: isMore === true,
    helps: TEXT.helps[isRejectState(state) ? state : 'different'],
  }
}

type RejectState = keyof typeof TEXT.helps
const isRejectState = (state: ItemState): state is Exclude<RejectState, 'different'> & ItemState =>
  REJECT_STATES.includes(state)

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
