// The register of item states (design section 4). Lists of states, the SQL of the ledger, metrics, the report and the commands
// derive from it.

import type { Purpose } from './purpose.ts'
import { namesOf, namesWith } from '../register.ts'

interface ItemStateEntry {
  /**
   * What became of the row. `accepted`: the service has its values. `superseded`: a later row took its place. `spared`: the
   * import does not write it. `withdrawn`: it asks for the deletion of its record. `corrected`: it is wrong in the source, and
   * the service has it as a person corrected it. `reject`: a person has to look at it. Null: nothing yet; an item leaves only such a state.
   */
  readonly outcome:
    | 'accepted'
    | 'superseded'
    | 'spared'
    | 'withdrawn'
    | 'corrected'
    | 'reject'
    | null
  /** Whether the run wrote the record. */
  readonly written: boolean
  /** Whether the last request of its batch decided it: the timeline of a run counts it at that time. */
  readonly timed: boolean
  /** Whether its error may be in the service's own words, which may contain a value. */
  readonly quoted: boolean
  /** When the metric counts it: with the answer of its batch, or only when the run is closed, because until then it may change. */
  readonly counted: 'settled' | 'closed' | null
  readonly meaning: string
  /** The meaning in a reconciliation, if it is another one. */
  readonly compared: string | null
}

/** The service wrote the record. */
const WRITTEN = {
  outcome: 'accepted',
  written: true,
  timed: true,
  quoted: false,
  counted: 'settled',
  compared: null,
} as const
/** The service refused the row, or gave no outcome. */
const REFUSED = {
  outcome: 'reject',
  written: false,
  timed: true,
  quoted: true,
  compared: null,
} as const
/** No answer decided it. */
const NO_ANSWER = {
  written: false,
  timed: false,
  quoted: false,
  counted: 'closed',
  compared: null,
} as const
/** The import leaves the record alone, as the user has asked. */
const SPARED = { ...NO_ANSWER, outcome: 'spared', counted: 'settled' } as const
const OPEN = { ...NO_ANSWER, outcome: null, counted: null } as const

/** Every state an item can be in, in the order in which reports list them. */
const ITEM_STATE = {
  created: { ...WRITTEN, meaning: 'new records' },
  updated: { ...WRITTEN, meaning: 'changed records' },
  unchanged: {
    ...NO_ANSWER,
    outcome: 'accepted',
    meaning: 'accepted before, not sent again',
    compared: 'equal on both sides',
  },
  superseded: { ...NO_ANSWER, outcome: 'superseded', meaning: 'a later row has the same key' },
  exists: {
    ...SPARED,
    meaning: 'there already, not written (mode create)',
    compared: 'there; a create does not change it',
  },
  absent: {
    ...SPARED,
    meaning: 'not there, not created (mode update)',
    compared: 'not there; an update does not create it',
  },
  kept: {
    ...SPARED,
    counted: 'closed',
    meaning: 'not written: what its record has is kept',
    compared: 'differ only in values that are kept',
  },
  withdrawn: {
    ...NO_ANSWER,
    outcome: 'withdrawn',
    meaning: 'asks for the deletion of its record (delete_when)',
    compared: 'asks for the deletion of its record (delete_when); a record of it is extra',
  },
  corrected: {
    ...NO_ANSWER,
    outcome: 'corrected',
    meaning: 'corrected by a retry; the source still has the old value',
    compared: 'corrected by a retry, not compared; the source still has the old value',
  },
  invalid: { ...NO_ANSWER, outcome: 'reject', meaning: 'did not map, never sent' },
  rejected: { ...REFUSED, counted: 'settled', meaning: 'refused by the service' },
  /** The error says what the record held and holds. */
  conflict: {
    ...REFUSED,
    timed: false,
    quoted: false,
    counted: 'settled',
    meaning: 'its record is not as it was looked up before; not sent',
  },
  failed: { ...REFUSED, counted: 'closed', meaning: 'no known outcome, or retries spent' },
  unsent: {
    ...NO_ANSWER,
    outcome: 'reject',
    meaning: 'the run ended before they were sent',
    compared: 'differ, and were left as they are',
  },
  planned: {
    ...OPEN,
    meaning: 'waiting to be sent',
    compared: 'to be compared, or to be mended',
  },
  sent: { ...OPEN, meaning: 'in flight' },
} as const satisfies Record<string, ItemStateEntry>
export type ItemState = keyof typeof ITEM_STATE

export const ITEM_STATES = namesOf(ITEM_STATE)

/** States that an item may leave. */
export const OPEN_STATES = namesWith(ITEM_STATE, { outcome: null })

/** States that an item never leaves. */
export const TERMINAL_STATES: readonly ItemState[] = ITEM_STATES.filter(
  (state) => ITEM_STATE[state].outcome !== null,
)

/** States of rows that need a person's attention. */
export const REJECT_STATES: readonly ItemState[] = namesWith(ITEM_STATE, { outcome: 'reject' })

/** States of rows whose values the service has. */
export const ACCEPTED_STATES = namesWith(ITEM_STATE, { outcome: 'accepted' })

export const wasAccepted = (state: ItemState): boolean => ITEM_STATE[state].outcome === 'accepted'

/** States of rows whose records the run wrote. */
export const WRITTEN_STATES = namesWith(ITEM_STATE, { written: true })
export type WrittenState = (typeof WRITTEN_STATES)[number]

export const isWritten = (state: ItemState): state is WrittenState => ITEM_STATE[state].written

/** States of rows that the import does not write. */
export const SPARED_STATES = namesWith(ITEM_STATE, { outcome: 'spared' })
export type SparedState = (typeof SPARED_STATES)[number]

/** States that the last request of a batch decided. */
export const TIMED_STATES = namesWith(ITEM_STATE, { timed: true })
export type TimedState = (typeof TIMED_STATES)[number]

/** Whether the error of an item in this state may be in the service's own words, which may contain a value. */
export const mayQuote = (state: ItemState): boolean => ITEM_STATE[state].quoted

/** States that the answer of a batch decides for good. */
export const COUNTED_WHEN_SETTLED = namesWith(ITEM_STATE, { counted: 'settled' })
/** States that are final only when the run is closed. */
export const COUNTED_WHEN_CLOSED = namesWith(ITEM_STATE, { counted: 'closed' })

/** The state that the answer of a batch leaves an item in. */
export type AnsweredState =
  | (typeof COUNTED_WHEN_SETTLED)[number]
  | (typeof OPEN_STATES)[number]
  | 'kept'

/** What states mean in an undo. */
const UNDOING: Partial<Record<ItemState, string>> = {
  kept: 'changed since the run, left as it is',
}

/** What states mean in a sync that only links. */
const LINKING: Partial<Record<ItemState, string>> = {
  exists: 'found; the sync only links, and writes no record',
  absent: 'not there, so it cannot be linked; the sync only links, and writes no record',
}

/** What states mean in a run that keeps to a plan. */
const PLANNED: Partial<Record<ItemState, string>> = {
  conflict: 'changed at the service since the plan; not sent',
}

/** What states mean in a run that sets rows aside whose records others changed. */
const SETTING_ASIDE: Partial<Record<ItemState, string>> = {
  rejected: 'refused by the service, or set aside as others changed the record (changed_by_others)',
}

/** What is special about a run, where a state means something else in it. */
export interface StateScene {
  /** Whether the sync writes no record. */
  readonly onlyLinks?: boolean
  readonly hasPlan?: boolean
  /** Whether `on_conflict: reject` may set rows aside. */
  readonly setsAside?: boolean
}

/** What a state means in a run of this purpose. */
export const meaningOf = (
  state: ItemState,
  purpose: Purpose,
  { onlyLinks = false, hasPlan = false, setsAside = false }: StateScene = {},
): string =>
  (onlyLinks ? LINKING[state] : undefined) ??
  (hasPlan ? PLANNED[state] : undefined) ??
  (setsAside ? SETTING_ASIDE[state] : undefined) ??
  (purpose === 'undo' ? UNDOING[state] : undefined) ??
  (purpose === 'reconcile' ? ITEM_STATE[state].compared : null) ??
  ITEM_STATE[state].meaning
