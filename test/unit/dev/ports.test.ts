// Ports of `dev`: the Temporal UI has one that nobody names.

import { mkdtemp, readdir, rm } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SyncError } from '../../../src/core/errors.ts'
import { silentLogger } from '../../../src/core/ports.ts'
import { startEmbedded } from '../../../src/dev/embedded.ts'
import { choosePorts, onFreePorts, whyNotFree } from '../../../src/dev/ports.ts'

test('one port for two parts is refused before any is started', async () => {
  const home = await mkdtemp(join(tmpdir(), 'records-sync-ports-'))
  onTestFinished(() => rm(home, { recursive: true }))
  const start = (servicePort: number, temporalPort: number) =>
    startEmbedded({
      configFile: join(home, 'records-sync.yaml'),
      env: {},
      stateDir: join(home, 'state'),
      command: 'dev',
      sync: null,
      servicePort,
      serviceLimit: null,
      temporalPort,
      keepHistory: false,
      logger: silentLogger,
      progress: () => {},
    })
  await expect(start(8631, 7631)).rejects.toThrow(
    "Port 8631 is wanted twice: for the Records Service, and for the Temporal UI, which is 1000 above the Temporal server's 7631. Choose another --service-port or --temporal-port",
  )
  await expect(start(7631, 7631)).rejects.toThrow('and for the Temporal server')
  expect(await readdir(home)).toEqual([])
})

/** Takes a port on loopback until the test ends, where it is free. */
async function take(port: number): Promise<void> {
  const server = net.createServer().listen(port, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve).once('error', resolve))
  onTestFinished(() => void server.close())
}

test('where the usual ports are taken, the next ones that are free are chosen, the one of the UI included', async () => {
  for (const port of [7233, 8080]) await take(port)
  const choose = () => choosePorts({ temporal: undefined, service: undefined })
  const first = await choose()
  expect(first.temporal).not.toBe(7233)
  expect(first.service).not.toBe(8080)
  // The server's own is free, that of its UI is not any more.
  await take(first.temporal + 1_000)
  const { temporal, service } = await choose()
  expect(temporal).not.toBe(first.temporal)
  for (const port of [temporal, temporal + 1_000, service!])
    expect(await whyNotFree(port)).toBeNull()
})

test('ports that were given stay, and the others keep clear of them', async () => {
  expect(await choosePorts({ temporal: 7233, service: null })).toEqual({
    temporal: 7233,
    service: null,
  })
  expect(await choosePorts({ temporal: 0, service: 0 })).toEqual({ temporal: 0, service: 0 })
  const { service } = await choosePorts({ temporal: 7080, service: undefined })
  expect(service).not.toBe(8080)
  const { temporal } = await choosePorts({ temporal: undefined, service: 7233 })
  expect(temporal).not.toBe(7233)
})

test('a port that another program takes before it is used is replaced, and one that was given is not', async () => {
  const tried: number[] = []
  const lose = (code: string, message: string, of: 'temporal' | 'service') =>
    onFreePorts({ temporal: undefined, service: undefined }, async (ports) => {
      tried.push(ports[of]!)
      if (tried.length === 2) return ports[of]
      await take(ports[of]!)
      throw new SyncError(code, message)
    })
  for (const [code, message, of] of [
    ['port_taken', 'taken', 'temporal'],
    ['service_port', 'listen EADDRINUSE', 'service'],
  ] as const) {
    tried.length = 0
    expect(await lose(code, message, of)).toBe(tried[1])
    expect(tried[1]).not.toBe(tried[0])
  }
  let starts = 0
  const given = onFreePorts({ temporal: 7_999, service: null }, async () => {
    starts += 1
    throw new SyncError('port_taken', 'taken')
  })
  await expect(given).rejects.toThrow('taken')
  expect(starts).toBe(1)
})
