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
  MirrorColumn,
  MirrorStream,
  MirrorTables,
  RowGroup,
  InstantRange,
} from '../mirror-tables.ts'
import { tableIn, type SchemaPlace } from './schema.ts'
import type { Lease } from './connections.ts'
import { quoteIdentifier, sqlType, columnText } from './sql.ts'
import { checkRowsDeleted } from './check-stored.ts'

/** `STORED_COLUMNS` as texts. */
const OWN = STORED_COLUMNS.map((name) =>
  columnText(quoteIdentifier(name), {
    holds: name === '_version' ? 'instant' : 'text',
    list: false,
  }),
)

/** The text of a column's value, compared by its bytes: a person may have given the column a collation. */
const exactText = ({ name, type }: Pick<MirrorColumn, 'name' | 'type'>): string =>
  `${columnText(quoteIdentifier(name), type)} COLLATE "C"`

/** The value of a text that `sourceCellText` made. */
const writtenOf = (text: string | null, column: MirrorColumn | undefined): WrittenRow =>
  text !== null && column?.type.list ? (JSON.parse(text) as WrittenRow) : text

/** Conditions of a statement, and the values of its parameters. */
class Conditions {
  readonly values: unknown[] = []
  readonly #texts = ['"_deleted_at" IS NULL']

  /** Adds a parameter for `value`. */
  value(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  add(text: string): void {
    this.#texts.push(text)
  }

  within(within: InstantRange | undefined): void {
    if (!within) return
    const column = quoteIdentifier(within.column)
    if (within.from !== null) this.add(`${column} >= ${this.value(within.from)}::timestamptz`)
    if (within.to !== null) this.add(`${column} < ${this.value(within.to)}::timestamptz`)
  }

  equal(stream: MirrorStream, { column, value }: ColumnEquals): void {
    const [found] = columnsNamed(stream, [column])
    const finding = compareStored(found!, value)
    if (finding.by === 'null') this.add(`${quoteIdentifier(column)} IS NULL`)
    else if (finding.by === 'value')
      this.add(`${quoteIdentifier(column)} = ${this.value(finding.text)}::${sqlType(found!.type)}`)
    else this.add(`${exactText(found!)} = ${this.value(finding.text)}`)
  }

  toString(): string {
    return this.#texts.join(' AND ')
  }
}

export async function countRows(
  lease: Lease,
  home: SchemaPlace,
  stream: MirrorStream,
  within: InstantRange | undefined,
): Promise<{ rows: number; misfits: number }> {
  const there = new Conditions()
  there.within(within)
  const { rows } = await lease.ask(
    `SELECT count(*), count("_misfits") FROM ${tableIn(home, stream.table)} WHERE ${there}`,
    there.values,
  )
  return { rows: Number(rows[0]![0]), misfits: Number(rows[0]![1]) }
}

export async function readGroups(
  lease: Lease,
  home: SchemaPlace,
  stream: MirrorStream,
  names: readonly string[],
  within: InstantRange | undefined,
): Promise<RowGroup[]> {
  const columns = columnsNamed(stream, names)
  const there = new Conditions()
  there.within(within)
  const { rows } = await lease.ask(
    `SELECT count(*), ${columns.map(exactText).join()} FROM ${tableIn(home, stream.table)} WHERE ${there}
     GROUP BY ${columns.map((_, index) => index + 2).join()}`,
    there.values,
  )
  return storedGroups(
    rows.map(([count, ...texts]) => ({
      written: texts.map((text, index) => writtenOf(text, columns[index])),
      rows: Number(count),
    })),
    columns,
  )
}

export async function readIds(
  lease: Lease,
  home: SchemaPlace,
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
  const there = new Conditions()
  if (after !== null) there.add(`"_id" COLLATE "C" > ${there.value(after)}`)
  if (seenBefore !== undefined)
    there.add(`"_last_seen_at" < ${there.value(seenBefore)}::timestamptz`)
  if (versionFrom !== undefined) there.add(`"_version" >= ${there.value(versionFrom)}::timestamptz`)
  there.within(within)
  if (owners)
    there.add(`${quoteIdentifier(owners.column)} = ANY (${there.value(owners.values)}::text[])`)
  for (const one of equals) there.equal(stream, one)
  const { rows } = await lease.ask(
    `SELECT "_id" FROM ${tableIn(home, stream.table)} WHERE ${there}
     ORDER BY "_id" COLLATE "C" LIMIT ${there.value(limit)}`,
    there.values,
  )
  return rows.map(([id]) => id!)
}

/** Whatever collations a person gave the columns, texts are compared by their bytes. */
export async function readOwnersOfGone(
  lease: Lease,
  home: SchemaPlace,
  stream: MirrorStream,
  name: string,
  choice: Parameters<MirrorTables['ownersOfGone']>[2],
): Promise<string[]> {
  const { after, limit, ends, deletedFrom, isMissing } = choice
  const values: unknown[] = []
  const value = (one: unknown): string => `$${values.push(one)}`
  const column = `own.${quoteIdentifier(name)} COLLATE "C"`
  const since =
    deletedFrom === null ? '' : ` AND far."_deleted_at" >= ${value(deletedFrom)}::timestamptz`
  const isGone = ends.map((end) => {
    const id = `own.${quoteIdentifier(end.column)} COLLATE "C"`
    const far = `SELECT 1 FROM ${tableIn(home, end.of.table)} AS far WHERE far."_id" COLLATE "C" = ${id}`
    const gone = `EXISTS (${far} AND far."_deleted_at" IS NOT NULL${since})`
    const lacks = isMissing ? ` OR NOT EXISTS (${far})` : ''
    const among = end.among
      ? `own.${quoteIdentifier(end.among.column)} = ANY (${value(end.among.values)}::text[]) AND `
      : ''
    return `(${among}(${gone}${lacks}))`
  })
  if (isGone.length === 0) return []
  const above = after === null ? '' : ` AND ${column} > ${value(after)}`
  const { rows } = await lease.ask(
    `SELECT DISTINCT ${column} FROM ${tableIn(home, stream.table)} AS own
     WHERE own."_deleted_at" IS NULL AND ${column} IS NOT NULL${above} AND (${isGone.join(' OR ')})
     ORDER BY 1 LIMIT ${value(limit)}`,
    values,
  )
  return rows.map(([owner]) => owner!)
}

export async function readRows(
  lease: Lease,
  home: SchemaPlace,
  stream: MirrorStream,
  ids: readonly string[],
): Promise<StoredRow[]> {
  const live = stream.columns.filter((column) => column.live)
  const written = [...OWN, ...live.map(({ name, type }) => columnText(quoteIdentifier(name), type))]
  const { rows } = await lease.ask(
    `SELECT ${written.join()} FROM ${tableIn(home, stream.table)} WHERE "_id" = ANY ($1::text[])`,
    [ids],
  )
  return rows.map((texts) => {
    const row = texts.map((text, index) => writtenOf(text, live[index - OWN.length]))
    return storedRow(row, live)
  })
}

/** Returns the number of rows. */
export async function deleteRows(
  lease: Lease,
  home: SchemaPlace,
  stream: MirrorStream,
  { before, ids, owners, how, at }: Deletion,
): Promise<number> {
  const there = new Conditions()
  there.add(`"_last_seen_at" < ${there.value(before)}::timestamptz`)
  const among = []
  if (ids) among.push(`"_id" = ANY (${there.value(ids)}::text[])`)
  if (owners)
    among.push(`${quoteIdentifier(owners.column)} = ANY (${there.value(owners.values)}::text[])`)
  if (among.length > 0) there.add(`(${among.join(' OR ')})`)
  const table = tableIn(home, stream.table)
  const values = [...there.values]
  const { count } = await lease.ask(
    how === 'hard'
      ? `DELETE FROM ${table} WHERE ${there}`
      : `UPDATE ${table} SET "_deleted_at" = ${there.value(at)}::timestamptz WHERE ${there}`,
    there.values,
  )
  await checkRowsDeleted(lease, home, stream, { where: `${there}`, values })
  return count
}
