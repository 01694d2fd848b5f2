// The SQLite driver keeps the contract of every ledger, on a real file.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { openThreadedLedger, type Channel } from '../../src/ledger/thread/index.ts'
import { serveLedger } from '../../src/ledger/thread/server.ts'
import { backupFile } from '../../src/sqlite/backup.ts'
import { SIGNING_KEY, type Open } from './ledger/scene.ts'
import { ledgerSuite } from './ledger.suite.ts'
import { isSoak } from '../runs.ts'

type OpenFile = (file: string, options: { signingKey: string | null }) => Promise<Ledger>

const ledgerIn =
  (openFile: OpenFile): Open =>
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-'))
    const handles: Ledger[] = []
    const path = join(folder, 'ledger.sqlite')
    const open = async (signingKey: string | null = null, file = path) => {
      const ledger = await openFile(file, { signingKey })
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
  }

// What the other one has as well.
if (isSoak)
  ledgerSuite(
    'SQLite',
    ledgerIn(async (file, options) => openSqliteLedger(file, options)),
  )

/** The thread's side in this thread: what crosses is cloned all the same. */
const overMessages: OpenFile = (file, options) =>
  openThreadedLedger(file, options, (given) => {
    const { port1, port2 } = new MessageChannel()
    serveLedger(port2, given)
    return port1 as unknown as Channel
  })

ledgerSuite('threaded SQLite', ledgerIn(overMessages))
