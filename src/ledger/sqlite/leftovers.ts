// Rows of a closed run as a person corrected them.

import { writeJson } from '../../core/json.ts'
import type { Leftovers } from '../roles/leftovers.ts'
import type { SqliteDatabase } from './database.ts'

export const leftoverMethods = (db: SqliteDatabase) =>
  ({
    async addCorrections(run, correction, rows) {
      const keep = db.sql(
        `INSERT INTO corrections (run, ordinal, correction, raw) VALUES (?, ?, ?, ?)
         ON CONFLICT (run, ordinal, correction) DO UPDATE SET raw = excluded.raw`,
      )
      const next = db.sql(
        'SELECT coalesce(max(correction), 0) + 1 AS next FROM corrections WHERE run = ?',
      )
      return db.transaction(() => {
        const number = correction ?? Number(next.get(run)?.['next'])
        for (const { ordinal, raw } of rows) keep.run(run, ordinal, number, writeJson(raw))
        return number
      })
    },
  }) satisfies Partial<Leftovers>
