// Keys that the source has no row of, because a person's correction gave them to rows of it.

import type { Ledger } from '../ledger.ts'
import { readCorrectedRow } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'
import { isBroughtIn, originOf } from './origins.ts'

export const correctedMethods = (db: SqliteDatabase): Pick<Ledger, 'broughtByCorrection'> => ({
  async broughtByCorrection(run, keys) {
    const ask = db.sql(
      `SELECT held.key, held.run AS retry, held.origin >> 32 AS run, held.origin & 4294967295 AS ordinal
       FROM (SELECT accepted.key, accepted.run, accepted.destination, runs.sync,
           (SELECT ${originOf('items.run', 'items.ordinal')} FROM items INDEXED BY items_key
            WHERE items.run = accepted.run AND items.key = accepted.key AND ${isBroughtIn('items')}
            ORDER BY items.ordinal DESC LIMIT 1) AS origin
         FROM accepted JOIN runs ON runs.id = accepted.run
         WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1) AND accepted.key = ?2
           AND runs.of_run IS NOT NULL) AS held
       WHERE NOT EXISTS (SELECT 1 FROM items AS corrected
           WHERE corrected.run = held.origin >> 32 AND corrected.ordinal = held.origin & 4294967295
             AND corrected.key = held.key)
         AND NOT EXISTS (SELECT 1 FROM runs AS since
           CROSS JOIN items AS own INDEXED BY items_key ON own.run = since.id AND own.key = held.key
           WHERE since.sync = held.sync AND since.mode = 'run' AND since.id > held.run
             AND since.destination = held.destination AND since.of_run IS NULL)`,
    )
    return new Map(
      keys.flatMap((key) => {
        const row = ask.get(run, key)
        return row === undefined ? [] : [readCorrectedRow(row)]
      }),
    )
  },
})
