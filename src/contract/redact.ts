// The part of a row's error that may leave the ledger: no text that a service made up, because it could hold a value.

import { propertyOfField } from '../core/domain/error-field.ts'
import { IN_DOUBT } from '../core/domain/in-doubt.ts'
import { mayQuote, type ItemState } from '../core/domain/outcomes.ts'
import { PROBLEM_CODES, PROBLEM_REASONS } from './problems.ts'

const KNOWN: ReadonlySet<string> = new Set([...PROBLEM_CODES, ...PROBLEM_REASONS, IN_DOUBT])

/** Code, reason and property of a row's error; null if they are not known words, or not those of a mapped property. */
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
  // For a row that was never sent, or that was accepted and read back otherwise, the words of the error are ours.
  const wordOf = (word: string | null) =>
    word !== null && (!mayQuote(error.state) || KNOWN.has(word)) ? word : null
  const property = propertyOfField(error.field, isMapped)
  return {
    code: wordOf(error.code),
    reason: wordOf(error.reason),
    property: property !== null && isMapped(property) ? property : null,
  }
}
