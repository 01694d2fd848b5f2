// How links are found in PostgreSQL: by the hashes that its indexes have, each row by itself, whatever the planner assumes.

import type { LinkSql } from '../statements/link-sql.ts'
import { postgresDialect } from './dialect.ts'
import { itemsWith } from './origins.ts'

const hashed = (text: string): string => `hashtextextended(${text}, 0)`
const hashedIn = (text: string, run: string): string => `hashtextextended(${text}, ${run})`

/** Whether a column has the text; by its index. */
const is = (column: string, text: string): string =>
  `${hashed(column)} = ${hashed(text)} AND ${column} = ${text}`

const ofTarget = (alias: string, run: string, own: string): string =>
  `${hashedIn(`${alias}.target`, `${alias}.run`)} = ${hashedIn(`${own}.target`, run)}
    AND ${alias}.target = ${own}.target AND ${alias}.association = ${own}.association AND ${alias}.run + 0 = ${run}`

const knownOfEdge: LinkSql['knownOfEdge'] = (alias, destination, own) => ({
  table: `known_links AS ${alias}`,
  on: `${alias}.destination = ${destination} AND ${is(`${alias}.key`, `${own}.key`)}
    AND ${is(`${alias}.target`, `${own}.target`)} AND ${alias}.association = ${own}.association`,
})

export const postgresLinkSql: LinkSql = {
  ...postgresDialect,
  lock: 'FOR NO KEY UPDATE',
  hashed,
  linksOfEdge: (alias, run, own) => ({
    table: `links AS ${alias}`,
    on: `${ofTarget(alias, run, own)} AND ${hashedIn(`${alias}.key`, `${alias}.run`)} = ${hashedIn(`${own}.key`, run)}
      AND ${alias}.key = ${own}.key`,
  }),
  linksOfTarget: (alias, run, own) => ({
    table: `links AS ${alias}`,
    on: ofTarget(alias, run, own),
  }),
  linksOfEnd: (alias, run, own, end) => ({
    table: `links AS ${alias}`,
    on: `${hashedIn(`${alias}.${end}`, `${alias}.run`)} = ${hashedIn(`${own}.${end}`, run)}
      AND ${alias}.${end} = ${own}.${end} AND ${alias}.${end} IS NOT NULL AND ${alias}.run + 0 = ${run}`,
  }),
  itemsOfKey: (alias, run, key) => ({
    table: `items AS ${alias}`,
    on: itemsWith(run, key, alias),
  }),
  removalsOfKey: (alias, run, key) => ({
    table: `removals AS ${alias}`,
    on: itemsWith(run, key, alias),
  }),
  withdrawnOfKey: (alias, destination, key) => ({
    table: `withdrawn_keys AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${is(`${alias}.key`, key)}`,
  }),
  itemsOfRecord: (alias, run, recordId) => ({
    table: `items AS ${alias}`,
    on: `${hashedIn(`${alias}.record_id`, `${alias}.run`)} = ${hashedIn(recordId, run)}
      AND ${alias}.record_id = ${recordId} AND ${alias}.run + 0 = ${run}`,
  }),
  differencesOfRecord: (alias, run, recordId) => ({
    table: `differences AS ${alias}`,
    on: `${hashedIn(`${alias}.record_id`, `${alias}.run`)} = ${hashedIn(recordId, run)}
      AND ${alias}.record_id = ${recordId} AND ${alias}.run + 0 = ${run} AND ${alias}.ordinal IS NOT NULL`,
  }),
  differencesOfSubject: (alias, run, subject) => ({
    table: `differences AS ${alias}`,
    on: `${hashedIn(`${alias}.subject`, `${alias}.run`)} = ${hashedIn(subject, run)}
      AND ${alias}.subject = ${subject} AND ${alias}.run + 0 = ${run}`,
  }),
  deleteDifferences: (columns) => `DELETE FROM differences USING given
    WHERE ${hashedIn('differences.subject', 'differences.run')} = ${hashedIn('given.subject', '$1')} AND differences.run + 0 = $1
      AND ${columns
        .split(', ')
        .map((column) => `differences.${column} = given.${column}`)
        .join(' AND ')}`,
  numbered: null,
  acceptedOfRecord: (alias, destination, recordId) => ({
    table: `accepted AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${is(`${alias}.record_id`, recordId)}`,
  }),
  deleteAccepted: (select) => `DELETE FROM accepted USING (${select} OFFSET 0) AS own
    WHERE accepted.destination = own.destination AND ${is('accepted.key', 'own.key')}`,
  counted: (name) => `(counts ->> '${name}')::bigint`,
  acceptedOfKey: (alias, destination, key) => ({
    table: `accepted AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${is(`${alias}.key`, key)}`,
  }),
  knownOfEdge,
  knownOfKey: (alias, destination, key) => ({
    table: `known_links AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${is(`${alias}.key`, key)}`,
  }),
  knownOfTarget: (alias, destination, own) => ({
    table: `known_links AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${is(`${alias}.target`, `${own}.target`)} AND ${alias}.one_source = 1
      AND ${alias}.association = ${own}.association`,
  }),
  knownOfRecord: (alias, end, id) => ({
    table: `known_links AS ${alias}`,
    on: `${alias}.${end} = ${id} AND ${alias}.state = 'linked'`,
  }),
  knownLeft: (alias, destination) => ({
    table: `known_links AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${alias}.state <> 'linked'`,
  }),
  knownWaiting: (alias, destination, type) => ({
    table: `known_links AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${alias}.target_type = ${type} AND ${alias}.state = 'target_missing'`,
  }),
  deleteKnown: (select, fits) => `DELETE FROM known_links AS known USING (${select} OFFSET 0) AS own
    WHERE ${knownOfEdge('known', 'own.destination', 'own').on} AND ${fits}`,
  joined: ({ table, on }, alias, columns) =>
    `JOIN LATERAL (SELECT ${columns} FROM ${table} WHERE ${on} OFFSET 0) AS ${alias} ON true`,
  leftJoined: ({ table, on }, alias, columns) =>
    `LEFT JOIN LATERAL (SELECT ${columns} FROM ${table} WHERE ${on} LIMIT 1) AS ${alias} ON true`,
}
