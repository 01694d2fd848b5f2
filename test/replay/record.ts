// Records the histories that test/replay/replay.test.ts replays. Run it on released code, never on the change that the
// histories are to judge: npx vitest run --config test/replay/vitest.record.ts

import { writeFileSync } from 'node:fs'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { WorkflowHandle } from '@temporalio/client'
import { afterEach, expect, test } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { approve, mirrorSync } from '../../workflows/names.ts'
import { TASK_QUEUE } from '../../workflows/queues.ts'
import { contactsCsv, createProject, type Project } from '../e2e/project.ts'

let project: Project
afterEach(async () => await project.stop())

const save = async (name: string, handle: WorkflowHandle) => {
  const path = new URL(`./${name}.json`, import.meta.url)
  const json = historyToJSON(await handle.fetchHistory())
  // The machine's name is nobody's business.
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
  await expect.poll(() => project.held().size, { timeout: 30_000 }).toBeGreaterThan(0)
  await handle.cancel()
  await handle.result().catch(() => {})
  await save('import-cancelled', handle)
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
    taskQueue: TASK_QUEUE,
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
}, 180_000)

test('a mirror that is cancelled', async () => {
  project = await createProject({
    config: mirrorConfig,
    service: { seedRecords: 300, latencyMs: 500 },
  })
  await project.startWorker()
  const handle = await startMirror()
  await expect
    .poll(() => project.service.stats().byOperation['queryRecords'] ?? 0, { timeout: 30_000 })
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
