// Bugs of the ledger and of mirrors in PostgreSQL: what only several processes with a database of their own can show.

import type { PlantedBug } from './table.ts'

const bug = (name: string, place: string, from: string, to: string): PlantedBug => ({
  area: 'postgres',
  name,
  patches: [{ in: place, from, to }],
})

export const PLANTED_IN_POSTGRES: readonly PlantedBug[] = [
  bug(
    'postgres-failed-transactions-stay-open',
    'openPostgresDatabase',
    `if (!isLost(error)) await client.query('ROLLBACK')`,
    '',
  ),
  bug(
    'postgres-staging-without-lock',
    'checkStageFence',
    'SELECT stage_fence, destination FROM runs WHERE id = $1 FOR NO KEY UPDATE',
    'SELECT stage_fence, destination FROM runs WHERE id = $1',
  ),
  bug(
    'postgres-segments-without-fence',
    'HOLD_SQL',
    'WHERE run = $1 AND first = $2 AND fence = $3 RETURNING 1)',
    'WHERE run = $1 AND first = $2 AND $3::integer > 0 RETURNING 1)',
  ),
  bug('postgres-quota-without-lock', 'HELD', 'WHERE org = $1 FOR UPDATE', 'WHERE org = $1'),
  bug(
    'postgres-old-attempts-stage',
    'stagingMethods',
    'WHERE id = $2 AND stage_fence = coalesce($3, stage_fence) AND state',
    'WHERE id = $2 AND coalesce($3::integer, 0) >= 0 AND state',
  ),
]
