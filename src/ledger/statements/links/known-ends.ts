// When what is known of links does not hold any more: a record at one of their ends is gone, or the source asks for them no longer.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { LEDGER_ROWS_MAX } from '../../../core/limits.ts'
import type { GoneLinks, KnownLinks, LinkBounds, LinkOutbox } from '../../roles/links.ts'
import type { OnSlice } from '../../roles/on-slice.ts'
import { text, type Row } from '../../rows/values.ts'
import {
  DESTINATION,
  exists,
  saysLinks,
  type FoundRows,
  type LinkEndColumn,
  type LinkSql,
} from '../link-sql.ts'
import {
  readGiven,
  write,
  writeGiven,
  type Given,
  type Transaction,
  type TransactionRunner,
} from '../transaction.ts'
import { eachKnownSlice } from './known-slices.ts'
import { checkStep } from './slices.ts'

const EDGES = { destination: 'integer', key: 'text', target: 'text', association: 'text' } as const

/** Edges with their destinations. */
const givenEdges = (rows: readonly Row[]): Given => ({
  columns: EDGES,
  rows: rows.map((row) => [
    Number(row['destination']),
    String(row['key']),
    String(row['target']),
    String(row['association']),
  ]),
})

/** Deletes what is known of edges that are given with their destinations. */
const deleteEdgesSql = (sql: LinkSql): string =>
  sql.deleteKnown(
    'SELECT given.destination, given.key, given.target, given.association FROM given',
    'true',
  )

const goneTexts = (sql: LinkSql) => {
  const { join } = sql
  const columns =
    'known.destination, known.key, known.target, known.association, known.target_type, known.state, known.left_source'
  /** Known links of the origin and org of the run `$1` that end at given records; `$2`: their object type. */
  const found = (end: LinkEndColumn, fits: string) =>
    `SELECT known.destination, known.key, known.target, known.association
     FROM given ${sql.joined(sql.knownOfRecord('known', end, 'given.record_id'), 'known', columns)}
       ${join} destinations AS theirs ON theirs.id = known.destination
       ${join} destinations AS mine ON mine.id = ${DESTINATION} AND mine.origin = theirs.origin AND mine.org_id = theirs.org_id
     WHERE ${fits} LIMIT ${LEDGER_ROWS_MAX}`
  const park = (
    more: string,
  ) => `UPDATE known_links AS known SET state = 'target_missing', ${more} FROM given
    WHERE ${sql.knownOfEdge('known', 'given.destination', 'given').on}`
  const isOfType = { target_id: 'known.target_type = $2', source_id: 'theirs.object_type = $2' }
  /** Linked once, and not asked for since: nobody waits for them. */
  const unasked = (end: LinkEndColumn) => found(end, `known.left_source = 1 AND ${isOfType[end]}`)
  return {
    unaskedTargets: unasked('target_id'),
    unaskedSources: unasked('source_id'),
    targets: found('target_id', isOfType.target_id),
    parkTargets: park('target_id = NULL'),
    // The rows of other syncs need not be read again: the links wait until the record is there. Own rows ask for theirs themselves.
    waiting: found('source_id', `${isOfType.source_id} AND theirs.id <> mine.id`),
    parkWaiting: park('source_id = NULL'),
    sources: found('source_id', `${isOfType.source_id} AND theirs.id = mine.id`),
    forget: deleteEdgesSql(sql),
  }
}

export function knownEndMethods(
  db: TransactionRunner,
  sql: LinkSql,
): Pick<KnownLinks, 'recordsGone'> {
  const texts = goneTexts(sql)
  const each = async (
    [find, change]: readonly [string, string],
    records: Given,
    values: readonly [number, string],
  ): Promise<number> => {
    let links = 0
    // Bounded by what is known: a link that was changed is not found again.
    for (;;) {
      const changed = await db.transact(function* (): Transaction<number> {
        const found = yield* readGiven(records, find, values)
        yield* writeGiven(givenEdges(found), change)
        return found.length
      })
      links += changed
      if (changed < LEDGER_ROWS_MAX) return links
      await yieldToOthers()
    }
  }
  return {
    async recordsGone(run, objectType, recordIds): Promise<GoneLinks> {
      if (recordIds.length === 0) return { waiting: 0, forgotten: 0 }
      const records: Given = {
        columns: { record_id: 'text' },
        rows: [...new Set(recordIds)].map((id) => [id]),
      }
      const values = [run, objectType] as const
      const unasked =
        (await each([texts.unaskedTargets, texts.forget], records, values)) +
        (await each([texts.unaskedSources, texts.forget], records, values))
      const targets = await each([texts.targets, texts.parkTargets], records, values)
      const waiting = await each([texts.waiting, texts.parkWaiting], records, values)
      const forgotten = await each([texts.sources, texts.forget], records, values)
      return { waiting: targets + waiting, forgotten: unasked + forgotten }
    },
  }
}

/** @param from gives new links as `links` and `runs` */
export function takenRecords(sql: LinkSql, from: string) {
  const { join } = sql
  const columns =
    'old.destination, old.key, old.target, old.association, old.state, old.source_id, old.target_id, old.run'
  /** Known links of the same record at one end, and of another one at the other. `$1`: the associations that allow one. */
  const taken = (same: LinkEndColumn, other: LinkEndColumn) =>
    `SELECT links.ordinal, links.number, links.state, links.replaced_id, old.destination, old.key, old.target, old.association,
       old.${other} AS record_id
     ${from} ${join} destinations AS mine ON mine.id = runs.destination
       ${sql.joined(sql.knownOfRecord('old', same, `links.${same}`), 'old', columns)}
       ${join} destinations AS theirs ON theirs.id = old.destination AND theirs.origin = mine.origin AND theirs.org_id = mine.org_id
     WHERE ${sql.isOneOf('links.association', '$1')} AND old.association = links.association
       AND old.${other} <> links.${other} AND (old.destination <> mine.id OR old.run < links.run)`
  return {
    takenOfSource: taken('source_id', 'target_id'),
    takenOfTarget: taken('target_id', 'source_id'),
    forgetTaken: deleteEdgesSql(sql),
  }
}

const REPLACED_COLUMNS = {
  run: 'integer',
  ordinal: 'integer',
  number: 'integer',
  replaced_id: 'text',
} as const
const REPLACED_SQL = `UPDATE links SET replaced_id = given.replaced_id FROM given
  WHERE links.run = given.run AND links.ordinal = given.ordinal AND links.number = given.number AND links.replaced_id IS NULL`

/**
 * Forgets what new links take the place of by their records, in each destination of the origin and org: links of other syncs, and of
 * other keys of a record. Returns how many links took the place of one, and had not before.
 */
export function* takeRecordPlace(
  sql: LinkSql,
  texts: ReturnType<typeof takenRecords>,
  run: number,
  links: Given,
  { oneTarget, oneSource }: LinkBounds,
): Transaction<number> {
  const taken: Row[] = []
  for (const [names, found] of [
    [oneTarget, texts.takenOfSource],
    [oneSource, texts.takenOfTarget],
  ] as const)
    if (names.length > 0) taken.push(...(yield* readGiven(links, found, [sql.list(names)])))
  yield* writeGiven(givenEdges(taken), texts.forgetTaken)
  const replaced = new Map(
    taken
      .filter((row) => row['state'] === 'linked' && row['replaced_id'] === null)
      .map((row) => [
        `${String(row['ordinal'])} ${String(row['number'])}`,
        [run, Number(row['ordinal']), Number(row['number']), text(row['record_id'])] as const,
      ]),
  )
  yield* writeGiven({ columns: REPLACED_COLUMNS, rows: [...replaced.values()] }, REPLACED_SQL)
  return replaced.size
}

/**
 * Notes of links that are known as linked, and that the source does not ask for any more, that it has left them. They are known still,
 * for a reconciliation, and are sent again where the source asks for them again.
 */
export async function leaveSource(
  db: TransactionRunner,
  sql: LinkSql,
  {
    run,
    fence,
    of,
    onSlice,
  }: {
    readonly run: number
    readonly fence: number
    readonly of: Parameters<LinkOutbox['forgetLinks']>[2]['of']
    readonly onSlice: OnSlice | undefined
  },
): Promise<void> {
  const found: FoundRows = {
    table: 'known_links AS known',
    on: `known.destination = ${DESTINATION} AND known.state = 'linked' AND known.left_source = 0`,
  }
  const own = sql.itemsOfKey('own', '$1', 'known.key')
  // Of an invalid row it is not known which links it asks for.
  const isRead =
    of === 'all'
      ? `NOT ${exists(own, "own.state IN ('invalid', 'corrected')")}`
      : exists(own, saysLinks('own'))
  await eachKnownSlice(
    db,
    sql,
    { run, found, rows: LEDGER_ROWS_MAX, onSlice },
    function* ({ range, values }) {
      yield* checkStep(sql, run, fence)
      return yield* write(
        `UPDATE ${found.table} SET left_source = 1 WHERE ${found.on} AND ${range} AND ${isRead}
           AND NOT ${exists(sql.linksOfEdge('other', '$1', 'known'), "other.state <> 'not_wanted'")}`,
        values,
      )
    },
  )
}
