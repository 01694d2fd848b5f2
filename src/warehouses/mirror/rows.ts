// Rows of a mirror's table: counts and lists the ids of present rows, marks rows as deleted or removes them, and reads what a row
// holds. Texts are compared by their bytes, whatever collation a person gave a column.

import type {
  Deletion,
  InstantRange,
  MirrorColumn,
  MirrorStream,
  MirrorTables,
  RowGroup,
  StoredRow,
} from '../mirror-tables.ts'
import { columnsNamed, matchOf, STORED_COLUMNS, storedGroups, storedRow } from '../stored-rows.ts'
import {
  quoteIdentifier,
  type MirrorSession,
  type MirrorStatement,
  type TypedExpression,
} from './session.ts'

const PRESENT = '"_deleted_at" IS NULL'
const TEXT = { holds: 'text', list: false } as const

/** `STORED_COLUMNS` as texts. */
const OWN: readonly TypedExpression[] = STORED_COLUMNS.map((name) => ({
  expression: quoteIdentifier(name),
  type: name === '_version' ? { holds: 'instant', list: false } : TEXT,
}))

const valueOf = ({ name, type }: MirrorColumn): TypedExpression => ({
  expression: quoteIdentifier(name),
  type,
})

const tableOf = ({ dialect, schema }: MirrorSession, { table }: MirrorStream): string =>
  dialect.table(schema, table)

const SEEN = '_last_seen_at'

/** Rows that were not seen since a time. One without such a time was put there by others. */
const unseenSince = (statement: MirrorStatement, before: string): string =>
  `("${SEEN}" < ${statement.instant(before)} OR "${SEEN}" IS NULL)`

function inRange(statement: MirrorStatement, within: InstantRange | undefined): string[] {
  if (!within) return []
  if (within.column === SEEN && within.from === null && within.to !== null)
    return [unseenSince(statement, within.to)]
  const column = quoteIdentifier(within.column)
  return [
    ...(within.from === null ? [] : [`${column} >= ${statement.instant(within.from)}`]),
    ...(within.to === null ? [] : [`${column} < ${statement.instant(within.to)}`]),
  ]
}

export async function countRows(
  session: MirrorSession,
  stream: MirrorStream,
  within?: InstantRange,
): Promise<{ rows: number; misfits: number }> {
  const count = session.statement()
  const where = [PRESENT, ...inRange(count, within)].join(' AND ')
  const [row] = await count.ask(
    `SELECT count(*), count("_misfits") FROM ${tableOf(session, stream)} WHERE ${where}`,
  )
  return { rows: Number(row![0]), misfits: Number(row![1]) }
}

export async function hasValues(
  session: MirrorSession,
  stream: MirrorStream,
  name: string,
): Promise<boolean> {
  const [column] = columnsNamed(stream, [name])
  const rows = await session
    .statement()
    .ask(
      `SELECT 1 FROM ${tableOf(session, stream)} WHERE ${PRESENT} AND ${quoteIdentifier(column!.name)} IS NOT NULL LIMIT 1`,
    )
  return rows.length > 0
}

export async function readGroups(
  session: MirrorSession,
  stream: MirrorStream,
  names: readonly string[],
  within?: InstantRange,
): Promise<RowGroup[]> {
  const columns = columnsNamed(stream, names)
  const { expressions, read } = session.dialect.written(columns.map(valueOf))
  const group = session.statement()
  const where = [PRESENT, ...inRange(group, within)].join(' AND ')
  const rows = await group.ask(
    `SELECT count(*), ${expressions.join()} FROM ${tableOf(session, stream)} WHERE ${where}
     GROUP BY ${expressions.map((_, index) => index + 2).join()}`,
  )
  return storedGroups(
    rows.map(([count, ...values]) => ({ written: read(values), rows: Number(count) })),
    columns,
  )
}

export async function readIds(
  session: MirrorSession,
  stream: MirrorStream,
  choice: Parameters<MirrorTables['ids']>[1],
): Promise<string[]> {
  const { after, limit, seenBefore, versionFrom, within, owners, equals = [] } = choice
  const list = session.statement()
  const id = session.dialect.byBytes('"_id"')
  const { expressions, read } = session.dialect.written([{ expression: '"_id"', type: TEXT }])
  const where = [
    PRESENT,
    ...(after === null ? [] : [`${id} > ${list.text(after)}`]),
    ...(seenBefore === undefined ? [] : [unseenSince(list, seenBefore)]),
    ...(versionFrom === undefined ? [] : [`"_version" >= ${list.instant(versionFrom)}`]),
    ...inRange(list, within),
    ...(owners ? [list.among(quoteIdentifier(owners.column), owners.values)] : []),
    ...equals.map(({ column, value }) => {
      const [found] = columnsNamed(stream, [column])
      return list.matches(found!, matchOf(found!, value))
    }),
  ].join(' AND ')
  const rows = await list.ask(
    `SELECT ${expressions.join()} FROM ${tableOf(session, stream)} WHERE ${where}
     ORDER BY ${id} LIMIT ${limit}`,
  )
  return rows.map((row) => read(row)[0] as string)
}

export async function readNewestIds(
  session: MirrorSession,
  stream: MirrorStream,
  limit: number,
  upTo?: string,
): Promise<string[]> {
  const list = session.statement()
  const { expressions, read } = session.dialect.written([{ expression: '"_id"', type: TEXT }])
  const highest = upTo === undefined ? 'IS NOT NULL' : `<= ${list.instant(upTo)}`
  const rows = await list.ask(
    `SELECT ${expressions.join()} FROM ${tableOf(session, stream)} WHERE ${PRESENT} AND "_version" ${highest}
     ORDER BY "_version" DESC LIMIT ${limit}`,
  )
  return rows.map((row) => read(row)[0] as string)
}

export async function readOwnersOfGone(
  session: MirrorSession,
  stream: MirrorStream,
  name: string,
  choice: Parameters<MirrorTables['ownersOfGone']>[2],
): Promise<string[]> {
  const { after, limit, ends, deletedFrom, isMissing } = choice
  if (ends.length === 0) return []
  const { byBytes, written } = session.dialect
  const list = session.statement()
  const owner = byBytes(`own.${quoteIdentifier(name)}`)
  const isGone = ends.map((end) => {
    const id = byBytes(`own.${quoteIdentifier(end.column)}`)
    const far = `SELECT 1 FROM ${tableOf(session, end.of)} AS far WHERE ${byBytes('far."_id"')} = ${id}`
    const since =
      deletedFrom === null ? '' : ` AND far."_deleted_at" >= ${list.instant(deletedFrom)}`
    const gone = `EXISTS (${far} AND far."_deleted_at" IS NOT NULL${since})`
    const lacks = isMissing ? ` OR NOT EXISTS (${far})` : ''
    const among = end.among
      ? `${list.among(`own.${quoteIdentifier(end.among.column)}`, end.among.values)} AND `
      : ''
    return `(${among}(${gone}${lacks}))`
  })
  const above = after === null ? '' : ` AND ${owner} > ${list.text(after)}`
  const { expressions, read } = written([{ expression: 'owner', type: TEXT }])
  const rows = await list.ask(
    `SELECT ${expressions.join()} FROM (SELECT DISTINCT ${owner} AS owner FROM ${tableOf(session, stream)} AS own
     WHERE own."_deleted_at" IS NULL AND ${owner} IS NOT NULL${above} AND (${isGone.join(' OR ')})
     ORDER BY owner LIMIT ${limit}) AS owners ORDER BY owner`,
  )
  return rows.map((row) => read(row)[0] as string)
}

export async function readRows(
  session: MirrorSession,
  stream: MirrorStream,
  ids: readonly string[],
): Promise<StoredRow[]> {
  const live = stream.columns.filter((column) => column.live)
  const { expressions, read } = session.dialect.written([...OWN, ...live.map(valueOf)])
  const list = session.statement()
  const where = await session.withIds(list, stream.table, ids)
  const rows = await list.ask(
    `SELECT ${expressions.join()} FROM ${tableOf(session, stream)} WHERE ${where}`,
  )
  return rows.map((row) => storedRow(read(row), live))
}

/** Returns the number of rows. In a transaction. */
export async function deleteRows(
  session: MirrorSession,
  stream: MirrorStream,
  { before, ids, owners, how, at }: Deletion,
): Promise<number> {
  const whereOf = (statement: MirrorStatement): string => {
    const among = [
      ...(ids ? [statement.among('"_id"', ids)] : []),
      ...(owners ? [statement.among(quoteIdentifier(owners.column), owners.values)] : []),
    ]
    return [
      PRESENT,
      unseenSince(statement, before),
      ...(among.length > 0 ? [`(${among.join(' OR ')})`] : []),
    ].join(' AND ')
  }
  const table = tableOf(session, stream)
  const remove = session.statement()
  const where = whereOf(remove)
  const count = await remove.write(
    how === 'hard'
      ? `DELETE FROM ${table} WHERE ${where}`
      : `UPDATE ${table} SET "_deleted_at" = ${remove.instant(at)} WHERE ${where}`,
  )
  await session.checkDeleted(stream, whereOf)
  return count
}
