// A ledger, a quota file, a warehouse and a service's data file, as the version before wrote them: today's version opens them,
// finds their books in order, and goes on where they end. fixtures/version-before/README.md says how they were made.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project } from './project.ts'

const FIXTURES = fileURLToPath(new URL('../fixtures/version-before/', import.meta.url))
/** Where the service was when the files were written. */
const OLD_SERVICE = 'http://127.0.0.1:47613'

const CONFIG = `
ledger: ./ledger.db
connections: { crm: { service: "\${RECORDS_URL}", key: { file: ./key } } }
warehouses: { lake: { duckdb: ./warehouse.duckdb } }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: all
      properties:
        svc_external_id: id
        svc_first_name: first_name
        svc_last_name: last_name
        svc_email: email
        svc_birthday: { column: born, format: DD.MM.YYYY }
        svc_lifetime_value: { column: amount, unit: EUR }
  copy: { mirror: { from: crm, to: lake, object_types: [svc_contact] } }
`

let dir: string
let project: Project
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-test-'))
  const data = unpack('service.db', dir)
  project = await createProject({ service: { data }, config: CONFIG })
  const minted = await project.command('service', 'keys', 'mint', '--data', data)
  project.write('key', minted.out.split('\n')[0] ?? '')
  for (const name of ['ledger.db', 'quota.db', 'warehouse.duckdb']) unpack(name, project.dir)
  copyFileSync(join(FIXTURES, 'contacts.csv'), join(project.dir, 'contacts.csv'))
  await moveService(project)
  await project.startWorker()
})
afterAll(async () => {
  await project.stop()
  rmSync(dir, { recursive: true, force: true })
})

function unpack(name: string, into: string): string {
  const path = join(into, name)
  writeFileSync(path, gunzipSync(readFileSync(join(FIXTURES, `${name}.gz`))), { mode: 0o600 })
  return path
}

/** The service of the files is at another address now: destinations, quotas and the owner of the schema name it. */
async function moveService(to: Project): Promise<void> {
  const change = (file: string, ...statements: string[]) => {
    const database = new DatabaseSync(join(to.dir, file))
    for (const statement of statements) database.prepare(statement).run(OLD_SERVICE, to.service.url)
    database.close()
  }
  change('ledger.db', 'UPDATE destinations SET origin = replace(origin, ?, ?)')
  change(
    'quota.db',
    'UPDATE quota SET org = replace(org, ?, ?)',
    'UPDATE quota_keys SET key = replace(key, ?1, ?2), org = replace(org, ?1, ?2)',
  )
  const warehouse = await DuckDBInstance.create(join(to.dir, 'warehouse.duckdb'))
  const connection = await warehouse.connect()
  await connection.run('UPDATE copy._records_sync_mirror SET owner = replace(owner, $1, $2)', [
    OLD_SERVICE,
    to.service.url,
  ])
  connection.closeSync()
  warehouse.closeSync()
}

async function contactsTable(): Promise<unknown> {
  const warehouse = await DuckDBInstance.create(join(project.dir, 'warehouse.duckdb'))
  const connection = await warehouse.connect()
  const answer = await connection.runAndReadAll(
    `SELECT count(*)::INT AS rows, max(svc_first_name) FILTER (svc_external_id = 'F-007') AS name
     FROM copy.svc_contact WHERE _deleted_at IS NULL`,
  )
  connection.closeSync()
  warehouse.closeSync()
  return answer.getRowObjectsJson()
}

/** What an import's run did, as `show --json` has it. */
async function shown(run: number): Promise<Record<string, unknown>> {
  const { out } = await project.command('show', String(run), '--json')
  return JSON.parse(out) as Record<string, unknown>
}

test('the books and their seals are in order', async () => {
  expect(await project.command('audit')).toEqual({
    code: 0,
    out: expect.anything(),
    err: expect.anything(),
  })
  expect(await shown(3)).toMatchObject({
    state: 'complete_with_rejects',
    states: { invalid: 3, unchanged: 116, updated: 1 },
  })
  expect(await contactsTable()).toEqual([{ rows: 117, name: 'Anna' }])
})

test('the same file again sends nothing, and one changed row one record', async () => {
  expect((await project.command('run', 'contacts')).code).toBe(1)
  expect(await shown(5)).toMatchObject({ states: { invalid: 3, unchanged: 117 } })
  const csv = join(project.dir, 'contacts.csv')
  writeFileSync(csv, readFileSync(csv, 'utf8').replace('F-007,Anna,', 'F-007,Anja,'))
  expect((await project.command('run', 'contacts')).code).toBe(1)
  expect(await shown(6)).toMatchObject({ states: { invalid: 3, unchanged: 116, updated: 1 } })
})

test('the mirror reads what changed, and its table has as many rows as the service', async () => {
  const copied = await project.command('run', 'copy')
  expect(copied).toEqual({ code: 0, out: expect.anything(), err: expect.anything() })
  expect(await contactsTable()).toEqual([{ rows: 117, name: 'Anja' }])
})
