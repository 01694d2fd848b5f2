// The same tests with a ledger of each kind: `describe`, twice. On PostgreSQL every scene has a schema of its own.

import { afterAll, beforeAll, describe } from 'vitest'
import { startPostgres, type Postgres } from '../../postgres.ts'
import { placeLedgers } from './scene.ts'

export function onEachLedger(name: string, tests: () => void): void {
  describe(`${name} (SQLite)`, () => {
    tests()
  })
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
}
