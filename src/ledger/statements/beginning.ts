// Whether work has begun in a ledger.

import type { LedgerIdentity } from '../roles/identity.ts'
import type { StatementRunner } from './engine.ts'

export const beginningStatements = (
  db: StatementRunner,
  now: () => string,
): Pick<LedgerIdentity, 'hasBegun' | 'beginAnew'> => ({
  async hasBegun() {
    const row = await db.one(
      `SELECT CASE WHEN EXISTS (SELECT 1 FROM runs WHERE mode = 'run') OR EXISTS (SELECT 1 FROM moves)
         THEN 1 ELSE 0 END AS begun`,
    )
    return Number(row?.['begun']) === 1
  },
  async beginAnew() {
    await db.run(
      `INSERT INTO moves (id, way, place, state, began_at, ended_at) VALUES ('new', 'new', '', 'done', $1, $1)
       ON CONFLICT (id, way) DO NOTHING`,
      [now()],
    )
  },
})
