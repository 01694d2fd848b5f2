// `records-sync sql WAREHOUSE QUERY`: what a query gives, as an import would see it. Reads only.

import { Blocked, SyncError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { copyDatabaseMessage } from '../../core/database-message.ts'
import type { Warehouse } from '../../warehouses/warehouse.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { countText, formatNumber, safeText, table } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

const CELL_CHARS_MAX = 60

const SHOW_TABLES = /^\s*show\s+(?:all\s+)?tables\s*;?\s*$/i
/** Of every schema, because a mirror has one of its own; without what mirrors keep for themselves. */
const TABLES = `SELECT CAST(table_schema AS VARCHAR) AS "schema", CAST(table_name AS VARCHAR) AS "table",
    CASE table_type WHEN 'BASE TABLE' THEN 'table' ELSE lower(CAST(table_type AS VARCHAR)) END AS "kind"
  FROM information_schema.tables
  WHERE table_catalog = current_database() AND table_type <> 'LOCAL TEMPORARY'
    AND table_schema NOT IN ('information_schema', 'pg_catalog') AND table_name NOT LIKE '@_records@_sync@_%' ESCAPE '@'
  ORDER BY 1, 2`

/** `SHOW TABLES` works in every warehouse. `limit`: rows that are shown at most. With `--json`, a line for each row: an object by column. */
export async function sql(
  context: CommandContext,
  name: string,
  query: string,
  { limit }: { readonly limit: number },
): Promise<number> {
  const { terminal } = context
  const { createSourceOpeners } = await import('../../resources/openers.ts')
  const { openWarehouse } = createSourceOpeners(context, () =>
    Promise.reject(new SyncError('not_asked', 'A query needs no connection')),
  )
  const warehouse = await openWarehouse(name)
  try {
    // One more shows whether there are more.
    const { columns, rows } = await firstRows(
      warehouse,
      SHOW_TABLES.test(query) ? TABLES : query,
      limit + 1,
    )
    const shown = rows.slice(0, limit)
    if (context.json) {
      if (new Set(columns).size < columns.length)
        throw new SyncError(
          'query_header',
          'two columns have the same name; expected each name once',
        )
      for (const row of shown)
        printJson(terminal, Object.fromEntries(columns.map((column, at) => [column, row[at]])))
    } else {
      const text = (cell: Json) =>
        cell === null ? 'NULL' : typeof cell === 'string' ? cell : JSON.stringify(cell)
      terminal.out(
        table(
          columns.map((column) => safeText(column, CELL_CHARS_MAX)),
          shown.map((row) => row.map((cell) => safeText(text(cell), CELL_CHARS_MAX))),
        ),
      )
    }
    terminal.err(
      rows.length > limit
        ? `the first ${formatNumber(limit)} rows; there are more: --limit shows them`
        : countText(rows.length, 'row'),
    )
    return EXIT.done
  } catch (error) {
    if (!(error instanceof SyncError) || error instanceof Blocked) throw error
    throw copyDatabaseMessage(
      new SyncError(error.code, `Warehouse ${name}: ${error.message}`),
      error,
    )
  } finally {
    await warehouse.close()
  }
}

async function firstRows(warehouse: Warehouse, query: string, rowsMax: number) {
  const { columns, chunks } = await warehouse.read(query, { rowsMax })
  const rows: (readonly Json[])[] = []
  for await (const chunk of chunks(1_000)) {
    rows.push(...chunk.slice(0, rowsMax - rows.length))
    if (rows.length === rowsMax) break
  }
  return { columns, rows }
}
