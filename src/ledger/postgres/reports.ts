// What people ask a ledger: the items of a run by state, and its rejects by kind.

import type { Json } from '../../core/json.ts'
import { REJECT_STATES, type ItemState } from '../../core/states.ts'
import type { Ledger } from '../ledger.ts'
import type { Database } from './database.ts'
import { withPayload } from './items.ts'

type ReportMethods = Pick<Ledger, 'report' | 'rejectGroups'>

const text = (value: unknown): string | null => (value === null ? null : String(value))
const number = (value: unknown): number | null => (value === null ? null : Number(value))

export function reportMethods(db: Database): ReportMethods {
  return {
    async report(run, { states, after, limit }) {
      const rows = await db.all(
        `SELECT ordinal, line, key, state, raw, http_status, record_id, code, reason, "column", field, value, detail,
           request_id, in_doubt
         FROM items LEFT ${withPayload}
         WHERE run = $1 AND ordinal > $2 AND state = ANY ($3::text[])
         ORDER BY ordinal LIMIT $4`,
        [run, after, states, limit],
      )
      return rows.map((row) => ({
        ordinal: Number(row['ordinal']),
        line: Number(row['line']),
        key: text(row['key']),
        state: row['state'] as ItemState,
        raw: row['raw'] === null ? null : (JSON.parse(String(row['raw'])) as Json[]),
        httpStatus: number(row['http_status']),
        recordId: text(row['record_id']),
        code: text(row['code']),
        reason: text(row['reason']),
        column: text(row['column']),
        field: text(row['field']),
        value: text(row['value']),
        detail: text(row['detail']),
        requestId: text(row['request_id']),
        inDoubt: Number(row['in_doubt']) === 1,
      }))
    },
    async rejectGroups(run) {
      const rows = await db.all(
        `SELECT state, code, reason, "column", field, count(*) AS items, min(ordinal) AS example FROM items
         WHERE run = $1 AND state = ANY ($2::text[])
         GROUP BY state, code, reason, "column", field ORDER BY items DESC, example LIMIT 1000`,
        [run, REJECT_STATES],
      )
      return rows.map((row) => ({
        state: row['state'] as ItemState,
        code: text(row['code']),
        reason: text(row['reason']),
        column: text(row['column']),
        field: text(row['field']),
        items: Number(row['items']),
        example: Number(row['example']),
      }))
    },
  }
}
