// The records of a data file, read when a service starts: many of them as one text, which is parsed in a third of the time
// that one text for each takes. Promises kept here: no text is larger than a few megabytes and one record; a record that is
// damaged is named, and nothing is taken for it.

import { isJsonObject } from '../../core/json.ts'
import type { SyncError } from '../../core/errors.ts'
import type { SqliteDatabase } from '../../sqlite/database.ts'
import type { KeptRecord } from './org.ts'
import type { StoredValues } from './slots.ts'

/** Records and bytes of a piece, at most; a single record may be larger. */
const PIECE_RECORDS = 512
const PIECE_BYTES = 4 * 1_024 * 1_024

/** Places of records: above `base`, below `end`. */
export interface Places {
  readonly base: number
  readonly end: number
}

/** The records of an org, in the order of their places; `damaged` makes the error for the one that cannot be read. */
export function* keptRecords(
  db: SqliteDatabase,
  { base, end }: Places,
  damaged: (place: number) => SyncError,
): Generator<KeptRecord> {
  let size = PIECE_RECORDS
  for (let last = base; ;) {
    const piece = measured(db, { base: last, end }, size)
    if (piece.count === 0) return
    if (piece.bytes > PIECE_BYTES && piece.count > 1) {
      size = piece.count >> 1
      continue
    }
    yield* recordsOf(db, base, { base: last, end: piece.last }, damaged)
    last = piece.last
    if (piece.bytes * 4 < PIECE_BYTES) size = Math.min(size * 2, PIECE_RECORDS)
  }
}

function measured(db: SqliteDatabase, { base, end }: Places, size: number) {
  const row = db
    .sql(
      `SELECT count(*) AS count, max(place) AS last, sum(bytes) AS bytes FROM
         (SELECT place, octet_length(properties) AS bytes FROM records
          WHERE place > ? AND place < ? ORDER BY place LIMIT ?)`,
    )
    .get(base, end, size)!
  return { count: Number(row['count']), last: Number(row['last']), bytes: Number(row['bytes']) }
}

/** The records above `base`, `end` included. */
function* recordsOf(
  db: SqliteDatabase,
  orgBase: number,
  { base, end }: Places,
  damaged: (place: number) => SyncError,
): Generator<KeptRecord> {
  const row = db
    .sql(
      `SELECT '[' || group_concat(place || ',' || json_quote(type) || ',' || json_quote(id)) || ']' AS heads,
         '[' || group_concat(properties) || ']' AS bodies FROM
         (SELECT place, type, id, properties FROM records WHERE place > ? AND place <= ? ORDER BY place)`,
    )
    .get(base, end)!
  const heads = JSON.parse(row['heads'] as string) as (number | string)[]
  const bodies = listOf(row['bodies'] as string)
  // One text that ends early and begins again would pass as two.
  if (bodies?.length !== heads.length / 3 || !bodies.every(isJsonObject))
    throw damaged(firstDamaged(db, { base, end }))
  for (let index = 0; index < bodies.length; index += 1) {
    yield {
      seq: (heads[3 * index] as number) - orgBase,
      type: heads[3 * index + 1] as string,
      id: heads[3 * index + 2] as string,
      properties: bodies[index] as StoredValues,
    }
  }
}

function firstDamaged(db: SqliteDatabase, { base, end }: Places): number {
  const rows = db
    .sql('SELECT place, properties FROM records WHERE place > ? AND place <= ? ORDER BY place')
    .all(base, end)
  const found = rows.find((row) => {
    const list = listOf(`[${row['properties'] as string}]`)
    return list?.length !== 1 || !isJsonObject(list[0])
  })
  return Number((found ?? rows[0])!['place'])
}

function listOf(text: string): unknown[] | null {
  try {
    return JSON.parse(text) as unknown[]
  } catch {
    return null
  }
}
