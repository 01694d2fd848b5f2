// The development server starts, says why when it cannot, and ends with us and not before.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Connection } from '@temporalio/client'
import { expect, inject, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../src/core/ports.ts'
import { HANG_MS } from '../hang.ts'
import { isAnswering, startTemporal } from '../../src/dev/temporal-server.ts'
import type { StartTemporal } from '../../src/dev/temporal-server.ts'
import { freePort } from '../../src/dev/ports.ts'
import { script, tempFolder } from '../unit/dev/scripts.ts'

async function start(options: Partial<StartTemporal> = {}) {
  const cliPath = inject('temporalCli')
  const server = await startTemporal({ cliPath, headless: true, logger: silentLogger, ...options })
  onTestFinished(() => server.stop())
  return server
}

/** The real program, which first writes its process number down. Its output goes nowhere, so no closed pipe ends it. */
function cliThatTellsItsNumber(): { cliPath: string; pid: () => number } {
  const dir = tempFolder()
  const pidFile = path.join(dir, 'pid')
  const cliPath = script(
    path.join(dir, 'temporal'),
    `echo $$ > "${pidFile}"`,
    `exec "${inject('temporalCli')}" "$@" >/dev/null 2>&1`,
  )
  return { cliPath, pid: () => Number(fs.readFileSync(pidFile, 'utf8')) }
}

/** Takes a port on loopback until the test ends. */
async function takenPort(): Promise<number> {
  const server = net.createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as net.AddressInfo).port
}

test('starts on loopback with a web page, and stops', async () => {
  const server = await start({ headless: false })
  expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/)
  expect(server.namespace).toBe('default')
  expect(await isAnswering(server.address)).toBe(true)
  expect((await fetch(server.uiUrl!)).status).toBe(200)
  await server.stop()
  expect(await isAnswering(server.address)).toBe(false)
  await server.stop()
})

test('the namespace is there at once', async () => {
  const server = await start()
  expect(server.uiUrl).toBeNull()
  const connection = await Connection.connect({ address: server.address })
  onTestFinished(() => connection.close())
  const { namespaces } = await connection.workflowService.listNamespaces({})
  expect(namespaces?.map((found) => found.namespaceInfo?.name)).toContain(server.namespace)
})

test('a file keeps what the server knew, in a folder that did not exist', async () => {
  const dbFile = path.join(tempFolder(), 'state', 'temporal.db')
  const names = async (address: string, add: boolean) => {
    const connection = await Connection.connect({ address })
    const operator = connection.operatorService
    if (add) {
      await operator.addSearchAttributes({ namespace: 'default', searchAttributes: { Kept: 2 } })
    }
    const listed = await operator.listSearchAttributes({ namespace: 'default' })
    await connection.close()
    return Object.keys(listed.customAttributes ?? {})
  }
  const first = await start({ dbFile })
  await names(first.address, true)
  await first.stop()
  const second = await start({ dbFile })
  expect(await names(second.address, false)).toContain('Kept')
})

test.each(['port', 'uiPort'] as const)('says that a taken %s is taken', async (which) => {
  const port = await takenPort()
  const failure = start({ headless: false, [which]: port })
  await expect(failure).rejects.toMatchObject({ code: 'port_taken', details: { port } })
  const what = which === 'uiPort' ? ', for the Temporal UI,' : ''
  await expect(failure).rejects.toThrow(
    `Port ${port} on 127.0.0.1${what} is taken by another program`,
  )
})

test('quotes the last words of a server that ends at its start', async () => {
  const cliPath = script(path.join(tempFolder(), 'temporal'), 'echo "disk is full" >&2', 'exit 3')
  const failure = start({ cliPath })
  await expect(failure).rejects.toMatchObject({ code: 'temporal_server_failed' })
  await expect(failure).rejects.toThrow(/ended with exit code 3[^]*disk is full/)
})

test('tries other free ports when one was lost to another program, but not for ever', async () => {
  const log = path.join(tempFolder(), 'starts')
  const cliPath = script(
    path.join(path.dirname(log), 'temporal'),
    `echo "$*" >> "${log}"`,
    'echo "bind: address already in use" >&2',
    'exit 1',
  )
  await expect(start({ cliPath })).rejects.toThrow(/address already in use/)
  expect(new Set(fs.readFileSync(log, 'utf8').trim().split('\n')).size).toBe(3)
})

test('a server that panics over a port of its own is started again on the given port', async () => {
  const mark = path.join(tempFolder(), 'panicked')
  const cliPath = script(
    path.join(path.dirname(mark), 'temporal'),
    `if [ ! -e "${mark}" ]; then touch "${mark}"; echo "panic: unable to start" >&2; exit 2; fi`,
    `exec "${inject('temporalCli')}" "$@"`,
  )
  const port = await freePort()
  const server = await start({ cliPath, port })
  expect(server.address).toBe(`127.0.0.1:${port}`)
})

test('says when there is no such program', async () => {
  const cliPath = path.join(tempFolder(), 'temporal')
  await expect(start({ cliPath })).rejects.toThrow(/ended with exit code 127/)
})

test('logs a server that ends while it is needed', async () => {
  const { cliPath, pid } = cliThatTellsItsNumber()
  const ended = new Promise<string>((resolve) => {
    const logger = { ...silentLogger, error: (_fields: object, event: string) => resolve(event) }
    void start({ cliPath, logger }).then(() => process.kill(pid(), 'SIGKILL'))
  })
  expect(await ended).toBe('temporal_server_ended')
})

test('nothing answers where something else listens', async () => {
  expect(await isAnswering(`127.0.0.1:${await takenPort()}`)).toBe(false)
})

test('a Ctrl-C does not reach the server, and our sudden death ends it', async () => {
  const holder = fileURLToPath(new URL('server-holder.ts', import.meta.url))
  const { cliPath, pid } = cliThatTellsItsNumber()
  // Detached, so that the test can send SIGINT to the whole group as a terminal does.
  const child = spawn(process.execPath, ['--import', 'tsx', holder, cliPath], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const address = String((await lines.next()).value)
  process.kill(-child.pid!, 'SIGINT')
  expect((await lines.next()).value).toBe('interrupted')
  // It leads a group of its own: a signal to ours does not reach it.
  expect(() => process.kill(-pid(), 0)).not.toThrow()
  expect(await isAnswering(address)).toBe(true)

  child.kill('SIGKILL')
  const deadline = Date.now() + HANG_MS
  while ((await isAnswering(address)) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(await isAnswering(address)).toBe(false)
})
