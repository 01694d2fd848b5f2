// Retries: which rows of a closed run are still left, as they were read or as a person corrected them.

import { parseJson, writeJson, type Json } from '../../core/json.ts'
import type { Ledger } from '../ledger.ts'
import { wantedRanges } from '../choosing.ts'
import { isLeft } from '../rows.ts'
import type { Database } from './database.ts'
import { runOfRow } from './runs.ts'

type RetryMethods = Pick<Ledger, 'retryRows' | 'addCorrections' | 'retries'>

/**
 * Whether `items` has a row of the closed run `?1` that it left over, whose key no later run brought in, and that no retry
 * brought in.
 */
export const isStillLeft = `${isLeft('items')}
  AND NOT EXISTS (SELECT 1 FROM accepted
    WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
      AND accepted.key = items.key AND accepted.run > ?1 AND accepted.hash IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM runs AS retry CROSS JOIN items AS again INDEXED BY items_of
    WHERE retry.of_run = ?1 AND retry.mode = 'run' AND again.run = retry.id
      AND again.of_ordinal = items.ordinal AND again.state IN ('created', 'updated', 'unchanged'))`

export function retryMethods(db: Database): RetryMethods {
  return {
    async retryRows(run, choice, { after, limit }) {
      const { codes, reasons, correction } = choice
      // Of a closed run payloads are only there of what was not accepted; corrections of a part of these.
      const rows = db.sql(
        `SELECT kept.ordinal, items.line, kept.raw
         FROM ${correction === undefined ? 'payloads' : 'corrections'} AS kept
           CROSS JOIN items ON items.run = kept.run AND items.ordinal = kept.ordinal
         WHERE kept.run = ?1 AND kept.ordinal BETWEEN ?2 AND ?3 AND ${isStillLeft}
           AND (?4 IS NULL OR items.code IN (SELECT value FROM json_each(?4)))
           AND (?5 IS NULL OR items.reason IN (SELECT value FROM json_each(?5))
             OR (items.in_doubt = 1 AND 'in_doubt' IN (SELECT value FROM json_each(?5))))
           ${correction === undefined ? '' : 'AND kept.correction = ?7'}
         ORDER BY kept.ordinal LIMIT ?6`,
      )
      const chosen: { ordinal: number; line: number; raw: Json[] }[] = []
      for (const [first, last] of wantedRanges(choice.rows, after)) {
        const found = rows.all(
          run,
          first,
          last,
          codes ? JSON.stringify(codes) : null,
          reasons ? JSON.stringify(reasons) : null,
          limit - chosen.length,
          ...(correction === undefined ? [] : [correction]),
        )
        for (const row of found)
          chosen.push({
            ordinal: Number(row['ordinal']),
            line: Number(row['line']),
            raw: parseJson(String(row['raw'])) as Json[],
          })
        if (chosen.length === limit) break
      }
      return chosen
    },

    async addCorrections(run, correction, rows) {
      const keep = db.sql(
        `INSERT INTO corrections (run, ordinal, correction, raw) VALUES (?, ?, ?, ?)
         ON CONFLICT (run, ordinal, correction) DO UPDATE SET raw = excluded.raw`,
      )
      return db.transaction(() => {
        const number =
          correction ??
          Number(
            db
              .sql('SELECT coalesce(max(correction), 0) + 1 AS next FROM corrections WHERE run = ?')
              .get(run)?.['next'],
          )
        for (const { ordinal, raw } of rows) keep.run(run, ordinal, number, writeJson(raw))
        return number
      })
    },

    async retries(run) {
      return db
        .sql("SELECT * FROM runs WHERE of_run = ? AND mode = 'run' ORDER BY id")
        .all(run)
        .map(runOfRow)
    },
  }
}
