// A ledger that cannot take what must be written down: nothing is sent that is not in it.

import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, expect, test } from 'vitest'
import { HANG_MS, HEARTBEAT_MS } from '../hang.ts'
import { isBalanced } from '../../src/core/domain/books.ts'
import { startCommand } from '../e2e/watched-command.ts'
import { contactsCsv, createProject, fastTuning, main, type Project } from '../e2e/project.ts'
import { soakTest } from '../runs.ts'

let project: Project
let child: ChildProcess | null = null
afterEach(async () => {
  child?.kill('SIGKILL')
  child = null
  await project.stop()
})

test('a disk that is full blocks the run: disk; with room again it goes on to its end', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(5_000))
  // No file of this worker may grow beyond 0.8 MB: the ledger hits the end of its room while it stages.
  child = spawn(
    'bash',
    [
      '-c',
      `ulimit -f 800; exec "$0" "$1" --config "$2" worker`,
      process.execPath,
      main,
      project.configFile,
    ],
    {
      env: project.env,
      stdio: 'ignore',
    },
  )
  const handle = await project.start('contacts', {
    ...fastTuning,
    heartbeat_timeout_ms: HEARTBEAT_MS,
  })
  const lastFailure = async () => {
    const pending = (await handle.describe()).raw.pendingActivities ?? []
    return pending[0]?.lastFailure?.message ?? ''
  }
  await expect.poll(lastFailure).toMatch(/^blocked: disk: /)
  expect(project.held().size).toBe(0)
  child.kill('SIGKILL')
  await project.startWorker()
  expect(await handle.result()).toMatchObject({ state: 'complete', books: { read: 5_000 } })
  const ledger = project.ledger()
  expect(isBalanced(await ledger.books(1))).toBe(true)
  await ledger.close()
  expect(project.held().size).toBe(5_000)
})

test('a ledger that another process has locked cannot say what blocks the run; status says it all the same', async () => {
  project = await createProject({ service: { latencyMs: 100 } })
  project.write('contacts.csv', contactsCsv(2_000))
  const worker = await project.startWorker()
  const handle = await project.start('contacts', { ...fastTuning, in_flight: 1 })
  await expect.poll(() => project.held().size).toBeGreaterThan(100)
  const holder = new DatabaseSync(project.ledgerFile, { timeout: HANG_MS })
  holder.exec('BEGIN IMMEDIATE')
  const known = async () => {
    const { out } = await project.command('--json', 'status')
    return JSON.parse(out)[0] as { state: string; reason: string; message: string }
  }
  await expect.poll(known).toMatchObject({
    state: 'blocked',
    reason: 'ledger',
    message: expect.stringContaining('locked'),
  })
  await expect
    .poll(async () => (await project.command('status')).out)
    .toMatch(/blocked: ledger, sending/)
  holder.exec('ROLLBACK')
  holder.close()
  expect(await handle.result()).toMatchObject({ state: 'complete', books: { read: 2_000 } })
  expect(project.held().size).toBe(2_000)
  worker.shutdown()
})

soakTest(
  'a ledger that another program has locked before a run is opened: run and status say who has it',
  async () => {
    project = await createProject()
    project.write('contacts.csv', contactsCsv(60))
    const worker = await project.startWorker()
    const holder = new DatabaseSync(project.ledgerFile, { timeout: HANG_MS })
    holder.exec('BEGIN EXCLUSIVE')
    const locked = new RegExp(
      `the ledger ${project.ledgerFile} is locked by .+ \\(process ${process.pid}\\)`,
    )
    const run = startCommand(project, 'run', 'contacts', '--json')
    await expect.poll(run.said).toMatch(locked)
    expect(run.said()).toMatch(/^contacts waits to begin: .*\. It begins by itself$/m)
    const { out } = await project.cli('status')
    expect(out.replaceAll(/\s+/g, ' ')).toMatch(locked)
    const known = JSON.parse((await project.cli('status', '--json')).out) as object[]
    expect(known[0]).toMatchObject({
      run: null,
      ledger_locked_by: expect.stringContaining(`(process ${process.pid})`),
    })
    holder.exec('ROLLBACK')
    holder.close()
    expect(await run.ended).toBe(0)
    expect(project.held().size).toBe(60)
    const { out: after } = await project.cli('status', '--json')
    expect(JSON.parse(after)[0]).toMatchObject({ state: 'complete', ledger_locked_by: null })
    worker.shutdown()
  },
)

test.each([
  ['a folder', (path: string) => mkdirSync(path), /cannot be opened/],
  [
    'not a database',
    (path: string) => writeFileSync(path, 'x'.repeat(10_000)),
    /not a SQLite file/,
  ],
])('a ledger that is %s stops the worker before it polls', async (_, lay, message) => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(1))
  const path = join(project.dir, 'ledger.db')
  rmSync(path, { force: true, recursive: true })
  lay(path)
  const { code, err } = await project.command('worker')
  expect(code).toBe(3)
  expect(err).toMatch(message)
})

test('a ledger that is removed under a worker, or named otherwise, takes no run until it is back', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(20))
  const config = readFileSync(project.configFile, 'utf8')
  await project.startWorker()
  // Whoever starts a run otherwise, such as a schedule, asks the queue that there was.
  const queue = await project.queue()
  const pendingOf = async (handle: Awaited<ReturnType<Project['start']>>) =>
    (await handle.describe()).raw.pendingActivities?.[0]?.lastFailure?.message ?? ''

  writeFileSync(project.configFile, config.replace('./ledger.db', './other.db'))
  const named = await project.start('contacts', fastTuning, queue)
  await expect
    .poll(() => pendingOf(named))
    .toMatch(/^blocked: ledger: .* names another ledger than/)
  writeFileSync(project.configFile, config)
  expect(await named.result()).toMatchObject({ state: 'complete' })

  const aside = `${project.ledgerFile}.aside`
  renameSync(project.ledgerFile, aside)
  project.write('contacts.csv', contactsCsv(30))
  const removed = await project.start('contacts', fastTuning, queue)
  await expect
    .poll(() => pendingOf(removed))
    .toMatch(/^blocked: ledger: .* was removed or replaced/)
  expect(project.held().size).toBe(20)
  renameSync(aside, project.ledgerFile)
  expect(await removed.result()).toMatchObject({ state: 'complete', books: { read: 30 } })
  expect(project.held().size).toBe(30)
})
