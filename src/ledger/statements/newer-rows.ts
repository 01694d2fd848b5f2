// Rows that give way because something newer is known of their key. Of two rows of a key the one with the greater watermark is newer,
// whichever was read first. `withdrawn_keys` has the watermarks of rows that asked for the deletion of their records. To a row that is
// taken again, a later reading without the row is newer too, and so is a removal of its record.

import { GONE_FROM_SOURCE } from '../../core/domain/held-back.ts'
import type { RunSegment } from '../roles/outbox.ts'
import type { StagedSource } from '../roles/staging.ts'
import { isAfter } from '../rows/items.ts'
import { doneRemovalStates } from '../rows/removals.ts'
import { completeStates } from '../rows/runs.ts'
import type { StatementValue } from './engine.ts'
import { DESTINATION, exists, type LinkSql } from './link-sql.ts'
import { read, write, type Transaction } from './transaction.ts'

/** Readings that one more retry looks through, the newest first. */
const READINGS_MAX = 1_000

const IN_SLICE = 'items.run = $1 AND items.ordinal BETWEEN $2 AND $3'
const RANKED = `${IN_SLICE} AND items.watermark IS NOT NULL`

const giveWay = (to: string) => `UPDATE items SET state = 'superseded', reason = 'accepted_newer'
  WHERE ${RANKED} AND state IN ('pending', 'deletion_requested') AND (${to})`

/**
 * The readings before the run `$1` whose missing rows count as gone: they are complete, of the whole source, and each of their rows has a
 * key.
 */
const readingsText = ({ configured, indexedBy, join }: LinkSql) => {
  const of = (...path: string[]) => configured('before', path)
  const removes = `coalesce(${of('import', 'missing_rows')}, 'ignore') <> 'ignore'`
  return `SELECT before.id FROM runs AS own
      ${join} runs AS before ON before.sync = own.sync AND before.mode = 'run' AND before.id < own.id
        AND before.destination = own.destination AND before.state IN (${completeStates})
    WHERE own.id = $1
      AND (before.purpose = 'sync' AND ${removes}
        OR before.purpose = 'reconcile' AND ${of('reconcile', 'where')} IS NULL AND ${of('reconcile', 'sample')} IS NULL
          AND (${removes} OR CAST(${of('reconcile', 'deleteExtra')} AS text) IN ('1', 'true')))
      AND (SELECT 1 FROM items ${indexedBy('items_key')} WHERE items.run = before.id AND items.key IS NULL LIMIT 1) IS NULL
    ORDER BY before.id DESC LIMIT ${READINGS_MAX}`
}

/** `first` is the row that an item of a retry was first read from, `since` a run that came after its run. */
const goneText = (sql: LinkSql) => {
  const { originOf, isOneOf, join } = sql
  const lacks = (key: string) => `NOT ${exists(sql.itemsOfKey('there', 'since.id', key))}`
  return `UPDATE items SET state = 'superseded', reason = '${GONE_FROM_SOURCE}'
    WHERE ${IN_SLICE} AND state = 'pending' AND of_ordinal IS NOT NULL AND (SELECT 1
      FROM (SELECT ${originOf('items.run', 'items.ordinal')} AS origin) AS own
        ${join} items AS first ON first.run = own.origin >> 32 AND first.ordinal = (own.origin & 4294967295)
        ${join} runs AS retry ON retry.id = $1
        ${join} runs AS since ON since.sync = retry.sync AND since.mode = 'run' AND since.id < $1 AND since.id >= first.run
          AND since.destination = retry.destination
      WHERE since.id > first.run AND ${isOneOf('CAST(since.id AS text)', '$4')} AND ${lacks('items.key')} AND ${lacks('first.key')}
        OR since.id > first.run AND ${exists(
          sql.removalsOfKey('removed', 'since.id', 'items.key'),
          `removed.state IN (${doneRemovalStates}) AND removed.cause <> 'undo'`,
        )}
        OR ${exists(
          sql.itemsOfKey('later', 'since.id', 'items.key'),
          `later.state = 'deletion_requested' AND ${originOf('later.run', 'later.ordinal')} > own.origin
             AND (items.watermark IS NULL OR later.watermark IS NULL OR NOT ${isAfter('items.watermark', 'later.watermark')})`,
        )} LIMIT 1) IS NOT NULL`
}

const texts = (sql: LinkSql) => {
  const accepted = (which: string) =>
    exists(sql.acceptedOfKey('kept', DESTINATION, 'items.key'), which)
  const greater = isAfter('kept.watermark', 'items.watermark')
  // A later acceptance counts in its place: a person has asked for it.
  const isLast = `NOT ${exists(sql.acceptedOfKey('own', 'kept.destination', 'kept.key'), 'own.run > kept.run')}`
  const withdrawn = exists(
    sql.withdrawnOfKey('kept', DESTINATION, 'items.key'),
    `${greater} AND ${isLast}`,
  )
  const held = sql.acceptedOfKey('accepted', DESTINATION, 'held.key')
  return {
    readings: readingsText(sql),
    gone: goneText(sql),
    greater: giveWay(`${accepted(greater)} OR ${withdrawn}`),
    unknown: `SELECT count(*) AS items FROM items WHERE ${RANKED} AND state = 'pending'
      AND ${accepted('kept.watermark IS NULL AND kept.hash IS DISTINCT FROM items.hash')}`,
    raise: `UPDATE accepted SET watermark = held.watermark
      FROM (SELECT own.key, items.watermark FROM items ${sql.joined(
        sql.acceptedOfKey('own', DESTINATION, 'items.key'),
        'own',
        'own.key, own.watermark',
      )} WHERE ${RANKED} AND items.state = 'unchanged' AND own.watermark IS DISTINCT FROM items.watermark) AS held
      WHERE ${held.on}`,
    withdraw: `INSERT INTO withdrawn_keys (destination, key, watermark, run)
      SELECT ${DESTINATION}, items.key, items.watermark, items.run FROM items WHERE ${RANKED} AND items.state = 'deletion_requested'
      ON CONFLICT (destination, ${sql.hashed('key')})
        DO UPDATE SET key = excluded.key, watermark = excluded.watermark, run = excluded.run`,
  }
}

export type NewerRows = ReturnType<typeof newerRows>

/** The steps of a transaction that decides about a slice. */
export function newerRows(sql: LinkSql) {
  const text = texts(sql)
  const placeOf = (run: number, { first, last }: RunSegment): readonly StatementValue[] => [
    run,
    first,
    last,
  ]
  return {
    /** The text that gives the readings which `givesWay` takes, of a run. */
    readings: text.readings,

    /** Rows of a retry whose source is known to lack them. @param readings numbers of runs */
    *goneFromSource(
      run: number,
      slice: RunSegment,
      readings: readonly number[],
    ): Transaction<number> {
      return yield* write(text.gone, [...placeOf(run, slice), sql.list(readings.map(String))])
    },

    /** After the rows of a slice that others of the run have superseded. */
    *giveWayToGreater(
      run: number,
      slice: RunSegment,
      { watermarks }: StagedSource,
    ): Transaction<number> {
      if (watermarks === undefined || watermarks.overwrites) return 0
      return yield* write(text.greater, placeOf(run, slice))
    },

    /** After the unchanged rows of a slice are known. Returns for how many of the others it is not known what is newer. */
    *noteWatermarks(
      run: number,
      slice: RunSegment,
      { watermarks }: StagedSource,
    ): Transaction<number> {
      if (watermarks === undefined) return 0
      const place = placeOf(run, slice)
      // A plan changes nothing that counts for runs.
      if (run > 0) {
        yield* write(text.raise, place)
        yield* write(text.withdraw, place)
      }
      if (!watermarks.isWindow || watermarks.overwrites) return 0
      return Number((yield* read(text.unknown, place))[0]?.['items'])
    },
  }
}
