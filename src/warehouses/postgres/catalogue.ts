// The schema of a mirror: its catalogue of owner, streams and columns, its tables, and whether they match the catalogue.

import { FenceLost, SyncError } from '../../core/errors.ts'
import type { HolderClaim } from '../../core/mirror.ts'
import type { MirrorColumn, MirrorStream, StreamChange } from '../mirror-tables.ts'
import { checkTableHooks } from './table-hooks.ts'
import type { Lease, RowValues } from './connections.ts'
import { noteHolder } from './holder.ts'
import { quoteIdentifier, sqlType, columnType, typeText } from './sql.ts'
import { tableIn, type SchemaPlace } from './schema.ts'

const LAYOUT = 1
const SERVER_MIN = 13
/** PostgreSQL's own limit. Dropped columns count. */
const COLUMNS_MAX = 1_600

/** The columns that every table has, with their types. */
const OWN: readonly (readonly [name: string, type: string])[] = [
  ['_id', 'text'],
  ['_version', 'timestamp with time zone'],
  ['_first_seen_at', 'timestamp with time zone'],
  ['_last_seen_at', 'timestamp with time zone'],
  ['_deleted_at', 'timestamp with time zone'],
  ['_run', 'bigint'],
  ['_misfits', 'json'],
]

/** The catalogue tables. */
const booksIn = (home: SchemaPlace) => ({
  mirror: tableIn(home, '_records_sync_mirror'),
  streams: tableIn(home, '_records_sync_streams'),
  columns: tableIn(home, '_records_sync_columns'),
})

/** Creates the schema and its catalogue if they are missing. In a transaction. */
export async function ownSchema(
  lease: Lease,
  home: SchemaPlace,
  claim: HolderClaim,
): Promise<void> {
  const { schema, place } = home
  const { owner, project, sync } = claim
  const refuse = (code: string, sentence: string) =>
    new SyncError(`warehouse_${code}`, `The warehouse ${place} ${sentence}`)
  const books = booksIn(home)
  await lease.ask('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `records-sync mirror ${schema}`,
  ])
  const { rows } = await lease.ask(
    `SELECT current_setting('server_version_num')::integer / 10000, current_setting('server_encoding'),
       EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1),
       EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1),
       EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = '_records_sync_mirror')`,
    [schema],
  )
  const [version, encoding, exists, hasTables, hasBooks] = rows[0]!
  if (Number(version) < SERVER_MIN)
    throw refuse('engine', `is PostgreSQL ${version}; ${SERVER_MIN} or newer is needed`)
  if (encoding !== 'UTF8')
    throw refuse('encoding', `has the encoding ${encoding}; create a database with ENCODING 'UTF8'`)
  if (hasBooks === 't') {
    const found = (await lease.ask(`SELECT owner, version FROM ${books.mirror}`)).rows[0]
    if (Number(found?.[1]) > LAYOUT)
      throw refuse(
        'newer',
        `has a mirror of layout ${found?.[1]}; this release knows up to ${LAYOUT}. Upgrade records-sync`,
      )
    if (found?.[0] !== owner)
      throw refuse(
        'other_mirror',
        `holds the mirror of ${found?.[0] ?? 'nobody'}, not of ${owner}; name another \`schema\` for this mirror`,
      )
    return await noteHolder(lease, home, claim)
  }
  if (hasTables === 't')
    throw refuse(
      'other_mirror',
      `has tables that no mirror made; name another \`schema\` for this mirror`,
    )
  // Checked first, because creating what exists already needs a permission that the owner of the schema may lack.
  if (exists !== 't') await lease.ask(`CREATE SCHEMA ${quoteIdentifier(schema)}`)
  await lease.ask(
    `CREATE TABLE ${books.mirror} (owner text NOT NULL, version integer NOT NULL, project text,
       sync text);
     CREATE TABLE ${books.streams} (name text PRIMARY KEY, table_name text NOT NULL UNIQUE,
       fence bigint NOT NULL DEFAULT 0, position text);
     CREATE TABLE ${books.columns} (stream text NOT NULL, column_name text NOT NULL, property text NOT NULL,
       part text NOT NULL, field_type text NOT NULL, type text NOT NULL, live boolean NOT NULL,
       ordinal integer NOT NULL, PRIMARY KEY (stream, column_name));`,
  )
  await lease.ask(`INSERT INTO ${books.mirror} VALUES ($1, $2, $3, $4)`, [
    owner,
    LAYOUT,
    project,
    sync,
  ])
}

/** The streams of the catalogue, none if there is no catalogue yet; each checked against its table. */
export async function readStreams(
  lease: Lease,
  home: SchemaPlace,
  of?: readonly string[],
): Promise<MirrorStream[]> {
  const books = booksIn(home)
  if (!(await hasBooks(lease, home))) return []
  const { rows } = await lease.ask(
    `SELECT s.name, s.table_name, c.column_name, c.property, c.part, c.field_type, c.type, c.live
     FROM ${books.streams} AS s LEFT JOIN ${books.columns} AS c ON c.stream = s.name
     WHERE $1::text[] IS NULL OR s.name = ANY ($1::text[])
     ORDER BY s.name COLLATE "C", c.live DESC, c.ordinal`,
    [of ?? null],
  )
  const streams = new Map<string, { name: string; table: string; columns: MirrorColumn[] }>()
  for (const row of rows) {
    const [name, table] = row as string[]
    const stream = streams.get(name!) ?? { name: name!, table: table!, columns: [] }
    streams.set(name!, stream)
    if (row[2] !== null) stream.columns.push(columnOf(row))
  }
  const tables = [...streams.values()].map(({ table }) => table)
  // What was added since the catalogue was read does no harm.
  const found = await tablesOf(lease, home, tables)
  for (const stream of streams.values()) checkTable(home, stream, found.get(stream.table))
  await checkTableHooks(lease, home, tables)
  return [...streams.values()]
}

/** Names of the streams of the catalogue, or of their tables; none if there is no catalogue yet. */
export async function readNames(
  lease: Lease,
  home: SchemaPlace,
  of: 'name' | 'table_name',
): Promise<string[]> {
  if (!(await hasBooks(lease, home))) return []
  const { rows } = await lease.ask(`SELECT ${of} FROM ${booksIn(home).streams} ORDER BY name`)
  return rows.map(([name]) => name!)
}

async function hasBooks(lease: Lease, home: SchemaPlace): Promise<boolean> {
  const { rows } = await lease.ask('SELECT pg_catalog.to_regclass($1)', [booksIn(home).columns])
  return rows[0]![0] !== null
}

function columnOf([, , name, property, part, fieldType, type, live]: RowValues): MirrorColumn {
  return {
    name: name!,
    property: property!,
    part: part as MirrorColumn['part'],
    fieldType: fieldType!,
    type: columnType(type!),
    live: live === 't',
  }
}

interface Found {
  /** Columns by name, with their types. */
  readonly columns: Map<string, string>
  /** Columns that an index keeps unique. */
  readonly unique: Set<string>
  /** The number of columns, including dropped ones. */
  readonly taken: number
}

/** What exists under these names: tables, or anything whose name a table cannot have. */
async function tablesOf(
  lease: Lease,
  { schema }: SchemaPlace,
  tables: readonly string[],
): Promise<Map<string, Found>> {
  const { rows } = await lease.ask(
    `SELECT c.relname, c.relkind IN ('r', 'p'), c.relnatts, a.attname,
       pg_catalog.format_type(a.atttypid, a.atttypmod),
       EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid
         AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum AND i.indpred IS NULL)
     FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname = $1 AND c.relname = ANY ($2::text[])`,
    [schema, tables],
  )
  const found = new Map<string, Found>()
  for (const [table, isTable, taken, column, type, isUnique] of rows) {
    const one = found.get(table!) ?? { columns: new Map(), unique: new Set(), taken: Number(taken) }
    found.set(table!, one)
    // A view has nothing that a mirror could write.
    if (column === null || isTable !== 't') continue
    one.columns.set(column!, type!)
    if (isUnique === 't') one.unique.add(column!)
  }
  return found
}

/** @throws SyncError `warehouse_altered` */
function checkTable(home: SchemaPlace, stream: MirrorStream, found: Found | undefined): void {
  const table = `${home.schema}.${stream.table}`
  const name = `'${stream.name.replaceAll("'", "''")}'`
  const drop = found ? `DROP TABLE ${tableIn(home, stream.table)}; ` : ''
  const books = booksIn(home)
  const altered = (what: string) =>
    new SyncError(
      'warehouse_altered',
      `The warehouse ${home.place} was altered: ${what}; put it back as it was, or have it mirrored anew: ${drop}DELETE FROM ${books.streams} WHERE name = ${name}; DELETE FROM ${books.columns} WHERE stream = ${name}`,
    )
  if (!found) throw altered(`${table} is missing; expected the table of ${stream.name}`)
  const expected = [
    ...OWN,
    ...stream.columns.map(({ name, type }) => [name, sqlType(type)] as const),
  ]
  for (const [name, type] of expected) {
    const there = found.columns.get(name)
    if (there === undefined) throw altered(`${table}.${name} is missing; expected type ${type}`)
    if (there !== type) throw altered(`${table}.${name} has type ${there}; expected ${type}`)
  }
  // Without this index every row of a merge would read the whole table.
  if (!found.unique.has('_id'))
    throw altered(`${table}._id has no index that keeps it unique; expected its primary key`)
}

/** In a transaction. */
export async function changeStreams(
  lease: Lease,
  home: SchemaPlace,
  changes: readonly StreamChange[],
): Promise<void> {
  const books = booksIn(home)
  // One at a time.
  await lease.ask(`SELECT FROM ${books.mirror} FOR UPDATE`)
  const tables = await tablesOf(
    lease,
    home,
    changes.map(({ table }) => table),
  )
  const known = new Set(
    (
      await lease.ask(`SELECT name FROM ${books.streams} WHERE name = ANY ($1::text[])`, [
        changes.map(({ name }) => name),
      ])
    ).rows.map(([name]) => name!),
  )
  for (const change of changes) checkChange(home, change, tables.get(change.table), known)
  for (const change of changes) await applyChange(lease, home, change, known.has(change.name))
}

/** Refuses what would fail, before anything is written. */
function checkChange(
  home: SchemaPlace,
  { name, table, add }: StreamChange,
  found: Found | undefined,
  known: ReadonlySet<string>,
): void {
  const where = `${home.schema}.${table}`
  const taken = (what: string) =>
    new SyncError(
      'warehouse_altered',
      `The warehouse ${home.place} has ${what} already, which the mirror did not make; rename or drop it`,
    )
  if (found && !known.has(name)) throw taken(`a table, a view or an index ${where}`)
  for (const column of add)
    if (found?.columns.has(column.name)) throw taken(`a column ${where}.${column.name}`)
  const before = found?.taken ?? OWN.length
  if (before + add.length <= COLUMNS_MAX) return
  const properties = new Set(add.map(({ property }) => property)).size
  throw new SyncError(
    'warehouse_columns',
    `The warehouse ${home.place} cannot hold ${name}: ${where} has ${before} columns and ${properties} properties ask for ${add.length} more; a table of PostgreSQL has at most ${COLUMNS_MAX}, those that were dropped included. Leave the object type out by \`except\`, or mirror it into DuckDB`,
    { stream: name, properties, columns: before + add.length },
  )
}

async function applyChange(
  lease: Lease,
  home: SchemaPlace,
  { name, table, add, retire, revive }: StreamChange,
  known: boolean,
): Promise<void> {
  const books = booksIn(home)
  const where = tableIn(home, table)
  const columns = add.map((column) => `${quoteIdentifier(column.name)} ${sqlType(column.type)}`)
  if (known && columns.length > 0)
    await lease.ask(
      `ALTER TABLE ${where} ${columns.map((column) => `ADD COLUMN ${column}`).join()}`,
    )
  if (!known) {
    const own = OWN.map(([column, type]) =>
      // In the order of bytes, in which ids are requested.
      column === '_id'
        ? '"_id" text COLLATE "C" PRIMARY KEY'
        : `${quoteIdentifier(column)} ${type}`,
    )
    await lease.ask(`CREATE TABLE ${where} (${[...own, ...columns].join()})`)
    await lease.ask(`INSERT INTO ${books.streams} (name, table_name) VALUES ($1, $2)`, [
      name,
      table,
    ])
  }
  await lease.ask(
    `INSERT INTO ${books.columns}
     SELECT $1, a.name, a.property, a.part, a.field_type, a.type, a.live,
       a.ordinal + coalesce((SELECT max(ordinal) FROM ${books.columns} WHERE stream = $1), 0)
     FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[])
       WITH ORDINALITY AS a (name, property, part, field_type, type, live, ordinal)`,
    [
      name,
      add.map((column) => column.name),
      add.map((column) => column.property),
      add.map((column) => column.part),
      add.map((column) => column.fieldType),
      add.map((column) => typeText(column.type)),
      add.map((column) => column.live),
    ],
  )
  await lease.ask(
    `UPDATE ${books.columns} SET live = column_name = ANY ($3::text[])
     WHERE stream = $1 AND column_name = ANY ($2::text[] || $3::text[])`,
    [name, retire, revive],
  )
}

/** A stream's next fence, and its position. @throws SyncError `warehouse_altered` if the catalogue does not contain it */
export async function claimStream(
  lease: Lease,
  home: SchemaPlace,
  stream: string,
): Promise<{ fence: number; position: string | null }> {
  const { rows } = await lease.ask(
    `UPDATE ${booksIn(home).streams} SET fence = fence + 1 WHERE name = $1 RETURNING fence, position`,
    [stream],
  )
  const row = rows[0]
  if (!row)
    throw new SyncError(
      'warehouse_altered',
      `The warehouse ${home.place} does not know ${stream} any more; run again, and it is mirrored anew`,
    )
  return { fence: Number(row[0]), position: row[1] ?? null }
}

/** The position of a stream; null if it has none. */
export async function readPosition(
  lease: Lease,
  home: SchemaPlace,
  stream: string,
): Promise<string | null> {
  const { rows } = await lease.ask(
    `SELECT position FROM ${booksIn(home).streams} WHERE name = $1`,
    [stream],
  )
  return rows[0]?.[0] ?? null
}

/** Stores a position. The writer then holds the stream until the end of the transaction. @throws FenceLost */
export async function storePosition(
  lease: Lease,
  home: SchemaPlace,
  stream: string,
  fence: number,
  position: string,
): Promise<void> {
  const { count } = await lease.ask(
    `UPDATE ${booksIn(home).streams} SET position = $3 WHERE name = $1 AND fence = $2::bigint`,
    [stream, fence, position],
  )
  if (count === 0) throw new FenceLost(null, stream)
}
