// Prove it, mend it, send it again, as a stranger does: by command, through Temporal, with a worker that is killed on the way.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { mirrorSync, reconcile } from '../../workflows/names.ts'
import { contactsCsv, createProject, defaultConfig, fastTuning, type Project } from './project.ts'
import { soakTest } from '../runs.ts'

const CONTACT = 'svc_contact'

let project: Project
afterEach(async () => await project.stop())

const config = `${defaultConfig}
  copy:
    mirror: { from: crm, to: lake, object_types: [svc_contact] }
warehouses:
  lake: { duckdb: ./lake.duckdb }
`

const json = async (...args: string[]) => {
  const { code, out, err } = await project.command(...args, '--json')
  if (out === '') throw new Error(`${args.join(' ')}: ${err}`)
  return { code, result: JSON.parse(out) }
}

test('reconcile, correct, retry, repair, audit: by command', async () => {
  project = await createProject({ config })
  const { service } = project
  // Two rows are wrong: 7 and 9.
  const spoilt = (index: number, cells: string[]) =>
    index === 7 || index === 9 ? [cells[0]!, cells[1]!, 'no address', cells[3]!] : cells
  project.write('contacts.csv', contactsCsv(120, spoilt))
  await project.startWorker()
  await (await project.start('contacts')).result()
  await project.client.workflow.execute(mirrorSync, {
    taskQueue: await project.queue(),
    workflowId: project.workflowId('copy'),
    args: [{ sync: 'copy' }],
  })

  // One of them is corrected in a spreadsheet, and sent.
  const folder = join(project.dir, 'wrong')
  expect((await project.command('rejects', '1', '-d', folder)).code).toBe(0)
  const [file] = readdirSync(folder)
  const path = join(folder, file!)
  const sheet = readFileSync(path, 'utf8')
  writeFileSync(path, sheet.replace('no address', 'person7@example.com'))
  const retried = await json('retry', '1', '--file', path)
  expect(retried).toMatchObject({
    code: 1,
    result: { purpose: 'retry', retry_of: 1, rows_read: 2 },
  })
  expect(retried.result.rows).toMatchObject({ created: 1, rejected: 1 })
  expect(project.held().get('c-7')).toMatchObject({ svc_email: ['person7@example.com'] })
  expect(await project.command('retry', '1', '--rows', '8')).toMatchObject({
    code: 3,
    err: expect.stringContaining('run 1: nothing that was chosen is left to be sent again'),
  })

  // The source is mended, and people work in the CRM.
  project.write('contacts.csv', contactsCsv(120))
  const client = new RecordsClient({ baseUrl: service.url, key: service.key })
  const record = (id: string) =>
    service.records(CONTACT).find(({ properties }) => properties['svc_external_id'] === id)!
  await client.updateRecord(CONTACT, record('c-3').id, { svc_score: 99 })
  await client.deleteRecord(CONTACT, record('c-4').id)
  await client.close()

  const looked = await json('reconcile', 'contacts')
  expect(looked.code).toBe(1)
  expect(looked.result.differences.found).toEqual({
    missing: 2,
    extra: 0,
    stale: 0,
    different: 1,
  })
  const repaired = await json('reconcile', 'contacts', '--repair')
  expect(repaired).toMatchObject({ code: 0, result: { state: 'complete' } })
  expect(project.held().get('c-3')).toMatchObject({ svc_score: 3 })
  expect(project.held().size).toBe(120)

  // The mirror has not read that yet; what it has not read is no difference, and repair reads it.
  expect((await json('reconcile', 'copy', '--repair')).code).toBe(0)
  const { result: states } = await json('status')
  for (const sync of states) expect(sync).toMatchObject({ differences_left: 0 })
  expect(states[0].verified_through).toBe(repaired.result.opened_at)

  const audit = await project.command('audit')
  expect(audit).toMatchObject({ code: 0, out: expect.stringContaining('Nothing was found') })
})

soakTest(
  'a worker that is killed while it compares: another one goes on, and each difference is found once',
  async () => {
    project = await createProject({ config, service: { latencyMs: 20 } })
    project.write('contacts.csv', contactsCsv(1_500))
    const worker = project.spawnWorker()
    await (await project.start('contacts')).result()
    const { service } = project
    const client = new RecordsClient({ baseUrl: service.url, key: service.key })
    const records = service.records(CONTACT)
    for (let index = 0; index < 1_500; index += 150)
      await client.updateRecord(CONTACT, records[index]!.id, { svc_first_name: 'Zoe' })
    await client.close()
    const handle = await project.client.workflow.start(reconcile, {
      taskQueue: await project.queue(),
      workflowId: project.workflowId('reconcile-contacts'),
      args: [{ sync: 'contacts', repair: true, tuning: { ...fastTuning, in_flight: 1 } }],
    })
    const ledger = project.ledger()
    const settled = async () => (await ledger.books(2).catch(() => null))?.states.unchanged ?? 0
    // Killed once it has compared some.
    await expect.poll(settled, { interval: 20 }).toBeGreaterThan(300)
    const gone = new Promise((resolve) => worker.once('exit', resolve))
    worker.kill('SIGKILL')
    await gone
    await project.startWorker()
    const result = await handle.result()
    expect(result).toMatchObject({
      state: 'complete',
      found: { missing: 0, extra: 0, stale: 0, different: 10 },
      left: { different: 0 },
      manifest: expect.stringMatching(/^[\da-f]{64}$/),
      books: { read: 1_500, states: { unchanged: 1_490, updated: 10 } },
    })
    const { rows } = await ledger.differences(2, { after: 0, limit: 100 })
    await ledger.close()
    expect(rows).toHaveLength(10)
    expect(project.held().get('c-1')).toMatchObject({ svc_first_name: 'Name 1' })
  },
)
