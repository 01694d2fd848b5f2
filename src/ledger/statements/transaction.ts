// Transactions that are the same in every engine: a generator gives one statement after the other, and goes on with its result. SQLite
// carries out all of them in one turn of the event loop, PostgreSQL waits for each answer.

import type { Row } from '../rows/values.ts'
import type { StatementValue } from './engine.ts'

type GivenValue = string | number | null

/** Rows of values that a statement reads as the table `given`. */
export interface Given {
  /** Its columns, in order, with their types. */
  readonly columns: Readonly<Record<string, 'integer' | 'text'>>
  readonly rows: readonly (readonly GivenValue[])[]
}

/** A statement of a transaction; `$1` is the first of its values. */
export interface TransactionStep {
  readonly text: string
  readonly values: readonly StatementValue[]
  readonly given: Given | null
  /** Whether it gives rows. */
  readonly returns: boolean
}

export interface StepResult {
  readonly rows: readonly Row[]
  /** Rows that it wrote; without meaning if it gives rows. */
  readonly changes: number
}

export type Transaction<Result> = Generator<TransactionStep, Result, StepResult>

export interface TransactionRunner {
  /** Runs it as one transaction, which any error undoes. `work` may be called again, if the transaction clashed with another one. */
  transact<Result>(work: () => Transaction<Result>): Promise<Result>
}

/** The rows that a statement gives. */
export function* read(
  text: string,
  values: readonly StatementValue[] = [],
): Transaction<readonly Row[]> {
  return (yield { text, values, given: null, returns: true }).rows
}

/** Gives the number of rows that a statement wrote. */
export function* write(text: string, values: readonly StatementValue[] = []): Transaction<number> {
  return (yield { text, values, given: null, returns: false }).changes
}

/** The rows that a statement gives for these; none: it is not run. */
export function* readGiven(
  given: Given,
  text: string,
  values: readonly StatementValue[] = [],
): Transaction<readonly Row[]> {
  if (given.rows.length === 0) return []
  return (yield { text, values, given, returns: true }).rows
}

/** Writes for each of these rows; none: the statement is not run. */
export function* writeGiven(
  given: Given,
  text: string,
  values: readonly StatementValue[] = [],
): Transaction<number> {
  if (given.rows.length === 0) return 0
  return (yield { text, values, given, returns: false }).changes
}
