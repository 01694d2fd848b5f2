// Where keys and values go, and where they never go: imports, mirrors, backfills, rejects, blocks, pauses and deletions are
// run with a marked key and marked values, and then everything that others may read is searched for the marks.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { backfill } from '../../workflows/names.ts'
import { startProxy } from '../faults/proxy.ts'
import { contactsConfig, createProject, fastTuning, type Project } from './project.ts'
import { untilHung } from '../hang.ts'

/** In every cell, also in those that nobody can read. */
const MARK = 'canary-value'
/** A key that is not accepted. The one that is accepted is marked by what it is. */
const WRONG_KEY = 'svc_canary_wrong_key'
const HOOK_SECRET = 'canary-hook-secret'

let project: Project
let client: RecordsClient
/** What the marks must not be in, by its name. */
const seen = new Map<string, string>()
const note = (where: string, text: string) => seen.set(where, `${seen.get(where) ?? ''}${text}\n`)

const posted: string[] = []
const hook = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => posted.push(chunk.toString()))
  request.on('end', () => response.end('ok'))
})

let proxy: Awaited<ReturnType<typeof startProxy>>

/** A service that refuses one row, and whose every word quotes values of it. */
function refuseThe13th(url: string, body: string) {
  const { data = [] } = url.includes('/batch/upsert/')
    ? (JSON.parse(body) as { data: object[] })
    : {}
  const index = data.findIndex((item) => JSON.stringify(item).includes(`${MARK} 13"`))
  if (index < 0) return { pass: body }
  return {
    status: 422,
    headers: { 'content-type': 'application/problem+json', 'svc-request-id': 'proxy' },
    body: JSON.stringify({
      type: 'about:blank',
      title: `${MARK} title`,
      status: 422,
      code: 'request_invalid',
      reason: `${MARK}_reason`.replaceAll('-', '_'),
      detail: `${MARK}-13@example.com is no good`,
      field: `/data/${index}/properties/svc_first_name`,
    }),
  }
}

const rows = (from: number, to: number, bad: (index: number) => boolean = () => false) => [
  'id,first_name,email,score',
  ...Array.from({ length: to - from + 1 }, (_, at) => {
    const index = from + at
    const score = bad(index) ? `${MARK}-score` : String(index)
    return `${MARK}-${index},${MARK} ${index},${MARK}-${index}@example.com,${score}`
  }),
  '',
]

beforeAll(async () => {
  await new Promise<void>((listening) => hook.listen(0, '127.0.0.1', listening))
  const { port } = hook.address() as AddressInfo
  project = await createProject({
    server: 'own',
    config: `${contactsConfig({ settings: 'verify: all\n      rows_max: 500' })}
    schedule: every 1 day
  crm_copy:
    mirror: { from: crm, to: lake, object_types: [svc_contact], overlap_seconds: 0 }
warehouses:
  lake: { duckdb: ./lake.duckdb }
notifications:
  ops: { url: { file: ./hook } }
worker: { listen: "127.0.0.1:0" }
`,
  })
  project.write('hook', `http://127.0.0.1:${port}/${HOOK_SECRET}`)
  proxy = await startProxy(project.service.url, refuseThe13th)
  project.env['RECORDS_URL'] = proxy.url
  client = new RecordsClient({ baseUrl: project.service.url, key: project.service.key })
})
afterAll(async () => {
  await client.close()
  proxy.close()
  hook.closeAllConnections()
  hook.close()
  await project.stop()
})

/** Every history of the namespace, as the Temporal UI and every other client of it can read it. */
async function histories(): Promise<number> {
  let count = 0
  for await (const run of project.client.workflow.list()) {
    const handle = project.client.workflow.getHandle(run.workflowId, run.runId)
    note('history', historyToJSON(await handle.fetchHistory()))
    note('history', JSON.stringify({ memo: run.memo, attributes: run.searchAttributes }))
    for (const query of ['progress', 'lastErrors', '__temporal_workflow_metadata'])
      note('queries', JSON.stringify(await handle.query(query).catch(() => null)))
    count++
  }
  return count
}

/** Arguments and environments of every process of this user are for others to read; environments are not. */
function processes(): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      note('process arguments', readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '))
    } catch {
      // It has ended.
    }
}

test('marked keys and values are nowhere but where they belong', async () => {
  const key = project.service.key
  const worker = project.spawnWorker()
  let log = ''
  worker.stdout!.on('data', (chunk: Buffer) => (log += chunk.toString()))
  worker.stderr!.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const listening = async () => {
    await vi.waitFor(() => expect(log).toMatch(/"listening":"[\d.:]+"/), untilHung)
    return /"listening":"([\d.:]+)"/.exec(log)![1]!
  }
  const metrics = `http://${await listening()}/metrics`
  const noted = async (args: string[], answering: ReturnType<Project['cli']>) => {
    const answer = await answering
    note(`command ${args.find((arg) => !arg.startsWith('-'))}`, answer.out + answer.err)
    return answer
  }
  const command = (...args: string[]) => noted(args, project.command(...args))
  /** A process of its own, which others see. */
  const cli = (...args: string[]) => noted(args, project.cli(...args))
  const tuning = JSON.stringify({ ...fastTuning, in_flight: 1 })

  // An import with rows that are invalid, one that the service refuses, and a key that is not accepted at first.
  project.write('contacts.csv', rows(1, 300, (index) => index % 50 === 0).join('\n'))
  project.write('key', WRONG_KEY)
  await command('check')
  const started = cli('run', 'contacts', '--tuning', tuning)
  const ledgerState = async () => {
    const ledger = project.ledger()
    const [run] = await ledger.runs({ limit: 1 })
    await ledger.close()
    return run ? { state: run.state, reason: run.reason } : null
  }
  await vi.waitFor(
    async () => expect(await ledgerState()).toEqual({ state: 'blocked', reason: 'auth' }),
    untilHung,
  )
  processes()
  await histories()
  project.write('key', key)
  expect(await started).toMatchObject({ code: 1 })
  // The same with a person in between, a mirror with deletions to approve, a backfill, a plan, schedules and a notification.
  project.write('contacts.csv', rows(200, 900).join('\n'))
  await command('plan', 'contacts')
  const changes = join(project.dir, 'changes.ndjson')
  await command('plan', 'contacts', '--diff', '--out', changes)
  // They are where a person asked for them.
  expect(readFileSync(changes, 'utf8')).toContain(MARK)
  await command('run', 'contacts', '--detach', '--tuning', tuning)
  await vi.waitFor(
    async () => expect(await ledgerState()).toEqual({ state: 'blocked', reason: 'approval' }),
    untilHung,
  )
  await command('pause', 'contacts', '--reason', 'lunch')
  await command('resume', 'contacts')
  await command('approve', 'contacts')
  processes()
  await vi.waitFor(async () => expect((await ledgerState())!.state).toMatch(/^complete/), untilHung)
  expect(await command('run', 'crm_copy')).toMatchObject({ code: 0 })
  const ids = project.service.records('svc_contact').slice(0, 200)
  for (let from = 0; from < ids.length; from += 50)
    await client.batchDelete('svc_contact', {
      items: ids.slice(from, from + 50).map(({ id }) => ({ id })),
    })
  await command('run', 'crm_copy', '--full', '--detach')
  await vi.waitFor(
    async () => expect(await ledgerState()).toEqual({ state: 'blocked', reason: 'approval' }),
    untilHung,
  )
  await command('reject', 'crm_copy')
  await vi.waitFor(
    async () => expect((await ledgerState())!.state).toBe('complete_with_differences'),
    untilHung,
  )
  await command('backfill', 'crm_copy', '--from', '2020-01-01')
  await command('backfill', 'contacts', '--from', '2020-01-01')
  await project.client.workflow.execute(backfill, {
    taskQueue: await project.queue(),
    workflowId: 'help',
    args: [{}],
  })
  for (const verb of ['apply', 'list', 'plan']) await command('schedules', verb)
  await command('notify', 'ops')
  for (const look of ['status', 'quota', 'links']) await command(look)
  await command('show', '1')
  // What people changed is found and mended, and what was refused is sent again.
  const [person] = project.service.records('svc_contact')
  await client.updateRecord('svc_contact', person!.id, { svc_first_name: `${MARK} changed` })
  const looked = JSON.parse((await command('--json', 'reconcile', 'contacts')).out) as {
    run: number
  }
  await command('reconcile', 'crm_copy')
  await command('retry', '1')
  await command('audit')
  for (const run of ['1', String(looked.run)]) {
    await command('report', run, '-o', join(project.dir, 'page.html'))
    note('report', readFileSync(join(project.dir, 'page.html'), 'utf8'))
  }

  expect(await histories()).toBeGreaterThanOrEqual(7)
  for await (const schedule of project.client.schedule.list())
    note(
      'schedules',
      JSON.stringify(
        await project.client.schedule.getHandle(schedule.scheduleId).describe(),
        (name, value: unknown) =>
          name === 'client' || typeof value === 'bigint' ? undefined : value,
      ),
    )
  note('metrics', await (await fetch(metrics)).text())
  note('notifications', posted.join('\n'))
  worker.kill('SIGTERM')
  await new Promise((ended) => worker.once('exit', ended))
  note('log', log)

  // What is searched is what was meant.
  expect(seen.get('history')).toContain('importSync')
  expect(seen.get('log')).toContain('run_closed')
  expect(seen.get('metrics')).toContain('records_sync_rows_total')
  expect(seen.get('notifications')).toContain('"event":"blocked"')
  expect(seen.get('process arguments')).toContain('worker')
  expect(seen.get('schedules')).toContain('sync:contacts')
  expect(seen.get('report')).toContain('svc_first_name')
  expect(seen.get('history')).toContain('compareImport')
  const marks = {
    key,
    'wrong key': WRONG_KEY,
    value: MARK,
    'other value': MARK.replaceAll('-', '_'),
    hook: HOOK_SECRET,
  }
  for (const [where, text] of seen)
    for (const [what, mark] of Object.entries(marks)) {
      // Whoever may read the ledger is told the reason that the service gave.
      if (where === 'command show' && what === 'other value') continue
      expect(occurrences(where, text, mark), `${what} in ${where}`).toEqual([])
    }
  // Keys are not in the ledger either; values are, which is what it is for.
  const files = readdirSync(project.dir).filter((name) => name.startsWith('ledger.db'))
  const ledgerBytes = Buffer.concat(
    files.map((name) => readFileSync(join(project.dir, name))),
  ).toString('latin1')
  expect(ledgerBytes).toContain(MARK)
  for (const secret of [key, WRONG_KEY, HOOK_SECRET]) expect(ledgerBytes).not.toContain(secret)
})

/** Where a text holds a mark, with what stands around it; also where it stands there in base64, as payloads do. */
function occurrences(where: string, text: string, mark: string): string[] {
  const plain = text.replaceAll(
    /[A-Za-z0-9+/]{40,}={0,2}/g,
    (run) => ` ${run} ${Buffer.from(run, 'base64').toString('utf8')} `,
  )
  const found: string[] = []
  for (let at = plain.indexOf(mark); at >= 0 && found.length < 3; at = plain.indexOf(mark, at + 1))
    found.push(`${where}: …${plain.slice(Math.max(0, at - 80), at + 80)}…`)
  return found
}
