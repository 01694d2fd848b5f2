// What an incremental reading goes on from: the last complete run, how far it read, and the rows that it left over.

import { parseJson, type Json } from '../../core/json.ts'
import type { Watermark } from '../../core/watermark.ts'
import type { Ledger } from '../ledger.ts'
import { completeStates } from '../rows.ts'
import type { PostgresDatabase } from './session.ts'
import { leftOf, withRaw } from './left.ts'
import { newestRunElsewhere } from './origins.ts'

type IncrementalMethods = Pick<Ledger, 'lastReading' | 'leftRows' | 'stagedKeys'>

export function incrementalMethods(db: PostgresDatabase): IncrementalMethods {
  return {
    async lastReading({ sync, origin, orgId, objectType, matchingProperty }) {
      const own = `(SELECT id FROM destinations WHERE sync = $1 AND origin = $2 AND org_id = $3
        AND object_type = $4 AND matching_property = $5)`
      const row = await db.one(
        `SELECT id, watermark, source_columns FROM runs
         WHERE destination = ${own}
           AND watermark IS NOT NULL AND state IN (${completeStates})
           AND id > ${newestRunElsewhere(own)}
           AND id > (SELECT restored_after FROM project)
         ORDER BY id DESC LIMIT 1`,
        [sync, origin, orgId, objectType, matchingProperty],
      )
      if (!row) return null
      return {
        run: Number(row['id']),
        watermark: row['watermark'] as Watermark,
        columns: row['source_columns'] as string[],
      }
    },

    async leftRows(run, { after, limit }) {
      // Payloads first: of a closed run only those are there that were not accepted.
      const rows = await db.all(
        `SELECT own.ordinal, last.raw FROM ${leftOf('payloads', 'kept.ordinal > $2')} ${withRaw}
         WHERE now.key IS NOT NULL AND last.raw IS NOT NULL ORDER BY own.ordinal LIMIT $3`,
        [run, after, limit],
      )
      return rows.map((row) => ({
        ordinal: Number(row['ordinal']),
        raw: parseJson(String(row['raw'])) as Json[],
      }))
    },

    async stagedKeys(run, keys, { upTo }) {
      const rows = await db.all(
        `SELECT wanted.key FROM unnest($1::integer[], $2::text[]) AS wanted (run, key)
         WHERE (SELECT true FROM items
           WHERE hashtextextended(items.key, items.run) = hashtextextended(wanted.key, wanted.run)
             AND items.key = wanted.key AND items.run + 0 = wanted.run AND items.ordinal::bigint <= $3 LIMIT 1)`,
        [keys.map(() => run), keys, upTo],
      )
      return new Set(rows.map((row) => String(row['key'])))
    },
  }
}
