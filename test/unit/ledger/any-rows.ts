// Rows of any content in every table of a SQLite ledger: what its columns may hold, whether or not a run would write it.

import {
  DELETION_STATES,
  KNOWN_LINK_STATES,
  ITEM_STATES,
  LINK_STATES,
} from '../../../src/core/domain/outcomes.ts'
import { DatabaseSync } from '@photostructure/sqlite'
import { dice } from '../../other-service/random-habits.ts'

/** Texts that one engine or the other has its troubles with; U+0000 and U+001A as the ledger stores them. */
const TEXTS = [
  '',
  ' ',
  'plain',
  "it's",
  '"quoted" \\ back',
  '{}',
  'null',
  'NULL',
  '\\N',
  '{a,b}',
  'line\nbreak\r\n\ttab',
  'Größe 漢字 😀 é é',
  '\u001a0\u001a1',
  '\u0001\u007f\u2028\ufeff',
  '1e3',
  '007',
  'x'.repeat(9_000),
]
const JSON_TEXTS = [
  '{}',
  '[]',
  '{"a": 1,  "b":"\\u0000"}',
  '"text"',
  '12345678901234567890',
  'null',
]

/** Columns that PostgreSQL has as JSON or as instants. */
const JSONS = new Set('config properties source_columns warnings counts watermark'.split(' '))
const TIMES = /_at$|^verified_through$/
const REFERENCES = new Set(['destination', 'run', 'of_run'])
const BIG = new Set([
  'org_id',
  'requests',
  'read',
  'inserted',
  'changed',
  'unchanged',
  'deleted',
  'misfits',
])
const TABLES_FIRST = ['destinations', 'runs']

interface Column {
  readonly name: string
  readonly type: string
  readonly notnull: number
  readonly pk: number
}

export function fillAnyRows(path: string, seed: number): void {
  const { below, often, one } = dice(seed + 1)
  const db = new DatabaseSync(path)
  const names = (
    db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all() as { name: string }[]
  )
    .map(({ name }) => name)
    .filter((name) => !['project', 'moves', ...TABLES_FIRST].includes(name))
  let unique = 0
  const value = (
    table: string,
    columns: readonly Column[],
    { name, type, notnull, pk }: Column,
    row: number,
  ): string | number | null => {
    if (table === 'runs' && name === 'id') return row % 3 === 2 ? -row - 1 : row + 1
    if (name === 'run' && columns.filter((one) => one.pk > 0).length === 1)
      return row % 3 === 2 ? -row - 1 : row + 1
    if (name === 'state' && table === 'items') return one(...ITEM_STATES)
    if (name === 'state' && table === 'links') return one(...LINK_STATES)
    if (name === 'state' && table === 'known_links') return one(...KNOWN_LINK_STATES)
    if (name === 'state' && table === 'removals') return one(...DELETION_STATES)
    if (REFERENCES.has(name)) return name === 'of_run' ? (row > 0 && often(0.5) ? 1 : null) : 1
    if (notnull === 0 && pk === 0 && often(0.3)) return null
    if (TIMES.test(name)) return new Date(1_700_000_000_000 + below(1_000_000_000)).toISOString()
    if (JSONS.has(name)) return one(...JSON_TEXTS)
    if (pk > 0 || name === 'token')
      return type === 'TEXT' ? `${one(...TEXTS).slice(0, 99)} ${++unique}` : ++unique
    if (type === 'INTEGER')
      return /replayed|in_doubt|normalised|repaired|one_source|left_source/.test(name)
        ? below(2)
        : (table === 'streams' ? BIG.has(name) : name === 'org_id')
          ? 4_000_000_000 + below(1_000_000)
          : below(2_000_000_000)
    if (type === 'REAL') return one(0, 0.1, 12.5, 1 / 3, 1e-7, 123_456_789.123)
    return one(...TEXTS)
  }
  for (const table of [...TABLES_FIRST, ...names]) {
    const columns = db
      .prepare('SELECT name, type, "notnull", pk FROM pragma_table_info(?)')
      .all(table) as unknown as Column[]
    const insert = db.prepare(
      `INSERT INTO ${table} (${columns.map(({ name }) => `"${name}"`).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    )
    // More than a page of one table.
    const rows =
      table === 'items' || table === 'accepted'
        ? 1_000 + below(1_200)
        : table === 'runs'
          ? 40
          : 3 + below(30)
    db.exec('BEGIN')
    for (let row = 0; row < rows; row++)
      insert.run(...columns.map((column) => value(table, columns, column, row)))
    db.exec('COMMIT')
  }
  db.close()
}
