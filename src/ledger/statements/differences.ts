// Differences, as every engine reads them.

import type { Differences } from '../roles/differences.ts'
import {
  differenceCountsOfRows,
  differenceGroupOfRow,
  differenceOfRow,
} from '../rows/differences.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'

export const differenceStatements = (db: StatementRunner, { indexedBy, collate }: SqlDialect) =>
  ({
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
  }) satisfies Partial<Differences>
