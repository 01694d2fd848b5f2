// What PostgreSQL refuses, in our own words: of a query its SQLSTATE and the place in it, of the rest what postgres/failures.ts
// says.

import { Blocked, SyncError } from '../../core/errors.ts'
import { codeOf, translate } from '../../postgres/failures.ts'
import { refused } from '../cells.ts'

const RETRY_MS = 10_000
/** SQLSTATEs that are the query's own: syntax, names and rights, values, what is not supported or raised; parameters. */
const QUERYS_OWN = /^(0A|20|21|22|23|25|26|2F|34|38|39|3F|42|44|54|P0|XX|08P01)/

/** The error in our words. `offset`: characters before the query in the text that was sent; null where it is no query. */
export function unanswered(
  error: unknown,
  place: string,
  query: { text: string; offset: number } | null,
): unknown {
  const code = codeOf(error)
  if (query !== null && error instanceof Error && 'severity' in error && QUERYS_OWN.test(code))
    return refused(`SQLSTATE ${code}`, placeOf(error, query))
  return translate(error, place, {
    noun: 'warehouse',
    code: 'warehouse',
    lockMaxMs: 0,
    statementMaxMs: 0,
    fail: (_, message) => new Blocked('warehouse', message, RETRY_MS),
  })
}

/** Where in the query the server points to: 1-based characters of the text that was sent. */
function placeOf(error: Error, { text, offset }: { text: string; offset: number }) {
  const position = 'position' in error ? Number(error.position) : Number.NaN
  if (!(position > offset)) return undefined
  const before = [...text]
    .slice(0, position - 1 - offset)
    .join('')
    .split('\n')
  return { line: before.length, column: [...before.at(-1)!].length + 1 }
}

export function misplaced(name: string, problem: string): SyncError {
  return new SyncError('warehouse_url', `The warehouse ${name} ${problem}`)
}
