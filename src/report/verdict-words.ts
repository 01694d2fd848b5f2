// What the verdicts of runs are put together from.

import type { ItemState } from '../core/domain/outcomes.ts'
import type { BooksReport, RunReport, Step } from './run-report.ts'

export type VerdictInput = Pick<RunReport, 'books' | 'streams' | 'comparison'>

/** A step with the command that does it. */
export type MakeStep = (text: string, command?: string | null) => Step

export const rowsIn = ({ rows }: BooksReport, state: ItemState): number =>
  rows.states.find((one) => one.state === state)?.count ?? 0

/** A word of a shell's command line. */
export const word = (text: string): string =>
  /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
