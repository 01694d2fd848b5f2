// The SQLite driver keeps the contract of every ledger, on a real file.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { ledgerSuite } from './ledger.suite.ts'

ledgerSuite('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-'))
  const handles: Ledger[] = []
  const open = async () => {
    const ledger = openSqliteLedger(join(folder, 'ledger.sqlite'))
    handles.push(ledger)
    return ledger
  }
  return {
    ledger: await open(),
    reopen: open,
    async cleanup() {
      await Promise.all(handles.map((ledger) => ledger.close()))
      await rm(folder, { recursive: true })
    },
  }
})
