// A staged run is limited to some of its rows. Promise kept here: all rows are staged and decided about before, so that none of the rows
// that are left stands for a key that another row counts for.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { RowStaging } from '../roles/staging.ts'
import { sampleOrderSql, sampleStart, ordinalSlices } from '../rules/ranges.ts'
import { keptBelow, LEFT_COUNTS_SQL, leftCountsOf } from '../rules/staging.ts'
import type { LinkDecisions } from '../statements/links/staging.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteText } from './dialect.ts'
import { checkStageFence } from './fences.ts'

const UNCOUNT_SQL =
  'UPDATE runs SET rows_read = rows_read - ?1, rows_staged = rows_staged - ?1 WHERE id = ?2'

const COUNT_SEGMENTS_SQL = `UPDATE segments SET planned = (SELECT count(*) FROM items WHERE items.run = segments.run
   AND items.ordinal BETWEEN segments.first AND segments.last AND items.state = 'pending')
 WHERE run = ?`

type Narrowing = Pick<RowStaging, 'leaveOut' | 'keepSample' | 'countLeft'>

export function narrowingMethods(db: SqliteDatabase, links: LinkDecisions): Narrowing {
  const countLeft: RowStaging['countLeft'] = async (run, fence) => {
    await links.dropOrphans(run, fence)
    return db.transaction(() => {
      checkStageFence(db, run, fence)
      db.sql(COUNT_SEGMENTS_SQL).run(run)
      return leftCountsOf(db.sql(sqliteText(LEFT_COUNTS_SQL)).all(run))
    })
  }
  return {
    countLeft,

    async leaveOut(run, fence, ordinals) {
      const list = JSON.stringify(ordinals)
      const those = 'run = ? AND ordinal IN (SELECT value FROM json_each(?))'
      db.transaction(() => {
        checkStageFence(db, run, fence)
        db.sql(`DELETE FROM payloads WHERE ${those}`).run(run, list)
        const { changes } = db.sql(`DELETE FROM items WHERE ${those}`).run(run, list)
        db.sql(UNCOUNT_SQL).run(changes, run)
      })
      await yieldToOthers()
    },

    async keepSample(run, fence, rows) {
      const start = sampleStart(run)
      const staged = db
        .sql('SELECT coalesce(sum(planned), 0) AS planned FROM segments WHERE run = ?')
        .get(run)
      const items = db
        .sql(
          `SELECT min(${sampleOrderSql('ordinal', '?2')}) AS lowest, max(ordinal) AS last FROM items
           WHERE run = ?1 AND state = 'pending'`,
        )
        .get(run, start)
      const kept = keptBelow(rows, staged?.['planned'], items?.['lowest'])
      const others = `run = ?1 AND ordinal BETWEEN ?2 AND ?3 AND ${sampleOrderSql('ordinal', '?4')} >= ?5`
      const dropPayloads = db.sql(
        `DELETE FROM payloads WHERE ${others} AND EXISTS (SELECT 1 FROM items
           WHERE items.run = payloads.run AND items.ordinal = payloads.ordinal AND items.state = 'pending')`,
      )
      const dropItems = db.sql(`DELETE FROM items WHERE ${others} AND state = 'pending'`)
      for (const { first, last } of ordinalSlices(Number(items?.['last'] ?? 0))) {
        db.transaction(() => {
          checkStageFence(db, run, fence)
          dropPayloads.run(run, first, last, start, kept)
          db.sql(UNCOUNT_SQL).run(dropItems.run(run, first, last, start, kept).changes, run)
        })
        await yieldToOthers()
      }
      return await countLeft(run, fence)
    },
  }
}
