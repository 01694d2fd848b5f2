// What is known of links beyond a run, and of the records at their ends.

import { LEDGER_ROWS_MAX } from '../../../core/limits.ts'
import type { WrittenKey } from '../../roles/accepted-records.ts'
import type { KnownLink, KnownLinks, WaitingElsewhere } from '../../roles/links.ts'
import { writtenKey } from '../../rows/accepted.ts'
import { edgeColumns, knownLinkOfRow } from '../../rows/links.ts'
import type { StatementRunner } from '../engine.ts'
import { DESTINATION, exists, isSinceRestore, knownOrder, type LinkSql } from '../link-sql.ts'
import { readGiven, type Given, type TransactionRunner } from '../transaction.ts'
import { knownPlaceOfRow, knownRange, placeColumns, type KnownPlace } from './known-slices.ts'

const PLAIN_COLUMNS = `${edgeColumns('known')}, known.state, known.source_id, known.target_id, known.run`

/** Columns of `known`, and whether the run `$1` has compared the edges of its record. */
const knownColumns = (sql: LinkSql): string => {
  const link = {
    table: 'links',
    on: "links.run = own.run AND links.ordinal = own.ordinal AND links.association = known.association AND links.state IN ('unchanged', 'pending')",
  }
  const compared = exists(sql.itemsOfKey('own', '$1', 'known.key'), exists(link))
  return `${PLAIN_COLUMNS}, CASE WHEN ${compared} THEN 1 ELSE 0 END AS is_compared`
}

/** An answer may have named no record. */
const IS_WRITTEN = '(held.record_id IS NOT NULL OR held.hash IS NOT NULL)'

/** Waiting links of which one statement finds out whether a target may exist. */
const ASKED_MAX = 10 * LEDGER_ROWS_MAX

const keysOf = (keys: readonly string[]): Given => ({
  columns: { key: 'text' },
  rows: keys.map((key) => [key]),
})

/** Waiting links of other syncs to the object type of the run `$1`, in the destination of the newest run of each. */
const WAITING_SQL = (sql: LinkSql) => {
  const { join } = sql
  const { table, on } = sql.knownWaiting('known', 'theirs.id', 'mine.object_type')
  return `SELECT theirs.id, theirs.sync, mine.id AS own, mine.object_type, mine.matching_property,
      (SELECT count(*) FROM ${table} WHERE ${on} AND ${isSinceRestore('known')}) AS links
    FROM runs ${join} destinations AS mine ON mine.id = runs.destination
      ${join} destinations AS theirs ON theirs.origin = mine.origin AND theirs.org_id = mine.org_id
        AND theirs.sync <> mine.sync
    WHERE runs.id = $1 AND theirs.id = (SELECT newest.destination FROM runs AS newest
      WHERE newest.sync = theirs.sync AND newest.mode = 'run' AND newest.destination IS NOT NULL
      ORDER BY newest.id DESC LIMIT 1)`
}

/** Whether one of the waiting links of a page may have a target by now: null, if the page has none that is left. */
const mayExistSql = (sql: LinkSql, after: KnownPlace | null): string => {
  const { table, on } = sql.knownWaiting('known', '$1', '$2')
  const held = exists(sql.acceptedOfKey('held', '$3', 'page.target'), IS_WRITTEN)
  return `SELECT max(CASE WHEN NOT ${isSinceRestore('page')} THEN 0 WHEN page."by" IS NULL OR page."by" <> $4 OR ${held} THEN 1 ELSE 0 END) AS found
    FROM (SELECT known.target, known."by", known.run FROM ${table} WHERE ${on} AND ${knownRange(sql, after, null, 5)}
      ORDER BY ${knownOrder(sql, 'known')} LIMIT $5) AS page`
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function knownLinkMethods(
  db: StatementRunner & TransactionRunner,
  sql: LinkSql,
): Omit<KnownLinks, 'recordsGone'> {
  const ofKey = sql.knownOfKey('known', DESTINATION, 'given.key')
  const columns = knownColumns(sql)
  const ofKeySql = `SELECT ${columns} FROM given ${sql.joined(ofKey, 'known', `${PLAIN_COLUMNS}`)}`
  const held = sql.acceptedOfKey('held', '$1', 'given.key')
  const heldSql = `SELECT held.key, held.record_id, held.run, held.records
    FROM given ${sql.joined(held, 'held', 'held.key, held.record_id, held.hash, held.run, held.records')}
    WHERE ${IS_WRITTEN}`
  const waitingSql = WAITING_SQL(sql)

  const mayExist = async (values: readonly (string | number)[]): Promise<boolean> => {
    let after: KnownPlace | null = null
    // Bounded by the waiting links: every page goes beyond the last one, or ends.
    for (;;) {
      const from: KnownPlace | null = after
      const row = await db.one(mayExistSql(sql, from), [...values, ASKED_MAX, ...(from ?? [])])
      if (Number(row?.['found'] ?? 0) === 1) return true
      const { table, on } = sql.knownWaiting('known', '$1', '$2')
      const end = await db.one(
        `SELECT ${placeColumns(sql, 'known')} FROM ${table} WHERE ${on} AND ${knownRange(sql, from, null, 2)}
         ORDER BY ${knownOrder(sql, 'known')} LIMIT 1 OFFSET ${ASKED_MAX - 1}`,
        [values[0]!, values[1]!, ...(from ?? [])],
      )
      if (!end) return false
      after = knownPlaceOfRow(end)
    }
  }

  return {
    async recordsOfType({ origin, orgId, objectType, matchingProperty }, keys) {
      const destinations = await db.all(
        `SELECT id FROM destinations
         WHERE origin = $1 AND org_id = $2 AND object_type = $3 AND matching_property = $4`,
        [origin, orgId, objectType, matchingProperty],
      )
      const records = new Map<string, WrittenKey>()
      for (const { id } of destinations)
        for (const row of await db.transact(() => readGiven(keysOf(keys), heldSql, [Number(id)]))) {
          const found = writtenKey(row)
          const key = String(row['key'])
          if (found.run >= (records.get(key)?.run ?? 0)) records.set(key, found)
        }
      return records
    },

    async waitingElsewhere(run) {
      const waiting: WaitingElsewhere[] = []
      for (const row of await db.all(waitingSql, [run])) {
        const links = Number(row['links'])
        if (links === 0) continue
        const own = [row['id'], row['object_type'], row['own'], row['matching_property']]
        waiting.push({
          sync: String(row['sync']),
          links,
          mayExist: await mayExist(own as (string | number)[]),
        })
      }
      return waiting.toSorted((a, b) => (a.sync < b.sync ? -1 : 1))
    },

    async knownLinksOf(run, keys) {
      const found = await db.transact(() => readGiven(keysOf(keys), ofKeySql, [run]))
      const known = new Map<string, KnownLink[]>()
      for (const link of found.map(knownLinkOfRow)) {
        const others = known.get(link.key)
        if (others) others.push(link)
        else known.set(link.key, [link])
      }
      return known
    },

    async knownLinks(run, { after, limit, isParked = false }) {
      const from = after === null ? null : (JSON.parse(after) as KnownPlace)
      const { table, on } = isParked
        ? sql.knownLeft('known', DESTINATION)
        : { table: 'known_links AS known', on: `known.destination = ${DESTINATION}` }
      const fits = isParked
        ? `known.state = 'target_missing' AND ${isSinceRestore('known')}`
        : 'true'
      const rows = await db.all(
        `SELECT ${columns}, ${placeColumns(sql, 'known')} FROM ${table}
         WHERE ${on} AND ${fits} AND ${knownRange(sql, from, null, 2)}
         ORDER BY ${knownOrder(sql, 'known')} LIMIT $2`,
        [run, limit, ...(from ?? [])],
      )
      return {
        links: rows.map(knownLinkOfRow),
        next: rows.length < limit ? null : JSON.stringify(knownPlaceOfRow(rows.at(-1)!)),
      }
    },
  }
}
