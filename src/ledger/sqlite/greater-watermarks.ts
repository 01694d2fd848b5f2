// A row with a greater watermark is newer than another one of its key, whichever was read first: what was accepted with it is not written
// over. `withdrawn_keys` has the watermarks of rows that asked for the deletion of their records.

import type { StagedSource } from '../roles/staging.ts'
import { isAfter } from '../rows/items.ts'
import type { Floors } from '../rules/staging.ts'
import type { SqliteDatabase } from './database.ts'

const DESTINATION = '(SELECT destination FROM runs WHERE id = ?1)'
const IN_SLICE =
  'items.run = ?1 AND items.ordinal BETWEEN ?2 AND ?3 AND items.watermark IS NOT NULL'
const ofKey = (table: string, which: string) =>
  `EXISTS (SELECT 1 FROM ${table} AS kept WHERE kept.destination = ${DESTINATION} AND kept.key = items.key AND ${which})`
const FLOOR = `json_extract(?4, '$."' || kept.run || '"')`

const giveWaySql = (to: string) => `UPDATE items SET state = 'superseded', reason = 'accepted_newer'
  WHERE ${IN_SLICE} AND state IN ('planned', 'withdrawn') AND (${to})`

const GREATER = isAfter('kept.watermark', 'items.watermark')
const GIVE_WAY_SQL = giveWaySql(
  `${ofKey('accepted', GREATER)} OR ${ofKey('withdrawn_keys', GREATER)}`,
)
const GUESS_SQL = giveWaySql(
  ofKey('accepted', `kept.watermark IS NULL AND ${isAfter(FLOOR, 'items.watermark')}`),
)
const UNKNOWN_SQL = `SELECT count(*) AS items FROM items WHERE ${IN_SLICE} AND state = 'planned'
  AND ${ofKey('accepted', 'kept.watermark IS NULL AND kept.hash IS NOT items.hash')}`

const RAISE_SQL = `UPDATE accepted SET watermark = held.watermark
  FROM (SELECT own.key, items.watermark FROM items CROSS JOIN accepted AS own
      ON own.destination = ${DESTINATION} AND own.key = items.key AND own.watermark IS NOT items.watermark
    WHERE ${IN_SLICE} AND items.state = 'unchanged') AS held
  WHERE accepted.destination = ${DESTINATION} AND accepted.key = held.key`

const WITHDRAW_SQL = `INSERT INTO withdrawn_keys (destination, key, watermark)
  SELECT ${DESTINATION}, items.key, items.watermark FROM items WHERE ${IN_SLICE} AND items.state = 'withdrawn'
  ON CONFLICT (destination, key) DO UPDATE SET watermark = excluded.watermark`

type Slice = readonly [run: number, first: number, last: number]

/** After the rows of a slice that others of the run have superseded. */
export function giveWayToGreater(
  db: SqliteDatabase,
  slice: Slice,
  { watermarks }: StagedSource,
  floors: Floors,
): { readonly older: number; readonly guessed: number } {
  if (watermarks === undefined || watermarks.overwrites) return { older: 0, guessed: 0 }
  const known = db.sql(GIVE_WAY_SQL).run(...slice).changes
  const guessed = db.sql(GUESS_SQL).run(...slice, floors).changes
  return { older: known + guessed, guessed }
}

/** After the unchanged rows of a slice are known. Returns for how many of the others it is not known what is newer. */
export function noteWatermarks(
  db: SqliteDatabase,
  slice: Slice,
  { watermarks }: StagedSource,
): number {
  if (watermarks === undefined) return 0
  // A plan changes nothing that counts for runs.
  if (slice[0] > 0) {
    db.sql(RAISE_SQL).run(...slice)
    db.sql(WITHDRAW_SQL).run(...slice)
  }
  if (!watermarks.isWindow || watermarks.overwrites) return 0
  return Number(db.sql(UNKNOWN_SQL).get(...slice)?.['items'])
}
