// The keys of a run: their forms in the source, and by which form each is sent.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { Ledger } from '../ledger.ts'
import { liveStates, plannedOfRow } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'

type KeyMethods = Pick<Ledger, 'looseKeys' | 'settleKeys' | 'keyCounts' | 'addWarnings'>

export function keyMethods(db: SqliteDatabase): KeyMethods {
  return {
    async looseKeys(run, segment, { limit }) {
      return db
        .sql(
          `SELECT ordinal, key, payload, hash, attempts, raw_key
           FROM items INDEXED BY items_raw_key JOIN payloads USING (run, ordinal)
           WHERE run = ? AND ordinal BETWEEN ? AND ? AND state = 'planned' AND raw_key IS NOT NULL
           ORDER BY ordinal LIMIT ?`,
        )
        .all(run, segment.first, segment.last, Math.min(limit, LEDGER_ROWS_MAX))
        .map(plannedOfRow)
    },

    async settleKeys(run, items) {
      const isPlanned = "run = ?1 AND ordinal = ?2 AND state = 'planned'"
      const decide = db.sql(`UPDATE items SET raw_key = NULL WHERE ${isPlanned}`)
      const replace = db.sql(
        `UPDATE payloads SET payload = ?3 WHERE run = ?1 AND ordinal = ?2
           AND EXISTS (SELECT 1 FROM items WHERE ${isPlanned})`,
      )
      db.transaction(() => {
        for (const { ordinal, payload } of items) {
          if (payload !== null) replace.run(run, ordinal, payload)
          decide.run(run, ordinal)
        }
      })
    },

    async keyCounts(run) {
      const row = db
        .sql(
          `SELECT
             (SELECT count(*) FROM items INDEXED BY items_raw_key WHERE run = ?1 AND raw_key IS NOT NULL) AS loose,
             (SELECT count(*) FROM items WHERE run = ?1 AND key IS NULL) AS keyless,
             (SELECT count(*) FROM items INDEXED BY items_twin JOIN items AS later
                ON later.run = items.run AND later.ordinal = items.twin
              WHERE items.run = ?1 AND items.twin IS NOT NULL AND items.state = 'superseded'
                AND coalesce(items.raw_key, items.key) <> coalesce(later.raw_key, later.key)) AS merged,
             (SELECT count(*) FROM items WHERE run = ?1 AND state IN ('planned', 'unchanged')
                AND key <> lower(key) AND (
                  EXISTS (SELECT 1 FROM items AS other INDEXED BY items_key
                    WHERE other.run = ?1 AND other.key = lower(items.key) AND other.state <> 'invalid')
                  OR EXISTS (SELECT 1 FROM accepted
                    WHERE accepted.destination = (SELECT destination FROM runs WHERE id = ?1)
                      AND accepted.key = lower(items.key) AND accepted.record_id IS NOT NULL))) AS variants`,
        )
        .get(run)
      const number = (name: string) => Number(row?.[name] ?? 0)
      return {
        loose: number('loose'),
        keyless: number('keyless'),
        merged: number('merged'),
        variants: number('variants'),
      }
    },

    async addWarnings(run, warnings) {
      db.transaction(() => {
        const row = db
          .sql(`SELECT warnings FROM runs WHERE id = ? AND state IN (${liveStates})`)
          .get(run)
        if (!row) return
        const before = JSON.parse(String(row['warnings'])) as string[]
        const all = [...before, ...warnings.filter((warning) => !before.includes(warning))]
        db.sql('UPDATE runs SET warnings = ? WHERE id = ?').run(JSON.stringify(all), run)
      })
    },
  }
}
