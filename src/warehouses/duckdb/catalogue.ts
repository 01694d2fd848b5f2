// The schema of a mirror: its catalogue of owner, streams and columns, its tables, and whether they match the catalogue.

import { FenceLost, SyncError } from '../../core/errors.ts'
import type { HolderClaim } from '../../core/mirror.ts'
import type { ColumnType, MirrorColumn, MirrorStream, StreamChange } from '../mirror-tables.ts'
import { FILE, type Ask } from './attached.ts'
import { noteHolder } from './holder.ts'
import { quoteIdentifier, quoteLiteral, rowsOf, columnType } from './sql.ts'
import { tableIn, type SchemaPlace } from './schema.ts'

const LAYOUT = 1

/** The columns that every table has, with their types. */
const OWN: readonly (readonly [name: string, type: string])[] = [
  ['_id', 'VARCHAR'],
  ['_version', 'TIMESTAMP WITH TIME ZONE'],
  ['_first_seen_at', 'TIMESTAMP WITH TIME ZONE'],
  ['_last_seen_at', 'TIMESTAMP WITH TIME ZONE'],
  ['_deleted_at', 'TIMESTAMP WITH TIME ZONE'],
  ['_run', 'BIGINT'],
  ['_misfits', 'JSON'],
]

/** The catalogue tables. */
const booksIn = (schema: string) => ({
  mirror: tableIn(schema, '_records_sync_mirror'),
  streams: tableIn(schema, '_records_sync_streams'),
  columns: tableIn(schema, '_records_sync_columns'),
})

const lower = (name: string): string => name.toLowerCase()
const textOfType = ({ holds, list }: ColumnType): string => (list ? `${holds}[]` : holds)

/** Creates the schema and its catalogue if they are missing. In a transaction. */
export async function ownSchema(
  ask: Ask,
  { place, schema }: SchemaPlace,
  claim: HolderClaim,
): Promise<void> {
  const { owner, project, sync } = claim
  const other = (sentence: string) =>
    new SyncError(
      'warehouse_other_mirror',
      `The schema ${schema} of the warehouse ${place} ${sentence}`,
    )
  const books = booksIn(schema)
  const there = await tablesIn(ask, schema)
  if (there.size === 0) {
    await ask(`CREATE SCHEMA IF NOT EXISTS ${FILE}.${quoteIdentifier(schema)}`)
    await ask(
      `CREATE TABLE ${books.mirror} (owner VARCHAR, version INTEGER, project VARCHAR, sync VARCHAR)`,
    )
    await ask(
      `CREATE TABLE ${books.streams} (name VARCHAR, table_name VARCHAR, fence BIGINT, position VARCHAR)`,
    )
    await ask(
      `CREATE TABLE ${books.columns} (stream VARCHAR, column_name VARCHAR, property VARCHAR, part VARCHAR,
         field_type VARCHAR, type VARCHAR, live BOOLEAN, ordinal INTEGER)`,
    )
    await ask(
      `INSERT INTO ${books.mirror} VALUES (${[quoteLiteral(owner), LAYOUT, quoteLiteral(project), sync === null ? 'NULL' : quoteLiteral(sync)].join()})`,
    )
    return
  }
  if (!there.has('_records_sync_mirror'))
    throw other(
      `has tables that no mirror made, such as ${[...there.values()][0]}; give the mirror a schema of its own, or drop them`,
    )
  const [row] = await ask(`SELECT owner, version FROM ${books.mirror}`)
  const [holder, version] = row ?? []
  if (holder !== owner)
    throw other(
      `mirrors ${String(holder)}, and not ${owner}; give this mirror another schema, or drop that one`,
    )
  if (version !== LAYOUT)
    throw other(
      `was made by another version of records-sync (layout ${String(version)}; expected ${LAYOUT})`,
    )
  await noteHolder(ask, { place, schema }, claim)
}

/** The streams in the catalogue, each checked against its table. In a transaction. */
export async function readStreams(
  ask: Ask,
  home: SchemaPlace,
  of?: readonly string[],
): Promise<MirrorStream[]> {
  const books = booksIn(home.schema)
  if (!(await hasBooks(ask, home.schema))) return []
  const where = (column: string) => (of === undefined ? '' : `WHERE ${column} IN ${rowsOf(of)}`)
  const streams = await ask(
    `SELECT name, table_name FROM ${books.streams} ${where('name')} ORDER BY name`,
  )
  const columns = await ask(
    `SELECT stream, column_name, property, part, field_type, type, live FROM ${books.columns}
     ${where('stream')} ORDER BY stream, live DESC, ordinal`,
  )
  const byStream = new Map<unknown, MirrorColumn[]>()
  for (const row of columns) {
    const [stream] = row
    if (!byStream.has(stream)) byStream.set(stream, [])
    byStream.get(stream)!.push(columnOf(row))
  }
  const read = streams.map(([name, table]): MirrorStream => ({
    name: name as string,
    table: table as string,
    columns: byStream.get(name) ?? [],
  }))
  const tables = read.map(({ table }) => table)
  const there = await columnsIn(ask, home.schema, tables)
  for (const stream of read) checkTable(home, stream, there.get(stream.table))
  return read
}

/** Names of the streams in the catalogue, or of their tables. In a transaction. */
export async function readNames(
  ask: Ask,
  schema: string,
  of: 'name' | 'table_name',
): Promise<string[]> {
  if (!(await hasBooks(ask, schema))) return []
  const rows = await ask(`SELECT ${of} FROM ${booksIn(schema).streams} ORDER BY name`)
  return rows.map(([name]) => name as string)
}

function columnOf([, name, property, part, fieldType, type, live]: unknown[]): MirrorColumn {
  const text = type as string
  const list = text.endsWith('[]')
  return {
    name: name as string,
    property: property as string,
    part: part as MirrorColumn['part'],
    fieldType: fieldType as string,
    type: { holds: (list ? text.slice(0, -2) : text) as ColumnType['holds'], list },
    live: live as boolean,
  }
}

/** @throws SyncError `warehouse_altered` */
function checkTable(
  { place, schema }: SchemaPlace,
  { name, table, columns }: MirrorStream,
  there: ReadonlyMap<string, string> | undefined,
): void {
  const where = `${schema}.${table}`
  const altered = (what: string, drop: string) =>
    new SyncError(
      'warehouse_altered',
      `The warehouse ${place} was altered: ${what}; put it back as it was, or have it mirrored anew: ${drop}` +
        ['streams WHERE name', 'columns WHERE stream']
          .map(
            (book) =>
              `DELETE FROM ${quoteIdentifier(schema)}._records_sync_${book} = ${quoteLiteral(name)}`,
          )
          .join('; '),
    )
  if (!there) throw altered(`${where} is missing; expected the table of ${name}`, '')
  const drop = `DROP TABLE ${quoteIdentifier(schema)}.${quoteIdentifier(table)}; `
  const expected = [
    ...OWN,
    ...columns.map((column) => [column.name, columnType(column.type)] as const),
  ]
  for (const [column, type] of expected) {
    const found = there.get(column)
    if (found === undefined)
      throw altered(`${where}.${column} is missing; expected type ${type}`, drop)
    if (found !== type)
      throw altered(`${where}.${column} has type ${found}; expected ${type}`, drop)
  }
}

/** In a transaction. @throws SyncError `warehouse_altered` */
export async function changeStreams(
  ask: Ask,
  home: SchemaPlace,
  changes: readonly StreamChange[],
): Promise<void> {
  const { schema } = home
  const books = booksIn(schema)
  const tables = await tablesIn(ask, schema)
  const columns = await columnsIn(
    ask,
    schema,
    changes.map(({ table }) => table),
  )
  const known = new Set((await ask(`SELECT name FROM ${books.streams}`)).map(([name]) => name))
  for (const change of changes) {
    const isNew = !known.has(change.name)
    checkFree(home, change, isNew ? tables : new Map(), columns.get(change.table))
    await applyChange(ask, schema, change, isNew)
  }
}

/** A name is free if nothing has it, in any case. */
function checkFree(
  { place, schema }: SchemaPlace,
  { table, add }: StreamChange,
  tables: ReadonlyMap<string, string>,
  columns: ReadonlyMap<string, string> | undefined,
): void {
  const taken = (what: string) =>
    new SyncError(
      'warehouse_altered',
      `The warehouse ${place} has ${what} already, which the mirror did not make; rename or drop it`,
    )
  const same = tables.get(lower(table))
  if (same !== undefined) throw taken(`a table or a view ${schema}.${same}`)
  const there = new Map([...(columns?.keys() ?? [])].map((name) => [lower(name), name]))
  for (const { name } of add) {
    const column = there.get(lower(name))
    if (column !== undefined) throw taken(`a column ${schema}.${table}.${column}`)
  }
}

async function applyChange(
  ask: Ask,
  schema: string,
  { name, table, add, retire, revive }: StreamChange,
  isNew: boolean,
): Promise<void> {
  const books = booksIn(schema)
  const where = tableIn(schema, table)
  const columns = add.map((column) => `${quoteIdentifier(column.name)} ${columnType(column.type)}`)
  if (isNew) {
    const own = OWN.map(([column, type]) => `${quoteIdentifier(column)} ${type}`)
    await ask(`CREATE TABLE ${where} (${[...own, ...columns].join()})`)
    await ask(
      `INSERT INTO ${books.streams} VALUES (${quoteLiteral(name)}, ${quoteLiteral(table)}, 0, NULL)`,
    )
  } else for (const column of columns) await ask(`ALTER TABLE ${where} ADD COLUMN ${column}`)
  if (add.length > 0) {
    const [last] = await ask(
      `SELECT coalesce(max(ordinal), 0) FROM ${books.columns} WHERE stream = ${quoteLiteral(name)}`,
    )
    const rows = add.map((column, index) => {
      const texts = [name, column.name, column.property, column.part, column.fieldType]
      return `(${[...texts, textOfType(column.type)].map(quoteLiteral).join()}, ${column.live}, ${Number(last![0]) + index + 1})`
    })
    await ask(`INSERT INTO ${books.columns} VALUES ${rows.join()}`)
  }
  for (const [names, live] of [
    [retire, false],
    [revive, true],
  ] as const)
    if (names.length > 0)
      await ask(
        `UPDATE ${books.columns} SET live = ${live}
         WHERE stream = ${quoteLiteral(name)} AND column_name IN ${rowsOf(names)}`,
      )
}

/** In a transaction. */
export async function claimStream(
  ask: Ask,
  { place, schema }: SchemaPlace,
  stream: string,
): Promise<{ fence: number; position: string | null }> {
  const [row] = await ask(
    `UPDATE ${booksIn(schema).streams} SET fence = fence + 1 WHERE name = ${quoteLiteral(stream)}
     RETURNING fence, position`,
  )
  if (!row)
    throw new SyncError(
      'warehouse_altered',
      `The warehouse ${place} does not know ${stream} any more; run again, and it is mirrored anew`,
    )
  return { fence: Number(row[0]), position: row[1] as string | null }
}

/** In a transaction. */
export async function readPosition(
  ask: Ask,
  schema: string,
  stream: string,
): Promise<string | null> {
  const [row] = await ask(
    `SELECT position FROM ${booksIn(schema).streams} WHERE name = ${quoteLiteral(stream)}`,
  )
  return (row?.[0] ?? null) as string | null
}

/** In a transaction. @throws FenceLost */
export async function storePosition(
  ask: Ask,
  schema: string,
  stream: string,
  fence: number,
  position: string,
): Promise<void> {
  const moved = await ask(
    `UPDATE ${booksIn(schema).streams} SET position = ${quoteLiteral(position)}
     WHERE name = ${quoteLiteral(stream)} AND fence = ${fence} RETURNING name`,
  )
  if (moved.length === 0) throw new FenceLost(null, stream)
}

/** Types by column, for each of these tables. A view has nothing that a mirror could write. */
async function columnsIn(
  ask: Ask,
  schema: string,
  of: readonly string[],
): Promise<Map<string, Map<string, string>>> {
  const rows = await ask(
    `SELECT table_name, column_name, data_type FROM duckdb_columns() JOIN duckdb_tables()
       USING (database_name, schema_name, table_name)
     WHERE database_name = '${FILE}' AND lower(schema_name) = lower(${quoteLiteral(schema)})
       AND table_name IN ${rowsOf(of)}`,
  )
  const tables = new Map<string, Map<string, string>>()
  for (const [table, column, type] of rows as [string, string, string][]) {
    const columns = tables.get(table) ?? new Map<string, string>()
    tables.set(table, columns.set(column, type))
  }
  return tables
}

async function hasBooks(ask: Ask, schema: string): Promise<boolean> {
  const rows = await ask(
    `SELECT 1 FROM duckdb_tables() WHERE database_name = '${FILE}'
       AND lower(schema_name) = lower(${quoteLiteral(schema)}) AND table_name = '_records_sync_mirror'`,
  )
  return rows.length > 0
}

/** Names of tables and views, by their name in lower case. */
async function tablesIn(ask: Ask, schema: string): Promise<Map<string, string>> {
  const of = `WHERE database_name = '${FILE}' AND lower(schema_name) = lower(${quoteLiteral(schema)})`
  const rows = await ask(
    `SELECT table_name FROM duckdb_tables() ${of} UNION ALL SELECT view_name FROM duckdb_views() ${of} AND NOT internal`,
  )
  return new Map(rows.map(([name]) => [lower(name as string), name as string]))
}
