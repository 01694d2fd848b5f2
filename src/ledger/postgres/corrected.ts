// Keys that the source has no row of, because a person's correction gave them to rows of it.

import type { Ledger } from '../ledger.ts'
import { readCorrectedRow } from '../rows.ts'
import type { PostgresDatabase } from './session.ts'
import { isBroughtIn, itemAt, itemsWith, originOf } from './origins.ts'

export const correctedMethods = (db: PostgresDatabase): Pick<Ledger, 'broughtByCorrection'> => ({
  async broughtByCorrection(run, keys) {
    const rows = await db.all(
      `SELECT asked.key, held.run AS retry, came.origin >> 32 AS run, came.origin & 4294967295 AS ordinal
       FROM unnest($2::text[]) AS asked (key)
       JOIN LATERAL (SELECT accepted.run, accepted.destination FROM accepted
         WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
           AND hashtextextended(accepted.key, 0) = hashtextextended(asked.key, 0)
           AND accepted.key = asked.key LIMIT 1) AS held ON true
       JOIN runs AS retry ON retry.id = held.run AND retry.of_run IS NOT NULL
       LEFT JOIN LATERAL (SELECT ${originOf('brought.run', 'brought.ordinal')} AS origin
         FROM items AS brought WHERE ${itemsWith('held.run', 'asked.key', 'brought')} AND ${isBroughtIn('brought')}
         ORDER BY brought.ordinal DESC LIMIT 1) AS came ON true
       WHERE (SELECT true FROM ${itemAt('(came.origin >> 32)::integer', '(came.origin & 4294967295)::integer')} AS corrected
           WHERE corrected.key = asked.key) IS NULL
         AND (SELECT true FROM runs AS since
           JOIN LATERAL (SELECT 1 FROM items AS own
             WHERE ${itemsWith('since.id', 'asked.key', 'own')} LIMIT 1) AS own ON true
           WHERE since.sync = retry.sync AND since.mode = 'run' AND since.id > held.run
             AND since.destination = held.destination AND since.of_run IS NULL LIMIT 1) IS NULL`,
      [run, keys],
    )
    return new Map(rows.map(readCorrectedRow))
  },
})
