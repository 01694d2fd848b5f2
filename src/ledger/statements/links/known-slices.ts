// What is known of links, in slices, in the order of its indexes.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { OnSlice } from '../../roles/on-slice.ts'
import type { Row } from '../../rows/values.ts'
import type { StatementValue } from '../engine.ts'
import { knownOrder, type FoundRows, type LinkSql } from '../link-sql.ts'
import { read, type Transaction, type TransactionRunner } from '../transaction.ts'

/** Where a known link is in that order. */
export type KnownPlace = readonly [key: string, target: string, association: string]

/** A condition on `known`, with its values behind the run, which is `$1`. */
export interface KnownSlice {
  readonly range: string
  readonly values: readonly StatementValue[]
}

/** The columns of a place, of `alias`. */
export const placeColumns = ({ hashed }: LinkSql, alias: string): string =>
  `${hashed(`${alias}.key`)} AS key_place, ${hashed(`${alias}.target`)} AS target_place, ${alias}.association AS association_place`

export const knownPlaceOfRow = (row: Row): KnownPlace => [
  String(row['key_place']),
  String(row['target_place']),
  String(row['association_place']),
]

/** Known links behind a place, up to another one; null: from the first, to the last. `behind`: how many values the statement has. */
export function knownRange(
  sql: LinkSql,
  after: KnownPlace | null,
  to: KnownPlace | null,
  behind: number,
): string {
  const order = `(${knownOrder(sql, 'known')})`
  const places = (first: number) => `($${first}, $${first + 1}, $${first + 2})`
  return [
    'true',
    ...(after === null ? [] : [`${order} > ${places(behind + 1)}`]),
    ...(to === null ? [] : [`${order} <= ${places(behind + (after === null ? 1 : 4))}`]),
  ].join(' AND ')
}

/**
 * Works through known links that are found as `known`, in a transaction for each slice, and gives what the transactions gave.
 * @param source.found with values up to `$1`, the run
 */
export async function eachKnownSlice<Result>(
  db: TransactionRunner,
  sql: LinkSql,
  source: {
    readonly run: number
    readonly found: FoundRows
    readonly rows: number
    readonly onSlice?: OnSlice | undefined
  },
  work: (slice: KnownSlice) => Transaction<Result>,
): Promise<readonly Result[]> {
  const { run, found, rows, onSlice = () => {} } = source
  const results: Result[] = []
  let after: KnownPlace | null = null
  // Bounded by what is known: every pass goes beyond the last one, or ends.
  for (;;) {
    const from: KnownPlace | null = after
    const slice = await db.transact(function* (): Transaction<{
      end: KnownPlace | null
      result: Result
    }> {
      const [row] = yield* read(
        `SELECT ${placeColumns(sql, 'known')} FROM ${found.table} WHERE ${found.on} AND ${knownRange(sql, from, null, 1)}
         ORDER BY ${knownOrder(sql, 'known')} LIMIT 1 OFFSET ${rows - 1}`,
        [run, ...(from ?? [])],
      )
      const to = row ? knownPlaceOfRow(row) : null
      const result = yield* work({
        range: knownRange(sql, from, to, 1),
        values: [run, ...(from ?? []), ...(to ?? [])],
      })
      return { end: to, result }
    })
    results.push(slice.result)
    await onSlice()
    await yieldToOthers()
    if (slice.end === null) return results
    after = slice.end
  }
}
