// What earlier runs leave to the next one, as every engine reads it.

import type { Watermark } from '../../core/domain/watermark.ts'
import type { Leftovers, RetriedRow } from '../roles/leftovers.ts'
import { LEDGER_CHARS_MAX } from '../../core/limits.ts'
import { carriedRowOfRow, isRetried, retriedOfRow, unreadOfRow } from '../rows/items.ts'
import { completeStates } from '../rows/runs.ts'
import { remainingRanges } from '../rules/ranges.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'
import { endedRuns, newestRunElsewhere } from './origins.ts'

// oxlint-disable-next-line max-lines-per-function -- a table of methods, none of them long
export function leftoverStatements(db: StatementRunner, dialect: SqlDialect) {
  const { json, leftOf, withRaw, withNewestRaw, list, listAt, isOneOf } = dialect
  return {
    async lastReading({ sync, origin, orgId, objectType, matchingProperty }) {
      const own = `(SELECT id FROM destinations WHERE sync = $1 AND origin = $2 AND org_id = $3
        AND object_type = $4 AND matching_property = $5)`
      const row = await db.one(
        `SELECT id, watermark, source_columns FROM runs
         WHERE destination = ${own}
           AND watermark IS NOT NULL AND state IN (${completeStates})
           AND id > ${newestRunElsewhere(dialect, own)}
           AND id > (SELECT restored_after FROM project)
         ORDER BY id DESC LIMIT 1`,
        [sync, origin, orgId, objectType, matchingProperty],
      )
      if (!row) return null
      return {
        run: Number(row['id']),
        watermark: json(row['watermark']) as Watermark,
        columns: json(row['source_columns']) as string[],
      }
    },

    async leftRows(run, { after, limit, keysRepeat = false }) {
      // Payloads first: a closed run has only those of rows that were not accepted.
      const { rows } = await db.page(
        `SELECT own.ordinal, last.run, last.raw, ${keysRepeat ? 'now' : 'newest'}.watermark
         FROM ${leftOf('payloads', 'kept.ordinal > $2')} ${keysRepeat ? withRaw : withNewestRaw}
         WHERE now.key IS NOT NULL AND last.raw IS NOT NULL ORDER BY own.ordinal LIMIT $3`,
        [run, after, limit],
        'raw',
      )
      return rows.map(carriedRowOfRow)
    },

    async unreadRows(run, { after, limit }) {
      const runs = (await db.all(endedRuns(dialect), [run])).map((row) => Number(row['id']))
      const place = after === null ? 0 : runs.indexOf(after.run)
      const of = runs[place]
      if (of === undefined) return { rows: [], next: null }
      const values = [run, of, after?.ordinal ?? 0, limit]
      const { rows, chars } = await db.page(dialect.unreadOf, values, 'payload')
      const isMore = rows.length === limit || chars >= LEDGER_CHARS_MAX
      const behind = runs[place + 1]
      return {
        rows: rows.map(unreadOfRow),
        next: isMore
          ? { run: of, ordinal: Number(rows.at(-1)!['ordinal']) }
          : behind === undefined
            ? null
            : { run: behind, ordinal: 0 },
      }
    },

    async retryRows(run, { rows, codes, reasons, correction }, { after, limit }) {
      // A closed run has payloads only of rows that were not accepted, and corrections of some of these.
      const isCorrected = correction !== undefined
      const text = `SELECT own.ordinal, own.line, now.watermark, ${isCorrected ? 'own.raw' : 'last.raw'}
        FROM ${leftOf(
          isCorrected ? 'corrections' : 'payloads',
          `kept.ordinal BETWEEN $2 AND $3 ${isCorrected ? 'AND kept.correction = $7' : ''}`,
        )} ${isCorrected ? '' : withRaw}
        WHERE (${listAt('$4')} IS NULL OR ${isOneOf('now.code', '$4')})
          AND (${listAt('$5')} IS NULL OR ${isOneOf('now.reason', '$5')} OR ${isOneOf('now.state', '$5')}
            OR (now.in_doubt = 1 AND ${isOneOf("'in_doubt'", '$5')}))
          AND ${isRetried('now')}
        ORDER BY own.ordinal LIMIT $6`
      const chosen: RetriedRow[] = []
      let chars = 0
      for (const [first, last] of remainingRanges(rows, after)) {
        const values = [
          run,
          first,
          last,
          codes ? list(codes) : null,
          reasons ? list(reasons) : null,
          limit - chosen.length,
          ...(isCorrected ? [correction] : []),
        ]
        const found = await db.page(text, values, 'raw')
        for (const row of found.rows) chosen.push(retriedOfRow(row))
        chars += found.chars
        if (chosen.length === limit || chars >= LEDGER_CHARS_MAX) break
      }
      return chosen
    },

    async correctionsOf(run, limit) {
      const rows = await db.all(
        `SELECT correction, count(*) AS rows FROM corrections WHERE run = $1
         GROUP BY correction ORDER BY correction DESC LIMIT $2`,
        [run, limit],
      )
      return rows.map((row) => ({
        correction: Number(row['correction']),
        rows: Number(row['rows']),
      }))
    },

    async leftByRun(run) {
      const rows = await db.all(
        `SELECT now.run, count(*) AS rows FROM ${leftOf('payloads')} GROUP BY now.run ORDER BY now.run`,
        [run],
      )
      return rows.map((row) => ({ run: Number(row['run']), rows: Number(row['rows']) }))
    },
  } satisfies Partial<Leftovers>
}
