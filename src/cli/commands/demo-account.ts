// What the story of the demo says of a run: its figures, as the ledger has them.

import { SyncError } from '../../core/errors.ts'
import type { Run } from '../../ledger/ledger.ts'
import { readRunAccount, type RunAccount } from '../../report/account.ts'
import { withLedger, type CommandContext } from '../shared/context.ts'

export interface LastRun {
  readonly last: Run
  readonly account: RunAccount
}

/** A sync's latest run, and its account. */
export async function accountOf(context: CommandContext, sync: string): Promise<LastRun> {
  const [last] = await withLedger(context, (ledger) => ledger.runs({ sync, limit: 1 }))
  if (last === undefined) throw new SyncError('internal_error', `the ledger has no run of ${sync}`)
  return { last, account: await readAccount(context, last) }
}

export async function readAccount(context: CommandContext, one: Run): Promise<RunAccount> {
  const account = await withLedger(context, (ledger) => readRunAccount(ledger, one))
  if (!account) throw new SyncError('internal_error', `the ledger has no books of run ${one.id}`)
  return account
}

export function booksOf({ books }: RunAccount) {
  if (books === null) throw new SyncError('internal_error', 'an import without books')
  return books
}
