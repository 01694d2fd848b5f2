// The SQLite driver keeps the contract of every ledger, on a real file.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { backupFile } from '../../src/sqlite/backup.ts'
import { SIGNING_KEY } from './ledger/scene.ts'
import { ledgerSuite } from './ledger.suite.ts'

ledgerSuite('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-'))
  const handles: Ledger[] = []
  const path = join(folder, 'ledger.sqlite')
  const open = async (signingKey: string | null = null, file = path) => {
    const ledger = openSqliteLedger(file, { signingKey })
    handles.push(ledger)
    return ledger
  }
  return {
    ledger: await open(),
    reopen: () => open(),
    signing: () => open(SIGNING_KEY),
    async query(text) {
      const db = new DatabaseSync(path)
      try {
        return db.prepare(text).all() as Record<string, unknown>[]
      } finally {
        db.close()
      }
    },
    async restored() {
      const copy = join(folder, `restored-${handles.length}.sqlite`)
      backupFile(path, copy)
      return await open(null, copy)
    },
    async cleanup() {
      await Promise.all(handles.map((ledger) => ledger.close()))
      await rm(folder, { recursive: true })
    },
  }
})
