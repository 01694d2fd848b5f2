// What people did, as every engine keeps it.

import type { Action, Actions, BeganAction } from '../roles/actions.ts'
import { number, text, type Row } from '../rows/values.ts'
import type { SqlDialect, StatementRunner } from './engine.ts'

/** So long an action is kept, ms: two years. */
const KEPT_MS = 730 * 86_400_000

const COLUMNS =
  'number, began_at, ended_at, who, via, action, sync, run, details, state, result, workflow_id'

const actionReader =
  ({ time }: Pick<SqlDialect, 'time'>) =>
  (row: Row): Action => ({
    number: Number(row['number']),
    beganAt: time(row['began_at']),
    endedAt: row['ended_at'] === null ? null : time(row['ended_at']),
    who: String(row['who']),
    via: row['via'] as Action['via'],
    action: row['action'] as Action['action'],
    sync: String(row['sync']),
    run: number(row['run']),
    details: text(row['details']),
    state: row['state'] as Action['state'],
    result: text(row['result']),
    workflowId: text(row['workflow_id']),
  })

export const actionStatements = (
  db: StatementRunner,
  dialect: Pick<SqlDialect, 'time'>,
  now: () => string,
): Actions => {
  const read = actionReader(dialect)
  return {
    async beginAction({ action, who, via, sync, run, details, token }: BeganAction) {
      const at = now()
      await db.run('DELETE FROM actions WHERE began_at < $1', [
        new Date(Date.parse(at) - KEPT_MS).toISOString(),
      ])
      const begun = await db.one(
        `INSERT INTO actions (began_at, who, via, action, sync, run, details, token, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'begun')
         ON CONFLICT (token) DO NOTHING RETURNING ${COLUMNS}`,
        [at, who, via, action, sync, run, details, token],
      )
      if (begun) return { begun: read(begun) }
      const earlier = await db.one(`SELECT ${COLUMNS} FROM actions WHERE token = $1`, [token])
      return { earlier: read(earlier!) }
    },

    async endAction(of, { state, result, workflowId = null }) {
      await db.run(
        `UPDATE actions SET ended_at = $2, state = $3, result = $4, workflow_id = $5
         WHERE number = $1 AND state = 'begun'`,
        [of, now(), state, result, workflowId],
      )
    },

    async actions({ run, sync, limit }) {
      const [where, values] =
        run !== undefined
          ? [
              `WHERE run = $2 OR workflow_id = (SELECT workflow_id FROM runs WHERE id = $2 AND workflow_id <> '')`,
              [run],
            ]
          : sync !== undefined
            ? ['WHERE sync = $2', [sync]]
            : ['', []]
      const rows = await db.all(
        `SELECT ${COLUMNS} FROM actions ${where} ORDER BY number DESC LIMIT $1`,
        [limit, ...values],
      )
      return rows.map(read)
    },
  }
}
