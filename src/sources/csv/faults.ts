// The only way in which a CSV source reports errors: a stable code, the file, the line, and what was expected. Promise kept here:
// no cell of the file and no foreign message is ever quoted.

import { formatIssue, SourceError } from '../../core/errors.ts'

/** 1-based line of the file, and 1-based column of the row, where known. */
export interface CsvPlace {
  line?: number
  column?: number
}

/** The error with its place, and with the column if it lacks one. */
export function atColumn(error: SourceError, fault: CsvFault, column: number): SourceError {
  const { line } = error
  if (line === undefined || error.column !== undefined) return error
  const prefix = fault(error.code, '', { line }).message
  return fault(error.code, error.message.slice(prefix.length), { line, column })
}

/** The error with what to do about it. */
export function withHint(error: SourceError, hint: string): SourceError {
  if (hint === '') return error
  const { line, column } = error
  return new SourceError(error.code, error.message + hint, {
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  })
}

/** Makes the error of one file; the caller throws it. */
export type CsvFault = (code: string, message: string, place?: CsvPlace) => SourceError

const OPTION_CHARS_MAX = 40

/** An option's value for a message, cut if it is long. */
export function excerptOf(value: string): string {
  const text = JSON.stringify(value.slice(0, OPTION_CHARS_MAX))
  return value.length > OPTION_CHARS_MAX ? `${text} and more` : text
}

export function csvFaults(path: string): CsvFault {
  return (code, message, place = {}) =>
    new SourceError(code, formatIssue(path, { message, ...place }), place)
}
