// What the tables of a mirror in PostgreSQL hold, for the judge.

import { MIRROR, type Cells, type TableReader } from '../world/warehouse.ts'
import type { Database } from './database.ts'

/** @param database null: there is no mirror */
export const mirrorReader =
  (database: Database | null): TableReader =>
  async (name, columns) => {
    const there = database!
      .ask<{ name: string }>(
        'SELECT column_name::text AS name FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2',
        [MIRROR, name],
      )
      .map((column) => column.name)
    if (there.length === 0) return null
    // A process that stands still in the middle of a change of the table: nobody may look now.
    const locked = database!.ask(
      `SELECT 1 FROM pg_locks WHERE relation = to_regclass($1) AND mode = 'AccessExclusiveLock' AND granted`,
      [`${MIRROR}."${name}"`],
    )
    if (locked.length > 0) return null
    // A property that was never there has no column.
    const texts = columns.map(
      (column, at) => `${there.includes(column) ? `"${column}"::text` : 'NULL'} AS c${at}`,
    )
    const rows = database!.ask<Record<string, string | null>>(
      `SELECT ${texts.join()} FROM ${MIRROR}."${name}" ORDER BY 1`,
    )
    return rows.map((row): Cells => columns.map((_, at) => row[`c${at}`] ?? null))
  }
