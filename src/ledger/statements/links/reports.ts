// What people ask about the links of a run.

import { LEDGER_ROWS_MAX } from '../../../core/limits.ts'
import type { LinkReports } from '../../roles/links.ts'
import { edgeColumns, leftLinkStates, placeOfRow, reportedLinkOfRow } from '../../rows/links.ts'
import type { StatementRunner } from '../engine.ts'
import { DESTINATION, exists, type LinkSql } from '../link-sql.ts'
import { endOfSliceSql } from './slices.ts'

/** Links that one page looks at. */
const SCANNED = 10 * LEDGER_ROWS_MAX

const REPORTED_COLUMNS = `links.ordinal, links.number, own.line, ${edgeColumns('links')}, links."column", links.state, links.attempts,
  links.source_id, links.target_id, links.replaced_id, links.http_status, links.request_id, links.code, links.reason,
  links.detail, links.in_doubt`

/** Whether a link that was left over or waiting is so still. One that was linked before the run is, where the run has not sent it. */
const isLeftStill = (sql: LinkSql): string =>
  `(links.state NOT IN (${leftLinkStates}) OR ${exists(
    sql.knownOfEdge('known', DESTINATION, 'links'),
    "(known.state <> 'linked' OR known.run < links.run)",
  )})`

export function linkReports(db: StatementRunner, sql: LinkSql): LinkReports {
  const left = isLeftStill(sql)
  return {
    async reportLinks(run, { states, after, limit, isLeft = false }) {
      const from = [run, after.ordinal, after.number]
      const end = await db.one(endOfSliceSql(SCANNED), from)
      const until = end ? [Number(end['ordinal']), Number(end['number'])] : []
      const most = Math.min(limit, LEDGER_ROWS_MAX)
      const rows = await db.all(
        `SELECT ${REPORTED_COLUMNS} FROM links LEFT JOIN items AS own ON own.run = links.run AND own.ordinal = links.ordinal
         WHERE links.run = $1 AND (links.ordinal, links.number) > ($2, $3)
           ${end ? 'AND (links.ordinal, links.number) <= ($6, $7)' : ''}
           AND ${sql.isOneOf('links.state', '$4')} ${isLeft ? `AND ${left}` : ''}
         ORDER BY links.ordinal, links.number LIMIT $5`,
        [...from, sql.list(states), most, ...until],
      )
      const links = rows.map(reportedLinkOfRow)
      const last = links.length === most ? rows.at(-1) : end
      return { links, next: last ? placeOfRow(last) : null }
    },
  }
}
