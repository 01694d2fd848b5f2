// Times of a warehouse that have no zone are read in that of the mapping; of those that have one it says nothing, and is refused.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { startService } from '../../../src/service/index.ts'
import { said } from './said.ts'

async function checked(from: string, mapping: string) {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-local-times-'))
  const service = await startService()
  onTestFinished(async () => {
    await service.close()
    rmSync(dir, { recursive: true })
  })
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  writeFileSync(join(dir, 'times.csv'), 'id,at\n1,2021-07-01 10:00:00\n')
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(
    config,
    `connections: { crm: { service: "${service.url}", key: { file: ./key } } }
warehouses: { lake: { duckdb: ":memory:" } }
syncs:
  people:
    import:
      from: ${from}
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id, svc_last_contacted_at: ${mapping} }
`,
  )
  const { code, out, err } = await said(config, (context) =>
    check(context, { operations: false, rows: 1 }),
  )
  return { code, text: [...out, ...err].join(' ').replace(/ +/g, ' ') }
}

const query = (at: string) => `{ warehouse: lake, query: "SELECT 'a' AS id, ${at} AS at" }`
const NEW_YORK = '{ column: at, zone: America/New_York }'

test.each([
  [query("TIMESTAMP '2021-07-01 10:00:00'"), NEW_YORK, '2021-07-01T10:00:00-04:00'],
  [query("TIMESTAMP_S '2021-01-01 10:00:00'"), NEW_YORK, '2021-01-01T10:00:00-05:00'],
  [query("TIMESTAMP_NS '2021-07-01 10:00:00.5'"), NEW_YORK, '2021-07-01T10:00:00.5-04:00'],
  [query("'2021-07-01 10:00:00'"), NEW_YORK, '2021-07-01T10:00:00-04:00'],
  [query("TIMESTAMP '2021-07-01 10:00:00'"), 'at', '2021-07-01T10:00:00Z'],
  [query("TIMESTAMPTZ '2021-07-01 10:00:00+02'"), 'at', '2021-07-01T08:00:00Z'],
  [
    String.raw`{ csv: ./times.csv, sql: "SELECT _line, id, \"at\"::TIMESTAMP AS \"at\" FROM rows" }`,
    NEW_YORK,
    '2021-07-01T10:00:00-04:00',
  ],
  ['{ csv: ./times.csv }', NEW_YORK, '2021-07-01T10:00:00-04:00'],
])('%s as %s is %s', async (from, mapping, time) => {
  const { code, text } = await checked(from, mapping)
  expect(text).toContain(time)
  expect(code).toBe(0)
})

test.each([
  [query("TIMESTAMPTZ '2021-07-01 10:00:00+02'"), 'has times with their zone'],
  [query("DATE '2021-07-01'"), 'has days without a time'],
  [query('7'), 'has numbers'],
])('%s with a zone is refused', async (from, why) => {
  const { code, text } = await checked(from, NEW_YORK)
  expect(code).toBe(2)
  expect(text).toMatch(
    /:10:\d+: zone of svc_last_contacted_at has no effect: column "at" of the source/,
  )
  expect(text).toContain(why)
})
