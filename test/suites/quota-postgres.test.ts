// The PostgreSQL driver keeps the contract of every quota store, on a real server.

import { afterAll, beforeAll } from 'vitest'
import type { QuotaStore } from '../../src/core/ports.ts'
import { openPostgresQuota } from '../../src/ledger/postgres/quota.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { quotaStoreSuite } from './quota-store.suite.ts'

let postgres: Postgres
let url: string
let schemas = 0
beforeAll(async () => {
  postgres = await startPostgres()
  url = await postgres.newDatabase()
})
afterAll(() => postgres.stop())

quotaStoreSuite('PostgreSQL', async () => {
  const schema = `quota_${++schemas}`
  const handles: QuotaStore[] = []
  const reopen = async () => {
    const store = await openPostgresQuota({ url, schema })
    handles.push(store)
    return store
  }
  return {
    store: await reopen(),
    reopen,
    async cleanup() {
      await Promise.all(handles.map((store) => store.close()))
    },
  }
})
