// Retries: which rows of a closed run are still left, as they were read or as a person corrected them.

import { parseJson, writeJson, type Json } from '../../core/json.ts'
import type { Ledger } from '../ledger.ts'
import { remainingRanges } from '../ranges.ts'
import { isRetried } from '../rows.ts'
import type { PostgresDatabase } from './session.ts'
import { leftOf, withRaw } from './left.ts'
import { RUN_COLUMNS, runOfRow } from './runs.ts'

type RetryMethods = Pick<Ledger, 'retryRows' | 'addCorrections' | 'retries'>

export function retryMethods(db: PostgresDatabase): RetryMethods {
  return {
    async retryRows(run, choice, { after, limit }) {
      const { codes, reasons, correction } = choice
      // Of a closed run payloads are only there of what was not accepted; corrections of a part of these.
      const isCorrected = correction !== undefined
      const rows = `SELECT own.ordinal, own.line, ${isCorrected ? 'own.raw' : 'last.raw'}
         FROM ${leftOf(
           isCorrected ? 'corrections' : 'payloads',
           `kept.ordinal BETWEEN $2 AND $3 ${isCorrected ? 'AND kept.correction = $7' : ''}`,
         )} ${isCorrected ? '' : withRaw}
         WHERE ($4::text[] IS NULL OR now.code = ANY ($4::text[]))
           AND ($5::text[] IS NULL OR now.reason = ANY ($5::text[])
             OR (now.in_doubt = 1 AND 'in_doubt' = ANY ($5::text[])))
           AND ${isRetried('now')}
         ORDER BY own.ordinal LIMIT $6`
      const chosen: { ordinal: number; line: number; raw: Json[] }[] = []
      for (const [first, last] of remainingRanges(choice.rows, after)) {
        const found = await db.all(rows, [
          run,
          first,
          last,
          codes ?? null,
          reasons ?? null,
          limit - chosen.length,
          ...(isCorrected ? [correction] : []),
        ])
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
      const raws = new Map(rows.map(({ ordinal, raw }) => [ordinal, writeJson(raw)]))
      return await db.transaction(async (session) => {
        // One at a time: no number is given twice.
        await session.one('SELECT id FROM runs WHERE id = $1 FOR NO KEY UPDATE', [run])
        const next = await session.one(
          'SELECT coalesce(max(correction), 0) + 1 AS next FROM corrections WHERE run = $1',
          [run],
        )
        const number = correction ?? Number(next?.['next'])
        await session.run(
          `INSERT INTO corrections (run, correction, ordinal, raw)
             SELECT $1, $2, * FROM unnest($3::integer[], $4::text[])
           ON CONFLICT (run, ordinal, correction) DO UPDATE SET raw = excluded.raw`,
          [run, number, [...raws.keys()], [...raws.values()]],
        )
        return number
      })
    },

    async retries(run) {
      const rows = await db.all(
        `WITH RECURSIVE chain (id) AS (
           SELECT id FROM runs WHERE of_run = $1 AND mode = 'run'
           UNION
           SELECT runs.id FROM chain JOIN runs ON runs.of_run = chain.id AND runs.mode = 'run')
         SELECT ${RUN_COLUMNS} FROM runs WHERE id IN (SELECT id FROM chain) ORDER BY id`,
        [run],
      )
      return rows.map(runOfRow)
    },
  }
}
