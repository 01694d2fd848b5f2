// Where the tables are of tests that show what a mirror does in any warehouse: in a PostgreSQL, whose transactions take a third of
// the processor time of those on a DuckDB file. That both warehouses keep the same contract is shown by `suites/mirror-tables`; the
// mirror as a whole runs on both in `records.slow.test.ts`, on DuckDB also in `reconcile.slow.test.ts`.

import { afterAll, beforeAll } from 'vitest'
import type { MirrorPlace } from '../../mirror-oracle.ts'
import { startPostgres, type Postgres } from '../../postgres.ts'

/** Call it once in a file; it returns what makes a database for a test. */
export function postgresPlaces(): () => Promise<MirrorPlace> {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())
  return async () => ({ postgres: await postgres.newDatabase(), folder: '/' })
}
