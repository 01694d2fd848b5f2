// Transactions of every engine, in a PostgreSQL database.

import type {
  Given,
  TransactionStep,
  StepResult,
  Transaction,
  TransactionRunner,
} from '../statements/transaction.ts'
import type { PostgresDatabase, Session } from './session.ts'

const texts = new Map<string, string>()

/** `text` with the table `given`, whose columns are values behind the `shared` ones. */
function givenText(text: string, { columns }: Given, shared: number): string {
  let own = texts.get(text)
  if (own === undefined) {
    const lists = Object.values(columns).map((type, at) => `$${shared + at + 1}::${type}[]`)
    own = `WITH given (${Object.keys(columns).join(', ')}) AS (SELECT * FROM unnest(${lists.join(', ')})) ${text}`
    texts.set(text, own)
  }
  return own
}

async function carryOut(
  session: Session,
  { text, values, given, returns }: TransactionStep,
): Promise<StepResult> {
  const own = given === null ? text : givenText(text, given, values.length)
  const all =
    given === null
      ? values
      : [...values, ...Object.keys(given.columns).map((_, at) => given.rows.map((row) => row[at]!))]
  return returns
    ? { rows: await session.all(own, all), changes: 0 }
    : { rows: [], changes: await session.run(own, all) }
}

/** Steps as a part of a transaction that is open. */
export async function runSteps<Result>(
  session: Session,
  steps: Transaction<Result>,
): Promise<Result> {
  let step = steps.next()
  while (!step.done) step = steps.next(await carryOut(session, step.value))
  return step.value
}

/** Transactions as parts of one that is open. */
export const transactionsIn = (session: Session): TransactionRunner => ({
  transact: (work) => runSteps(session, work()),
})

export const postgresTransactions = (db: PostgresDatabase): TransactionRunner => ({
  transact: (work) => db.transaction((session) => runSteps(session, work())),
})
