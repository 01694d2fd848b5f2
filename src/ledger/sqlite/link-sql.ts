// How links are found in SQLite.

import type { LinkSql } from '../statements/link-sql.ts'
import { sqliteDialect } from './dialect.ts'

export const sqliteLinkSql: LinkSql = {
  ...sqliteDialect,
  lock: '',
  hashed: (text) => text,
  linksOfEdge: (alias, run, own) => ({
    table: `links AS ${alias} INDEXED BY links_edge`,
    on: `${alias}.run = ${run} AND ${alias}.target = ${own}.target AND ${alias}.key = ${own}.key
      AND ${alias}.association = ${own}.association`,
  }),
  linksOfTarget: (alias, run, own) => ({
    table: `links AS ${alias} INDEXED BY links_edge`,
    on: `${alias}.run = ${run} AND ${alias}.target = ${own}.target AND ${alias}.association = ${own}.association`,
  }),
  linksOfEnd: (alias, run, own, end) => ({
    table: `links AS ${alias} INDEXED BY links_${end}`,
    on: `${alias}.run = ${run} AND ${alias}.${end} = ${own}.${end} AND ${alias}.${end} IS NOT NULL`,
  }),
  itemsOfKey: (alias, run, key) => ({
    table: `items AS ${alias} INDEXED BY items_key`,
    on: `${alias}.run = ${run} AND ${alias}.key = ${key}`,
  }),
  removalsOfKey: (alias, run, key) => ({
    table: `removals AS ${alias} INDEXED BY removals_key`,
    on: `${alias}.run = ${run} AND ${alias}.key = ${key}`,
  }),
  withdrawnOfKey: (alias, destination, key) => ({
    table: `withdrawn_keys AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${alias}.key = ${key}`,
  }),
  itemsOfRecord: (alias, run, recordId) => ({
    table: `items AS ${alias} INDEXED BY items_record`,
    on: `${alias}.run = ${run} AND ${alias}.record_id = ${recordId}`,
  }),
  differencesOfRecord: (alias, run, recordId) => ({
    table: `differences AS ${alias} INDEXED BY differences_record`,
    on: `${alias}.run = ${run} AND ${alias}.record_id = ${recordId} AND ${alias}.ordinal IS NOT NULL`,
  }),
  differencesOfSubject: (alias, run, subject) => ({
    table: `differences AS ${alias} INDEXED BY differences_subject`,
    on: `${alias}.run = ${run} AND ${alias}.subject = ${subject}`,
  }),
  deleteDifferences: (columns) =>
    `DELETE FROM differences WHERE run = $1 AND number IN (SELECT held.number FROM given
       CROSS JOIN differences AS held INDEXED BY differences_subject ON held.run = $1 AND ${columns
         .split(', ')
         .map((column) => `held.${column} = given.${column}`)
         .join(' AND ')})`,
  numbered:
    '(SELECT coalesce(max(number), 0) FROM differences WHERE run = $1) + row_number() OVER ()',
  acceptedOfRecord: (alias, destination, recordId) => ({
    table: `accepted AS ${alias} INDEXED BY accepted_record`,
    on: `${alias}.destination = ${destination} AND ${alias}.record_id = ${recordId}`,
  }),
  deleteAccepted: (select) => `DELETE FROM accepted WHERE (destination, key) IN (${select})`,
  counted: (name) => `json_extract(counts, '$.${name}')`,
  acceptedOfKey: (alias, destination, key) => ({
    table: `accepted AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${alias}.key = ${key}`,
  }),
  knownOfEdge: (alias, destination, own) => ({
    table: `known_links AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${alias}.key = ${own}.key AND ${alias}.target = ${own}.target
      AND ${alias}.association = ${own}.association`,
  }),
  knownOfKey: (alias, destination, key) => ({
    table: `known_links AS ${alias}`,
    on: `${alias}.destination = ${destination} AND ${alias}.key = ${key}`,
  }),
  knownOfTarget: (alias, destination, own) => ({
    table: `known_links AS ${alias} INDEXED BY known_links_one_source`,
    on: `${alias}.destination = ${destination} AND ${alias}.target = ${own}.target AND ${alias}.one_source = 1
      AND ${alias}.association = ${own}.association`,
  }),
  knownOfRecord: (alias, end, id) => ({
    table: `known_links AS ${alias} INDEXED BY known_links_${end === 'source_id' ? 'source' : 'target'}_record`,
    on: `${alias}.${end} = ${id} AND ${alias}.state = 'linked'`,
  }),
  knownLeft: (alias, destination) => ({
    table: `known_links AS ${alias} INDEXED BY known_links_left`,
    on: `${alias}.destination = ${destination} AND ${alias}.state <> 'linked'`,
  }),
  knownWaiting: (alias, destination, type) => ({
    table: `known_links AS ${alias} INDEXED BY known_links_waiting`,
    on: `${alias}.destination = ${destination} AND ${alias}.target_type = ${type} AND ${alias}.state = 'target_missing'`,
  }),
  deleteKnown: (select, fits) => `DELETE FROM known_links AS known
    WHERE (destination, key, target, association) IN (${select}) AND ${fits}`,
  // SQLite reads the tables of a cross join in their order.
  joined: ({ table, on }) => `CROSS JOIN ${table} ON ${on}`,
  leftJoined: ({ table, on }) => `LEFT JOIN ${table} ON ${on}`,
}
