// What is special about PostgreSQL's SQL.

import type { SqlDialect } from '../statements/engine.ts'
import { withPayload } from './items.ts'
import { leftOf, unreadOf, withNewestRaw, withRaw } from './left.ts'
import { originOf } from './origins.ts'
import { correctedMetAgain, correctedByRetry } from './corrections.ts'

export const postgresDialect: SqlDialect = {
  json: (value) => value,
  time: (value) => (value as Date).toISOString(),
  join: 'JOIN',
  indexedBy: () => '',
  collate: 'COLLATE "C"',
  withPayload,
  list: (values) => values,
  listAt: (place) => `${place}::text[]`,
  contains: (text, place) => `strpos(${text}, CAST(${place} AS text)) > 0`,
  isOneOf: (text, place) => `${text} = ANY (${place}::text[])`,
  configured: (run, path) => `(${run}.config::json #>> '{${path.join(',')}}')`,
  originOf,
  eachOf: (json) => `json_array_elements(${json}::json) AS each`,
  leftOf,
  withRaw,
  withNewestRaw,
  // A subquery with a bound is asked for each run, whatever the planner assumes of the tables.
  ofAllRuns: (table, column) =>
    `FROM runs JOIN LATERAL (SELECT * FROM ${table}
       WHERE hashtextextended(${table}.${column}, ${table}.run) = hashtextextended($1, runs.id)
         AND ${table}.run = runs.id AND ${table}.${column} = $1 LIMIT 1000) AS ${table} ON true`,
  acceptedOf: (column) =>
    `FROM destinations JOIN LATERAL (SELECT * FROM accepted WHERE accepted.destination = destinations.id
       AND hashtextextended(accepted.${column}, 0) = hashtextextended($1, 0) AND accepted.${column} = $1
       LIMIT 1000) AS accepted ON true`,
  correctedByRetry,
  correctedMetAgain,
  unreadOf,
}
