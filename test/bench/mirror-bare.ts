// The mirror's baseline, alone in a process: the least a program can do. It lists the contacts in eight shares of their
// times of creation, pages of 100, parses them, and appends them to a table of the same columns as ours, believing whatever
// comes. No checks, no merge, no position.

import { once } from 'node:events'
import {
  DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBTimestampTZValue,
  listValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { Pool } from 'undici'
import type { RecordPage } from '../../src/contract/index.ts'
import { SYSTEM_TYPES } from '../../src/service/schema/system-types.ts'
import { columnType as duckdbType } from '../../src/warehouses/duckdb/sql.ts'
import { DECIMAL, type ColumnType } from '../../src/warehouses/mirror-tables.ts'
import { columnType as postgresType } from '../../src/warehouses/postgres/sql.ts'
import { startFigures } from './mirror-figures.ts'

const RANGES = 8
/** As many as DuckDB takes at once. */
const CHUNK_ROWS = 2_048
const CONTACT = 'svc_contact'
const CREATED = 'svc_created_at'
const HOLDS: Readonly<Record<string, ColumnType['holds']>> = {
  number: 'decimal',
  currency: 'decimal',
  boolean: 'boolean',
  date: 'date',
  datetime: 'instant',
}

type Wire = RecordPage['data'][number]
type Plain = string | number | boolean | string[] | null
interface Column {
  readonly name: string
  readonly type: ColumnType
  of(record: Wire, seenAt: string): Plain
}

const own = (name: string, holds: ColumnType['holds'], of: Column['of']): Column => ({
  name,
  type: { holds, list: false },
  of,
})
const ofProperty = (property: string) => (record: Wire) => record.properties[property] as Plain
const money = (property: string) => (record: Wire) =>
  record.properties[property] as { amount: string; unit: string }
const COLUMNS: readonly Column[] = [
  own('_id', 'text', ({ id }) => id),
  own('_version', 'instant', ofProperty('svc_updated_at')),
  own('_first_seen_at', 'instant', (_, seenAt) => seenAt),
  own('_last_seen_at', 'instant', (_, seenAt) => seenAt),
  own('_deleted_at', 'instant', () => null),
  own('_run', 'decimal', () => 1),
  own('_misfits', 'json', () => null),
  ...SYSTEM_TYPES.get(CONTACT)!.schema.properties.flatMap(
    ({ name, field_type, is_multi: list }): Column[] => {
      const type = { holds: HOLDS[field_type] ?? 'text', list }
      if (field_type !== 'currency') return [{ name, type, of: ofProperty(name) }]
      return [
        { name, type, of: (record) => money(name)(record).amount },
        own(`${name}_unit`, 'text', (record) => money(name)(record).unit),
      ]
    },
  ),
]

/** Where the rows of a page go. */
interface Table {
  add(records: readonly Wire[], seenAt: string): void | Promise<void>
  end(): Promise<void>
}

async function duckdbTable(file: string): Promise<Table> {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  const columns = COLUMNS.map(({ name, type }) => `"${name}" ${duckdbType(type)}`)
  await connection.run(`CREATE TABLE contacts (${columns.join()})`)
  const appender = await connection.createAppender('contacts')
  const types = COLUMNS.map((_, index) => appender.columnType(index))
  const scale = 10 ** DECIMAL.scale
  const valueOf: Record<ColumnType['holds'], (value: Plain) => DuckDBValue> = {
    text: (value) => value as string,
    json: (value) => value as string,
    boolean: (value) => value as boolean,
    decimal: (value) => {
      const units = BigInt(Math.round(Number(value) * scale))
      return new DuckDBDecimalValue(units, DECIMAL.digits, DECIMAL.scale)
    },
    date: (value) => new DuckDBDateValue(Date.parse(value as string) / 86_400_000),
    instant: (value) => new DuckDBTimestampTZValue(BigInt(Date.parse(value as string)) * 1_000n),
  }
  let waiting: DuckDBValue[][] = []
  // Three times as fast as value by value, where some are lists.
  const flush = () => {
    const chunk = DuckDBDataChunk.create(types, waiting.length)
    chunk.setRows(waiting)
    appender.appendDataChunk(chunk)
    waiting = []
  }
  return {
    add(records, seenAt) {
      for (const record of records) {
        const row = COLUMNS.map(({ type, of }) => {
          const value = of(record, seenAt)
          if (value === null) return null
          return type.list ? listValue(value as string[]) : valueOf[type.holds](value)
        })
        if (waiting.push(row) === CHUNK_ROWS) flush()
      }
    },
    async end() {
      if (waiting.length > 0) flush()
      appender.closeSync()
      connection.closeSync()
      instance.closeSync()
    },
  }
}

const SPECIAL = /[\\\n\t]/

async function postgresTable(url: string): Promise<Table> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const columns = COLUMNS.map(({ name, type }) => `"${name}" ${postgresType(type)}`)
  await client.query(`CREATE TABLE contacts (${columns.join()})`)
  const copy = client.query(copyFrom('COPY contacts FROM STDIN'))
  const escaped = (text: string) =>
    SPECIAL.test(text)
      ? text
          .replaceAll('\\', '\\\\')
          .replaceAll('\n', String.raw`\n`)
          .replaceAll('\t', String.raw`\t`)
      : text
  const field = (value: Plain) => {
    if (value === null) return String.raw`\N`
    if (!Array.isArray(value)) return escaped(String(value))
    const items = value.map((item) => `"${item.replaceAll(/["\\]/g, String.raw`\$&`)}"`)
    return escaped(`{${items.join()}}`)
  }
  return {
    async add(records, seenAt) {
      let lines = ''
      for (const record of records)
        lines += `${COLUMNS.map(({ of }) => field(of(record, seenAt))).join('\t')}\n`
      if (!copy.write(lines)) await once(copy, 'drain')
    },
    async end() {
      copy.end()
      await once(copy, 'finish')
      await client.end()
    },
  }
}

const [, , kind, url, place] = process.argv as [string, string, string, string, string]
const table = kind === 'duckdb' ? await duckdbTable(place) : await postgresTable(place)
const pool = new Pool(url, { connections: RANGES })

async function page(body: object): Promise<RecordPage> {
  const path = `/rest/v1/objects/${CONTACT}/records/query/`
  const headers = { 'content-type': 'application/json' }
  const answer = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) })
  return (await answer.body.json()) as RecordPage
}

const edge = async (direction: 'asc' | 'desc') => {
  const { data } = await page({ sorts: [{ property: CREATED, direction }], limit: 1 })
  return Date.parse(data[0]!.properties[CREATED] as string)
}

const figures = startFigures()
const low = await edge('asc')
const span = (await edge('desc')) + 1 - low
const cut = (share: number) => new Date(low + Math.round((span * share) / RANGES)).toISOString()
let rows = 0

async function readRange(share: number): Promise<void> {
  const query = {
    filter: {
      $and: [
        { property: CREATED, op: 'gte', value: cut(share) },
        { property: CREATED, op: 'lt', value: cut(share + 1) },
      ],
    },
    sorts: [{ property: CREATED, direction: 'asc' }],
  }
  let cursor: string | null = null
  do {
    const seenAt = new Date().toISOString()
    const { data, pagination }: RecordPage = await page({ ...query, cursor })
    await table.add(data, seenAt)
    rows += data.length
    cursor = pagination.next_cursor ?? null
  } while (cursor !== null)
}

await Promise.all(Array.from({ length: RANGES }, (_, share) => readRange(share)))
await table.end()
process.stdout.write(`${JSON.stringify(figures(rows))}\n`)
await pool.close()
