// The same tests with a ledger of each kind: `describe`, twice. On PostgreSQL every scene has a schema of its own. That both ledgers do
// the same is proved by test/suites: long tables run on PostgreSQL in `npm run test:soak` alone.

import { afterAll, beforeAll, describe } from 'vitest'
import { startPostgres, type Postgres } from '../../postgres.ts'
import { isSoak } from '../../runs.ts'
import { placeLedgers } from './scene.ts'

export function onEachLedger(name: string, tests: () => void): void {
  onSqlite(name, tests)
  onPostgres(name, tests)
}

/** On SQLite; in `npm run test:soak` on each ledger. */
export function onSampledLedgers(name: string, tests: () => void): void {
  onSqlite(name, tests)
  if (isSoak) onPostgres(name, tests)
}

const onSqlite = (name: string, tests: () => void) =>
  describe(`${name} (SQLite)`, () => {
    tests()
  })

const onPostgres = (name: string, tests: () => void) =>
  describe(`${name} (PostgreSQL)`, () => {
    let postgres: Postgres
    beforeAll(async () => {
      postgres = await startPostgres()
      const url = await postgres.newDatabase()
      let scenes = 0
      placeLedgers(() => ({ url, schema: `scene_${++scenes}` }))
    })
    afterAll(async () => {
      placeLedgers(null)
      await postgres.stop()
    })
    tests()
  })
