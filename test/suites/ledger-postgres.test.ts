// The PostgreSQL driver keeps the contract of every ledger, on a real server.

import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { SIGNING_KEY } from './ledger/scene.ts'
import { ledgerSuite } from './ledger.suite.ts'

/** Handles of as many processes, which take turns: one for every process that comes and goes would be hundreds. */
const HANDLES = 4
const TABLES = [
  'accepted',
  'requests',
  'links',
  'link_steps',
  'known_links',
  'segments',
  'items',
  'payloads',
  'streams',
  'schema_changes',
  'corrections',
  'differences',
  'manifests',
  'actions',
  'runs',
  'destinations',
]

let postgres: Postgres
let outside: pg.Client
let handles: Ledger[]
let signing: Ledger
beforeAll(async () => {
  postgres = await startPostgres()
  const url = await postgres.newDatabase()
  handles = await Promise.all(
    Array.from({ length: HANDLES }, () => openPostgresLedger({ url, schema: 'records_sync' })),
  )
  signing = await openPostgresLedger({ url, schema: 'records_sync' }, { signingKey: SIGNING_KEY })
  outside = new pg.Client({ connectionString: url })
  await outside.connect()
  await outside.query('SET search_path = records_sync')
})
afterAll(async () => {
  await outside.end()
  await Promise.all([...handles, signing].map((ledger) => ledger.close()))
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
    signing: async () => signing,
    query: async (text) => (await outside.query<Record<string, unknown>>(text)).rows,
    async restored() {
      await outside.query(
        'UPDATE records_sync.project SET restored_after = (SELECT coalesce(max(id), 0) FROM records_sync.runs)',
      )
      return handles[1]!
    },
    async cleanup() {
      await outside.query('UPDATE records_sync.project SET restored_after = 0')
      for (const table of TABLES) await outside.query(`DELETE FROM records_sync.${table}`)
    },
  }
})
