// Ports of `dev`: the Temporal UI has one that nobody names.

import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../../src/core/ports.ts'
import { startEmbedded } from '../../../src/dev/embedded.ts'

test('one port for two parts is refused before any is started', async () => {
  const home = await mkdtemp(join(tmpdir(), 'records-sync-ports-'))
  onTestFinished(() => rm(home, { recursive: true }))
  const start = (servicePort: number, temporalPort: number) =>
    startEmbedded({
      configFile: join(home, 'records-sync.yaml'),
      env: {},
      stateDir: join(home, 'state'),
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
