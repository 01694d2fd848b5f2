// A SQL query as a source. Promise kept here: every row of the answer becomes exactly one row, numbered in the query's order, or
// the reading ends with an error that names the sync. The new watermark is known only after the last row.

import { createHash } from 'node:crypto'
import { Blocked, SourceError, SyncError } from '../../core/errors.ts'
import { canonicalJson } from '../../core/json.ts'
import { copyDatabaseMessage } from '../../core/database-message.ts'
import type { Reading, Warehouse } from '../../warehouses/warehouse.ts'
import { tooManyColumns } from '../columns.ts'
import { singlePass } from '../single-pass.ts'
import {
  FROM_THE_START,
  type Source,
  type SourceFault,
  type SourceRow,
  type SourceSummary,
} from '../source.ts'
import { greatestValue } from './greatest.ts'
import { resumesFrom, boundQuery } from './parameters.ts'
import type { QuerySettings } from './settings.ts'

/**
 * Opens the warehouse and runs the query. The source closes the warehouse.
 * @param sync its name, for messages
 * @param extent default: from the start, without a window
 * @throws SourceError query_refused, query_header, query_column, query_watermark, query_window; Blocked if the
 *   warehouse is unavailable
 */
export async function openQuery(
  sync: string,
  from: QuerySettings,
  openWarehouse: (name: string, signal?: AbortSignal) => Promise<Warehouse>,
  signal?: AbortSignal,
  extent = FROM_THE_START,
): Promise<Source> {
  const { warehouse: name } = from
  const fault = (code: string, message: string) =>
    new SourceError(code, `Sync "${sync}", query of warehouse ${name}: ${message}`)
  const ours = (error: unknown): unknown =>
    error instanceof SyncError && !(error instanceof Blocked || error instanceof SourceError)
      ? copyDatabaseMessage(fault(error.code, error.message), error)
      : error
  const query = boundQuery(from, extent, fault)
  const warehouse = await openWarehouse(name, signal)
  try {
    const reading = await warehouse.read(query, { signal })
    checkColumns(reading.columns, fault)
    const greatest = from.watermark
      ? greatestValue(
          from.watermark.column,
          reading,
          resumesFrom(from, extent),
          fault,
          from.watermark.lag,
        )
      : null
    // A window's result does not move the starting point of the next reading.
    const isMoved = extent.window === null
    return singlePass({
      columns: reading.columns,
      warnings: tieWarning(from.query),
      kinds: reading.kinds,
      fault,
      async *read(rowsMax, stop) {
        try {
          return yield* rowsOf(reading, { greatest, isMoved }, rowsMax, stop)
        } catch (error) {
          stop?.throwIfAborted()
          throw ours(error)
        }
      },
      close: () => warehouse.close(),
    })
  } catch (error) {
    await warehouse.close()
    throw ours(error)
  }
}

/** That rows with the very time that was reached may be left out; empty if the query compares otherwise. */
const tieWarning = (query: string): string[] =>
  /(?:(?<!<)>\s*(?:cast\s*\(\s*|timestamp\s+)?:watermark\b|:watermark(?:::\w+)?\s*<(?![=>]))/i.test(
    query,
  )
    ? [
        'the query reads rows that are greater than `:watermark`: another row that gets the very value that was reached is never read; write `>= :watermark`, and what is read twice is unchanged',
      ]
    : []

async function* rowsOf(
  reading: Reading,
  watermark: { greatest: ReturnType<typeof greatestValue> | null; isMoved: boolean },
  rowsMax: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly SourceRow[], SourceSummary, undefined> {
  const { greatest, isMoved } = watermark
  // The digest covers the cells, a line each: a query has no bytes of its own.
  const digest = createHash('sha256').update(`${canonicalJson(reading.columns)}\n`)
  let rows = 0
  for await (const chunk of reading.chunks(rowsMax)) {
    signal?.throwIfAborted()
    yield chunk.map((cells) => {
      digest.update(`${canonicalJson(cells)}\n`)
      rows++
      if (isMoved) greatest?.see(rows, cells)
      const rank = greatest?.rank(cells)
      return { ordinal: rows, line: rows, ...(rank !== undefined && { watermark: rank }), cells }
    })
  }
  const reached = isMoved ? greatest?.watermark() : null
  return { rows, digest: digest.digest('hex'), ...(reached && { watermark: reached }) }
}

/** Each column has a name of its own. @throws SourceError query_header */
export function checkColumns(columns: readonly string[], fault: SourceFault): void {
  if (columns.length === 0)
    throw fault('query_header', 'the answer has no columns; expected at least one')
  const tooMany = tooManyColumns('the answer', columns.length)
  if (tooMany !== null) throw fault('query_header', tooMany)
  const seen = new Map<string, number>()
  columns.forEach((name, index) => {
    const column = index + 1
    if (name.trim() === '')
      throw fault(
        'query_header',
        `column ${column} has no name; expected one, such as \`… AS name\``,
      )
    const earlier = seen.get(name)
    if (earlier !== undefined)
      throw fault(
        'query_header',
        `columns ${earlier} and ${column} have the same name ${JSON.stringify(name)}; expected each name once, such as \`… AS other_name\``,
      )
    seen.set(name, column)
  })
}
