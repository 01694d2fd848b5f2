// Differences: noted, dropped and marked as repaired.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Difference } from '../../core/domain/differences.ts'
import type { Differences } from '../roles/differences.ts'
import { byRecord, DIFFERENCE_COLUMNS, differenceValues, subjectOf } from '../rows/differences.ts'
import { writtenStates } from '../rows/items.ts'
import { partition } from '../../core/slices.ts'
import { REPLACED_MAX, ordinalSlices } from '../rules/ranges.ts'
import type { SqliteDatabase } from './database.ts'

const INSERT_SQL = `INSERT INTO differences (run, number, repaired, ${DIFFERENCE_COLUMNS.join(', ')})
  VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM differences WHERE run = ?1), ?2,
    ${DIFFERENCE_COLUMNS.map((_, at) => `?${at + 3}`).join(', ')})`

/** Within a transaction. */
export const insertDifference = (
  db: SqliteDatabase,
  run: number,
  difference: Difference,
  repaired: boolean,
) => db.sql(INSERT_SQL).run(run, repaired ? 1 : 0, ...differenceValues(difference))

export const differenceMethods = (db: SqliteDatabase) =>
  ({
    async noteDifferences(run, differences, { repaired }) {
      const forget = db.sql(
        'DELETE FROM differences INDEXED BY differences_subject WHERE run = ? AND subject = ? AND stream = ?',
      )
      const records = byRecord(differences)
      for (const part of partition(records, (record) => record.length, REPLACED_MAX)) {
        db.transaction(() => {
          for (const record of part) {
            forget.run(run, subjectOf(record[0]!), record[0]!.stream)
            for (const difference of record) insertDifference(db, run, difference, repaired)
          }
        })
        await yieldToOthers()
      }
    },

    async dropExtra(run, records) {
      const drop = db.sql(
        "DELETE FROM differences INDEXED BY differences_subject WHERE run = ? AND subject = ? AND kind = 'extra'",
      )
      db.transaction(() => {
        for (const record of records) drop.run(run, subjectOf(record))
      })
    },

    async settleDifferences(run) {
      const repair = db.sql(
        `UPDATE differences SET repaired = 1 WHERE run = ?1 AND number BETWEEN ?2 AND ?3 AND repaired = 0
           AND EXISTS (SELECT 1 FROM items WHERE items.run = ?1 AND items.ordinal = differences.ordinal
             AND items.state IN (${writtenStates}) AND coalesce(items.verified, 'equal') = 'equal')`,
      )
      const row = db.sql('SELECT max(number) AS last FROM differences WHERE run = ?').get(run)
      for (const { first, last } of ordinalSlices(Number(row?.['last'] ?? 0))) {
        db.transaction(() => repair.run(run, first, last))
        await yieldToOthers()
      }
    },
  }) satisfies Partial<Differences>
