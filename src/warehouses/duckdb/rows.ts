// Rows of a mirror's table: the number and the ids of those that are there, how they are marked as deleted or removed, and
// what a row holds.

import {
  columnsNamed,
  findingOf,
  HELD_COLUMNS,
  heldGroups,
  heldRow,
  type Written,
} from '../held.ts'
import type {
  Deletion,
  Equal,
  HeldRow,
  MirrorStream,
  MirrorTables,
  RowGroup,
  Within,
} from '../mirror-tables.ts'
import type { Ask } from './attached.ts'
import { columnsOf, tableIn } from './schema.ts'
import { cast, instantOf, named, quoted, rowsOf, textOf } from './sql.ts'

/** `HELD_COLUMNS` as texts. */
const OWN = HELD_COLUMNS.map((name) =>
  textOf(named(name), { holds: name === '_version' ? 'instant' : 'text', list: false }),
)

const THERE = '"_deleted_at" IS NULL'

const instant = (text: string): string => instantOf(quoted(text))

function inside(within: Within | undefined): string[] {
  if (!within) return []
  const column = named(within.column)
  return [
    ...(within.from === null ? [] : [`${column} >= ${instant(within.from)}`]),
    ...(within.to === null ? [] : [`${column} < ${instant(within.to)}`]),
  ]
}

/** Bytes have no collation, which a person may have given the column. Any character can be in a JSON text. */
function equal(stream: MirrorStream, { column, value }: Equal): string {
  const [found] = columnsNamed(stream, [column])
  const finding = findingOf(found!, value)
  if (finding.by === 'null') return `${named(column)} IS NULL`
  const text = `from_json(${quoted(JSON.stringify(finding.text))}, '"VARCHAR"')`
  return finding.by === 'value'
    ? `${named(column)} = ${cast(text, found!.type)}`
    : `encode(${textOf(named(column), found!.type)}) = encode(${text})`
}

export async function countRows(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  within: Within | undefined,
): Promise<{ rows: number; misfits: number }> {
  const where = [THERE, ...inside(within)].join(' AND ')
  const [row] = await ask(
    `SELECT count(*), count("_misfits") FROM ${tableIn(schema, stream.table)} WHERE ${where}`,
  )
  return { rows: Number(row![0]), misfits: Number(row![1]) }
}

/** JSON texts are compared by their bytes, whatever the collation of a column. */
export async function readGroups(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  names: readonly string[],
  within: Within | undefined,
): Promise<RowGroup[]> {
  const columns = columnsNamed(stream, names)
  const written = columns.map(({ name, type }) => textOf(named(name), type))
  const where = [THERE, ...inside(within)].join(' AND ')
  const rows = await ask(
    `SELECT json_array(${written.join()}), count(*) FROM ${tableIn(schema, stream.table)} WHERE ${where} GROUP BY 1`,
  )
  return heldGroups(
    rows.map(([values, count]) => ({
      written: JSON.parse(values as string) as Written[],
      rows: Number(count),
    })),
    columns,
  )
}

/** DuckDB compares texts by their bytes. */
export async function readIds(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  {
    after,
    limit,
    seenBefore,
    versionFrom,
    within,
    owners,
    equals = [],
  }: Parameters<MirrorTables['ids']>[1],
): Promise<string[]> {
  const where = [
    THERE,
    ...(after === null ? [] : [`"_id" > ${quoted(after)}`]),
    ...(seenBefore === undefined ? [] : [`"_last_seen_at" < ${instant(seenBefore)}`]),
    ...(versionFrom === undefined ? [] : [`"_version" >= ${instant(versionFrom)}`]),
    ...inside(within),
    ...(owners ? [`${named(owners.column)} IN ${rowsOf(owners.values)}`] : []),
    ...equals.map((one) => equal(stream, one)),
  ].join(' AND ')
  // As JSON: the driver takes U+FEFF away where a text begins with it.
  const rows = await ask(
    `SELECT to_json("_id") FROM ${tableIn(schema, stream.table)} WHERE ${where} ORDER BY "_id" LIMIT ${limit}`,
  )
  return rows.map(([id]) => JSON.parse(id as string) as string)
}

/** One JSON text each: the driver takes U+FEFF away where a text begins with it. */
export async function readRows(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  ids: readonly string[],
): Promise<HeldRow[]> {
  const live = stream.columns.filter((column) => column.live)
  const written = [...OWN, ...live.map(({ name, type }) => textOf(named(name), type))]
  const table = tableIn(schema, stream.table)
  const among = `"_id" IN ${rowsOf(ids)}`
  // By the places of the rows, the other columns are read where some of the rows are; by a condition on ids, everywhere. A
  // column may have the name of the place.
  const hasPlaces = !(await columnsOf(ask, schema, stream.table)).some((name) =>
    /^rowid$/i.test(name),
  )
  const where = hasPlaces ? `rowid IN (SELECT rowid FROM ${table} WHERE ${among})` : among
  const rows = await ask(`SELECT json_array(${written.join()}) FROM ${table} WHERE ${where}`)
  return rows.map(([row]) => heldRow(JSON.parse(row as string) as Written[], live))
}

/** Gives the number of rows. */
export async function deleteRows(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  { before, ids, owners, how, at }: Deletion,
): Promise<number> {
  const table = tableIn(schema, stream.table)
  const among = [
    ...(ids ? [`"_id" IN ${rowsOf(ids)}`] : []),
    ...(owners ? [`${named(owners.column)} IN ${rowsOf(owners.values)}`] : []),
  ]
  const where = [
    THERE,
    `"_last_seen_at" < ${instant(before)}`,
    ...(among.length > 0 ? [`(${among.join(' OR ')})`] : []),
  ].join(' AND ')
  const [row] = await ask(
    how === 'hard'
      ? `DELETE FROM ${table} WHERE ${where}`
      : `UPDATE ${table} SET "_deleted_at" = ${instant(at)} WHERE ${where}`,
  )
  return Number(row![0])
}
