// The PostgreSQL driver keeps the contract of every ledger, on a real server.

import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { ledgerSuite } from './ledger.suite.ts'

/** Handles of as many processes, which take turns: one for every process that comes and goes would be hundreds. */
const HANDLES = 4
const TABLES = [
  'accepted',
  'requests',
  'segments',
  'items',
  'payloads',
  'streams',
  'runs',
  'destinations',
]

let postgres: Postgres
let outside: pg.Client
let handles: Ledger[]
beforeAll(async () => {
  postgres = await startPostgres()
  const url = await postgres.newDatabase()
  handles = await Promise.all(
    Array.from({ length: HANDLES }, () => openPostgresLedger({ url, schema: 'records_sync' })),
  )
  outside = new pg.Client({ connectionString: url })
  await outside.connect()
})
afterAll(async () => {
  await outside.end()
  await Promise.all(handles.map((ledger) => ledger.close()))
  await postgres.stop()
})

ledgerSuite('PostgreSQL', async () => {
  let turn = 0
  return {
    ledger: handles[0]!,
    async reopen() {
      turn = (turn + 1) % HANDLES
      return handles[turn]!
    },
    async cleanup() {
      for (const table of TABLES) await outside.query(`DELETE FROM records_sync.${table}`)
    },
  }
})
