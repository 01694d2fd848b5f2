// As much of a row's error as may leave the ledger: no word that a service made up, because it could hold a value.

import type { ItemState } from '../core/states.ts'
import { PROBLEM_CODES, PROBLEM_REASONS } from './problems.ts'

const KNOWN: ReadonlySet<string> = new Set([...PROBLEM_CODES, ...PROBLEM_REASONS])

/** Code, reason and property of a row's error; null where they are not known words, or not of a mapped property. */
export function publicError(
  error: {
    readonly state: ItemState
    readonly code: string | null
    readonly reason: string | null
    /** A property, or an RFC 6901 pointer to it. */
    readonly field: string | null
  },
  isMapped: (property: string) => boolean,
): {
  readonly code: string | null
  readonly reason: string | null
  readonly property: string | null
} {
  // What is wrong with a row that was never sent, or that was accepted and read back otherwise, is said by us.
  const isOurs = error.state !== 'rejected' && error.state !== 'failed'
  const wordOf = (word: string | null) =>
    word !== null && (isOurs || KNOWN.has(word)) ? word : null
  const property = error.field?.replace(/^(?:\/data\/\d+)?\/properties\/|\/\d+$/g, '') ?? ''
  return {
    code: wordOf(error.code),
    reason: wordOf(error.reason),
    property: isMapped(property) ? property : null,
  }
}
