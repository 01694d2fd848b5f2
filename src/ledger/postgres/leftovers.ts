// Rows of a closed run as a person corrected them.

import { writeJson } from '../../core/json.ts'
import type { Leftovers } from '../roles/leftovers.ts'
import { lockRun } from './fences.ts'
import type { PostgresDatabase } from './session.ts'

export const leftoverMethods = (db: PostgresDatabase) =>
  ({
    async addCorrections(run, correction, rows) {
      const raws = new Map(rows.map(({ ordinal, raw }) => [ordinal, writeJson(raw)]))
      return await db.transaction(async (session) => {
        // One at a time: no number is given twice.
        await lockRun(session, run)
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
  }) satisfies Partial<Leftovers>
