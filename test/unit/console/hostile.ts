// A console whose ledger, quota and actions are full of hostile texts: whatever a service, a file or a person brings is one.

import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { CONSOLE_CONFIG, fillLedger, openSite, type ConsoleSite } from './site.ts'

export const HOSTILE = `"><img src=x onerror=alert(1)><svg onload=alert(2)><script>alert(3)</script>' \`\${x}\` &lt;`

/** What is text of others in the ledger; the rest is ours. */
const COLUMNS = {
  items: [
    'key',
    'record_id',
    'request_id',
    'verified',
    'code',
    'reason',
    'column',
    'field',
    'value',
    'detail',
  ],
  accepted: ['key', 'record_id'],
  requests: ['request_id'],
  streams: ['table_name', 'message'],
  schema_changes: ['stream', 'property', 'type_before', 'type_now'],
  differences: ['subject', 'key', 'record_id', 'field'],
  actions: ['who', 'details', 'result'],
  runs: ['message', 'key_fingerprint', 'workflow_id'],
} as const

/** The key of a row that the site has. */
export const HOSTILE_KEY = `SECRET key 10${HOSTILE}`

export async function openHostileSite(): Promise<ConsoleSite> {
  const text = HOSTILE
  const names = { property: text, reason: text, message: text, warning: text, column: text }
  const site = await openSite({
    config: `${CONSOLE_CONFIG}console: { values: shown }\n`,
    fill: (ledger) => fillLedger(ledger, names),
    quota: { org: `http://127.0.0.1:9 org ${text}`, user: `worker ${text}` },
  })
  const noted = await site.ledger.beginAction({
    who: text,
    via: 'api',
    action: 'pause',
    run: site.runs['live']!,
    sync: 'deals',
    details: text,
    token: null,
  })
  if ('begun' in noted)
    await site.ledger.endAction(noted.begun.number, { state: 'refused', result: text })
  const db = new DatabaseSync(join(site.folder, 'ledger.db'))
  for (const [table, columns] of Object.entries(COLUMNS))
    for (const column of columns)
      db.prepare(
        `UPDATE ${table} SET "${column}" = "${column}" || $text WHERE "${column}" IS NOT NULL`,
      ).run({ $text: text })
  db.close()
  return site
}
