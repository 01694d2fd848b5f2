// The end of a run's links: what is left becomes terminal, and the books are counted.

import { LEDGER_ROWS_MAX } from '../../../core/limits.ts'
import type { LinkBooks } from '../../../core/domain/books.ts'
import { LINK_STATES, type LinkState } from '../../../core/domain/outcomes.ts'
import { zeroCounts } from '../../../core/register.ts'
import { openLinkStates } from '../../rows/links.ts'
import type { LinkSql } from '../link-sql.ts'
import { read, write, type Transaction, type TransactionRunner } from '../transaction.ts'
import { noteKnownSql } from './settling.ts'
import { addCounts, eachSlice, SLICE, sliceValues, sumOf, type LinkSlice } from './slices.ts'

/** Whether a link may have been linked although nothing says so: its answer was lost, or it was answered with 500 or 503. */
const IS_UNANSWERED =
  "(links.state = 'in_flight' OR (links.state = 'pending' AND links.replayed = 1))"
const ENDED = `CASE WHEN ${IS_UNANSWERED} THEN 'outcome_unknown' ELSE 'not_sent' END`
const IS_OPEN = `${SLICE} AND links.state IN (${openLinkStates})`

const SETTLE_SQL = `UPDATE links SET in_doubt = CASE WHEN ${IS_UNANSWERED} THEN 1 ELSE in_doubt END, state = ${ENDED}
  WHERE ${IS_OPEN} RETURNING state`

/** Links that one statement counts. */
const BOOKED_MAX = 10 * LEDGER_ROWS_MAX

/** A link that is not there has taken no place. */
const COUNT_SQL = `SELECT state, count(*) AS links, count(CASE WHEN state <> 'vanished' THEN replaced_id END) AS replaced
  FROM links WHERE ${SLICE} GROUP BY state`

function* countSlice(run: number, slice: LinkSlice) {
  const counted = { ...zeroCounts(LINK_STATES), replaced: 0 }
  for (const row of yield* read(COUNT_SQL, sliceValues(run, slice))) {
    counted[row['state'] as LinkState] = Number(row['links'])
    counted.replaced += Number(row['replaced'])
  }
  return counted
}

export function linkClosing(db: TransactionRunner, sql: LinkSql) {
  const note = noteKnownSql(
    sql,
    // The one who knows whether its target may have one source is the one who links it.
    `FROM links ${sql.join} runs ON runs.id = links.run AND runs.mode = 'run' WHERE ${IS_OPEN}`,
    ENDED,
    '0',
  )
  return {
    /** Raises the fence of the link step, and ends open links: those in flight into `outcome_unknown` (in doubt), pending ones into `not_sent`. */
    async settleLeftovers(run: number): Promise<void> {
      const hasLinks = await db.transact(function* () {
        const steps = yield* write('UPDATE link_steps SET fence = fence + 1 WHERE run = $1', [run])
        return steps > 0
      })
      if (!hasLinks) return
      await eachSlice(db, run, function* (slice): Transaction<void> {
        yield* write(note, sliceValues(run, slice))
        const ended = yield* read(SETTLE_SQL, sliceValues(run, slice))
        const unknown = ended.filter((row) => row['state'] === 'outcome_unknown').length
        yield* addCounts(run, {
          outcome_unknown: unknown,
          not_sent: ended.length - unknown,
          open: -ended.length,
        })
      })
    },
  }
}

/** The books of the run's links, counted from them; undefined if it has none. */
export async function linkBooks(
  db: TransactionRunner,
  run: number,
): Promise<LinkBooks | undefined> {
  const [step] = await db.transact(() => read('SELECT read FROM link_steps WHERE run = $1', [run]))
  if (!step) return undefined
  const found = await eachSlice(db, run, (slice) => countSlice(run, slice), { rows: BOOKED_MAX })
  const { replaced, ...states } = sumOf(found, [...LINK_STATES, 'replaced'])
  // It was counted as the links were written, so that a lost one shows.
  const links = Number(step['read'])
  if (links === 0 && LINK_STATES.every((state) => states[state] === 0)) return undefined
  return { read: links, states, ...(replaced > 0 && { replaced }) }
}
export type LinkClosing = ReturnType<typeof linkClosing>
