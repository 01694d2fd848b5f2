// What an incremental reading goes on from: the last complete run, how far it read, and the rows that it left over.

import { parseJson, type Json } from '../../core/json.ts'
import type { Watermark } from '../../core/watermark.ts'
import type { Ledger } from '../ledger.ts'
import { completeStates } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'
import { leftOf, withRaw } from './left.ts'
import { newestRunElsewhere } from './origins.ts'

type IncrementalMethods = Pick<Ledger, 'lastReading' | 'leftRows' | 'stagedKeys'>

export function incrementalMethods(db: SqliteDatabase): IncrementalMethods {
  return {
    async lastReading({ sync, origin, orgId, objectType, matchingProperty }) {
      const own = `(SELECT id FROM destinations WHERE sync = ?1 AND origin = ?2 AND org_id = ?3
        AND object_type = ?4 AND matching_property = ?5)`
      const row = db
        .sql(
          `SELECT id, watermark, source_columns FROM runs
           WHERE destination = ${own}
             AND watermark IS NOT NULL AND state IN (${completeStates})
             AND id > ${newestRunElsewhere(own)}
             AND id > (SELECT restored_after FROM project)
           ORDER BY id DESC LIMIT 1`,
        )
        .get(sync, origin, orgId, objectType, matchingProperty)
      if (!row) return null
      return {
        run: Number(row['id']),
        watermark: JSON.parse(String(row['watermark'])) as Watermark,
        columns: JSON.parse(String(row['source_columns'])) as string[],
      }
    },

    async leftRows(run, { after, limit }) {
      // Payloads first: of a closed run only those are there that were not accepted.
      return db
        .sql(
          `SELECT own.ordinal, last.raw FROM ${leftOf('payloads', 'kept.ordinal > ?2')} ${withRaw}
           WHERE now.key IS NOT NULL AND last.raw IS NOT NULL ORDER BY own.ordinal LIMIT ?3`,
        )
        .all(run, after, limit)
        .map((row) => ({
          ordinal: Number(row['ordinal']),
          raw: parseJson(String(row['raw'])) as Json[],
        }))
    },

    async stagedKeys(run, keys, { upTo }) {
      // Key by key: in a JSON list SQLite ends a text at U+0000.
      const find = db.sql(
        'SELECT 1 FROM items INDEXED BY items_key WHERE run = ? AND key = ? AND ordinal <= ? LIMIT 1',
      )
      return new Set(keys.filter((key) => find.get(run, key, upTo)))
    },
  }
}
