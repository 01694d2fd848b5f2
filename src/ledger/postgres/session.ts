// What the statements of the ledger are run with: rows, sessions.

import type { PostgresSubject as FailureSubject } from '../../postgres/failures.ts'
import type { StatementValue } from '../statements/engine.ts'

export type PostgresRow = Record<string, unknown>

/** What the database is to its users, and its bounds. */
export interface ErrorSubject extends FailureSubject {
  readonly connections: number
  /** How long a connection is waited for: one that is free, or a new one. */
  readonly connectMaxMs: number
}

/** Runs prepared statements. Texts are few and fixed: each is prepared once a connection, and kept. */
export interface Session {
  all(text: string, values?: readonly StatementValue[]): Promise<PostgresRow[]>
  one(text: string, values?: readonly StatementValue[]): Promise<PostgresRow | undefined>
  /** Gives the number of rows it wrote. */
  run(text: string, values?: readonly StatementValue[]): Promise<number>
  /** Runs several statements, without values and not prepared. */
  script(text: string): Promise<void>
}

/** A statement of several that are sent together. */
export interface SentStatement {
  readonly text: string
  readonly values: readonly StatementValue[]
  /** What is thrown where it divides by zero: it does so where what the others need is not there. */
  readonly orElse?: Error
}

export interface StatementResult {
  readonly rows: readonly PostgresRow[]
}

/** `ONE_STATE` sees one state of the ledger, and writes nothing. */
export const ONE_STATE = 'ISOLATION LEVEL REPEATABLE READ READ ONLY'
export type TransactionMode = 'ISOLATION LEVEL READ COMMITTED' | typeof ONE_STATE

/** An open database. Outside of `transaction` each statement is a transaction of its own. */
export interface PostgresDatabase extends Session {
  readonly place: string
  /**
   * Runs `work` in one transaction, and again from its start if it clashed with another; any error undoes all of it.
   * @param mode default: each statement sees what is stored when it begins
   */
  transaction<Result>(
    work: (session: Session) => Promise<Result>,
    mode?: TransactionMode,
  ): Promise<Result>
  /**
   * The same of statements that need no answer of one another: all are sent at once, and stored before the answers are read.
   */
  together(statements: readonly SentStatement[]): Promise<readonly StatementResult[]>
  close(): Promise<void>
}
