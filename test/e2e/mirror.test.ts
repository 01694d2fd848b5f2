// The mirror end to end: a real service, a real Temporal server, workers, warehouses, and the commands that people type.

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { mirrorSync } from '../../workflows/names.ts'
import { differenceOf, rowsOf } from '../mirror-oracle.ts'
import { createProject, type Project } from './project.ts'
import { untilHung } from '../hang.ts'

const CONTACT = 'svc_contact'
const config = `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
warehouses:
  lake: { duckdb: ./lake.duckdb }
syncs:
  copy:
    mirror: { from: crm, to: lake, object_types: [svc_contact, svc_company, svc_deal] }
`

let project: Project
let client: RecordsClient

beforeAll(async () => {
  project = await createProject({ service: { seedRecords: 1_500 }, config })
  const { service } = project
  client = new RecordsClient({ baseUrl: service.url, key: service.key })
  await client.createRecord('svc_company', { svc_name: 'Acme' })
  await project.startWorker()
})
afterAll(async () => {
  await client.close()
  await project.stop()
})

const place = () => ({ duckdb: `${project.dir}/lake.duckdb`, folder: project.dir })
const sql = (query: string) => rowsOf(place(), query)
const difference = (type: string) =>
  differenceOf({ service: project.service, client, sql, schema: 'copy' }, type)

const start = async (input: object) =>
  await project.client.workflow.start(mirrorSync, {
    taskQueue: await project.queue(),
    workflowId: `mirror-${Math.random().toString(36).slice(2)}`,
    args: [{ sync: 'copy', tuning: { blocked_probe_ms: 200, service_probe_ms: 200 }, ...input }],
  })

test('run, show and sql, as a person types them', async () => {
  const run = await project.command('run', 'copy')
  expect(run).toMatchObject({ code: 0 })
  expect(run.out).toMatch(/svc_contact .*1,500/)
  expect(await difference(CONTACT)).toEqual([])
  expect(await difference('svc_company')).toEqual([])

  const shown = await project.command('--json', 'show', '1')
  expect(JSON.parse(shown.out)).toMatchObject({
    state: 'complete',
    streams: expect.arrayContaining([
      expect.objectContaining({ stream: CONTACT, service_count: 1_500, table_count: 1_500 }),
    ]),
  })
  const answer = await project.cli('sql', 'lake', 'SELECT count(*) AS n FROM copy.svc_contact')
  expect(answer.out).toContain('1500')
})

test('a table that was altered by hand fails alone, before anything is written, and says what to do', async () => {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const alter = async (statement: string) => {
    const instance = await DuckDBInstance.create(place().duckdb)
    const connection = await instance.connect()
    await connection.run(statement)
    connection.closeSync()
    instance.closeSync()
  }
  await alter('ALTER TABLE copy.svc_deal RENAME TO mine')
  await alter('ALTER TABLE copy.associations RENAME TO mine_too')
  const [first] = project.service.records(CONTACT)
  await client.updateRecord(CONTACT, first!.id, { svc_first_name: 'Changed' })
  await client.createRecord('svc_company', { svc_name: 'Emca' })
  const failed = await project.command('run', 'copy')
  expect(failed.code).toBe(3)
  expect(failed.out + failed.err).toMatch(/svc_deal/)
  expect(failed.out + failed.err).toMatch(/associations/)
  // The others came in that very run.
  expect(await difference(CONTACT)).toEqual([])
  expect(await difference('svc_company')).toEqual([])
  await alter('ALTER TABLE copy.mine RENAME TO svc_deal')
  await alter('ALTER TABLE copy.mine_too RENAME TO associations')
  expect(await project.command('run', 'copy')).toMatchObject({ code: 0 })
  expect(await difference(CONTACT)).toEqual([])
})

test('a file that another process holds blocks the run, which says who, and goes on by itself', async () => {
  const { spawn } = await import('node:child_process')
  const script = `
    const { DuckDBInstance } = await import('@duckdb/node-api')
    const instance = await DuckDBInstance.create(process.argv[1])
    console.log('held')
    setInterval(() => instance, 1000)`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script, place().duckdb], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => holder.stdout.once('data', resolve))
  const handle = await start({})
  const ledger = project.ledger()
  try {
    await vi.waitFor(async () => {
      const [run] = await ledger.runs({ limit: 1 })
      expect(run).toMatchObject({ state: 'blocked', reason: 'warehouse' })
      expect(run!.message).toContain(`PID ${holder.pid}`)
    }, untilHung)
    holder.kill('SIGKILL')
    expect(await handle.result()).toMatchObject({ state: 'complete' })
  } finally {
    holder.kill('SIGKILL')
    await ledger.close()
  }
})

test('too many deletions wait for a person, who approves them by command', async () => {
  const ids = project.service.records(CONTACT).slice(0, 400)
  for (let from = 0; from < ids.length; from += 50)
    await client.batchDelete(CONTACT, {
      items: ids.slice(from, from + 50).map(({ id }) => ({ id })),
    })
  const handle = await start({ full: true })
  const ledger = project.ledger()
  try {
    const run = await vi.waitFor(async () => {
      const [latest] = await ledger.runs({ limit: 1 })
      expect(latest).toMatchObject({ state: 'blocked', reason: 'approval' })
      return latest!
    }, untilHung)
    expect(await sql(`SELECT count(*) FROM copy.svc_contact WHERE _deleted_at IS NULL`)).toEqual([
      ['1500'],
    ])
    const approved = await project.command('approve', String(run.id))
    expect(approved).toMatchObject({ code: 0, out: expect.stringContaining(CONTACT) })
    expect(await handle.result()).toMatchObject({ state: 'complete' })
  } finally {
    await ledger.close()
  }
  expect(await difference(CONTACT)).toEqual([])
  expect(await sql(`SELECT count(*) FROM copy.svc_contact WHERE _deleted_at IS NOT NULL`)).toEqual([
    ['400'],
  ])
})
