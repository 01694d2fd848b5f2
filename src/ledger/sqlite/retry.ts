// Retries: which rows of a closed run are still left, as they were read or as a person corrected them.

import { parseJson, writeJson, type Json } from '../../core/json.ts'
import type { Ledger } from '../ledger.ts'
import { remainingRanges } from '../ranges.ts'
import { isRetried } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'
import { leftOf, withRaw } from './left.ts'
import { runOfRow } from './runs.ts'

type RetryMethods = Pick<Ledger, 'retryRows' | 'addCorrections' | 'retries'>

export function retryMethods(db: SqliteDatabase): RetryMethods {
  return {
    async retryRows(run, choice, { after, limit }) {
      const { codes, reasons, correction } = choice
      // Of a closed run payloads are only there of what was not accepted; corrections of a part of these.
      const isCorrected = correction !== undefined
      const rows = db.sql(
        `SELECT own.ordinal, own.line, ${isCorrected ? 'own.raw' : 'last.raw'}
         FROM ${leftOf(
           isCorrected ? 'corrections' : 'payloads',
           `kept.ordinal BETWEEN ?2 AND ?3 ${isCorrected ? 'AND kept.correction = ?7' : ''}`,
         )} ${isCorrected ? '' : withRaw}
         WHERE (?4 IS NULL OR now.code IN (SELECT value FROM json_each(?4)))
           AND (?5 IS NULL OR now.reason IN (SELECT value FROM json_each(?5))
             OR (now.in_doubt = 1 AND 'in_doubt' IN (SELECT value FROM json_each(?5))))
           AND ${isRetried('now')}
         ORDER BY own.ordinal LIMIT ?6`,
      )
      const chosen: { ordinal: number; line: number; raw: Json[] }[] = []
      for (const [first, last] of remainingRanges(choice.rows, after)) {
        const found = rows.all(
          run,
          first,
          last,
          codes ? JSON.stringify(codes) : null,
          reasons ? JSON.stringify(reasons) : null,
          limit - chosen.length,
          ...(isCorrected ? [correction] : []),
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
        .sql(
          `WITH RECURSIVE chain (id) AS (
             SELECT id FROM runs WHERE of_run = ? AND mode = 'run'
             UNION
             SELECT runs.id FROM chain CROSS JOIN runs ON runs.of_run = chain.id AND runs.mode = 'run')
           SELECT * FROM runs WHERE id IN (SELECT id FROM chain) ORDER BY id`,
        )
        .all(run)
        .map(runOfRow)
    },
  }
}
