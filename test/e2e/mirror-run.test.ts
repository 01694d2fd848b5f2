// `run`, `approve` and `reject` of a mirror, with a real service, Temporal server, worker and DuckDB file.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../src/cli/commands/run.ts'
import { sendVerdict } from '../../src/cli/commands/approve.ts'
import type { CommandContext } from '../../src/cli/shared/context.ts'
import { RecordsClient } from '../../src/client/index.ts'
import type { StreamBooks } from '../../src/ledger/ledger.ts'
import { createProject, type Project } from './project.ts'
import { said } from '../unit/cli/said.ts'

let project: Project
let client: RecordsClient
beforeAll(async () => {
  project = await createProject({
    service: { seedRecords: 40 },
    config: `
ledger: ./ledger.db
connections: { crm: { service: "\${RECORDS_URL}", key: { file: ./key } } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs:
  crm: { mirror: { from: crm, to: lake, object_types: [svc_contact, svc_company] } }
  slip:
    mirror:
      from: crm
      to: lake
      object_types: [svc_company, svc_contact]
      modification_property: { svc_company: svc_name }
`,
  })
  process.env['RECORDS_URL'] = project.service.url
  process.env['TEMPORAL_ADDRESS'] = project.address
  client = new RecordsClient({ baseUrl: project.service.url, key: project.service.key })
  await project.startWorker()
})
afterAll(async () => {
  await client.close()
  await project.stop()
})

const tell = (command: (context: CommandContext) => Promise<number>, json = false) =>
  said(project.configFile, command, json)
const mirror = (sync: string, options: object, json = false) =>
  tell((context) => run(context, sync, { detach: false, ...options }), json)
const answer = (id: number, verdict: 'approve' | 'reject', stream: string | null, json = false) =>
  tell((context) => sendVerdict(context, String(id), { verdict, stream }), json)

async function deleteContacts(count: number): Promise<void> {
  for (const { id } of project.service.records('svc_contact').slice(0, count))
    await client.deleteRecord('svc_contact', id)
}

/** The newest run, whose stream of contacts has come to this state. */
async function reached(
  state: StreamBooks['state'],
): Promise<{ id: number; contacts: StreamBooks }> {
  const ledger = project.ledger()
  try {
    let found: { id: number; contacts: StreamBooks } | undefined
    const look = async () => {
      const [latest] = await ledger.runs({ limit: 1 })
      const contacts = (await ledger.streams(latest!.id)).find(
        (one) => one.stream === 'svc_contact',
      )
      if (contacts) found = { id: latest!.id, contacts }
      return contacts?.state
    }
    await expect.poll(look).toBe(state)
    return found!
  } finally {
    await ledger.close()
  }
}

const line = (name: string, out: readonly string[]) =>
  out
    .find((text) => text.includes(name))
    ?.trim()
    .split(/ +/)

test('run follows a mirror to its end: everything first, then what changed, then everything on request', async () => {
  const first = await mirror('crm', {})
  expect(first.code).toBe(0)
  expect(first.out[0]).toBe('Run 1 of crm: complete')
  expect(line('svc_contact', first.out)).toEqual(
    expect.arrayContaining(['svc_contact', 'complete', 'full', '40', '=']),
  )
  const second = await mirror('crm', {}, true)
  const json = JSON.parse(second.out[0]!)
  expect(second.code).toBe(0)
  expect(json).toMatchObject({ run: 2, kind: 'mirror', state: 'complete' })
  expect(json.workflow_id).toMatch(/^mirror-crm-[\da-f]{8}-\d{4}-/)
  expect(json.streams.map(({ stream, mode }: Record<string, string>) => [stream, mode])).toEqual([
    ['associations', 'full'],
    ['svc_company', 'incremental'],
    ['svc_contact', 'incremental'],
  ])
  const third = JSON.parse((await mirror('crm', { full: true }, true)).out[0]!)
  expect(third.streams[2]).toMatchObject({ mode: 'full', service_count: 40, table_count: 40 })
})

test('run ends with 3 where a stream failed, and shows all of them', async () => {
  const { code, out, err } = await mirror('slip', {})
  expect(code).toBe(3)
  expect(err.at(-1)).toMatch(
    /svc_company: .*records-sync\.yaml:\d+:\d+: modification_property of svc_company: svc_name is of/,
  )
  expect(line('svc_company', out)).toEqual(expect.arrayContaining(['svc_company', 'failed']))
  expect(line('svc_contact', out)).toEqual(expect.arrayContaining(['complete', '40']))
  const json = JSON.parse((await mirror('slip', {}, true)).out[0]!)
  expect(json).toMatchObject({ state: 'failed', error: { message: expect.any(String) } })
  expect(json.streams).toHaveLength(3)
})

test('reject leaves the rows, approve deletes them, and nothing else may be decided', async () => {
  await deleteContacts(20)
  const { out } = await mirror('crm', { full: true, detach: true }, true)
  const { workflow_id: workflow } = JSON.parse(out[0]!)
  const asked = await reached('approval')
  expect(await answer(asked.id, 'approve', 'svc_company')).toEqual({
    code: 3,
    out: [],
    err: [`Run ${asked.id} of crm: "svc_company" does not wait for approval; waiting: svc_contact`],
  })
  expect(await answer(asked.id, 'reject', 'svc_contact')).toEqual({
    code: 0,
    out: [`Run ${asked.id} of crm: the rows stay: svc_contact`],
    err: [],
  })
  await project.client.workflow.getHandle(workflow).result()
  expect((await reached('complete')).contacts).toMatchObject({
    deleted: 0,
    serviceCount: 20,
    tableCount: 40,
  })

  const following = mirror('crm', { full: true, wait: true })
  const again = await reached('approval')
  expect(again.id).toBeGreaterThan(asked.id)
  const approved = await answer(again.id, 'approve', null, true)
  expect(JSON.parse(approved.out[0]!)).toEqual({
    run: again.id,
    approved: true,
    streams: ['svc_contact'],
  })
  const ended = await following
  expect(ended.code).toBe(0)
  expect(line('svc_contact', ended.out)).toEqual(expect.arrayContaining(['complete', '20', '=']))
  expect((await answer(again.id, 'approve', null)).err).toEqual([
    `Run ${again.id} of crm is complete: nothing can be done in it any more`,
  ])
})

test('a run whose workflow the server does not know takes no verdict', async () => {
  const ledger = project.ledger()
  const opened = await ledger.openRun({
    sync: 'lost',
    kind: 'mirror',
    mode: 'run',
    workflowId: project.workflowId('mirror-lost'),
    workflowRunId: '0192f0a8-0000-7000-8000-000000000000',
    config: {},
  })
  await ledger.close()
  if (!('run' in opened)) throw new Error('expected a run')
  expect(await answer(opened.run.id, 'approve', null)).toMatchObject({
    code: 3,
    err: [expect.stringContaining(`does not know the workflow of run ${opened.run.id} of lost`)],
  })
})
