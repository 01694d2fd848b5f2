// Links that the service answered as made, and that were not there when they were read back.

import type { LinkPlace } from '../../roles/links.ts'
import { placeOfRow } from '../../rows/links.ts'
import type { LinkSql } from '../link-sql.ts'
import { readGiven, writeGiven, type Given, type Transaction } from '../transaction.ts'
import { noteKnownSql } from './settling.ts'
import { addCounts } from './slices.ts'

const PLACES = { run: 'integer', ordinal: 'integer', number: 'integer' } as const
const IS_GIVEN =
  'links.run = given.run AND links.ordinal = given.ordinal AND links.number = given.number'

const NOTE_SQL = `UPDATE links SET state = 'vanished', reason = 'vanished',
    detail = 'the service answered that it is linked, and does not list it'
  FROM given WHERE ${IS_GIVEN} AND links.state = 'linked' RETURNING links.ordinal, links.number`

/** What is known of them changes its state alone. */
export const notKeptTexts = (sql: LinkSql) => {
  const { table, on } = sql.knownOfEdge('known', 'runs.destination', 'links')
  return noteKnownSql(
    sql,
    `FROM given ${sql.join} links ON ${IS_GIVEN} ${sql.join} runs ON runs.id = links.run WHERE links.state = 'vanished'`,
    'links.state',
    `coalesce((SELECT known.one_source FROM ${table} WHERE ${on}), 0)`,
  )
}

const placesOf = (run: number, places: readonly LinkPlace[]): Given => ({
  columns: PLACES,
  rows: places.map(({ ordinal, number }) => [run, ordinal, number]),
})

/** Within the transaction that checked the fence; returns their number. */
export function* noteNotKept(
  note: string,
  run: number,
  places: readonly LinkPlace[],
): Transaction<number> {
  const noted = yield* readGiven(placesOf(run, places), NOTE_SQL)
  yield* writeGiven(placesOf(run, noted.map(placeOfRow)), note)
  yield* addCounts(run, { linked: -noted.length })
  return noted.length
}
