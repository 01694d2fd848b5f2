// Writes rows to a Parquet file. Promise kept here: memory does not grow with the number of rows; either the file is written
// whole, or there is an error; every text is as it was given, whatever characters it contains. The rows go through a file of JSON
// lines: passing them to the driver value by value takes three times as long.

import { chmod, open, rm } from 'node:fs/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { SyncError } from '../../core/errors.ts'
import { ownValue } from '../../core/json.ts'
import { quoteLiteral } from './sql.ts'
import { temporaryFolder } from './temporary.ts'

const MEMORY = '128MB'
/** A row group is made in memory: this many characters, but at least this many rows, and at most DuckDB's default. */
const GROUP = { characters: 16_000_000, rowsMin: 2_048, rowsMax: 122_880 } as const

/** `integer`: 64 bits; `instant`: a time in UTC, given as ISO 8601. */
export type ParquetType = 'text' | 'integer' | 'number' | 'instant'

export interface ParquetColumn {
  readonly name: string
  readonly type: ParquetType
}

type Value = string | number | null
export type ParquetRow = Readonly<Record<string, Value>>

interface TypeFacts {
  /** Its name in DuckDB. */
  readonly sql: string
  /** What a value of it is, for messages. */
  readonly expected: string
  fits(value: Value | undefined): boolean
}

const TYPES: Readonly<Record<ParquetType, TypeFacts>> = {
  text: { sql: 'VARCHAR', expected: 'a text', fits: (value) => typeof value === 'string' },
  integer: { sql: 'BIGINT', expected: 'a whole number', fits: Number.isSafeInteger },
  number: { sql: 'DOUBLE', expected: 'a number', fits: Number.isFinite },
  instant: {
    sql: 'TIMESTAMP WITH TIME ZONE',
    expected: 'a time, such as 2026-01-31T08:15:00.000Z',
    fits: (value) =>
      typeof value === 'string' &&
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/.test(value) &&
      !Number.isNaN(Date.parse(value)),
  },
}

/**
 * Writes pages of rows, in order, to a new file; next to it, `<path>.lines` holds the rows meanwhile. The caller removes what a
 * failure leaves of the file itself.
 * @returns the number of rows
 * @throws SyncError `export_unfit` if a value is not of its column's type, `export_failed` if the file cannot be written; what
 *   `pages` throws
 */
export async function writeParquet(
  path: string,
  columns: readonly ParquetColumn[],
  pages: AsyncIterable<readonly ParquetRow[]>,
): Promise<number> {
  const lines = `${path}.lines`
  try {
    const { rows, characters } = await writeLines(path, lines, columns, pages)
    const written = await copy(path, lines, columns, groupOf(rows, characters)).catch(
      (error: unknown) => {
        throw unwritten(path, error)
      },
    )
    if (written !== rows) throw unwritten(path, null)
    return rows
  } finally {
    await rm(lines, { force: true })
  }
}

/** Writes the rows as JSON objects, one a line. */
async function writeLines(
  path: string,
  lines: string,
  columns: readonly ParquetColumn[],
  pages: AsyncIterable<readonly ParquetRow[]>,
): Promise<{ rows: number; characters: number }> {
  const refuse = (error: unknown) => {
    throw unwritten(path, error)
  }
  const file = await open(lines, 'w', 0o600).catch(refuse)
  let rows = 0
  let characters = 0
  try {
    for await (const page of pages) {
      let text = ''
      for (const row of page) {
        rows++
        for (const column of columns) check(column, row, rows)
        text += `${JSON.stringify(row)}\n`
      }
      await file.appendFile(text).catch(refuse)
      characters += text.length
    }
  } finally {
    await file.close().catch(refuse)
  }
  return { rows, characters }
}

/** Copies the rows from one file into the other. @returns how many there were */
async function copy(
  path: string,
  lines: string,
  columns: readonly ParquetColumn[],
  groupRows: number,
): Promise<number> {
  const folder = temporaryFolder('parquet', path)
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    memory_limit: MEMORY,
    temp_directory: folder,
    threads: '1',
  })
  try {
    const connection = await instance.connect()
    try {
      const shape = columns.map(
        ({ name, type }) => `${quoteLiteral(name)}: ${quoteLiteral(TYPES[type].sql)}`,
      )
      const rows = `read_json(${quoteLiteral(lines)}, format = 'newline_delimited', compression = 'uncompressed', columns = {${shape.join(', ')}})`
      const done = await connection.runAndReadAll(
        `SET TimeZone = 'UTC'; COPY (FROM ${rows}) TO ${quoteLiteral(path)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${groupRows})`,
      )
      await chmod(path, 0o600)
      return Number(done.getRows()[0]?.[0])
    } finally {
      connection.closeSync()
    }
  } finally {
    instance.closeSync()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Rows per row group. */
function groupOf(rows: number, characters: number): number {
  const size = Math.floor((GROUP.characters * rows) / Math.max(1, characters))
  return Math.min(GROUP.rowsMax, Math.max(GROUP.rowsMin, size))
}

/** @throws SyncError if a value is not of its column's type */
function check({ name, type }: ParquetColumn, row: ParquetRow, number: number): void {
  const value = ownValue(row, name)
  if (value === null || TYPES[type].fits(value)) return
  throw new SyncError(
    'export_unfit',
    `Row ${number}, column ${name}: expected ${value === undefined ? 'a value or null; there is none' : TYPES[type].expected}`,
  )
}

/** Keeps only the code of an error, or DuckDB's class: the rest may quote a value. */
function unwritten(path: string, error: unknown): SyncError {
  const { code, message } =
    error instanceof Error ? (error as NodeJS.ErrnoException) : { message: '' }
  const kind = code ?? /^([A-Z][A-Za-z ]{1,30} Error):/.exec(message)?.[1] ?? 'not every row'
  return new SyncError(
    'export_failed',
    `The file ${path} cannot be written (${kind}); look at the rights of its folder, and at the room on its disk, where the rows are twice for a while`,
  )
}
