// A staged run is limited to some of its rows. Promise kept here: all rows are staged and decided about before, so that none of the rows
// that are left stands for a key that another row counts for.

import type { RowStaging } from '../roles/staging.ts'
import { sampleOrderSql, sampleStart, ordinalSlices } from '../rules/ranges.ts'
import { keptBelow, LEFT_COUNTS_SQL, leftCountsOf } from '../rules/staging.ts'
import type { LinkDecisions } from '../statements/links/staging.ts'
import { checkStageFence } from './fences.ts'
import type { PostgresDatabase } from './session.ts'

const UNCOUNT_SQL =
  'UPDATE runs SET rows_read = rows_read - $1, rows_staged = rows_staged - $1 WHERE id = $2'

const COUNT_SEGMENTS_SQL = `UPDATE segments SET planned = (SELECT count(*) FROM items WHERE items.run = segments.run
   AND items.ordinal BETWEEN segments.first AND segments.last AND items.state = 'pending')
 WHERE run = $1`

type Narrowing = Pick<RowStaging, 'leaveOut' | 'keepSample' | 'countLeft'>

export function narrowingMethods(db: PostgresDatabase, links: LinkDecisions): Narrowing {
  const countLeft: RowStaging['countLeft'] = async (run, fence) => {
    await links.dropOrphans(run, fence)
    return await db.transaction(async (session) => {
      await checkStageFence(session, run, fence)
      await session.run(COUNT_SEGMENTS_SQL, [run])
      return leftCountsOf(await session.all(LEFT_COUNTS_SQL, [run]))
    })
  }
  return {
    countLeft,

    async leaveOut(run, fence, ordinals) {
      const those = 'run = $1 AND ordinal = ANY ($2::integer[])'
      await db.transaction(async (session) => {
        await checkStageFence(session, run, fence)
        await session.run(`DELETE FROM payloads WHERE ${those}`, [run, ordinals])
        const removed = await session.run(`DELETE FROM items WHERE ${those}`, [run, ordinals])
        await session.run(UNCOUNT_SQL, [removed, run])
      })
    },

    async keepSample(run, fence, rows) {
      const order = sampleOrderSql('ordinal::bigint', '$2')
      const start = sampleStart(run)
      const staged = await db.one(
        'SELECT coalesce(sum(planned), 0) AS planned FROM segments WHERE run = $1',
        [run],
      )
      const items = await db.one(
        `SELECT min(${order}) AS lowest, max(ordinal) AS last FROM items
         WHERE run = $1 AND state = 'pending'`,
        [run, start],
      )
      const kept = keptBelow(rows, staged?.['planned'], items?.['lowest'])
      const others = `run = $1 AND ordinal BETWEEN $3 AND $4 AND ${order} >= $5`
      for (const { first, last } of ordinalSlices(Number(items?.['last'] ?? 0)))
        await db.transaction(async (session) => {
          await checkStageFence(session, run, fence)
          const slice = [run, start, first, last, kept]
          await session.run(
            `DELETE FROM payloads WHERE ${others} AND
               (SELECT state FROM items WHERE items.run = payloads.run AND items.ordinal = payloads.ordinal) = 'pending'`,
            slice,
          )
          const removed = await session.run(
            `DELETE FROM items WHERE ${others} AND state = 'pending'`,
            slice,
          )
          await session.run(UNCOUNT_SQL, [removed, run])
        })
      return await countLeft(run, fence)
    },
  }
}
