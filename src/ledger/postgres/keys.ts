// The keys of a run: their forms in the source, and by which form each is sent.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { Ledger } from '../ledger.ts'
import { liveStates, plannedOfRow } from '../rows.ts'
import type { PostgresDatabase } from './session.ts'
import { itemsAt, withPayload } from './items.ts'

type KeyMethods = Pick<Ledger, 'looseKeys' | 'settleKeys' | 'keyCounts' | 'addWarnings'>

/** Whether `key` is one of the keys of the run's destination that have a record. */
const isAccepted = (key: string) => `(SELECT true FROM accepted
  WHERE accepted.destination = (SELECT destination FROM runs WHERE id = $1)
    AND hashtextextended(accepted.key, 0) = hashtextextended(${key}, 0)
    AND accepted.key = ${key} AND accepted.record_id IS NOT NULL LIMIT 1)`

export function keyMethods(db: PostgresDatabase): KeyMethods {
  return {
    async looseKeys(run, segment, { limit }) {
      const rows = await db.all(
        `SELECT ordinal, key, payload, hash, attempts, raw_key FROM items ${withPayload}
         WHERE run = $1 AND ordinal BETWEEN $2 AND $3 AND state = 'planned' AND raw_key IS NOT NULL
         ORDER BY ordinal LIMIT $4`,
        [run, segment.first, segment.last, Math.min(limit, LEDGER_ROWS_MAX)],
      )
      return rows.map(plannedOfRow)
    },

    async settleKeys(run, items) {
      const decided = items.toSorted((a, b) => a.ordinal - b.ordinal)
      await db.transaction(async (session) => {
        await session.run(
          `UPDATE payloads SET payload = told.payload
           FROM unnest($1::integer[], $2::integer[], $3::text[]) AS told (run, ordinal, payload)
             JOIN items ON items.run = told.run AND items.ordinal = told.ordinal AND items.state = 'planned'
           WHERE payloads.run = told.run AND payloads.ordinal = told.ordinal AND told.payload IS NOT NULL`,
          [...itemsAt(run, decided), decided.map(({ payload }) => payload)],
        )
        await session.run(
          `UPDATE items SET raw_key = NULL FROM unnest($1::integer[], $2::integer[]) AS told (run, ordinal)
           WHERE items.run = told.run AND items.ordinal = told.ordinal AND items.state = 'planned'`,
          itemsAt(run, decided),
        )
      })
    },

    async keyCounts(run) {
      const row = await db.one(
        `SELECT
           (SELECT count(*) FROM items WHERE run = $1 AND raw_key IS NOT NULL) AS loose,
             (SELECT count(*) FROM items WHERE run = $1 AND key IS NULL) AS keyless,
           (SELECT count(*) FROM items JOIN items AS later
              ON later.run = items.run AND later.ordinal = items.twin
            WHERE items.run = $1 AND items.twin IS NOT NULL AND items.state = 'superseded'
              AND coalesce(items.raw_key, items.key) <> coalesce(later.raw_key, later.key)) AS merged,
           (SELECT count(*) FROM items WHERE run = $1 AND state IN ('planned', 'unchanged')
              AND key <> lower(key) AND coalesce(
                (SELECT true FROM items AS other
                 WHERE hashtextextended(other.key, other.run) = hashtextextended(lower(items.key), $1)
                   AND other.key = lower(items.key) AND other.run + 0 = $1 AND other.state <> 'invalid' LIMIT 1),
                ${isAccepted('lower(items.key)')}, false)) AS variants`,
        [run],
      )
      const number = (name: string) => Number(row?.[name] ?? 0)
      return {
        loose: number('loose'),
        keyless: number('keyless'),
        merged: number('merged'),
        variants: number('variants'),
      }
    },

    async addWarnings(run, warnings) {
      await db.transaction(async (session) => {
        const row = await session.one(
          `SELECT warnings FROM runs WHERE id = $1 AND state IN (${liveStates}) FOR NO KEY UPDATE`,
          [run],
        )
        if (!row) return
        const kept = row['warnings']
        const before = (typeof kept === 'string' ? JSON.parse(kept) : kept) as string[]
        const all = [...before, ...warnings.filter((warning) => !before.includes(warning))]
        await session.run('UPDATE runs SET warnings = $1::json WHERE id = $2', [
          JSON.stringify(all),
          run,
        ])
      })
    },
  }
}
