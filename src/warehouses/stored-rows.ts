// Reads back rows of a mirror's table: from the texts that both databases write for values to the forms of `MirrorRow`. Promise
// kept here: what a merge wrote comes back as it was given; anything else never looks like it.

import { canonicalDecimal } from '../core/decimal.ts'
import { SyncError } from '../core/errors.ts'
import { canonicalJson, parseJson } from '../core/json.ts'
import { instantCell } from './cells.ts'
import type {
  ColumnType,
  ColumnEquals,
  StoredRow,
  MirrorCell,
  MirrorColumn,
  MirrorStream,
  MirrorValue,
  RowGroup,
} from './mirror-tables.ts'

/**
 * The text that a database writes for a value: instants in UTC and without their zone (`2026-01-31 08:15:00.5`), booleans as
 * `true` and `false`; for a list, the texts of its items; null for NULL.
 */
export type WrittenRow = string | null | readonly WrittenRow[]

/** The columns of a row before its cells. */
export const STORED_COLUMNS = ['_id', '_version', '_deleted_at', '_misfits'] as const

const INSTANT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?$/

/** Outside the calendar, and for infinite instants, it is the database's own text. */
const instant = (text: string): string => (INSTANT.test(text) ? instantCell(text) : text)

/** The canonical text, whatever order, white space and form of numbers a database, or a person, gave it. */
function json(text: string): string {
  try {
    return canonicalJson(parseJson(text))
  } catch {
    // Nested too deep for a program, or not JSON.
    return text
  }
}

const FORMS: Readonly<Record<ColumnType['holds'], (text: string) => MirrorValue>> = {
  text: (text) => text,
  decimal: (text) => canonicalDecimal(text) ?? text,
  boolean: (text) => text === 'true',
  date: (text) => text,
  instant,
  json,
}

/** A list that contains another list, or NULL, is a text: the cells of records are lists. */
function cellOf(written: WrittenRow, { holds }: ColumnType): MirrorCell {
  const form = FORMS[holds]
  if (written === null) return null
  if (typeof written === 'string') return form(written)
  return written.every((item) => typeof item === 'string')
    ? written.map(form)
    : JSON.stringify(written)
}

const cellsOf = (written: readonly WrittenRow[], columns: readonly MirrorColumn[]): MirrorCell[] =>
  columns.map(({ type }, index) => cellOf(written[index]!, type))

/**
 * @param row `STORED_COLUMNS`, then the live columns of the stream
 * @param live those columns
 */
export function storedRow(row: readonly WrittenRow[], live: readonly MirrorColumn[]): StoredRow {
  const [id, version, deletedAt, misfits] = row as readonly (string | null)[]
  return {
    id: id!,
    version: version == null ? null : instant(version),
    isDeleted: deletedAt !== null,
    cells: cellsOf(row.slice(STORED_COLUMNS.length), live),
    misfits: misfits == null ? null : json(misfits),
  }
}

/** Groups as a database returns them: values that it writes in several ways become one. */
export function storedGroups(
  groups: Iterable<{ readonly written: readonly WrittenRow[]; readonly rows: number }>,
  columns: readonly MirrorColumn[],
): RowGroup[] {
  const held = new Map<string, RowGroup>()
  for (const { written, rows } of groups) {
    const values = cellsOf(written, columns)
    const key = JSON.stringify(values)
    held.set(key, { values, rows: rows + (held.get(key)?.rows ?? 0) })
  }
  return [...held.values()]
}

/** Columns of a stream, by name. */
export const columnsNamed = (
  { name: stream, columns }: MirrorStream,
  names: readonly string[],
): MirrorColumn[] =>
  names.map((name) => {
    const column = columns.find((one) => one.name === name)
    if (column) return column
    throw new SyncError('column_unfit', `The stream ${stream} has no column ${name}`)
  })

/** How rows with a value are found: by the absence of one, by the value itself, or by the text that the database writes for it. */
export type ValueMatch =
  | { readonly by: 'null' }
  | { readonly by: 'value' | 'text'; readonly text: string }

/** @throws SyncError `column_unfit` for columns with too many ways to write a value: an error of ours */
export function matchOf(
  { name, type: { holds, list } }: MirrorColumn,
  value: ColumnEquals['value'],
): ValueMatch {
  if (list || holds === 'json')
    throw new SyncError(
      'column_unfit',
      `The column ${name} holds ${list ? 'lists' : 'JSON'}; expected single values to compare`,
    )
  if (value === null) return { by: 'null' }
  const text = String(value)
  const hasForm =
    (holds === 'decimal' && canonicalDecimal(text) === text) ||
    (holds === 'instant' && text.endsWith('Z'))
  return { by: hasForm ? 'value' : 'text', text }
}
