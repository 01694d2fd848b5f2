// The register of the states of links: a link is one association that a row asks for, from its record to a target. Lists of
// states, the SQL of the ledger, metrics, the report and the commands derive from it, as from the states of items.

import type { Purpose } from './purpose.ts'
import { namesOf, namesWith } from '../register.ts'

interface LinkStateEntry {
  /**
   * What became of the link. `accepted`: the service has it. `parked`: its target does not exist yet. `spared`: it was not wanted
   * after all. `differs`: the service said that it has it, and does not. `reject`: a person has to look at it. Null: nothing yet.
   * A link leaves such a state, and an accepted one, while its run goes on, where it is seen not to be there any more.
   */
  readonly outcome: 'accepted' | 'parked' | 'spared' | 'differs' | 'reject' | null
  /**
   * As what the ledger knows the link for later runs. `linked`: it is not sent again. `left`: a later run tries again, although
   * it does not read the row anew. Null: it remembers nothing.
   */
  readonly known: 'linked' | 'left' | null
  /** Whether its error may be in the service's own words, which may contain a value. */
  readonly quoted: boolean
  readonly meaning: string
  /** The meaning in a reconciliation, if it is another one. */
  readonly compared: string | null
}

/** The service refused the link, or gave no outcome. */
const REFUSED = { outcome: 'reject', known: 'left', quoted: true, compared: null } as const
const QUIET = { quoted: false, compared: null } as const

/** Every state that a link can be in, in the order in which reports list them. */
const LINK_STATE = {
  linked: { ...QUIET, outcome: 'accepted', known: 'linked', meaning: 'new links' },
  unchanged: {
    ...QUIET,
    outcome: 'accepted',
    known: 'linked',
    meaning: 'linked before, not sent again',
    compared: 'there on both sides',
  },
  parked: { ...QUIET, outcome: 'parked', known: 'left', meaning: 'their targets do not exist yet' },
  not_kept: {
    ...QUIET,
    outcome: 'differs',
    known: 'left',
    meaning:
      'answered as linked, and not there when they were read back; the next run sends them again',
  },
  skipped: {
    ...QUIET,
    outcome: 'spared',
    known: null,
    meaning:
      'left out: no target (missing: skip), a row that its mode does not write, or a later link in their place',
  },
  rejected: { ...REFUSED, meaning: 'refused by the service, or no target (missing: reject)' },
  failed: { ...REFUSED, meaning: 'no known outcome, or retries spent' },
  unsent: {
    ...QUIET,
    outcome: 'reject',
    known: 'left',
    meaning: 'the run ended before they were sent, or their row was not accepted',
    compared: 'missing there, and left as they are',
  },
  planned: {
    ...QUIET,
    outcome: null,
    known: null,
    meaning: 'waiting to be sent',
    compared: 'to be compared, or to be mended',
  },
  sent: { ...QUIET, outcome: null, known: null, meaning: 'in flight' },
} as const satisfies Record<string, LinkStateEntry>
export type LinkState = keyof typeof LINK_STATE

export const LINK_STATES = namesOf(LINK_STATE)

/** States that a link may leave. */
export const OPEN_LINK_STATES = namesWith(LINK_STATE, { outcome: null })

/** States that say what became of a link. */
export const ENDED_LINK_STATES: readonly LinkState[] = LINK_STATES.filter(
  (state) => LINK_STATE[state].outcome !== null,
)

/** States of links that need a person's attention. */
export const LINK_REJECT_STATES = namesWith(LINK_STATE, { outcome: 'reject' })

/** States of links that the service has. */
export const ACCEPTED_LINK_STATES = namesWith(LINK_STATE, { outcome: 'accepted' })

/** States of links that a later run takes up by itself. */
export const LEFT_LINK_STATES = namesWith(LINK_STATE, { known: 'left' })
export type LeftLinkState = (typeof LEFT_LINK_STATES)[number]

/** What the ledger knows of a link beyond the run that found it out. */
export type KnownLinkState = 'linked' | LeftLinkState

/** As what later runs know a link that ended in this state; null: they know nothing of it. */
export const knownStateOf = (state: LinkState): KnownLinkState | null => {
  const { known } = LINK_STATE[state]
  return known === 'left' ? (state as LeftLinkState) : known
}

/** Whether the error of a link in this state may be in the service's own words, which may contain a value. */
export const mayQuoteLink = (state: LinkState): boolean => LINK_STATE[state].quoted

/** What a state means in a run of this purpose. */
export const linkMeaningOf = (state: LinkState, purpose: Purpose): string =>
  (purpose === 'reconcile' ? LINK_STATE[state].compared : null) ?? LINK_STATE[state].meaning
