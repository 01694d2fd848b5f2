// An error as lines for a person: each problem of a mapping or a mirror on a line of its own, because each has its place.

import { MappingError, MirrorInvalid } from '../../core/errors.ts'
import { messageLines, wrapped } from './terminal.ts'

/** Its subject, then its problems; null if the error is not about several. */
export function problemsOf(error: unknown): readonly [string, ...string[]] | null {
  const isOfSync = error instanceof MappingError || error instanceof MirrorInvalid
  if (!isOfSync || error.problems.length < 2) return null
  const subject = error.message.slice(0, error.message.indexOf(error.problems[0]!)).trim()
  return [subject, ...error.problems]
}

const INDENT = 2

export function errorLines(error: unknown): string[] {
  const [subject, ...problems] = problemsOf(error) ?? []
  if (subject === undefined)
    return messageLines(error instanceof Error ? error.message : String(error))
  return [subject, ...problems.flatMap((problem) => wrapped(problem, INDENT))]
}
