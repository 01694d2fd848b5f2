// A row with a greater watermark is newer than another one of its key, whichever was read first: what was accepted with it is not written
// over. `withdrawn_keys` has the watermarks of rows that asked for the deletion of their records.

import type { StagedSource } from '../roles/staging.ts'
import { isAfter } from '../rows/items.ts'
import type { Floors } from '../rules/staging.ts'
import type { Session } from './session.ts'

const IN_SLICE =
  'items.run = $1 AND items.ordinal BETWEEN $2 AND $3 AND items.watermark IS NOT NULL'
const ofKey = (
  table: string,
  which: string,
) => `coalesce((SELECT true FROM ${table} AS kept WHERE kept.destination = $4
  AND hashtextextended(kept.key, 0) = hashtextextended(items.key, 0) AND kept.key = items.key AND ${which} LIMIT 1), false)`
const FLOOR = `(($5::json ->> kept.run::text) COLLATE "C")`

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
  AND ${ofKey('accepted', 'kept.watermark IS NULL AND kept.hash IS DISTINCT FROM items.hash')}`

const RAISE_SQL = `UPDATE accepted SET watermark = held.watermark
  FROM (SELECT items.key, items.watermark FROM items WHERE ${IN_SLICE} AND items.state = 'unchanged' OFFSET 0) AS held
  WHERE accepted.destination = $4 AND hashtextextended(accepted.key, 0) = hashtextextended(held.key, 0)
    AND accepted.key = held.key AND accepted.watermark IS DISTINCT FROM held.watermark`

const WITHDRAW_SQL = `INSERT INTO withdrawn_keys (destination, key, watermark)
  SELECT $4, items.key, items.watermark FROM items WHERE ${IN_SLICE} AND items.state = 'withdrawn'
  ON CONFLICT (destination, hashtextextended(key, 0)) DO UPDATE SET key = excluded.key, watermark = excluded.watermark`

/** Run, first and last ordinal, destination. */
type Place = readonly (number | null)[]

/** After the rows of a slice that others of the run have superseded. */
export async function giveWayToGreater(
  session: Session,
  place: Place,
  { watermarks }: StagedSource,
  floors: Floors,
): Promise<{ readonly older: number; readonly guessed: number }> {
  if (watermarks === undefined || watermarks.overwrites) return { older: 0, guessed: 0 }
  const known = await session.run(GIVE_WAY_SQL, place)
  const guessed = await session.run(GUESS_SQL, [...place, floors])
  return { older: known + guessed, guessed }
}

/** After the unchanged rows of a slice are known. Returns for how many of the others it is not known what is newer. */
export async function noteWatermarks(
  session: Session,
  place: Place,
  { watermarks }: StagedSource,
): Promise<number> {
  if (watermarks === undefined) return 0
  // A plan changes nothing that counts for runs.
  if (Number(place[0]) > 0) {
    await session.run(RAISE_SQL, place)
    await session.run(WITHDRAW_SQL, place)
  }
  if (!watermarks.isWindow || watermarks.overwrites) return 0
  return Number((await session.one(UNKNOWN_SQL, place))?.['items'])
}
