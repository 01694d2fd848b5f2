// The queries that syncs read tables with, and what the warehouse has answered. A table is a file that the product's own driver (DuckDB)
// reads; it is carried out as the calls of a mirror's warehouse are.

import { createHash } from 'node:crypto'
import type { QueryScene, SyncScene } from '../search/plan.ts'
import type { FileState } from '../model/sources.ts'
import { cursorOf, INITIAL, isGreater, type TableRow } from '../model/tables.ts'

type Json = Record<string, unknown>

export const QUERIED = 'lake'

/** What a whole answer was. */
export interface QueryReading {
  readonly sync: string
  readonly column: QueryScene['column']
  /** The watermark that the query was asked with. */
  readonly begin: string
  /** The window that it was asked for. */
  readonly from: string | null
  readonly to: string | null
  readonly rows: readonly TableRow[]
  /** As docs/ledger.md has it of a source: of all that was read. */
  readonly digest: string
  /** Whether these are the rows that the query asks for. */
  readonly isExact: boolean
}

/** `from` of an import. */
export function queryOf({ name, properties }: SyncScene, { column, back }: QueryScene): Json {
  const columns = ['code', ...properties].map((property) => `'${property}': 'VARCHAR'`).join(', ')
  const from = column === 'version' ? ':watermark::BIGINT' : ':watermark::TIMESTAMP'
  const before = column === 'version' ? back : `INTERVAL '${back} seconds'`
  return {
    warehouse: QUERIED,
    query: `SELECT * FROM read_csv('./${name}.csv', header = true, columns = { ${columns}, 'updated_at': 'TIMESTAMP', 'version': 'BIGINT' })
      WHERE ${column} >= ${from} - ${before} AND (:from IS NULL OR updated_at >= :from) AND (:to IS NULL OR updated_at < :to) ORDER BY ${column}, code`,
    watermark: { column, initial: INITIAL[column] },
  }
}

const ASKED =
  /read_csv\('\.\/(\w+)\.csv'[^]*WHERE (updated_at|version) >= '([^']*)'::\w+ - (?:INTERVAL ')?(\d+)[^]* >= (NULL|'[^']*')[^]* < (NULL|'[^']*')/

type Asked = Omit<QueryReading, 'rows' | 'digest' | 'isExact'> & { readonly back: number }

const literal = (text: string | undefined): string | null =>
  text === undefined || text === 'NULL' ? null : text.slice(1, -1)

/** The rows that a query asks for. */
function askedRows(
  rows: readonly TableRow[],
  { column, begin, back, from, to }: Asked,
): readonly TableRow[] {
  const least =
    column === 'version'
      ? String(Number(begin) - back)
      : new Date(Date.parse(begin) - back * 1_000).toISOString().replace('.000Z', 'Z')
  return rows.filter((row) => {
    const isIn =
      (from === null || row.changedAt >= Date.parse(from)) &&
      (to === null || row.changedAt < Date.parse(to))
    return isIn && !isGreater(column, least, cursorOf(column, row))
  })
}

type Tables = ReadonlyMap<string, { readonly last: FileState }>

/** Notes the answer of one query, chunk by chunk. */
export class AnswerNotes {
  readonly #table: { readonly last: FileState }
  readonly #asked: Asked
  readonly #lines: string[]
  readonly #codes: string[] = []
  #rows: readonly TableRow[] = []

  constructor(query: string, columns: readonly string[], tables: Tables) {
    const [, sync, column, begin, back, from, to] = ASKED.exec(query)!
    this.#asked = {
      sync: sync!,
      column: column as QueryScene['column'],
      begin: begin!,
      back: Number(back),
      from: literal(from),
      to: literal(to),
    }
    this.#table = tables.get(sync!)!
    this.#lines = [JSON.stringify(columns)]
  }

  /** The warehouse has just looked at the table. */
  looked(): void {
    this.#rows = this.#table.last.rows as readonly TableRow[]
  }

  add(rows: readonly (readonly unknown[])[]): void {
    for (const cells of rows) {
      this.#lines.push(JSON.stringify(cells))
      this.#codes.push(String(cells[0]).trim())
    }
  }

  end(): QueryReading {
    const byCode = new Map(this.#rows.map((row) => [row.code, row]))
    const rows = this.#codes.flatMap((code) => byCode.get(code) ?? [])
    const digest = createHash('sha256')
      .update(`${this.#lines.join('\n')}\n`)
      .digest('hex')
    const asked = askedRows(this.#rows, this.#asked)
    const isExact = asked.length === rows.length && asked.every((row) => rows.includes(row))
    return { ...this.#asked, rows, digest, isExact }
  }
}
