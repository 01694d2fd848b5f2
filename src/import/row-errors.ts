// Rows that were refused or failed, as much of them as may leave the ledger: no value, and no word that a service made up,
// because it could hold one.

import { PROBLEM_CODES, PROBLEM_REASONS } from '../contract/index.ts'
import type { ItemState } from '../core/states.ts'
import type { ImportConfig } from '../core/sync.ts'
import type { Ledger } from '../ledger/ledger.ts'

/** A row that was refused or failed. */
export interface RowError {
  readonly ordinal: number
  readonly code: string
  readonly reason: string | null
  /** RFC 6901, into the item. */
  readonly pointer: string | null
}

const KNOWN: ReadonlySet<string> = new Set([...PROBLEM_CODES, ...PROBLEM_REASONS])
const errorsMax = 10

/** The first rows above `after` in one of the states; at most 10. */
export async function rowErrors(
  ledger: Ledger,
  job: { run: number; config: ImportConfig; states: readonly ItemState[]; after: number },
): Promise<readonly RowError[]> {
  const { run, config, states, after } = job
  const items = await ledger.report(run, { states, after, limit: errorsMax })
  return items.map(({ ordinal, state, code, reason, field }) => {
    // What is wrong with a row that was never sent is said by us.
    const wordOf = (word: string | null) =>
      word !== null && (state === 'invalid' || KNOWN.has(word)) ? word : null
    const property = field?.replace(/^(?:\/data\/\d+)?\/properties\/|\/\d+$/g, '') ?? ''
    const isMapped = Object.hasOwn(config.properties, property)
    return {
      ordinal,
      code: wordOf(code) ?? state,
      reason: wordOf(reason),
      pointer: isMapped ? `/properties/${property}` : null,
    }
  })
}
