// Failures of workflows: Temporal wraps them.

import { safeLines } from '../core/safe-text.ts'

/** An error and its causes, the innermost last: Temporal wraps the failures of a run. */
export function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let next = error; causes.length < 10 && next instanceof Error; next = next.cause)
    causes.push(next)
  return causes
}

const LINES_MAX = 100
const LINE_CHARS_MAX = 2_000

/** The failure's own words, without what steers a terminal. */
export function innermostMessage(error: unknown): string {
  const said = causesOf(error).at(-1)?.message
  if (said === undefined) return 'it failed, and the Temporal server does not say why'
  return safeLines(said, LINES_MAX, LINE_CHARS_MAX)
}
