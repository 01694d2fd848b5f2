// Rows of a mirror's table: counts and lists the ids of present rows, marks rows as deleted or removes them, and reads what a row
// holds.

import {
  columnsNamed,
  compareStored,
  STORED_COLUMNS,
  storedGroups,
  storedRow,
  type WrittenRow,
} from '../stored-rows.ts'
import type {
  Deletion,
  ColumnEquals,
  StoredRow,
  MirrorStream,
  MirrorTables,
  RowGroup,
  InstantRange,
} from '../mirror-tables.ts'
import type { Ask } from './attached.ts'
import { tableColumns, tableIn } from './schema.ts'
import {
  cast,
  instantExpression,
  quoteIdentifier,
  quoteLiteral,
  rowsOf,
  columnText,
} from './sql.ts'

/** `STORED_COLUMNS` as texts. */
const OWN = STORED_COLUMNS.map((name) =>
  columnText(quoteIdentifier(name), {
    holds: name === '_version' ? 'instant' : 'text',
    list: false,
  }),
)

const THERE = '"_deleted_at" IS NULL'

const instant = (text: string): string => instantExpression(quoteLiteral(text))

function inside(within: InstantRange | undefined): string[] {
  if (!within) return []
  const column = quoteIdentifier(within.column)
  return [
    ...(within.from === null ? [] : [`${column} >= ${instant(within.from)}`]),
    ...(within.to === null ? [] : [`${column} < ${instant(within.to)}`]),
  ]
}

/** Compares bytes, which have no collation; a person may have given the column one. A JSON text can contain any character. */
function equal(stream: MirrorStream, { column, value }: ColumnEquals): string {
  const [found] = columnsNamed(stream, [column])
  const finding = compareStored(found!, value)
  if (finding.by === 'null') return `${quoteIdentifier(column)} IS NULL`
  const text = `from_json(${quoteLiteral(JSON.stringify(finding.text))}, '"VARCHAR"')`
  return finding.by === 'value'
    ? `${quoteIdentifier(column)} = ${cast(text, found!.type)}`
    : `encode(${columnText(quoteIdentifier(column), found!.type)}) = encode(${text})`
}

export async function countRows(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  within: InstantRange | undefined,
): Promise<{ rows: number; misfits: number }> {
  const where = [THERE, ...inside(within)].join(' AND ')
  const [row] = await ask(
    `SELECT count(*), count("_misfits") FROM ${tableIn(schema, stream.table)} WHERE ${where}`,
  )
  return { rows: Number(row![0]), misfits: Number(row![1]) }
}

/** Compares JSON texts by their bytes, whatever the collation of a column. */
export async function readGroups(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  names: readonly string[],
  within: InstantRange | undefined,
): Promise<RowGroup[]> {
  const columns = columnsNamed(stream, names)
  const written = columns.map(({ name, type }) => columnText(quoteIdentifier(name), type))
  const where = [THERE, ...inside(within)].join(' AND ')
  const rows = await ask(
    `SELECT json_array(${written.join()}), count(*) FROM ${tableIn(schema, stream.table)} WHERE ${where} GROUP BY 1`,
  )
  return storedGroups(
    rows.map(([values, count]) => ({
      written: JSON.parse(values as string) as WrittenRow[],
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
    ...(after === null ? [] : [`"_id" > ${quoteLiteral(after)}`]),
    ...(seenBefore === undefined ? [] : [`"_last_seen_at" < ${instant(seenBefore)}`]),
    ...(versionFrom === undefined ? [] : [`"_version" >= ${instant(versionFrom)}`]),
    ...inside(within),
    ...(owners ? [`${quoteIdentifier(owners.column)} IN ${rowsOf(owners.values)}`] : []),
    ...equals.map((one) => equal(stream, one)),
  ].join(' AND ')
  // As JSON: the driver drops U+FEFF at the beginning of a text.
  const rows = await ask(
    `SELECT to_json("_id") FROM ${tableIn(schema, stream.table)} WHERE ${where} ORDER BY "_id" LIMIT ${limit}`,
  )
  return rows.map(([id]) => JSON.parse(id as string) as string)
}

/** As JSON, like the ids. */
export async function readOwnersOfGone(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  name: string,
  choice: Parameters<MirrorTables['ownersOfGone']>[2],
): Promise<string[]> {
  const { after, limit, ends, deletedFrom, isMissing } = choice
  const column = `own.${quoteIdentifier(name)}`
  const since = deletedFrom === null ? '' : ` AND far."_deleted_at" >= ${instant(deletedFrom)}`
  const isGone = ends.map((end) => {
    const id = `own.${quoteIdentifier(end.column)}`
    const far = `SELECT 1 FROM ${tableIn(schema, end.of.table)} AS far WHERE far."_id" = ${id}`
    const gone = `EXISTS (${far} AND far."_deleted_at" IS NOT NULL${since})`
    const lacks = isMissing ? ` OR NOT EXISTS (${far})` : ''
    const among = end.among
      ? `own.${quoteIdentifier(end.among.column)} IN ${rowsOf(end.among.values)} AND `
      : ''
    return `(${among}(${gone}${lacks}))`
  })
  if (isGone.length === 0) return []
  const above = after === null ? '' : ` AND ${column} > ${quoteLiteral(after)}`
  const rows = await ask(
    `SELECT to_json(owner) FROM (SELECT DISTINCT ${column} AS owner FROM ${tableIn(schema, stream.table)} AS own
     WHERE own."_deleted_at" IS NULL AND ${column} IS NOT NULL${above} AND (${isGone.join(' OR ')})
     ORDER BY owner LIMIT ${limit}) ORDER BY owner`,
  )
  return rows.map(([owner]) => JSON.parse(owner as string) as string)
}

/** One JSON text each: the driver drops U+FEFF at the beginning of a text. */
export async function readRows(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  ids: readonly string[],
): Promise<StoredRow[]> {
  const live = stream.columns.filter((column) => column.live)
  const written = [...OWN, ...live.map(({ name, type }) => columnText(quoteIdentifier(name), type))]
  const table = tableIn(schema, stream.table)
  const among = `"_id" IN ${rowsOf(ids)}`
  // Addressed by row position, the other columns are read only near those rows; by a condition on ids, everywhere. A column may
  // have the name of the position.
  const hasPlaces = !(await tableColumns(ask, schema, stream.table)).some((name) =>
    /^rowid$/i.test(name),
  )
  const where = hasPlaces ? `rowid IN (SELECT rowid FROM ${table} WHERE ${among})` : among
  const rows = await ask(`SELECT json_array(${written.join()}) FROM ${table} WHERE ${where}`)
  return rows.map(([row]) => storedRow(JSON.parse(row as string) as WrittenRow[], live))
}

/** Returns the number of rows. */
export async function deleteRows(
  ask: Ask,
  schema: string,
  stream: MirrorStream,
  { before, ids, owners, how, at }: Deletion,
): Promise<number> {
  const table = tableIn(schema, stream.table)
  const among = [
    ...(ids ? [`"_id" IN ${rowsOf(ids)}`] : []),
    ...(owners ? [`${quoteIdentifier(owners.column)} IN ${rowsOf(owners.values)}`] : []),
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
