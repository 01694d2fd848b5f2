// What is special about PostgreSQL's SQL.

import type { SqlDialect } from '../statements/engine.ts'
import { withPayload } from './items.ts'
import { leftOf, withRaw } from './left.ts'
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
  isOneOf: (text, place) => `${text} = ANY (${place}::text[])`,
  eachOf: (json) => `json_array_elements(${json}::json) AS each`,
  leftOf,
  withRaw,
  correctedByRetry,
  correctedMetAgain,
}
