// Bugs of the ledger and of mirrors in PostgreSQL: what only several processes with a database of their own can show.

import type { PlantedBug } from './table.ts'

const DATABASE = 'src/ledger/postgres/database.ts'

const bug = (name: string, file: string, from: string, to: string): PlantedBug => ({
  area: 'postgres',
  name,
  patches: [{ file, from, to }],
})

export const PLANTED_IN_POSTGRES: readonly PlantedBug[] = [
  bug(
    'postgres-failed-transactions-stay-open',
    DATABASE,
    `if (!isLost(error)) await client.query('ROLLBACK')`,
    '',
  ),
  bug(
    'postgres-staging-without-lock',
    'src/ledger/postgres/fences.ts',
    'SELECT stage_fence, destination FROM runs WHERE id = $1 FOR NO KEY UPDATE',
    'SELECT stage_fence, destination FROM runs WHERE id = $1',
  ),
  bug(
    'postgres-segments-without-fence',
    'src/ledger/postgres/outbox-group.ts',
    'WHERE run = $1 AND first = $2 AND fence = $3 RETURNING 1)',
    'WHERE run = $1 AND first = $2 AND $3::integer > 0 RETURNING 1)',
  ),
  bug(
    'postgres-quota-without-lock',
    'src/ledger/postgres/quota.ts',
    'WHERE org = $1 FOR UPDATE',
    'WHERE org = $1',
  ),
  bug(
    'postgres-old-attempts-stage',
    'src/ledger/postgres/staging.ts',
    'WHERE id = $2 AND stage_fence = coalesce($3, stage_fence) AND state',
    'WHERE id = $2 AND coalesce($3::integer, 0) >= 0 AND state',
  ),
]
