// Rows in the text format of COPY, and the stream that sends them to the server. Promise kept here: a row arrives exactly as it
// was given, character by character, or it is refused.

import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type {
  ColumnType,
  MirrorCell,
  MirrorColumn,
  MirrorRow,
  MirrorValue,
} from '../mirror-tables.ts'
import { rowChecker, unfitCell } from '../mirror/row-check.ts'

const NULL = String.raw`\N`
const SPECIAL = /[\\\n\r\t]/
const SPECIALS = /[\\\n\r\t]/g
const ITEM_SPECIAL = /["\\]/
const ITEM_SPECIALS = /["\\]/g
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
}
/** What no PostgreSQL text can hold: U+0000, and one half of a surrogate pair without the other. */
export const UNSTORABLE = /[\0\ud800-\udfff]/u

/** The same of a long text, in a tenth of the time. The method is ES2024, and in Node since 20. */
const isStorable = (text: string): boolean =>
  (text as string & { isWellFormed(): boolean }).isWellFormed() && !text.includes('\0')

/** A text as a field of COPY's text format. */
function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replaceAll(SPECIALS, (special) => ESCAPES[special]!) : text
}

/** A value that fits, in the form in which PostgreSQL reads its type. */
const valueText = (value: MirrorValue): string =>
  typeof value === 'boolean' ? (value ? 't' : 'f') : value

/** A value as an item of an array. */
const item = (value: string): string =>
  `"${ITEM_SPECIAL.test(value) ? value.replaceAll(ITEM_SPECIALS, String.raw`\$&`) : value}"`

/** A cell that fits, as a field of a line. Only texts and JSON may need escaping. */
function fieldOf({ holds, list }: ColumnType): (cell: MirrorCell) => string {
  if (list)
    return (cell) =>
      cell === null
        ? NULL
        : escaped(`{${(cell as readonly MirrorValue[]).map((one) => item(valueText(one))).join()}}`)
  if (holds === 'text' || holds === 'json')
    return (cell) => (cell === null ? NULL : escaped(cell as string))
  return (cell) => (cell === null ? NULL : valueText(cell as MirrorValue))
}

/**
 * Writes lines of rows: id, version, time of the request, misfits, then the cells.
 * @throws SyncError `row_unfit` for a row that does not fit these columns, or that PostgreSQL cannot store
 */
export function linesWriter(
  columns: readonly MirrorColumn[],
): (rows: readonly MirrorRow[], seenAt: string) => string {
  const check = rowChecker(columns)
  const fields = columns.map(({ type }) => fieldOf(type))
  const lineOf = (row: MirrorRow, seenAt: string): string => {
    check(row)
    const { id, version, cells, misfits } = row
    let line = `${escaped(id)}\t${version ?? NULL}\t${seenAt}\t${misfits === null ? NULL : escaped(misfits)}`
    for (let index = 0; index < fields.length; index++) line += `\t${fields[index]!(cells[index]!)}`
    return `${line}\n`
  }
  return (rows, seenAt) => {
    let lines = ''
    for (const row of rows) lines += lineOf(row, seenAt)
    if (!isStorable(lines))
      throw unfitCell(unstorable(columns, rows), 'whole characters, and not U+0000')
    return lines
  }
}

function unstorable(columns: readonly MirrorColumn[], rows: readonly MirrorRow[]): string {
  const bad = (value: unknown): boolean => UNSTORABLE.test(String(value))
  for (const { id, cells } of rows) {
    if (bad(id)) return '_id'
    const column = columns[cells.findIndex(bad)]
    if (column) return column.name
  }
  return '_misfits'
}

/** Longest time in which the server may accept nothing. */
const STALLED_MS = 120_000

type Done = (error?: Error | null) => void

/** Copies lines; its errors are the driver's own. */
export async function copyInto(
  client: PoolClient,
  statement: string,
  parts: readonly Buffer[],
): Promise<void> {
  const stream = client.query(copyFrom(statement))
  const failed = new Promise<never>((_, reject) => stream.on('error', reject))
  failed.catch(() => {})
  /** A failed COPY reports it only by an event: it must not be written to any more, and invokes no callback. */
  const within = async (begin: (done: Done) => void) => {
    await Promise.race([failed, Promise.resolve()])
    let timer: NodeJS.Timeout | undefined
    const done = new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error('Query read timeout')), STALLED_MS)
      begin((error) => (error ? reject(error) : resolve()))
    })
    try {
      await Promise.race([failed, done])
    } finally {
      clearTimeout(timer)
    }
  }
  // One after the other: the stream must not hold more than one piece.
  for (const part of parts) await within((done) => stream.write(part, done))
  await within((done) => stream.end(done))
}
