// A backfill and an import at the same time: the import has its slots and most of the quota, and is done long before.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { importSync } from '../../workflows/names.ts'
import { contactsCsv, createProject, fastTuning, type Project } from './project.ts'

const rows = { history: 12_000, contacts: 1_000 }
let project: Project

const sync = (file: string) => `
    import:
      from: { csv: ./${file}.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      properties: { svc_external_id: id, svc_first_name: first_name }`

beforeAll(async () => {
  project = await createProject({
    service: { limitPerMinute: 3_000, limitModel: 'sliding' },
    // The backfill is held back until the import is done: that is how much of it there is at least.
    gate: { free: 20, everyMs: 3_000, paces: (body) => body.includes('"h-') },
    config: `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
syncs:
  history:${sync('history')}
  contacts:${sync('contacts')}
`,
  })
  project.write('history.csv', contactsCsv(rows.history).replaceAll('c-', 'h-'))
  project.write('contacts.csv', contactsCsv(rows.contacts))
  await project.startWorker()
})
afterAll(() => project.stop())

it('an import that comes later is done while the backfill still runs', async () => {
  const start = async (name: string, priority: string) =>
    await project.client.workflow.start(importSync, {
      taskQueue: await project.queue(),
      workflowId: project.workflowId(`${priority}-${name}`),
      // More segments than the worker has slots.
      args: [{ sync: name, priority, tuning: { ...fastTuning, segments_in_flight: 12 } }],
    })
  const queue = await project.queue()
  const backfill = await start('history', 'backfill')
  while ((project.service.stats().byOperation['batchUpsert'] ?? 0) < 20)
    await new Promise((resolve) => setTimeout(resolve, 20))
  const contacts = await start('contacts', 'import')
  await contacts.result()
  const ledger = project.ledger()
  try {
    const [newest, older] = await ledger.runs({ limit: 2 })
    expect(newest).toMatchObject({ sync: 'contacts', state: 'complete' })
    expect(older).toMatchObject({ sync: 'history', state: 'running' })
    // How the two share the quota is measured by the simulation of the pacer: here staging takes its time, too.
    const { created } = await ledger.progress(older!.id)
    expect(created).toBeLessThan(rows.history)
    project.gate.open()
    await backfill.result()
    expect(project.held().size).toBe(rows.history + rows.contacts)
    const queues = async (handle: typeof backfill) => {
      const { events = [] } = await handle.fetchHistory()
      const names = (events ?? []).map(
        (event) => event.activityTaskScheduledEventAttributes?.taskQueue?.name,
      )
      return [...new Set(names.filter((name) => name && name !== queue))]
    }
    expect(await queues(backfill)).toEqual([`${queue}-backfill`])
    expect(await queues(contacts)).toEqual([`${queue}-io`])
  } finally {
    await ledger.close()
  }
})
