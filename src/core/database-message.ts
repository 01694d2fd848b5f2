// What a database itself said about a query. It may quote the query and values, so it is kept apart from the error: no log, no
// failure and no history has it, and only a command that shows it to the person at the terminal asks for it. What steers a terminal is
// taken away here.

import { safeLines } from './safe-text.ts'

const LINES_MAX = 12
const LINE_CHARS_MAX = 500

const said = new WeakMap<Error, string>()

/** Attaches what the database said to the error that is thrown in its place. */
export function attachDatabaseMessage<Failure extends Error>(
  failure: Failure,
  error: unknown,
): Failure {
  if (error instanceof Error) said.set(failure, safeLines(error.message, LINES_MAX, LINE_CHARS_MAX))
  return failure
}

/** Attaches to one error what is attached to another. */
export function copyDatabaseMessage<Failure extends Error>(
  failure: Failure,
  from: unknown,
): Failure {
  const words = databaseMessage(from)
  if (words !== undefined) said.set(failure, words)
  return failure
}

/** What the database said; undefined if the error has no such message. */
export const databaseMessage = (error: unknown): string | undefined =>
  error instanceof Error ? said.get(error) : undefined
