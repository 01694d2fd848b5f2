// What messages about the ledger's database say, and how long the ledger waits for it.

import { LedgerError } from '../../core/errors.ts'
import type { ErrorSubject } from './session.ts'

export const subject: ErrorSubject = {
  noun: 'ledger',
  code: 'ledger',
  connections: 8,
  connectMaxMs: 10_000,
  lockMaxMs: 10_000,
  statementMaxMs: 60_000,
  fail: (code, message, reason) => new LedgerError(code, message, reason),
}
