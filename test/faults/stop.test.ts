// A worker is told to stop while a batch is in flight. Told once, it settles the batch; told twice, it ends at once; what
// takes too long is given up. Whatever was not answered, the next worker sends again. One run, because workers take seconds
// to start.

import { spawn, type ChildProcess } from 'node:child_process'
import { afterEach, expect, test } from 'vitest'
import { HEARTBEAT_MS } from '../hang.ts'
import { isBalanced } from '../../src/core/domain/books.ts'
import { contactsCsv, createProject, fastTuning, main, type Project } from '../e2e/project.ts'
import { startProxy } from './proxy.ts'

const rows = 200
let project: Project
let proxy: { close(): void }
const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  proxy.close()
  await project.stop()
})

/** The compiled worker; through a program of our own where it may not take 25 s. */
function startWorker(shutdownForceMs: number | null = null) {
  const file = (name: string) => JSON.stringify(new URL(name, `file://${main}`).href)
  const own = `
    const { workerCommand } = await import(${file('commands/worker.js')})
    const { createContext } = await import(${file('shared/context.js')})
    const context = createContext({ config: ${JSON.stringify(project.configFile)}, json: true })
    process.exit(await workerCommand(context, { shutdownForceMs: ${shutdownForceMs} }))`
  const args =
    shutdownForceMs === null
      ? [main, '--config', project.configFile, 'worker']
      : ['--input-type=module', '--eval', own]
  const child = spawn(process.execPath, args, {
    env: project.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  children.push(child)
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const ended = new Promise<object>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  /** Ends when `isSo`; fails at once if the worker ends before that. */
  const until = async (isSo: () => boolean) => {
    const seen = () => (isSo() ? 'seen' : child.exitCode === null ? 'not yet' : log)
    await expect.poll(seen, { interval: 50 }).not.toBe('not yet')
    expect(seen()).toBe('seen')
  }
  return {
    ended,
    tell: (signal: NodeJS.Signals) => child.kill(signal),
    until,
    /** Ends when the worker has logged that event. */
    said: (event: string) => until(() => log.includes(event)),
  }
}

async function books() {
  const ledger = project.ledger()
  try {
    return await ledger.books(1)
  } finally {
    await ledger.close()
  }
}

test('told once, told twice, and too slow: four workers, one run', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(rows))
  /** Batches that were sent; those that the service gets; the rest wait. */
  let sent = 0
  let allowed = 0
  const started = await startProxy(project.service.url, async (url, body) => {
    if (!url.includes('/batch/')) return { pass: body }
    const turn = ++sent
    while (turn > allowed) await new Promise((resolve) => setTimeout(resolve, 20))
    return { pass: body }
  })
  proxy = {
    close() {
      allowed = Infinity
      started.close()
    },
  }
  project.env['RECORDS_URL'] = started.url
  const handle = await project.start('contacts', {
    ...fastTuning,
    in_flight: 1,
    heartbeat_timeout_ms: HEARTBEAT_MS,
  })

  // Told once: the batch in flight is settled, and nothing is sent after it.
  let worker = startWorker()
  await worker.until(() => sent === 1)
  worker.tell('SIGTERM')
  await worker.said('worker_stopping')
  allowed = 1
  expect(await worker.ended).toEqual({ code: 0, signal: null })
  expect(sent).toBe(1)
  expect((await books()).states).toMatchObject({ created: 50, in_flight: 0, pending: rows - 50 })

  // Told twice, by another signal: it ends at once. That the batch was sent stays in the books.
  worker = startWorker()
  await worker.until(() => sent === 2)
  worker.tell('SIGTERM')
  await worker.said('worker_stopping')
  worker.tell('SIGINT')
  expect(await worker.ended).toEqual({ code: 130, signal: null })
  expect((await books()).states).toMatchObject({ created: 50, in_flight: 50, pending: rows - 100 })

  // The next one sends it again. A batch that takes longer than it may is given up; that its answer, or the end of its
  // 30 s, is not waited for, shows where it ends well before.
  worker = startWorker(500)
  await worker.until(() => sent === 3)
  worker.tell('SIGTERM')
  expect(await worker.ended).toEqual({ code: 1, signal: null })
  await worker.said('worker_stopped_by_force')
  expect((await books()).states).toMatchObject({ created: 50, in_flight: 50, pending: rows - 100 })

  worker = startWorker()
  allowed = Infinity
  await worker.until(() => sent > rows / 50)
  expect(await handle.result()).toMatchObject({ state: 'complete' })
  const after = await books()
  expect(after).toMatchObject({ read: rows, replayed: 50, inDoubt: 0 })
  expect(isBalanced(after)).toBe(true)
  expect(project.held().size).toBe(rows)
  worker.tell('SIGINT')
  expect(await worker.ended).toEqual({ code: 0, signal: null })
})
