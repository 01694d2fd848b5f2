// Differences: noted, dropped and marked as repaired.

import type { Difference } from '../../core/domain/differences.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { Differences } from '../roles/differences.ts'
import { byRecord, DIFFERENCE_COLUMNS, differenceValues, subjectOf } from '../rows/differences.ts'
import { writtenStates } from '../rows/items.ts'
import { partition } from '../../core/slices.ts'
import { REPLACED_MAX } from '../rules/ranges.ts'
import { lockRun } from './fences.ts'
import type { PostgresDatabase, Session } from './session.ts'

/** Whether `differences` has a row of the record that the columns `run` and `subject` of `other` name; by its index only. */
export const isOfSubject = (other: string) =>
  `hashtextextended(differences.subject, differences.run) = hashtextextended(${other}.subject, ${other}.run)
    AND differences.subject = ${other}.subject AND differences.run + 0 = ${other}.run`

const lists = DIFFERENCE_COLUMNS.map(
  (column, at) => `$${at + 3}::${column === 'ordinal' ? 'integer' : 'text'}[]`,
).join(', ')

export async function insertDifferences(
  session: Session,
  run: number,
  differences: readonly Difference[],
  repaired: boolean,
): Promise<void> {
  const rows = differences.map(differenceValues)
  await session.run(
    `INSERT INTO differences (run, repaired, ${DIFFERENCE_COLUMNS.join(', ')})
     SELECT $1::integer, $2::smallint, * FROM unnest(${lists})`,
    [run, repaired ? 1 : 0, ...DIFFERENCE_COLUMNS.map((_, at) => rows.map((row) => row[at]!))],
  )
}

export const differenceMethods = (db: PostgresDatabase) =>
  ({
    async noteDifferences(run, differences, { repaired }) {
      for (const part of partition(byRecord(differences), (record) => record.length, REPLACED_MAX))
        await db.transaction(async (session) => {
          // One at a time: of two that note the same record, the differences of the later one stay.
          await lockRun(session, run)
          await session.run(
            `DELETE FROM differences
             USING unnest($1::integer[], $2::text[], $3::text[]) AS noted (run, subject, stream)
             WHERE ${isOfSubject('noted')} AND differences.stream = noted.stream`,
            [
              part.map(() => run),
              part.map((record) => subjectOf(record[0]!)),
              part.map((record) => record[0]!.stream),
            ],
          )
          await insertDifferences(session, run, part.flat(), repaired)
        })
    },

    async dropExtra(run, records) {
      await db.run(
        `DELETE FROM differences USING unnest($1::integer[], $2::text[]) AS own (run, subject)
         WHERE ${isOfSubject('own')} AND differences.kind = 'extra'`,
        [records.map(() => run), records.map(subjectOf)],
      )
    },

    async settleDifferences(run) {
      let after = 0
      // Bounded by the differences of the run: every pass goes beyond the last one, or ends.
      for (;;) {
        const slice = await db.one(
          `SELECT max(number) AS last FROM
             (SELECT number FROM differences WHERE run = $1 AND number > $2 ORDER BY number LIMIT $3) AS slice`,
          [run, after, LEDGER_ROWS_MAX],
        )
        if (!slice || slice['last'] === null) return
        const last = Number(slice['last'])
        await db.run(
          `UPDATE differences SET repaired = 1 WHERE run = $1 AND number > $2 AND number <= $3 AND repaired = 0
             AND (SELECT state IN (${writtenStates}) AND coalesce(verified, 'equal') = 'equal'
               FROM items WHERE items.run = differences.run AND items.ordinal = differences.ordinal)`,
          [run, after, last],
        )
        after = last
      }
    },
  }) satisfies Partial<Differences>
