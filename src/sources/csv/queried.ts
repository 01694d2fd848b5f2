// A query over the rows of a CSV file, and over other files that it names. Promise kept here: the files are read as without a query, each
// row of the answer knows its line, and nothing but these files is read.

import { createHash } from 'node:crypto'
import { copyDatabaseMessage } from '../../core/database-message.ts'
import { Blocked, SourceError, SyncError } from '../../core/errors.ts'
import { canonicalJson, isJsonObject, type Json } from '../../core/json.ts'
import type { Reading, TextTables } from '../../warehouses/warehouse.ts'
import { checkColumns } from '../query/index.ts'
import { singlePass } from '../single-pass.ts'
import type { Source, SourceFault, SourceRow, SourceSummary } from '../source.ts'
import { csvFaults, type CsvFault } from './faults.ts'
import { joinStamps } from './file.ts'
import { openCsv, type CsvOptions } from './index.ts'
import { marksOf } from './settings.ts'

/** The table of the file. */
export const ROWS = 'rows'
/** Its column with the line on which each row begins. */
export const LINE = '_line'
const CHUNK_ROWS = 1_000

export interface QueriedCsv {
  readonly sql: string
  /** Other files, by the names of their tables. */
  readonly tables: Readonly<Record<string, string>>
}

/**
 * Opens the files and understands the query; rows are read by `chunks`.
 * @throws SourceError as `openCsv`; csv_column for a name that a query cannot tell from another one; query_refused, query_line,
 *   query_order, query_header, query_column
 */
export async function openQueriedCsv(
  options: CsvOptions,
  { sql, tables }: QueriedCsv,
  openTables: (place: string, instead: string) => Promise<TextTables>,
  signal?: AbortSignal,
): Promise<Source> {
  const others = Object.entries(tables).map(([name, path]) => ({ name, path, ...marksOf(options) }))
  const fault: SourceFault = (code, message) =>
    new SourceError(code, `${options.path}: the query over it: ${message}`)
  const opened: OpenedTable[] = []
  let database: TextTables | undefined
  const close = async () => {
    await database?.close()
    for (const { source } of opened) await source.close()
  }
  try {
    // Rows of another length have no place in a table.
    const ragged = options.ragged === 'pad' ? 'pad' : 'refuse'
    opened.push(await openTable({ ...options, name: ROWS, ragged }))
    for (const file of others) opened.push(await openTable({ ...file, ragged: 'refuse' }))
    const named = [ROWS, ...Object.keys(tables)].join(', ')
    database = await openTables(
      options.path,
      `expected a query over: ${named}; \`tables\` under \`from\` names other CSV files`,
    )
    for (const { name, source } of opened) await database.create(name, columnsOf(name, source))
    const reading = await database.read(sql, LINE, signal).catch((error: unknown) => {
      throw ours(error, fault)
    })
    const line = reading.columns.indexOf(LINE)
    const columns = reading.columns.filter((_, index) => index !== line)
    checkColumns(columns, fault)
    const [rows] = opened
    const found = () => opened.flatMap(({ source }) => source.warnings ?? [])
    const warnings = found()
    return singlePass({
      columns,
      kinds: reading.kinds.filter((_, index) => index !== line),
      warnings,
      fault,
      async *read(rowsMax, stop) {
        try {
          for (const { name, source } of opened)
            await database!.fill(name, cellsOf(name, source, stop))
          warnings.splice(0, warnings.length, ...found())
          return yield* answerOf(reading, { line, opened, sql, fault }, rowsMax, stop)
        } catch (error) {
          stop?.throwIfAborted()
          throw ours(error, fault)
        }
      },
      readShare: () => rows!.source.readShare?.() ?? null,
      stamp: () => joinStamps(opened.map(({ source }) => source.stamp!())),
      close,
    })
  } catch (error) {
    await close()
    throw error
  }
}

interface OpenedTable {
  readonly name: string
  readonly path: string
  readonly source: Source
}

async function openTable(options: CsvOptions & { readonly name: string }): Promise<OpenedTable> {
  const { name, path } = options
  const source = await openCsv(options)
  try {
    checkNames(source.columns, csvFaults(path), name === ROWS)
    return { name, path, source }
  } catch (error) {
    await source.close()
    throw error
  }
}

/** A query does not tell capitals from small letters in names. @throws SourceError csv_column */
function checkNames(columns: readonly string[], fault: CsvFault, isRows: boolean): void {
  const seen = new Map<string, number>(isRows ? [[LINE, 0]] : [])
  columns.forEach((name, index) => {
    const folded = name.toLowerCase()
    const earlier = seen.get(folded)
    if (earlier === 0)
      throw fault(
        'csv_column',
        `column ${index + 1} of the header is called ${LINE}, as is the line of each row in a query; rename it`,
        { line: 1, column: index + 1 },
      )
    if (earlier !== undefined)
      throw fault(
        'csv_column',
        `columns ${earlier} and ${index + 1} of the header differ in capitals only, which a query does not tell apart; rename one`,
        { line: 1, column: index + 1 },
      )
    seen.set(folded, index + 1)
  })
}

const columnsOf = (name: string, { columns }: Source) => [
  ...(name === ROWS ? [{ name: LINE, isWhole: true }] : []),
  ...columns.map((column) => ({ name: column })),
]

async function* cellsOf(name: string, source: Source, signal: AbortSignal | undefined) {
  for await (const rows of source.chunks(CHUNK_ROWS, signal))
    yield rows.map(({ line, cells }) => {
      const texts = cells as readonly string[]
      return name === ROWS ? [BigInt(line), ...texts] : texts
    })
}

/** The rows of the answer. The digest is that of the files and of the query. */
async function* answerOf(
  reading: Reading,
  {
    line,
    opened,
    sql,
    fault,
  }: {
    readonly line: number
    readonly opened: readonly OpenedTable[]
    readonly sql: string
    readonly fault: SourceFault
  },
  rowsMax: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly SourceRow[], SourceSummary, undefined> {
  let rows = 0
  for await (const chunk of reading.chunks(rowsMax)) {
    signal?.throwIfAborted()
    yield chunk.map((cells): SourceRow => {
      const at = Number(cells[line] ?? 0)
      rows++
      if (!Number.isSafeInteger(at) || at < 1)
        throw fault(
          'query_line',
          `row ${rows} of the answer has no line in ${LINE}; expected that of a row of ${ROWS}, or the first of several: \`min(${LINE}) AS ${LINE}\``,
        )
      const nul = cells.findIndex(hasNul)
      if (nul !== -1)
        throw fault(
          'csv_nul',
          `row ${rows} of the answer, which begins in line ${at} of the file, has a NUL character in column ${reading.columns[nul]}; expected text without NUL`,
        )
      return { ordinal: rows, line: at, cells: cells.filter((_, index) => index !== line) }
    })
  }
  const parts = opened.map(({ name, source }) => [name, source.summary().digest])
  const digest = createHash('sha256').update(canonicalJson([sql, ...parts]))
  return { rows, digest: digest.digest('hex') }
}

/** As in a file, where a NUL byte stops the reading too. */
function hasNul(cell: Json): boolean {
  if (typeof cell === 'string') return cell.includes('\0')
  if (Array.isArray(cell)) return cell.some((part) => hasNul(part as Json))
  return (
    isJsonObject(cell) && Object.entries(cell).some(([name, part]) => hasNul(name) || hasNul(part))
  )
}

/** What the database says, as an error of this source. */
function ours(error: unknown, fault: SourceFault): unknown {
  if (!(error instanceof SyncError) || error instanceof Blocked || error instanceof SourceError)
    return error
  if (error.code === 'warehouse_not_installed') return error
  const message = error.message.replace('the warehouse refused the query', 'DuckDB refuses it')
  const { line, column } = error.details as { readonly line?: unknown; readonly column?: unknown }
  const place = {
    ...(typeof line === 'number' && { line }),
    ...(typeof column === 'number' && { column }),
  }
  const made = fault(error.code, message)
  return copyDatabaseMessage(new SourceError(made.code, made.message, place), error)
}
