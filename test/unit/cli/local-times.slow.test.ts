// Times of a warehouse that have no zone are read in that of the mapping; of those that have one it says nothing, and is refused.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { startService } from '../../../src/service/index.ts'
import { startPostgres } from '../../postgres.ts'
import { said } from './said.ts'

const postgres = await startPostgres()
afterAll(() => postgres.stop())

/** A database whose sessions are in another zone than the times, and than UTC. */
async function databaseInTokyo(): Promise<string> {
  const url = await postgres.newDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET timezone TO 'Asia/Tokyo'`,
  )
  await client.end()
  return url
}

let tokyo: Promise<string> | undefined

async function checked(from: string, mapping: string) {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-local-times-'))
  const service = await startService()
  onTestFinished(async () => {
    await service.close()
    rmSync(dir, { recursive: true })
  })
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  writeFileSync(join(dir, 'times.csv'), 'id,at\n1,2021-07-01 10:00:00\n')
  const isAsked = from.includes('warehouse: dwh')
  writeFileSync(
    join(dir, 'dwh.url'),
    isAsked ? await (tokyo ??= databaseInTokyo()) : 'postgres://x',
    {
      mode: 0o600,
    },
  )
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(
    config,
    `connections: { crm: { service: "${service.url}", key: { file: ./key } } }
warehouses:
  lake: { duckdb: ":memory:" }
  dwh: { postgres: { file: ./dwh.url } }
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

const query = (at: string, warehouse = 'lake') =>
  `{ warehouse: ${warehouse}, query: "SELECT 'a' AS id, ${at} AS at" }`
const inPostgres = (at: string) => query(at, 'dwh')
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
  [inPostgres("TIMESTAMP '2021-07-01 10:00:00'"), NEW_YORK, '2021-07-01T10:00:00-04:00'],
  [inPostgres("TIMESTAMP '2021-01-01 10:00:00.5'"), NEW_YORK, '2021-01-01T10:00:00.5-05:00'],
  [inPostgres("TIMESTAMP(0) '2021-07-01 10:00:00'"), NEW_YORK, '2021-07-01T10:00:00-04:00'],
  [inPostgres("DATE '2021-07-01' + TIME '10:00'"), NEW_YORK, '2021-07-01T10:00:00-04:00'],
  [inPostgres("'2021-07-01 10:00:00'::text"), NEW_YORK, '2021-07-01T10:00:00-04:00'],
  [inPostgres("TIMESTAMP '2021-07-01 10:00:00'"), 'at', '2021-07-01T10:00:00Z'],
  [inPostgres("TIMESTAMPTZ '2021-07-01 10:00:00+02'"), 'at', '2021-07-01T08:00:00Z'],
  ['{ csv: ./times.csv }', NEW_YORK, '2021-07-01T10:00:00-04:00'],
])('%s as %s is %s', async (from, mapping, time) => {
  const { code, text } = await checked(from, mapping)
  expect(text).toContain(time)
  expect(code).toBe(0)
})

test.each([
  [inPostgres("TIMESTAMP '2021-11-07 01:30:00'"), 'which the clocks of America/New_York show once'],
  [query("TIMESTAMP '2021-03-14 02:30:00'"), 'which the clocks of America/New_York show once'],
  [inPostgres("TIMESTAMP 'infinity'"), 'a finite number, or a time of the calendar'],
])('%s in a zone is set aside', async (from, why) => {
  const { code, text } = await checked(from, NEW_YORK)
  expect(text).toContain(why)
  expect(code).toBe(1)
})

test.each([
  [query("TIMESTAMPTZ '2021-07-01 10:00:00+02'"), 'has times with their zone'],
  [inPostgres("TIMESTAMPTZ '2021-07-01 10:00:00+02'"), 'has times with their zone'],
  [inPostgres("DATE '2021-07-01'"), 'has days without a time'],
  [inPostgres("ARRAY[TIMESTAMP '2021-07-01 10:00:00']"), 'has lists'],
  [query("DATE '2021-07-01'"), 'has days without a time'],
  [query('7'), 'has numbers'],
])('%s with a zone is refused', async (from, why) => {
  const { code, text } = await checked(from, NEW_YORK)
  expect(code).toBe(2)
  expect(text).toMatch(
    /:12:\d+: zone of svc_last_contacted_at has no effect: column "at" of the source/,
  )
  expect(text).toContain(why)
})
