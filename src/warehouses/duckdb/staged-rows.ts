// The form in which rows wait for their merge: the rows of an answer as one JSON text for each column, which costs less than a
// text for each row, or a value for each cell. Promise kept here: a row arrives exactly as it was given, character by
// character and digit by digit, or it is refused.

import type { ColumnType, MirrorCell, MirrorColumn, MirrorRow } from '../mirror-tables.ts'
import { rowChecker, unfitCell } from '../mirror/row-check.ts'
import { instantExpression, typed } from './sql.ts'

/** Half of a surrogate pair, which UTF-8 cannot contain. */
export const LONE_SURROGATE = /\p{Surrogate}/u

const TEXT: ColumnType = { holds: 'text', list: false }
const MISFITS: ColumnType = { holds: 'json', list: false }
/** The texts before those of the cells. */
const OWN_TEXTS = ['id', 'version', 'misfits'] as const

/** `first` numbers the rows of a batch: of equal rows the last one counts. */
export const CREATE_STAGED =
  'CREATE TEMP TABLE staged (first BIGINT, rows BIGINT, seen VARCHAR, texts VARCHAR[])'

/**
 * Makes the texts of rows: ids, versions, misfits, then each column's cells.
 * @throws SyncError `row_unfit` for a row that does not fit these columns, or that DuckDB cannot store
 */
export function textsWriter(
  columns: readonly MirrorColumn[],
): (rows: readonly MirrorRow[]) => string[] {
  const check = rowChecker(columns)
  const names = ['_id', '_version', '_misfits', ...columns.map(({ name }) => name)]
  return (rows) => {
    for (const row of rows) check(row)
    const texts = OWN_TEXTS.map((name) => JSON.stringify(rows.map((row) => row[name])))
    for (let index = 0; index < columns.length; index++)
      texts.push(JSON.stringify(rows.map(({ cells }) => cells[index])))
    texts.forEach((text, index) => checkCharacters(text, names[index]!))
    return texts
  }
}

/** JSON writes half of a surrogate pair as its number; a text that only looks like that comes after two backslashes. */
function checkCharacters(text: string, column: string): void {
  if (!text.includes(String.raw`\ud`)) return
  const values = (JSON.parse(text) as MirrorCell[]).flat()
  if (values.some((value) => typeof value === 'string' && LONE_SURROGATE.test(value)))
    throw unfitCell(column, 'whole characters')
}

const valuesOf = (place: number, { list }: ColumnType): string =>
  `unnest(from_json(texts[${place + 1}], '${list ? '[["VARCHAR"]]' : '["VARCHAR"]'}'))`

const NUMBERED = `unnest(range(first, first + rows)) AS added, ${instantExpression('seen')} AS seen`

/** Prepares a merge: outside the file, which need not be open meanwhile. */
export const PREPARE = [
  // Every row of the batch, without its cells.
  `CREATE OR REPLACE TEMP TABLE keys AS
   SELECT added, id, ${instantExpression('version')} AS version, seen
   FROM (SELECT ${NUMBERED}, ${valuesOf(0, TEXT)} AS id, ${valuesOf(1, TEXT)} AS version FROM temp.staged)`,
  // The row that counts for each id that came more than once.
  `CREATE OR REPLACE TEMP TABLE repeated AS
   SELECT id, added, max(seen) OVER (PARTITION BY id) AS last_seen FROM temp.keys
   WHERE id IN (SELECT id FROM temp.keys GROUP BY id HAVING count(*) > 1)
   QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC NULLS LAST, seen DESC, added DESC) = 1`,
]

/** One row for each id, in the types of the table: the cells are `c0`, `c1` and so on. */
export function latestRows(columns: readonly MirrorColumn[]): string {
  const shown = [
    { name: 'misfits', type: MISFITS },
    ...columns.map(({ type }, index) => ({ name: `c${index}`, type })),
  ]
  const values = [
    `${valuesOf(0, TEXT)} AS id`,
    `${valuesOf(1, TEXT)} AS version`,
    ...shown.map(({ name, type }, index) => `${valuesOf(index + 2, type)} AS ${name}`),
  ]
  return `(SELECT s.id, ${instantExpression('s.version')} AS version, coalesce(r.last_seen, s.seen) AS last_seen,
      ${shown.map(({ name, type }) => `${typed(`s.${name}`, type)} AS ${name}`).join()}
    FROM (SELECT ${NUMBERED}, ${values.join()} FROM temp.staged) s LEFT JOIN temp.repeated r ON r.id = s.id
    WHERE r.id IS NULL OR r.added = s.added)`
}
