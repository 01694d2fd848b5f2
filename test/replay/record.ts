// Records the histories that test/replay/replay.test.ts replays. Record only what has no history yet, and never on
// the change that the histories are to judge: npx vitest run --config test/replay/vitest.record.ts

import { readFileSync, writeFileSync } from 'node:fs'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { WorkflowHandle } from '@temporalio/client'
import { afterEach, expect, test } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import {
  approve,
  backfill,
  groupSync,
  importSync,
  mirrorSync,
  pause,
  reconcile,
  reject,
  resume,
  retry,
  undo,
} from '../../workflows/names.ts'
import type { GroupResult } from '../../workflows/messages.ts'
import { contactsConfig } from '../e2e/contacts.ts'
import { companiesCsv, linkedContactsCsv, linksConfig } from '../e2e/linked-contacts.ts'
import {
  contactsCsv,
  createProject,
  defaultConfig,
  fastTuning,
  type Project,
} from '../e2e/project.ts'

let project: Project
afterEach(async () => await project.stop())

const save = async (name: string, handle: WorkflowHandle) => {
  const path = new URL(`./${name}.json`, import.meta.url)
  const anywhere = (text: string) => text.replaceAll(project.dir, '/project')
  const json = anywhere(historyToJSON(await handle.fetchHistory())).replaceAll(
    /(?<="data": ")[^"]+/g,
    (data) => Buffer.from(anywhere(Buffer.from(data, 'base64').toString())).toString('base64'),
  )
  // The machine's name and its folders are nobody's business.
  writeFileSync(path, `${json.replaceAll(/\d+@[\w.-]+/g, 'worker')}\n`)
}

test('an import that completes with rejects, in three segments', async () => {
  project = await createProject()
  project.write(
    'contacts.csv',
    contactsCsv(2_500, (index, cells) =>
      index === 5 ? [cells[0]!, cells[1]!, cells[2]!, 'x'] : cells,
    ),
  )
  await project.startWorker()
  const handle = await project.start('contacts')
  await handle.result()
  await save('import-complete', handle)
})

test('an import that is cancelled', async () => {
  project = await createProject({ service: { latencyMs: 100 } })
  project.write('contacts.csv', contactsCsv(2_500))
  await project.startWorker()
  const handle = await project.start('contacts')
  await expect.poll(() => project.held().size).toBeGreaterThan(0)
  await handle.cancel()
  await handle.result().catch(() => {})
  await save('import-cancelled', handle)
})

test('an import that is paused and goes on, and one that a person rejects', async () => {
  project = await createProject({ service: { latencyMs: 100 } })
  project.write('contacts.csv', contactsCsv(2_500))
  await project.startWorker()
  const paused = await project.start('contacts', { ...fastTuning, in_flight: 1 })
  await expect.poll(() => project.held().size).toBeGreaterThan(0)
  await paused.executeUpdate(pause, { args: [{ reason: 'maintenance' }] })
  await expect
    .poll(async () => (await project.ledger().runs({ limit: 1 }))[0]!.state)
    .toBe('paused')
  await paused.executeUpdate(resume, { args: [undefined] })
  await paused.result()
  await save('import-paused', paused)
  const text = readFileSync(project.configFile, 'utf8')
  project.write('records-sync.yaml', text.replace('to: crm', 'to: crm\n      rows_max: 10'))
  project.write(
    'contacts.csv',
    contactsCsv(500, (index, cells) => [cells[0]!, `New ${index}`, cells[2]!, cells[3]!]),
  )
  const rejected = await project.start('contacts')
  await expect
    .poll(() => rejected.executeUpdate(reject, { args: [undefined] }).catch(() => null), {
      timeout: 60_000,
      interval: 500,
    })
    .toEqual({ streams: ['contacts'] })
  await rejected.result()
  await save('import-rejected', rejected)
})

test('an import whose plan is approved, and one that applies a plan', async () => {
  project = await createProject({ config: contactsConfig({ settings: 'approve: plan' }) })
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  const asks = await project.start('contacts')
  await expect
    .poll(() => asks.executeUpdate(approve, { args: [{ plan: 1 }] }).catch(() => null), {
      timeout: 60_000,
      interval: 500,
    })
    .toEqual({ streams: ['contacts'] })
  await asks.result()
  await save('import-plan-approved', asks)
  project.write('contacts.csv', contactsCsv(130))
  expect(await project.command('--json', 'plan', 'contacts', '--diff')).toMatchObject({ code: 0 })
  const applies = await project.client.workflow.start(importSync, {
    taskQueue: await project.queue(),
    workflowId: 'import-planned',
    args: [{ sync: 'contacts', plan: 1 }],
  })
  await applies.result()
  await save('import-plan-applied', applies)
})

test('backfills: one that answers with what can be written, and one of a window', async () => {
  project = await createProject({ config: mirrorConfig, service: { seedRecords: 300 } })
  await project.startWorker()
  const start = async (id: string, input: object) =>
    await project.client.workflow.start(backfill, {
      taskQueue: await project.queue(),
      workflowId: id,
      args: [input],
    })
  const help = await start('help', {})
  await help.result()
  await save('backfill-help', help)
  const window = await start('window', { sync: 'crm_copy', from: '2020-01-01', to: '2100-01-01' })
  await window.result()
  await save('backfill-window', window)
})

test('an import that is reconciled and repaired, a retry, and a mirror that is reconciled', async () => {
  const copy = mirrorConfig.slice(mirrorConfig.indexOf('  crm_copy:'))
  project = await createProject({
    config: `${defaultConfig}${copy}\nwarehouses:\n  lake: { duckdb: ./lake.duckdb }\n`,
  })
  const spoilt = (index: number, cells: string[]) =>
    index === 5 ? [cells[0]!, cells[1]!, cells[2]!, 'x'] : cells
  project.write('contacts.csv', contactsCsv(300, spoilt))
  await project.startWorker()
  await (await project.start('contacts')).result()
  const mirrored = await project.client.workflow.start(mirrorSync, {
    taskQueue: await project.queue(),
    workflowId: 'mirror',
    args: [{ sync: 'crm_copy' }],
  })
  await mirrored.result()
  const client = new RecordsClient({ baseUrl: project.service.url, key: project.service.key })
  const [one] = project.service.records('svc_contact')
  await client.updateRecord('svc_contact', one!.id, { svc_first_name: 'Zoe' })
  await client.close()
  const start = async (type: string, id: string, input: object) => {
    const handle = await project.client.workflow.start(type, {
      taskQueue: await project.queue(),
      workflowId: id,
      args: [input],
    })
    await handle.result()
    await save(id, handle)
  }
  await start(retry, 'import-retry', { run: 1 })
  await start(reconcile, 'import-reconcile', { sync: 'contacts', repair: true, tuning: fastTuning })
  await start(reconcile, 'mirror-reconcile', { sync: 'crm_copy', repair: true })
})

test('an undo of updates and of a creation', async () => {
  project = await createProject({ config: contactsConfig({ settings: 'keep_before: true' }) })
  project.write('contacts.csv', contactsCsv(3))
  await project.startWorker()
  await (await project.start('contacts')).result()
  const renamed = contactsCsv(4, (_, cells) => [cells[0]!, 'New', ...cells.slice(2)])
  project.write('contacts.csv', renamed)
  await (await project.start('contacts')).result()
  const handle = await project.client.workflow.start(undo, {
    taskQueue: await project.queue(),
    workflowId: 'import-undo',
    args: [{ run: 2 }],
  })
  await handle.result()
  await save('import-undo', handle)
})

test('an import whose mapping is hopeless', async () => {
  project = await createProject()
  project.write('contacts.csv', 'id,first_name\nc-1,Ada\n')
  await project.startWorker()
  const handle = await project.start('contacts')
  await handle.result().catch(() => {})
  await save('import-failed', handle)
})

const mirrorConfig = `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
warehouses:
  lake: { duckdb: ./lake.duckdb }
syncs:
  crm_copy:
    mirror:
      from: crm
      to: lake
      object_types: [svc_contact, svc_company]
      overlap_seconds: 0
`
const startMirror = async (input: object = {}) =>
  await project.client.workflow.start(mirrorSync, {
    taskQueue: await project.queue(),
    workflowId: `mirror-${Math.random().toString(36).slice(2)}`,
    args: [{ sync: 'crm_copy', ...input }],
  })

test('a mirror whose streams hand over, and one whose deletions are approved', async () => {
  project = await createProject({
    config: mirrorConfig,
    service: { seedRecords: 700, latencyMs: 250 },
  })
  await project.startWorker()
  const first = await startMirror({ tuning: { stream_ms: 1_000, readers: 1 } })
  await first.result()
  await save('mirror-complete', first)
  const client = new RecordsClient({ baseUrl: project.service.url, key: project.service.key })
  const ids = project.service.records('svc_contact').map(({ id }) => ({ id }))
  for (let from = 0; from < 100; from += 50)
    await client.batchDelete('svc_contact', { items: ids.slice(from, from + 50) })
  await client.close()
  const second = await startMirror({ full: true })
  await expect
    .poll(() => second.executeUpdate(approve, { args: [undefined] }).catch(() => null), {
      timeout: 60_000,
      interval: 500,
    })
    .toEqual({ streams: ['svc_contact'] })
  await second.result()
  await save('mirror-approved', second)
})

test('a mirror that is cancelled', async () => {
  project = await createProject({
    config: mirrorConfig,
    service: { seedRecords: 300, latencyMs: 500 },
  })
  await project.startWorker()
  const handle = await startMirror()
  await expect
    .poll(() => project.service.stats().byOperation['queryRecords'] ?? 0)
    .toBeGreaterThan(0)
  await handle.cancel()
  await handle.result().catch(() => {})
  await save('mirror-cancelled', handle)
})

test('a mirror one of whose streams fails', async () => {
  project = await createProject({
    config: `${mirrorConfig}      associations: [svc_contact_company]\n      modification_property: { svc_company: nothing }\n`,
    service: { seedRecords: 100 },
  })
  await project.startWorker()
  const handle = await startMirror()
  await handle.result().catch(() => {})
  await save('mirror-failed', handle)
})

const groupConfig = `${defaultConfig}  notes:
    import:
      from: { csv: ./notes.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      properties: { svc_external_id: id, svc_first_name: first_name }
  calls:
    import:
      from: { csv: ./calls.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      properties: { svc_external_id: id, svc_first_name: first_name }
    after: [notes]
`

test('a group one of whose syncs is at work before, and one of which fails', async () => {
  project = await createProject({ config: groupConfig, service: { latencyMs: 100 } })
  project.write('contacts.csv', contactsCsv(2_500))
  project.write('notes.csv', 'id,first_name\n"note-1,Ada\n')
  project.write('calls.csv', 'id,first_name\ncall-1,Ada\n')
  await project.startWorker()
  const before = await project.start('contacts')
  await expect.poll(() => project.held().size).toBeGreaterThan(0)
  const start = async (id: string, input: object) =>
    await project.client.workflow.start(groupSync, {
      taskQueue: await project.queue(),
      workflowId: id,
      args: [input],
    })
  const failed = await start('group', { syncs: 'all', tuning: { import: fastTuning } })
  await before.result()
  await failed.result().catch(() => {})
  await save('group-failed', failed)
  project.write('notes.csv', 'id,first_name\nnote-1,Ada\n')
  const complete = await start('group', { syncs: ['calls', 'notes'] })
  const { syncs } = (await complete.result()) as GroupResult
  await save('group-complete', complete)
  await save('import-of-group', project.client.workflow.getHandle(syncs[0]!.workflow!))
})

test('a group whose waiting links are made at its end, and an import that removes', async () => {
  const wrongWayRound = linksConfig().replace(
    'properties: { svc_domain: domain }\n',
    'properties: { svc_domain: domain }\n      missing_rows: delete\n    after: [contacts]\n',
  )
  project = await createProject({ config: wrongWayRound })
  project.write('contacts.csv', linkedContactsCsv(60, 20))
  project.write('companies.csv', companiesCsv(20))
  await project.startWorker()
  const group = await project.client.workflow.start(groupSync, {
    taskQueue: await project.queue(),
    workflowId: 'group',
    args: [{ syncs: ['contacts', 'companies'] }],
  })
  const { syncs } = (await group.result()) as GroupResult
  await save('group-links', group)
  const [contacts] = syncs
  await save('import-links', project.client.workflow.getHandle(contacts!.workflow!))
  await save('links-of-group', project.client.workflow.getHandle(contacts!.links!.workflow!))
  project.write('companies.csv', companiesCsv(19))
  const removing = await project.start('companies')
  await removing.result()
  await save('import-removals', removing)
})
