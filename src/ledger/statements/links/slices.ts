// Links in slices: no transaction touches more than 1,000 of them, however many a row has.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { FenceLost } from '../../../core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../../core/limits.ts'
import { zeroCounts } from '../../../core/register.ts'
import { BEFORE_LINKS, type LinkPlace } from '../../roles/links.ts'
import type { OnSlice } from '../../roles/on-slice.ts'
import { placeOfRow } from '../../rows/links.ts'
import type { LinkSql } from '../link-sql.ts'
import { read, write, type Transaction, type TransactionRunner } from '../transaction.ts'

/** Links of a run above one place, up to another one. */
export interface LinkSlice {
  readonly after: LinkPlace
  readonly to: LinkPlace
}

/** Behind all links. */
const END: LinkPlace = { ordinal: 2_147_483_647, number: 2_147_483_647 }

/** Whether a link is in the slice that `sliceValues` gives. */
export const SLICE = `links.run = $1 AND (links.ordinal, links.number) > ($2, $3)
  AND (links.ordinal, links.number) <= ($4, $5)`

export const sliceValues = (run: number, { after, to }: LinkSlice): readonly number[] => [
  run,
  after.ordinal,
  after.number,
  to.ordinal,
  to.number,
]

/** The place of the last of so many links behind `$2` and `$3` in the run `$1`. */
export const endOfSliceSql = (rows: number): string =>
  `SELECT ordinal, number FROM links WHERE run = $1 AND (ordinal, number) > ($2, $3)
   ORDER BY ordinal, number LIMIT 1 OFFSET ${rows - 1}`

/** Works through the links of a run, in a transaction for each slice, and gives what the transactions gave. */
export async function eachSlice<Result>(
  db: TransactionRunner,
  run: number,
  work: (slice: LinkSlice) => Transaction<Result>,
  {
    rows = LEDGER_ROWS_MAX,
    onSlice = () => {},
  }: { readonly rows?: number; readonly onSlice?: OnSlice | undefined } = {},
): Promise<readonly Result[]> {
  const results: Result[] = []
  let after = BEFORE_LINKS
  // Bounded by the links of the run: every pass goes beyond the last one, or ends.
  for (;;) {
    const from = after
    const { end, result } = await db.transact(function* () {
      const [row] = yield* read(endOfSliceSql(rows), [run, from.ordinal, from.number])
      const to = row ? placeOfRow(row) : null
      return { end: to, result: yield* work({ after: from, to: to ?? END }) }
    })
    results.push(result)
    await onSlice()
    await yieldToOthers()
    if (end === null) return results
    after = end
  }
}

/** The sum of counts of the same names. */
export const sumOf = <Name extends string>(
  counts: readonly Readonly<Record<Name, number>>[],
  names: readonly Name[],
): Record<Name, number> => {
  const sum = zeroCounts(names)
  for (const one of counts) for (const name of names) sum[name] += one[name]
  return sum
}

/** The counters of a run's links; `open`: those that are planned or sent now. */
export const LINK_COUNTERS = [
  'read',
  'planned',
  'unchanged',
  'linked',
  'target_missing',
  'not_wanted',
  'refused',
  'outcome_unknown',
  'not_sent',
  'requests',
] as const
const COUNTERS = [...LINK_COUNTERS, 'open'] as const
export type LinkDeltas = Partial<Record<(typeof COUNTERS)[number], number>>

const ADD_SQL = `UPDATE link_steps SET ${COUNTERS.map((name, at) => `${name} = ${name} + $${at + 2}`).join(', ')}
  WHERE run = $1`

export function* addCounts(run: number, deltas: LinkDeltas): Transaction<void> {
  if (COUNTERS.some((name) => deltas[name]))
    yield* write(ADD_SQL, [run, ...COUNTERS.map((name) => deltas[name] ?? 0)])
}

/** @throws FenceLost if another worker began staging */
export function* checkStage({ lock }: LinkSql, run: number, fence: number): Transaction<void> {
  const [row] = yield* read(`SELECT stage_fence FROM runs WHERE id = $1 ${lock}`, [run])
  if (Number(row?.['stage_fence']) !== fence) throw new FenceLost(run, 0)
}

/** @throws FenceLost if another worker claimed the link step */
export function* checkStep({ lock }: LinkSql, run: number, fence: number): Transaction<void> {
  const [row] = yield* read(`SELECT fence FROM link_steps WHERE run = $1 ${lock}`, [run])
  if (Number(row?.['fence']) !== fence) throw new FenceLost(run, 0)
}
