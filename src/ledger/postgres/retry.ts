// Retries: which rows of a closed run are still left, as they were read or as a person corrected them.

import { parseJson, writeJson, type Json } from '../../core/json.ts'
import type { Ledger } from '../ledger.ts'
import { wantedRanges } from '../choosing.ts'
import { isLeft } from '../rows.ts'
import type { Database } from './database.ts'
import { RUN_COLUMNS, runOfRow } from './runs.ts'

type RetryMethods = Pick<Ledger, 'retryRows' | 'addCorrections' | 'retries'>

/**
 * Whether `item` has a row of the closed run `$1` that it left over, whose key no later run brought in, and that no retry
 * brought in. One look into an index each.
 */
export const isStillLeft = (item: string): string => `${isLeft(item)}
  AND (SELECT true FROM accepted
    WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
      AND hashtextextended(accepted.key, 0) = hashtextextended(${item}.key, 0)
      AND accepted.key = ${item}.key AND accepted.run > $1 AND accepted.hash IS NOT NULL) IS NULL
  AND (SELECT true FROM runs AS retry JOIN items AS again
      ON ((again.run::bigint << 32) | again.of_ordinal) = ((retry.id::bigint << 32) | ${item}.ordinal)
        AND again.of_ordinal IS NOT NULL
    WHERE retry.of_run = $1 AND retry.mode = 'run' AND again.state IN ('created', 'updated', 'unchanged')
    LIMIT 1) IS NULL`

export function retryMethods(db: Database): RetryMethods {
  return {
    async retryRows(run, choice, { after, limit }) {
      const { codes, reasons, correction } = choice
      // Of a closed run payloads are only there of what was not accepted; corrections of a part of these.
      const rows = `SELECT kept.ordinal, item.line, kept.raw
         FROM ${correction === undefined ? 'payloads' : 'corrections'} AS kept JOIN LATERAL
           (SELECT ordinal, line, key, state, verified, code, reason, in_doubt FROM items
            WHERE items.run = kept.run AND items.ordinal = kept.ordinal LIMIT 1) AS item ON true
         WHERE kept.run = $1 AND kept.ordinal BETWEEN $2 AND $3 AND ${isStillLeft('item')}
           AND ($4::text[] IS NULL OR item.code = ANY ($4::text[]))
           AND ($5::text[] IS NULL OR item.reason = ANY ($5::text[])
             OR (item.in_doubt = 1 AND 'in_doubt' = ANY ($5::text[])))
           ${correction === undefined ? '' : 'AND kept.correction = $7'}
         ORDER BY kept.ordinal LIMIT $6`
      const chosen: { ordinal: number; line: number; raw: Json[] }[] = []
      for (const [first, last] of wantedRanges(choice.rows, after)) {
        const found = await db.all(rows, [
          run,
          first,
          last,
          codes ?? null,
          reasons ?? null,
          limit - chosen.length,
          ...(correction === undefined ? [] : [correction]),
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
        `SELECT ${RUN_COLUMNS} FROM runs WHERE of_run = $1 AND mode = 'run' ORDER BY id`,
        [run],
      )
      return rows.map(runOfRow)
    },
  }
}
