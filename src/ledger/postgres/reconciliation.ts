// Reconciling: what is to be compared, and what comparing showed.

import type { ItemComparison, Reconciliation } from '../roles/reconciliation.ts'
import { ACCEPTED_COLUMNS, uncomparedOfRow } from '../rows/accepted.ts'
import { comparisonParts, stateOnceCompared } from '../rules/comparison.ts'
import { differenceInserter } from '../statements/differences.ts'
import { postgresLinkSql } from './link-sql.ts'
import { runSteps } from './transactions.ts'
import {
  acceptItemsSql,
  isWanted,
  ITEM_DESTINATION,
  itemsAt,
  wanted,
  withPayload,
} from './items.ts'
import { pageOfTexts } from './pages.ts'
import type { PostgresDatabase, Session } from './session.ts'

/** Whether `differences` has a row of the item that the columns `run` and `ordinal` of `other` name; by its index only. */
const isOfItem = (other: string) =>
  `((differences.run::bigint << 32) | differences.ordinal) = ((${other}.run::bigint << 32) | ${other}.ordinal)
    AND differences.ordinal IS NOT NULL`

const insertDifferences = differenceInserter(postgresLinkSql)

const UNCOMPARED_SQL = `SELECT items.ordinal, items.key, payload, items.hash, attempts, raw_key, items.watermark, known.*
  FROM items ${withPayload} LEFT JOIN LATERAL
    (SELECT ${ACCEPTED_COLUMNS}
     FROM accepted WHERE destination = (SELECT destination FROM runs WHERE id = $1)
       AND hashtextextended(accepted.key, 0) = hashtextextended(items.key, 0)
       AND accepted.key = items.key LIMIT 1) AS known ON true
  WHERE items.run = $1 AND items.ordinal > $2 AND items.state = 'pending'
    AND (SELECT true FROM differences WHERE ${isOfItem('items')} LIMIT 1) IS NULL
  ORDER BY items.ordinal LIMIT $3`

const ACCEPT_SQL = acceptItemsSql('excluded.marks', 'normalised = excluded.normalised')

const DROP_PAYLOADS_SQL = `DELETE FROM payloads USING unnest($1::integer[], $2::integer[]) AS wanted (run, ordinal)
  WHERE payloads.run = wanted.run AND payloads.ordinal = wanted.ordinal`

/** Of records that the sync has written before: what it kept now is not looked up again while the row stays as it is. */
const KEEP_SQL = `UPDATE accepted SET hash = item.hash, marks = item.marks, watermark = item.watermark,
    normalised = CASE WHEN accepted.hash = item.hash THEN accepted.normalised ELSE 0 END,
    last_marks = CASE WHEN accepted.run < item.run THEN accepted.marks ELSE accepted.last_marks END,
    last_run = CASE WHEN accepted.run < item.run THEN accepted.run ELSE accepted.last_run END, run = item.run
  FROM (SELECT items.run, items.key, items.record_id, items.hash, items.watermark, wanted.marks, ${ITEM_DESTINATION} AS destination
    FROM unnest($1::integer[], $2::integer[], $3::text[]) AS wanted (run, ordinal, marks) JOIN items ON ${isWanted} OFFSET 0) AS item
  WHERE accepted.destination = item.destination AND accepted.key = item.key AND accepted.record_id = item.record_id
    AND hashtextextended(accepted.key, 0) = hashtextextended(item.key, 0)`

/** Equal items are left as they are, and their records are accepted. */
async function recordEqual(
  session: Session,
  run: number,
  equal: readonly ItemComparison[],
): Promise<void> {
  await session.run(
    `UPDATE items SET state = 'unchanged', verified = 'equal', record_id = compared.record_id,
       normalised = compared.normalised
     FROM unnest($1::integer[], $2::integer[], $3::text[], $4::smallint[]) AS compared (run, ordinal, record_id, normalised)
     WHERE items.run = compared.run AND items.ordinal = compared.ordinal`,
    [
      ...itemsAt(run, equal),
      equal.map(({ recordId }) => recordId),
      equal.map(({ normalised }) => (normalised ? 1 : 0)),
    ],
  )
  await session.run(ACCEPT_SQL, [...itemsAt(run, equal), equal.map(({ marks }) => marks)])
  await session.run(DROP_PAYLOADS_SQL, itemsAt(run, equal))
}

/** Items that the mode of the import does not write. */
async function recordSpared(
  session: Session,
  run: number,
  spared: readonly ItemComparison[],
): Promise<void> {
  if (spared.length === 0) return
  await session.run(
    `UPDATE items SET state = spared.state, record_id = spared.record_id
     FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[]) AS spared (run, ordinal, state, record_id)
     WHERE items.run = spared.run AND items.ordinal = spared.ordinal`,
    [
      ...itemsAt(run, spared),
      spared.map((item) => item.spared!),
      spared.map(({ recordId }) => recordId),
    ],
  )
  const kept = spared.filter((item) => item.spared === 'protected')
  if (kept.length > 0)
    await session.run(KEEP_SQL, [...itemsAt(run, kept), kept.map(({ marks }) => marks)])
  await session.run(DROP_PAYLOADS_SQL, itemsAt(run, spared))
}

async function recordHeld(
  session: Session,
  run: number,
  held: readonly ItemComparison[],
): Promise<void> {
  await session.run(
    `UPDATE items SET state = 'not_sent', reason = held.reason, detail = held.detail
     FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[]) AS held (run, ordinal, reason, detail)
     WHERE items.run = held.run AND items.ordinal = held.ordinal`,
    [
      ...itemsAt(run, held),
      held.map((item) => item.held!.reason),
      held.map((item) => item.held!.detail),
    ],
  )
}

async function recordPart(
  session: Session,
  run: number,
  part: readonly ItemComparison[],
): Promise<void> {
  const ordinals = part.map(({ ordinal }) => ordinal)
  const segments = await session.all(
    `SELECT first, last FROM segments WHERE run = $1 AND first <= $2 AND last >= $3
     ORDER BY first FOR UPDATE`,
    [run, Math.max(...ordinals), Math.min(...ordinals)],
  )
  const rows = await session.all(
    `SELECT items.ordinal ${wanted} JOIN items ON ${isWanted} WHERE items.state = 'pending'
     ORDER BY items.ordinal FOR NO KEY UPDATE OF items`,
    itemsAt(run, part),
  )
  const planned = new Set(rows.map((row) => Number(row['ordinal'])))
  const items = part.filter(({ ordinal }) => planned.has(ordinal))
  const equal = items.filter((item) => stateOnceCompared(item) === 'unchanged')
  const held = items.filter((item) => stateOnceCompared(item) === 'not_sent')
  const spared = items.filter((item) => item.spared)
  await recordEqual(session, run, equal)
  await recordHeld(session, run, held)
  await recordSpared(session, run, spared)
  await session.run(
    `DELETE FROM differences USING unnest($1::integer[], $2::integer[]) AS wanted (run, ordinal)
     WHERE ${isOfItem('wanted')}`,
    itemsAt(run, items),
  )
  const differences = items.flatMap((item) =>
    item.differences.map((difference) => ({ ...difference, ordinal: item.ordinal })),
  )
  await runSteps(session, insertDifferences(run, differences, false))
  for (const segment of segments) {
    const [first, last] = [Number(segment['first']), Number(segment['last'])]
    const settled = [...equal, ...held, ...spared].filter(
      ({ ordinal }) => ordinal >= first && ordinal <= last,
    )
    await session.run('UPDATE segments SET planned = planned - $1 WHERE run = $2 AND first = $3', [
      settled.length,
      run,
      first,
    ])
  }
}

export const reconciliationMethods = (db: PostgresDatabase): Reconciliation => ({
  async uncompared(run, { after, limit }) {
    const { rows } = await pageOfTexts(db, UNCOMPARED_SQL, [run, after, limit], 'payload')
    return rows.map(uncomparedOfRow)
  },

  async recordCompared(run, items) {
    for (const part of comparisonParts(items))
      await db.transaction((session) => recordPart(session, run, part))
  },
})
