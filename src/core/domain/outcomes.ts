// The register of results: what became of a row, a link or a deletion. Each result has one of eight outcomes, and is its reason.
// Books, exit codes, the SQL of the ledger, metrics, the report and the commands derive from it.

import { namesOf, namesWith, type NamesWith } from '../register.ts'
import type { Purpose } from './purpose.ts'

/** What became of it, in the order of all reports. */
export const OUTCOMES = [
  'created',
  'updated',
  'linked',
  'deleted',
  'unchanged',
  'skipped',
  'waiting',
  'rejected',
] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Runs in which a result means something else, the first that applies. */
export interface Scene {
  /** The sync writes no record. */
  readonly onlyLinks?: boolean
  /** The run keeps to a plan. */
  readonly hasPlan?: boolean
  /** `on_conflict: reject` may set rows aside. */
  readonly setsAside?: boolean
}
type Meaning =
  | string
  | ({ readonly usual: string } & { readonly [In in keyof Scene | Purpose]?: string })

interface Result {
  /** Null while the run is live and nothing is known yet. */
  readonly outcome: Outcome | null
  /** Who has something to do about it: a person, or a later run by itself. Decides the run's final state. */
  readonly acts: 'nobody' | 'person' | 'later run'
  /** Whether its error may be in the service's own words, which may contain a value. */
  readonly quoted: boolean
  /** When the metric counts a row: with the answer of its batch, or at the close of the run, because it may change until then. */
  readonly counted: 'answer' | 'close' | null
  /** Whether the import leaves the record of the row alone, as the user has asked. */
  readonly spared: boolean
  /** The kinds that may end so, each with its meaning. */
  readonly row?: Meaning
  readonly link?: Meaning
  readonly deletion?: Meaning
}
export type Kind = 'row' | 'link' | 'deletion'

const QUIET = { acts: 'nobody', quoted: false, counted: 'close', spared: false } as const
const WRITTEN = { ...QUIET, counted: 'answer' } as const
const SKIPPED = { ...QUIET, outcome: 'skipped' } as const
const SPARED = { ...SKIPPED, counted: 'answer', spared: true } as const
const WAITING = { ...QUIET, outcome: 'waiting', acts: 'later run' } as const
const REJECTED = { ...QUIET, outcome: 'rejected', acts: 'person' } as const
const LIVE = { ...QUIET, outcome: null, counted: null } as const

const RESULT = {
  created: { ...WRITTEN, outcome: 'created', row: 'new records' },
  updated: { ...WRITTEN, outcome: 'updated', row: 'changed records' },
  linked: { ...WRITTEN, outcome: 'linked', link: 'new links' },
  deleted: { ...WRITTEN, outcome: 'deleted', deletion: 'deleted at the service' },
  cleared: { ...WRITTEN, outcome: 'deleted', deletion: 'changed to the values of `clear`' },
  already_gone: { ...WRITTEN, outcome: 'deleted', deletion: 'not at the service any more' },
  unchanged: {
    ...QUIET,
    outcome: 'unchanged',
    row: { usual: 'accepted before, not sent again', reconcile: 'equal on both sides' },
    link: { usual: 'linked before, not sent again', reconcile: 'there on both sides' },
  },
  superseded: { ...SKIPPED, row: 'a later row has the same key' },
  exists: {
    ...SPARED,
    row: {
      usual: 'there already, not written (mode create)',
      onlyLinks: 'found; the sync only links, and writes no record',
      reconcile: 'there; a create does not change it',
    },
  },
  not_found: {
    ...SPARED,
    row: {
      usual: 'not there, not created (mode update)',
      onlyLinks: 'not there, so it cannot be linked; the sync only links, and writes no record',
      reconcile: 'not there; an update does not create it',
    },
  },
  protected: {
    ...SPARED,
    counted: 'close',
    row: {
      usual: 'not written: what its record has is kept',
      undo: 'changed since the run, left as it is',
      reconcile: 'differ only in values that are kept',
    },
  },
  deletion_requested: {
    ...SKIPPED,
    row: {
      usual: 'asks for the deletion of its record (delete_when)',
      reconcile: 'asks for the deletion of its record (delete_when); a record of it is extra',
    },
  },
  corrected: {
    ...SKIPPED,
    row: {
      usual: 'corrected by a retry; the source still has the old value',
      reconcile: 'corrected by a retry, not compared; the source still has the old value',
    },
  },
  not_wanted: {
    ...SKIPPED,
    link: 'left out: no target (missing: skip), a row that its mode does not write, or a later link in their place',
  },
  not_owned: { ...SKIPPED, deletion: 'never written by this sync, left alone' },
  still_wanted: {
    ...SKIPPED,
    deletion: 'of another row or sync too, or in the source still; left alone',
  },
  changed_since: {
    ...SKIPPED,
    acts: 'person',
    deletion: 'changed at the service since, left alone',
  },
  unproven: { ...SKIPPED, acts: 'later run', deletion: 'not proven to be as we left it' },
  target_missing: { ...WAITING, link: 'their targets do not exist yet' },
  vanished: {
    ...WAITING,
    link: 'answered as linked, and not there when they were read back; the next run sends them again',
  },
  invalid: { ...REJECTED, row: 'did not map, never sent' },
  refused: {
    ...REJECTED,
    quoted: true,
    counted: 'answer',
    row: {
      usual: 'refused by the service',
      setsAside:
        'refused by the service, or set aside as others changed the record (changed_by_others)',
    },
    link: 'refused by the service, or no target (missing: reject)',
    deletion: 'refused by the service',
  },
  /** The error says what the record held and holds. */
  conflict: {
    ...REJECTED,
    counted: 'answer',
    row: {
      usual: 'its record is not as it was looked up before; not sent',
      hasPlan: 'changed at the service since the plan; not sent',
    },
  },
  outcome_unknown: {
    ...REJECTED,
    quoted: true,
    row: 'no known outcome, or retries spent',
    link: 'no known outcome, or retries spent',
    deletion: 'no known outcome, or retries spent',
  },
  not_sent: {
    ...REJECTED,
    row: {
      usual: 'the run ended before they were sent',
      reconcile: 'differ, and were left as they are',
    },
    link: {
      usual: 'the run ended before they were sent, or their row was not accepted',
      reconcile: 'missing there, and left as they are',
    },
    deletion: 'the run ended before, or did not delete',
  },
  pending: {
    ...LIVE,
    row: { usual: 'to be sent', reconcile: 'to be compared, or to be mended' },
    link: { usual: 'to be sent', reconcile: 'to be compared, or to be mended' },
    deletion: 'to be deleted',
  },
  in_flight: {
    ...LIVE,
    row: 'sent, not answered yet',
    link: 'sent, not answered yet',
    deletion: 'sent, not answered yet',
  },
} as const satisfies Record<string, Result>

type Register = typeof RESULT
export type StateOf<Of extends Kind> = {
  [Name in keyof Register]: Of extends keyof Register[Name] ? Name : never
}[keyof Register]
export type State = keyof Register
export type ItemState = StateOf<'row'>
export type LinkState = StateOf<'link'>
export type DeletionState = StateOf<'deletion'>

const namesOfKind = <Of extends Kind>(kind: Of) =>
  namesOf(RESULT).filter((name) => kind in RESULT[name]) as unknown as readonly StateOf<Of>[]

export const ALL_STATES = namesOf(RESULT)
/** States of a kind, in the order of all reports. */
export const ITEM_STATES = namesOfKind('row')
export const LINK_STATES = namesOfKind('link')
export const DELETION_STATES = namesOfKind('deletion')
const STATES = { row: ITEM_STATES, link: LINK_STATES, deletion: DELETION_STATES } as const
export const statesOf = <Of extends Kind>(kind: Of) =>
  STATES[kind] as unknown as readonly StateOf<Of>[]

/** Those of a kind that have this part. */
const having = <Name extends State, const Part extends Partial<Result>>(
  states: readonly Name[],
  part: Part,
) => {
  const names = namesWith(RESULT, part) as readonly State[]
  return states.filter((name) => names.includes(name)) as unknown as readonly Extract<
    Name,
    NamesWith<Register, Part>
  >[]
}

export const statesWith = (outcome: Outcome): readonly State[] =>
  ALL_STATES.filter((state) => outcomeOf(state) === outcome)
export const outcomeOf = (state: State): Outcome | null => RESULT[state].outcome
/** Whether the error of an item or a link may be in the service's own words, which may contain a value. */
export const mayQuote = (state: State): boolean => RESULT[state].quoted

/** What the run has not decided yet. */
export const OPEN_STATES = namesWith(RESULT, { outcome: null })
const isOpen = (state: State): boolean => outcomeOf(state) === null
/** States that an item never leaves. */
export const TERMINAL_STATES = ITEM_STATES.filter((state) => !isOpen(state))
export const ENDED_LINK_STATES = LINK_STATES.filter((state) => !isOpen(state))

/** States that need a person's attention. */
const rejectStates = having(ITEM_STATES, { outcome: 'rejected' })
export type RejectState = (typeof rejectStates)[number]
export const REJECT_STATES: readonly ItemState[] = rejectStates
export const isReject = (state: ItemState): state is RejectState => REJECT_STATES.includes(state)
export const LINK_REJECT_STATES = having(LINK_STATES, { outcome: 'rejected' })

/** States of rows whose records the run wrote. */
export const WRITTEN_STATES = ['created', 'updated'] as const
export type WrittenState = (typeof WRITTEN_STATES)[number]
export const isWritten = (state: ItemState): state is WrittenState =>
  state === 'created' || state === 'updated'
/** States of rows whose values the service has. */
export const ACCEPTED_STATES = [...WRITTEN_STATES, 'unchanged'] as const
export const wasAccepted = (state: ItemState): boolean => isWritten(state) || state === 'unchanged'

/** States of rows that the import does not write. */
export const SPARED_STATES = having(ITEM_STATES, { spared: true })
export type SparedState = (typeof SPARED_STATES)[number]

/** States that the last request of a batch decided: the timeline of a run counts them at that time. */
export const TIMED_STATES = [...WRITTEN_STATES, ...having(ITEM_STATES, { quoted: true })] as const
export type TimedState = (typeof TIMED_STATES)[number]
export const TIMED_OUTCOMES = [...WRITTEN_STATES, 'rejected'] as const
export type TimedOutcome = (typeof TIMED_OUTCOMES)[number]
export const timedOutcome = (state: TimedState): TimedOutcome =>
  isWritten(state) ? state : 'rejected'

/** States that the answer of a batch decides for good. */
export const COUNTED_WHEN_SETTLED = having(ITEM_STATES, { counted: 'answer' })
/** States that are final only when the run is closed. */
export const COUNTED_WHEN_CLOSED = having(ITEM_STATES, { counted: 'close' })
/** The state that the answer of a batch leaves an item in. */
export type AnsweredState =
  | (typeof COUNTED_WHEN_SETTLED)[number]
  | (typeof OPEN_STATES)[number]
  | 'protected'

/** Links that a later run takes up by itself. */
export const LEFT_LINK_STATES = [
  ...having(LINK_STATES, { outcome: 'waiting' }),
  ...LINK_REJECT_STATES,
] as const
/** As what the ledger knows a link beyond the run that found it out. */
export const KNOWN_LINK_STATES = ['linked', ...LEFT_LINK_STATES] as const
export type KnownLinkState = (typeof KNOWN_LINK_STATES)[number]
/** As what later runs know a link that ended in this state; null: they know nothing of it. */
export const knownStateOf = (state: LinkState): KnownLinkState | null =>
  state === 'linked' || state === 'unchanged'
    ? 'linked'
    : (LEFT_LINK_STATES.find((left) => left === state) ?? null)

/** Deletions whose record is gone, or changed as it was to be. */
export const DONE_DELETIONS = having(DELETION_STATES, { outcome: 'deleted' })
/** Deletions whose records the next run looks at again. */
export const CARRIED_DELETIONS = [
  ...having(DELETION_STATES, { acts: 'later run' }),
  ...having(DELETION_STATES, { outcome: 'rejected' }),
] as const
/** Deletions in which a person finds something to look at. */
/** Who has something to do about it. */
export const actsOn = (state: State): Result['acts'] => RESULT[state].acts
export const needsLook = (state: State): boolean => actsOn(state) !== 'nobody'
export const NOTED_DELETIONS = DELETION_STATES.filter(needsLook)
/** The state that an attempt leaves a deletion in. */
export type SettledDeletion = Exclude<DeletionState, (typeof OPEN_STATES)[number]>

/** What a state means in a run of this purpose. */
export function meaningOf(
  kind: Kind,
  state: State,
  purpose: Purpose = 'sync',
  scene: Scene = {},
): string {
  const meaning: Meaning = (RESULT[state] as Result)[kind]!
  if (typeof meaning === 'string') return meaning
  const special = (['onlyLinks', 'hasPlan', 'setsAside'] as const).find(
    (name) => scene[name] && meaning[name],
  )
  return (special && meaning[special]) ?? meaning[purpose] ?? meaning.usual
}

const OUTCOMES_OF = {
  row: ['created', 'updated', 'unchanged', 'skipped', 'rejected'],
  link: ['linked', 'unchanged', 'skipped', 'waiting', 'rejected'],
  deletion: ['deleted', 'skipped', 'rejected'],
} as const satisfies Record<Kind, readonly Outcome[]>
export type OutcomeOf<Of extends Kind> = (typeof OUTCOMES_OF)[Of][number]
export const outcomesOf = <Of extends Kind>(kind: Of) =>
  OUTCOMES_OF[kind] as readonly OutcomeOf<Of>[]

/** States that are a reason, because their name is not that of their outcome. */
export const isReason = (state: State): boolean => !isOpen(state) && outcomeOf(state) !== state

/** Names of reasons of a kind. */
export const reasonsOf = <Of extends Kind>(kind: Of): readonly StateOf<Of>[] =>
  statesOf(kind).filter(isReason)
