// The catalogue of a mirror: three tables in its schema that say whose records it mirrors, which streams and columns there are, and
// which writer has a stream. Promise kept here: a table that does not match the catalogue is refused before it is read or written.

import { FenceLost, SyncError } from '../../core/errors.ts'
import { joinSome } from '../../core/format.ts'
import {
  checkHolder,
  OWN_COLUMNS,
  type Holder,
  type HolderClaim,
} from '../../core/domain/mirror.ts'
import type { MirrorColumn, MirrorStream, StreamChange } from '../mirror-tables.ts'
import {
  parseTypeText,
  quoteIdentifier,
  typeText,
  type MirrorSession,
  type TableFound,
} from './session.ts'

const LAYOUT = 2
const MIRROR_TABLE = '_records_sync_mirror'

const tablesOf = ({ dialect, schema }: MirrorSession) => ({
  mirror: dialect.table(schema, MIRROR_TABLE),
  streams: dialect.table(schema, '_records_sync_streams'),
  columns: dialect.table(schema, '_records_sync_columns'),
})

/** Creates the schema and its catalogue if they are missing, and checks whose they are. In a transaction. */
export async function ownSchema(session: MirrorSession, claim: HolderClaim): Promise<void> {
  const { owner, project, sync } = claim
  const refuse = (code: string, sentence: string) =>
    new SyncError(`warehouse_${code}`, `The warehouse ${session.place} ${sentence}`)
  const { mirror } = tablesOf(session)
  const [table, ...more] = await session.lockSchema()
  if (table === undefined) {
    await session.createCatalogue()
    const own = session.statement()
    const values = [
      own.text(owner),
      LAYOUT,
      own.text(project),
      sync === null ? 'NULL' : own.text(sync),
    ]
    await own.write(`INSERT INTO ${mirror} VALUES (${values.join()})`)
    return
  }
  if (![table, ...more].includes(MIRROR_TABLE))
    throw refuse(
      'other_mirror',
      `has tables that no mirror made, such as ${table}; name another \`schema\` for this mirror, or drop them`,
    )
  const [row] = await session.statement().ask(`SELECT owner, version FROM ${mirror}`)
  const [holder = null, version] = row ?? []
  if (Number(version) !== LAYOUT)
    throw refuse(
      Number(version) > LAYOUT ? 'newer' : 'older',
      `has a mirror of layout ${String(version)}; this release knows ${LAYOUT}. ${
        Number(version) > LAYOUT
          ? 'Upgrade records-sync'
          : 'It was left as it is; name another `schema` for this mirror, and everything is read again'
      }`,
    )
  if (holder !== owner)
    throw refuse(
      'other_mirror',
      `holds the mirror of ${String(holder ?? 'no org')}, not of ${owner}. If that is one service that has moved, let the connection lead to the address that it had; else name another \`schema\` for this mirror, or drop that one`,
    )
  await noteHolder(session, claim)
}

/** Null if there is no catalogue. */
export async function readHolder(session: MirrorSession): Promise<Holder | null> {
  if (!(await hasCatalogue(session))) return null
  // One of an older layout may lack the last two columns.
  const [row] = await session.statement().ask(`SELECT * FROM ${tablesOf(session).mirror}`)
  const [owner = null, , project = null, sync = null] = (row ?? []) as (string | null)[]
  return owner === null ? null : { owner, project, sync }
}

/** Notes project and sync if none is noted. In a transaction. @throws SyncError as `checkHolder` */
async function noteHolder(session: MirrorSession, claim: HolderClaim): Promise<void> {
  const holder = (await readHolder(session))!
  checkHolder(`The warehouse ${session.place}`, holder, claim)
  const { mirror } = tablesOf(session)
  const changed = (['project', 'sync'] as const).filter(
    (column) => claim[column] !== null && holder[column] !== claim[column],
  )
  for (const column of changed) {
    const note = session.statement()
    await note.write(`UPDATE ${mirror} SET ${column} = ${note.text(claim[column]!)}`)
  }
}

/** Then no sync keeps the schema, until the next one asks. False if the schema is not the project's. In a transaction. */
export async function takeOver(session: MirrorSession, from: string, to: string): Promise<boolean> {
  const holder = await readHolder(session)
  if (holder === null || holder.project !== from) return false
  const free = holder.sync === null ? '' : ', sync = NULL'
  const take = session.statement()
  const set = `UPDATE ${tablesOf(session).mirror} SET project = ${take.text(to)}${free}`
  return (await take.write(`${set} WHERE project = ${take.text(from)}`)) > 0
}

const hasCatalogue = async (session: MirrorSession): Promise<boolean> =>
  (await session.columnNames(MIRROR_TABLE)).length > 0

/** The streams of the catalogue, none if there is no catalogue yet; each checked against its table. */
export async function readStreams(
  session: MirrorSession,
  of?: readonly string[],
): Promise<MirrorStream[]> {
  if (!(await hasCatalogue(session))) return []
  const { streams, columns } = tablesOf(session)
  const read = session.statement()
  const rows = await read.ask(
    `SELECT s.name, s.table_name, c.column_name, c.property, c.part, c.field_type, c.type,
       CAST(c.live AS text)
     FROM ${streams} AS s LEFT JOIN ${columns} AS c ON c.stream = s.name
     ${of === undefined ? '' : `WHERE ${read.among('s.name', of)}`}
     ORDER BY ${session.dialect.byBytes('s.name')}, c.live DESC, c.ordinal`,
  )
  const byName = new Map<string, { name: string; table: string; columns: MirrorColumn[] }>()
  for (const row of rows as readonly (readonly (string | null)[])[]) {
    const [name, table] = row as readonly string[]
    const stream = byName.get(name!) ?? { name: name!, table: table!, columns: [] }
    byName.set(name!, stream)
    if (row[2] !== null) stream.columns.push(columnOf(row))
  }
  const tables = [...byName.values()].map(({ table }) => table)
  // A column that was added since the catalogue was read does no harm.
  const found = new Map((await session.tablesNamed(tables)).map((one) => [one.name, one]))
  for (const stream of byName.values()) checkTable(session, stream, found.get(stream.table))
  await session.checkTables(tables)
  return [...byName.values()]
}

function columnOf(row: readonly (string | null)[]): MirrorColumn {
  const [, , name, property, part, fieldType, type, live] = row as readonly string[]
  return {
    name: name!,
    property: property!,
    part: part as MirrorColumn['part'],
    fieldType: fieldType!,
    type: parseTypeText(type!),
    live: live === 'true',
  }
}

/** Columns that an error names. */
const NAMED_MAX = 10

/** @throws SyncError `warehouse_altered` */
function checkTable(
  { place, schema, dialect }: MirrorSession,
  { name, table, columns }: MirrorStream,
  found: TableFound | undefined,
): void {
  const where = `${schema}.${table}`
  const sql = (of: string) => `${quoteIdentifier(schema)}.${quoteIdentifier(of)}`
  const literal = `'${name.replaceAll("'", "''")}'`
  const drop = found?.isTable ? `DROP TABLE ${sql(table)}; ` : ''
  const altered = (what: string) =>
    new SyncError(
      'warehouse_altered',
      `The warehouse ${place} was altered: ${what}; put it back as it was, or have it mirrored again: ${drop}DELETE FROM ${sql('_records_sync_streams')} WHERE name = ${literal}; DELETE FROM ${sql('_records_sync_columns')} WHERE stream = ${literal}`,
    )
  if (!found?.isTable) throw altered(`${where} is missing; expected the table of ${name}`)
  const expected = [
    ...Object.entries(dialect.ownTypes),
    ...columns.map((column) => [column.name, dialect.columnType(column.type)] as const),
  ]
  const wrong = expected.flatMap(([column, type]) => {
    const there = found.columns.get(column)
    if (there === undefined) return [`${where}.${column} is missing; expected type ${type}`]
    return there === type ? [] : [`${where}.${column} has type ${there}; expected ${type}`]
  })
  if (wrong.length > 0) throw altered(joinSome(wrong, NAMED_MAX, '; '))
  if (!found.hasKey)
    throw altered(`${where}._id has no index that keeps it unique; expected its primary key`)
}

/** Names of the streams in the catalogue, or of their tables; none if there is no catalogue yet. */
export async function readNames(
  session: MirrorSession,
  of: 'name' | 'table_name',
): Promise<string[]> {
  if (!(await hasCatalogue(session))) return []
  const rows = await session
    .statement()
    .ask(`SELECT ${of} FROM ${tablesOf(session).streams} ORDER BY name`)
  return rows.map(([name]) => name as string)
}

/** In a transaction. @throws SyncError `warehouse_altered`, `warehouse_columns`, before anything is written */
export async function changeStreams(
  session: MirrorSession,
  changes: readonly StreamChange[],
): Promise<void> {
  const { fold } = session.dialect
  await session.lockCatalogue()
  const tables = await session.tablesNamed(changes.map(({ table }) => table))
  const byName = new Map(tables.map((one) => [one.name, one]))
  const folded = new Map(tables.map((one) => [fold(one.name), one]))
  const known = session.statement()
  const names = known.among(
    'name',
    changes.map(({ name }) => name),
  )
  const rows = await known.ask(`SELECT name FROM ${tablesOf(session).streams} WHERE ${names}`)
  const isKnown = new Set(rows.map(([name]) => name))
  for (const change of changes) {
    const { name, table } = change
    const found = byName.get(table)
    checkFree(session, change, isKnown.has(name) ? undefined : folded.get(fold(table)), found)
    session.checkRoom(change, found?.columnsMade ?? OWN_COLUMNS.length)
  }
  for (const change of changes) await applyChange(session, change, !isKnown.has(change.name))
}

/** @throws SyncError `warehouse_altered` if something else has the name of a new table, or of a new column */
function checkFree(
  { place, schema, dialect }: MirrorSession,
  { table, add }: StreamChange,
  taken: TableFound | undefined,
  found: TableFound | undefined,
): void {
  const refuse = (what: string) =>
    new SyncError('warehouse_altered', `The warehouse ${place} has ${what}`)
  if (taken)
    throw refuse(
      `a table, a view or an index ${schema}.${taken.name} already, which the mirror did not make; rename or drop it`,
    )
  const columns = new Map(
    [...(found?.columns.keys() ?? [])].map((name) => [dialect.fold(name), name]),
  )
  const unknown = add.flatMap(({ name }) => columns.get(dialect.fold(name)) ?? [])
  if (unknown.length === 0) return
  const named = joinSome(
    unknown.map((name) => `${schema}.${table}.${name}`),
    NAMED_MAX,
  )
  const [are, them] = unknown.length === 1 ? ['a column', 'it'] : ['columns', 'them']
  throw refuse(
    `${are} already that the mirror did not make, or whose rows in ${schema}._records_sync_columns are lost: ${named}; put the rows back, or rename or drop ${them}`,
  )
}

async function applyChange(
  session: MirrorSession,
  { name, table, add, retire, revive }: StreamChange,
  isNew: boolean,
): Promise<void> {
  const { dialect, schema } = session
  const { streams, columns } = tablesOf(session)
  const declared = add.map(
    (column) => `${quoteIdentifier(column.name)} ${dialect.columnType(column.type)}`,
  )
  if (isNew) {
    const own = Object.entries(dialect.ownTypes).map(([column, type]) =>
      column === '_id' ? dialect.idColumn : `${quoteIdentifier(column)} ${type}`,
    )
    const create = session.statement()
    await create.ask(
      `CREATE TABLE ${dialect.table(schema, table)} (${[...own, ...declared].join()})`,
    )
    const insert = session.statement()
    const values = [insert.text(name), insert.text(table), '0', 'NULL']
    await insert.write(`INSERT INTO ${streams} VALUES (${values.join()})`)
  } else if (declared.length > 0) await session.addColumns(table, declared)
  if (add.length > 0) await insertColumns(session, name, add)
  for (const [names, live] of [
    [retire, false],
    [revive, true],
  ] as const) {
    if (names.length === 0) continue
    const update = session.statement()
    await update.write(
      `UPDATE ${columns} SET live = ${live}
       WHERE stream = ${update.text(name)} AND ${update.among('column_name', names)}`,
    )
  }
}

async function insertColumns(
  session: MirrorSession,
  stream: string,
  add: readonly MirrorColumn[],
): Promise<void> {
  const { columns } = tablesOf(session)
  const highest = session.statement()
  const [last] = await highest.ask(
    `SELECT coalesce(max(ordinal), 0) FROM ${columns} WHERE stream = ${highest.text(stream)}`,
  )
  const insert = session.statement()
  const name = insert.text(stream)
  const rows = add.map(({ property, part, fieldType, type, live, ...column }, index) => {
    const texts = [column.name, property, part, fieldType, typeText(type)]
    const values = texts.map((text) => insert.text(text))
    return `(${[name, ...values, live, Number(last![0]) + index + 1].join()})`
  })
  await insert.write(`INSERT INTO ${columns} VALUES ${rows.join()}`)
}

/** A stream's next fence, and its position. @throws SyncError `warehouse_altered` if the catalogue does not have it */
export async function claimStream(
  session: MirrorSession,
  stream: string,
): Promise<{ fence: number; position: string | null }> {
  const claim = session.statement()
  const [row] = await claim.ask(
    `UPDATE ${tablesOf(session).streams} SET fence = fence + 1 WHERE name = ${claim.text(stream)}
     RETURNING fence, position`,
  )
  if (!row)
    throw new SyncError(
      'warehouse_altered',
      `The warehouse ${session.place} does not know ${stream} any more; run again, and it is mirrored from its beginning`,
    )
  return { fence: Number(row[0]), position: row[1] as string | null }
}

/** The position of a stream; null if it has none. */
export async function readPosition(session: MirrorSession, stream: string): Promise<string | null> {
  const read = session.statement()
  const [row] = await read.ask(
    `SELECT position FROM ${tablesOf(session).streams} WHERE name = ${read.text(stream)}`,
  )
  return (row?.[0] ?? null) as string | null
}

/** Stores a position. The writer then holds the stream until the end of the transaction. @throws FenceLost */
export async function storePosition(
  session: MirrorSession,
  stream: string,
  fence: number,
  position: string,
): Promise<void> {
  const store = session.statement()
  const set = `UPDATE ${tablesOf(session).streams} SET position = ${store.text(position)}`
  const where = `name = ${store.text(stream)} AND fence = ${fence}`
  if ((await store.write(`${set} WHERE ${where}`)) === 0) throw new FenceLost(null, stream)
}
