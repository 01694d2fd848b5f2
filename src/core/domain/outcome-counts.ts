// Counts of rows, links and deletions by what became of them: sums, and the sentence in which they add up.

import { countText, formatNumber } from '../format.ts'
import { zeroCounts } from '../register.ts'
import {
  ALL_STATES,
  needsLook,
  isReason,
  OPEN_STATES,
  outcomeOf,
  outcomesOf,
  statesOf,
  type Kind,
  type Outcome,
  type OutcomeOf,
  type State,
  type StateOf,
} from './outcomes.ts'

/** How many are in each state. */
export type Counts<Name extends State = State> = Readonly<Partial<Record<Name, number>>>

export const zeroStates = <Of extends Kind>(kind: Of) => zeroCounts(statesOf(kind))

/** How many there are, of all states or of those that are chosen. */
const sumWhere = (counts: Counts = {}, isCounted: (state: State) => boolean): number =>
  ALL_STATES.reduce((sum, state) => sum + (isCounted(state) ? (counts[state] ?? 0) : 0), 0)
export const countAll = (counts: Counts | undefined): number => sumWhere(counts, () => true)
/** How many have this outcome; null: none yet. */
export const countOf = (counts: Counts | undefined, wanted: Outcome | null): number =>
  sumWhere(counts, (state) => outcomeOf(state) === wanted)
/** What differs at the two sides although nothing was rejected. */
export const countDiffering = (counts: Counts | undefined): number =>
  sumWhere(counts, (state) => outcomeOf(state) !== 'rejected' && needsLook(state))

/** The reasons of an outcome that occur, or of all. */
const reasonsIn = (counts: Counts, wanted?: Outcome) =>
  ALL_STATES.flatMap((state) => {
    const count = counts[state] ?? 0
    const isWanted = wanted === undefined || outcomeOf(state) === wanted
    return count > 0 && isReason(state) && isWanted ? [[state, count] as const] : []
  })

export const outcomeCounts = <Of extends Kind>(kind: Of, counts: Counts) =>
  Object.fromEntries(
    outcomesOf(kind).map((outcome) => [outcome, countOf(counts, outcome)]),
  ) as Record<OutcomeOf<Of>, number>

/** Counts by outcome, and those of the reasons that occur. */
export const tallyOf = <Of extends Kind>(kind: Of, counts: Counts) => ({
  ...outcomeCounts(kind, counts),
  pending: counts.pending ?? 0,
  in_flight: counts.in_flight ?? 0,
  reasons: Object.fromEntries(reasonsIn(counts)) as { [State in StateOf<Of>]?: number },
})

/** `9,200 created + 30 skipped (superseded 30)`; empty if there is none. */
export function outcomesText(kind: Kind, counts: Counts): string {
  const ended = outcomesOf(kind).flatMap((outcome) => {
    const count = countOf(counts, outcome)
    const reasons = reasonsIn(counts, outcome).map(([state, of]) => `${state} ${formatNumber(of)}`)
    const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`
    return count === 0 ? [] : [`${formatNumber(count)} ${outcome}${why}`]
  })
  const open = OPEN_STATES.flatMap((state) =>
    counts[state] ? [`${formatNumber(counts[state])} ${state.replace('_', ' ')}`] : [],
  )
  return [...ended, ...open].join(' + ')
}

const NOUNS = {
  row: (count: number) => countText(count, 'row read', 'rows read'),
  link: (count: number) => countText(count, 'link'),
  deletion: (count: number) => countText(count, 'deletion due', 'deletions due'),
} as const satisfies Record<Kind, (count: number) => string>

/** The books in one sentence: `10,000 rows read = 9,200 created + 800 rejected (invalid 800)`. */
export const equationText = (kind: Kind, read: number, counts: Counts): string =>
  `${NOUNS[kind](read)}${countAll(counts) === 0 ? '' : ` = ${outcomesText(kind, counts)}`}`
