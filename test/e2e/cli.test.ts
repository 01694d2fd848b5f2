// The command line as a stranger uses it, with a worker in a process of its own: a file of 10,000 rows with 1 % bad ones.

import { spawn } from 'node:child_process'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { DatabaseSync } from '@photostructure/sqlite'
import type { CommandContext } from '../../src/cli/shared/context.ts'
import { run } from '../../src/cli/commands/run.ts'
import { HANG_MS } from '../hang.ts'
import { said } from '../unit/cli/said.ts'
import { slowly } from './batch-gate.ts'
import { contactsCsv, createProject, main, type Project } from './project.ts'

let project: Project
afterEach(async () => await project.stop())

const marker = 'Zaphod'
const bad = (index: number) => index % 100 === 50
const csv = () =>
  contactsCsv(10_000, (index, cells) => [
    `${marker}-${index}`,
    `${marker} the ${index}th`,
    bad(index) ? `${marker} has no address` : `${marker}${index}@example.com`,
    cells[3]!,
  ])

/** Every text in a history: its JSON, and what its base64 payloads hold. */
function textsOf(json: string): string {
  const decoded: string[] = []
  for (const match of json.matchAll(/"data": *"([A-Za-z0-9+/=]+)"/g))
    decoded.push(Buffer.from(match[1]!, 'base64').toString())
  return `${json}\n${decoded.join('\n')}`
}

test('check, plan, run, show, rejects, status: one outcome per row, and a history of few events, without the values', async () => {
  project = await createProject()
  project.write('contacts.csv', csv())
  const worker = project.spawnWorker()
  let log = ''
  worker.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()))
  await expect.poll(() => log).toContain('worker_started')

  const check = await project.command('check')
  expect(check).toMatchObject({ code: 0 })
  expect(check.out).toContain(`org ${project.service.orgId}`)

  const plan = await project.command('plan', 'contacts', '--json')
  expect(plan.code).toBe(0)
  expect(JSON.parse(plan.out)).toMatchObject({
    rows_read: 10_000,
    rows: { pending: 9_900, rejected: 100 },
    requests: 198,
    new_keys: 9_900,
  })
  expect(project.held().size).toBe(0)

  const run = await project.cli('run', 'contacts', '--json')
  expect(run.code).toBe(1)
  const result = JSON.parse(run.out)
  expect(result).toMatchObject({
    state: 'complete_with_rejects',
    rows_read: 10_000,
    balanced: true,
    rows: { created: 9_900, rejected: 100, reasons: { invalid: 100 } },
  })

  const db = new DatabaseSync(project.ledgerFile, { readOnly: true })
  expect(
    db
      .prepare(
        'SELECT state, count(*) AS items, count(DISTINCT ordinal) AS rows FROM items WHERE run = ? GROUP BY state ORDER BY state',
      )
      .all(result.run),
  ).toEqual([
    { state: 'created', items: 9_900, rows: 9_900 },
    { state: 'invalid', items: 100, rows: 100 },
  ])
  expect(db.prepare("SELECT count(*) AS runs FROM runs WHERE mode = 'plan'").get()).toEqual({
    runs: 0,
  })
  db.close()

  const rejects = await project.cli('rejects', String(result.run), '-o', '-')
  const lines = rejects.out.trim().split('\n')
  expect(lines).toHaveLength(101)
  expect(lines[0]).toBe(
    '"id","first_name","email","score","_line","_row","_state","_reason","_column","_value","_detail","_accepted","_request_id"',
  )
  expect(lines[1]).toMatch(
    new RegExp(
      `^"${marker}-50","${marker} the 50th","${marker} has no address","50","51","run ${result.run} row 50","invalid","not_an_email","email","${marker} has no address","expected an e-mail address such as name@example.com","an e-mail address; .+",""$`,
    ),
  )

  const show = await project.command('show', String(result.run))
  expect(show.out).toMatch(/ rows read = /)
  expect((await project.command('status')).out).toMatch(/contacts +\d+ +complete_with_rejects/)

  const quota = await project.command('quota', 'crm')
  expect(quota).toMatchObject({ code: 0, err: '' })
  expect(quota.out).toContain(`${project.service.url} org ${project.service.orgId}`)
  expect(quota.out).toMatch(/worker \d+ on \S+ +import/)
  expect(quota.out).not.toContain(project.service.key)

  const history = await project.client.workflow.getHandle(result.workflow_id).fetchHistory()
  // However many rows there are.
  expect(history.events!.length).toBeLessThan(60)
  const texts = textsOf(historyToJSON(history))
  expect(texts.includes('"planned":9900')).toBe(true)
  for (const secret of [marker, 'example.com', project.service.key, project.dir])
    expect(texts.includes(secret)).toBe(false)
  // Not in the worker's log either.
  expect(log).toContain('run_closed')
  for (const secret of [marker, 'example.com', project.service.key])
    expect(log.includes(secret)).toBe(false)
})

test('Ctrl-C detaches: the run goes on to its end', async () => {
  project = await createProject({ gate: slowly })
  project.write('contacts.csv', contactsCsv(3_000))
  await project.startWorker()
  const child = spawn(
    process.execPath,
    [main, '--config', project.configFile, 'run', 'contacts', '--tuning', '{"in_flight": 2}'],
    { env: project.env, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  await expect.poll(() => project.held().size).toBeGreaterThan(0)
  await expect.poll(() => said).toContain('3,000 rows to send: 60 requests')
  child.kill('SIGINT')
  expect(await exited).toBe(0)
  expect(said).toContain('Detached; the run goes on')
  expect(project.held().size).toBeLessThan(3_000)
  // Nobody would hear of a second run that ends at once.
  const second = await project.command('run', 'contacts', '--detach', '--json')
  expect(second.code).toBe(3)
  expect(second.out).toContain('already running: run 1')
  // A person follows the first one instead, or watches.
  const attached = project.command('run', 'contacts', '--attach', '--json')
  const watched = project.command('watch', 'contacts', '--json')
  project.gate.open()
  await expect.poll(() => project.held().size).toBe(3_000)
  expect(JSON.parse((await attached).out)).toMatchObject({ run: 1, state: 'complete' })
  expect((await watched).code).toBe(0)
})

test('of two that are started at once and not followed one is started, and the other names it', async () => {
  project = await createProject({ gate: slowly })
  project.write('contacts.csv', contactsCsv(2_000))
  await project.startWorker()
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const [name, value] of Object.entries(project.env)) vi.stubEnv(name, value)
  // Both look before the other one's run is in the ledger.
  const blind = (context: CommandContext): CommandContext => ({
    ...context,
    async findLedger() {
      const ledger = await context.findLedger()
      return ledger && { ...ledger, liveRuns: async () => [] }
    },
  })
  const options = { detach: true, beginMaxMs: HANG_MS, tuning: '{"in_flight": 1}' }
  const start = (json: boolean) =>
    said(project.configFile, (context) => run(blind(context), 'contacts', options), json)
  const ended = (await Promise.all([start(true), start(true)])).toSorted((a, b) => a.code - b.code)
  expect(ended.map(({ code }) => code)).toEqual([0, 3])
  const [started, refused] = ended.map(({ out }) => JSON.parse(out.join()))
  expect(started).toEqual({ workflow_id: expect.any(String), run: 1 })
  expect(refused.error.code).toBe('already_running')
  expect(refused.error.message).toContain(
    `is already running: run 1 (workflow ${started.workflow_id})`,
  )
  // The same in words.
  const third = await start(false)
  expect(third).toMatchObject({ code: 3, out: [] })
  expect(third.err.join()).toContain('is already running: run 1')
  project.gate.open()
  await expect.poll(() => project.held().size).toBe(2_000)
})

test('--priority backfill goes to the workflow, and nothing else may', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(60))
  await project.startWorker()
  const wrong = await project.command('run', 'contacts', '--priority', 'interactive')
  expect(wrong.code).toBe(2)
  expect(wrong.err).toContain('Allowed choices are import, mirror, backfill')
  const run = await project.command(
    'run',
    'contacts',
    '--detach',
    '--json',
    '--priority',
    'backfill',
  )
  expect(run.code).toBe(0)
  const handle = project.client.workflow.getHandle(JSON.parse(run.out).workflow_id)
  expect(await handle.result()).toMatchObject({ state: 'complete' })
  const [started] = (await handle.fetchHistory()).events ?? []
  const input = started?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data
  expect(JSON.parse(Buffer.from(input!).toString())).toMatchObject({ priority: 'backfill' })
})

test('without a worker or a server the command says how to get one', async () => {
  // Whose workers there are is said as well: on this server nobody's.
  project = await createProject({ server: 'own' })
  project.write('contacts.csv', contactsCsv(1))
  const lonely = await project.command('run', 'contacts')
  expect(lonely.code).toBe(3)
  expect(lonely.err.replaceAll(/\s+/g, ' ')).toMatch(/Start one with "records-sync .*worker"/)
  project.env['TEMPORAL_ADDRESS'] = '127.0.0.1:1'
  const offline = await project.command('run', 'contacts')
  expect(offline.code).toBe(3)
  expect(offline.err.replaceAll(/\s+/g, ' ')).toContain('No Temporal server answers at 127.0.0.1:1')
})
