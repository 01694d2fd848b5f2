// What is special about SQLite's SQL, and its file as a runner of single statements.

import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import type { SqlDialect, StatementRunner, StatementValue } from '../statements/engine.ts'
import type { SqliteDatabase } from './database.ts'
import { leftOf, unreadOf, withNewestRaw, withRaw } from './left.ts'
import { originOf } from './origins.ts'
import { correctedMetAgain, correctedByRetry } from './corrections.ts'

export const sqliteDialect: SqlDialect = {
  json: (value) => JSON.parse(String(value)),
  time: String,
  join: 'CROSS JOIN',
  indexedBy: (index) => `INDEXED BY ${index}`,
  collate: 'COLLATE BINARY',
  withPayload: 'JOIN payloads USING (run, ordinal)',
  list: (values) => JSON.stringify(values),
  listAt: (place) => place,
  contains: (text, place) => `instr(${text}, ${place}) > 0`,
  isOneOf: (text, place) => `${text} IN (SELECT value FROM json_each(${place}))`,
  configured: (run, path) => `json_extract(${run}.config, '$.${path.join('.')}')`,
  originOf,
  eachOf: (json) => `json_each(${json}) AS each`,
  leftOf,
  withRaw,
  withNewestRaw,
  ofAllRuns: (table, column) =>
    `FROM runs CROSS JOIN ${table} INDEXED BY ${table}_${column === 'record_id' ? 'record' : column}
       ON ${table}.run = runs.id AND ${table}.${column} = $1`,
  acceptedOf: (column) =>
    `FROM destinations CROSS JOIN accepted ON accepted.destination = destinations.id AND accepted.${column} = $1`,
  correctedByRetry,
  correctedMetAgain,
  unreadOf,
}

const texts = new Map<string, string>()

/** `$1` as SQLite numbers its values: `?1`. */
export function sqliteText(text: string): string {
  let own = texts.get(text)
  if (own === undefined) {
    own = text.replaceAll(/\$(\d+)/g, '?$1')
    texts.set(text, own)
  }
  return own
}

/** Lists are bound as `sqliteDialect.list` gives them. */
const single = (values: readonly StatementValue[]) => values as readonly (string | number | null)[]

export function statementRunner(db: SqliteDatabase): StatementRunner {
  return {
    all: async (text, values = []) => db.sql(sqliteText(text)).all(...single(values)),
    page: async (text, values) =>
      db.sql(sqliteText(text)).upTo(LEDGER_CHARS_MAX, ...single(values)),
    one: async (text, values = []) => db.sql(sqliteText(text)).get(...single(values)),
    run: async (text, values = []) => db.sql(sqliteText(text)).run(...single(values)),
  }
}
