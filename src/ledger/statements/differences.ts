// Differences: noted, dropped, marked as repaired, and reported.

import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Difference } from '../../core/domain/differences.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { partition } from '../../core/slices.ts'
import type { Differences } from '../roles/differences.ts'
import {
  byRecord,
  DIFFERENCE_COLUMNS,
  differenceCountsOfRows,
  differenceGroupOfRow,
  differenceOfRow,
  differenceValues,
  subjectOf,
} from '../rows/differences.ts'
import { writtenStates } from '../rows/items.ts'
import { REPLACED_MAX } from '../rules/ranges.ts'
import type { StatementRunner } from './engine.ts'
import type { LinkSql } from './link-sql.ts'
import {
  read,
  write,
  writeGiven,
  type Given,
  type Transaction,
  type TransactionRunner,
} from './transaction.ts'

const SUBJECTS = { subject: 'text', stream: 'text' } as const

/** Inserts differences as a part of a transaction. */
export function differenceInserter({ numbered }: Pick<LinkSql, 'numbered'>) {
  const number = numbered === null ? [] : [numbered]
  const text = `INSERT INTO differences (run, repaired${number.map(() => ', number').join('')}, ${DIFFERENCE_COLUMNS.join(', ')})
    SELECT CAST($1 AS integer), CAST($2 AS smallint)${number.map((one) => `, ${one}`).join('')}, given.* FROM given`
  const columns = Object.fromEntries(
    DIFFERENCE_COLUMNS.map(
      (column) => [column, column === 'ordinal' ? 'integer' : 'text'] as const,
    ),
  )
  return function* insert(
    run: number,
    differences: readonly Difference[],
    repaired: boolean,
  ): Transaction<void> {
    const given: Given = { columns, rows: differences.map(differenceValues) }
    yield* writeGiven(given, text, [run, repaired ? 1 : 0])
  }
}

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export const differenceMethods = (
  db: StatementRunner & TransactionRunner,
  sql: LinkSql,
): Differences => {
  const { indexedBy, collate, lock } = sql
  const insert = differenceInserter(sql)
  const forget = sql.deleteDifferences('subject, stream')
  const drop = sql.deleteDifferences('subject')
  return {
    async noteDifferences(run, differences, { repaired }) {
      for (const part of partition(
        byRecord(differences),
        (record) => record.length,
        REPLACED_MAX,
      )) {
        const given: Given = {
          columns: SUBJECTS,
          rows: part.map(([first]) => [subjectOf(first!), first!.stream]),
        }
        await db.transact(function* () {
          // One at a time: of two that note the same record, the differences of the later one stay.
          yield* read(`SELECT id FROM runs WHERE id = $1 ${lock}`, [run])
          yield* writeGiven(given, forget, [run])
          yield* insert(run, part.flat(), repaired)
        })
        await yieldToOthers()
      }
    },

    async dropExtra(run, records) {
      const given: Given = {
        columns: { subject: 'text' },
        rows: records.map((record) => [subjectOf(record)]),
      }
      await db.transact(() => writeGiven(given, `${drop} AND differences.kind = 'extra'`, [run]))
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
        const values = [run, after, Number(slice['last'])]
        await db.transact(() =>
          write(
            `UPDATE differences SET repaired = 1 WHERE run = $1 AND number > $2 AND number <= $3 AND repaired = 0
               AND (SELECT state IN (${writtenStates}) AND coalesce(verified, 'equal') = 'equal'
                 FROM items WHERE items.run = differences.run AND items.ordinal = differences.ordinal)`,
            values,
          ),
        )
        after = Number(slice['last'])
        await yieldToOthers()
      }
    },

    async differenceCounts(run) {
      const rows = await db.all(
        `SELECT kind, count(*) AS found, count(*) FILTER (WHERE repaired = 0) AS remaining FROM
           (SELECT kind, min(repaired) AS repaired FROM differences ${indexedBy('differences_subject')}
            WHERE run = $1 GROUP BY subject, stream, kind) AS records
         GROUP BY kind`,
        [run],
      )
      return differenceCountsOfRows(rows)
    },

    async plannedMissing(run) {
      const row = await db.one(
        `SELECT count(*) AS items FROM differences
           JOIN items ON items.run = differences.run AND items.ordinal = differences.ordinal
         WHERE differences.run = $1 AND differences.kind = 'missing' AND items.state = 'pending'`,
        [run],
      )
      return Number(row?.['items'] ?? 0)
    },

    async differenceGroups(run) {
      const rows = await db.all(
        `SELECT stream, kind, field, whose, count(*) AS differences, sum(repaired) AS repaired,
           min(ordinal) AS example
         FROM differences WHERE run = $1 GROUP BY stream, kind, field, whose
         ORDER BY differences DESC, stream ${collate}, kind ${collate}, field ${collate} NULLS FIRST,
           whose ${collate} LIMIT 1000`,
        [run],
      )
      return rows.map(differenceGroupOfRow)
    },

    async differences(run, { after, limit, kind, field, isRepaired }) {
      const rows = await db.all(
        `SELECT * FROM differences WHERE run = $1 AND number > $2
           AND (CAST($4 AS text) IS NULL OR kind = CAST($4 AS text))
           AND (CAST($5 AS smallint) IS NULL OR repaired = CAST($5 AS smallint))
           AND (CAST($6 AS text) IS NULL OR field = CAST($6 AS text)) ORDER BY number LIMIT $3`,
        [
          run,
          after,
          limit,
          kind ?? null,
          isRepaired === undefined ? null : Number(isRepaired),
          field ?? null,
        ],
      )
      return {
        rows: rows.map(differenceOfRow),
        next: rows.length < limit ? null : Number(rows.at(-1)!['number']),
      }
    },
  }
}
