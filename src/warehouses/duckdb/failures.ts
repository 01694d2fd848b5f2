// What DuckDB refuses, in our own words. Its messages quote values and paths: of them only the class of the error, the place
// in the query, and the number of a process that holds the file are read.

import { Blocked, SyncError } from '../../core/errors.ts'
import { refused } from '../cells.ts'

const RETRY_MS = 10_000
const CLASS = /^(?:[a-z ]+: )?([A-Z][A-Za-z ]{1,30}) Error:/i
const PLACE = /^LINE (\d+): (.*)\n( *)\^/m

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

/** Whether another process holds the file, and which, where DuckDB says it. */
export function lockOf(error: unknown): { pid: string | undefined } | undefined {
  const message = messageOf(error)
  if (!message.includes('Could not set lock on file')) return undefined
  return { pid: /\(PID (\d+)\)/.exec(message)?.[1] }
}

export function locked(place: string, pid: string | undefined, waitMs: number): Blocked {
  const who = pid === undefined ? 'another process' : `another process (PID ${pid})`
  return new Blocked(
    'warehouse',
    `The warehouse ${place} is held by ${who}, and was for ${waitMs / 1_000} s; end it, or let it close the file`,
    RETRY_MS,
  )
}

/** Why a file cannot be opened. */
export function unopened(error: unknown, place: string): SyncError {
  const message = messageOf(error)
  const fail = (code: string, sentence: string) =>
    new SyncError(`warehouse_${code}`, `The warehouse ${place} ${sentence}`)
  if (message.includes('database does not exist'))
    return fail(
      'missing',
      'does not exist; expected a DuckDB file, or `:memory:` for queries that only read files',
    )
  if (message.includes('not a valid DuckDB database file') || message.includes('Is a directory'))
    return fail('not_duckdb', 'is no DuckDB file; expected one')
  return fail('unreadable', 'cannot be opened; expected a DuckDB file that this user may read')
}

/** Why a query cannot be answered. */
export function unanswered(error: unknown, place: string): SyncError {
  if (error instanceof SyncError) return error
  const kind = kindOf(error)
  if (kind === 'Out of Memory Error')
    return new Blocked(
      'warehouse',
      `The warehouse ${place} has no memory or no room for temporary files left for the query`,
      RETRY_MS,
    )
  return refused(kind)
}

/** Why a query that was only looked at is wrong: with its place, which is one of its own text. */
export function misunderstood(error: unknown): SyncError {
  if (error instanceof SyncError) return error
  const found = PLACE.exec(messageOf(error))
  if (!found) return refused(kindOf(error))
  const [, line, shown, indent] = found as unknown as [string, string, string, string]
  const column = indent.length + 1 - `LINE ${line}: `.length
  // A long line is shown in part, and then the column counts from somewhere else.
  const whole = !shown.startsWith('...') && column > 0
  return refused(kindOf(error), { line: Number(line), column: whole ? column : undefined })
}

const kindOf = (error: unknown): string => `${CLASS.exec(messageOf(error))?.[1] ?? 'unknown'} Error`
