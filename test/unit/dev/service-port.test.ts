// The port of the Records Service of `dev`: a folder keeps the first one, and who has it is named.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { keepPort, keptPort, listenerOn } from '../../../src/dev/service-port.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'records-sync-port-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

test('a folder keeps the first port', () => {
  const state = folder()
  expect(keptPort(state, 'service')).toBeNull()
  keepPort(state, 'service', 8081)
  keepPort(state, 'service', 8082)
  expect(keptPort(state, 'service')).toBe(8081)
  expect(keptPort(state, 'console')).toBeNull()
})

test.each(['', '0', '-1', '8080.5', '99999', 'x'])(
  '%j is no port, and the next one is kept',
  (text) => {
    const state = folder()
    writeFileSync(join(state, 'dev-service.port'), text)
    expect(keptPort(state, 'service')).toBeNull()
    keepPort(state, 'service', 8081)
    expect(keptPort(state, 'service')).toBe(8081)
  },
)

test('the process that listens on a port is named where the system tells', async () => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const named = listenerOn(port)
  if (platform() === 'linux') expect(named).toMatch(new RegExp(`^process ${process.pid} \\(.+\\)$`))
  else expect(named).toBeNull()
  await new Promise((resolve) => server.close(resolve))
  expect(listenerOn(port)).toBeNull()
})
