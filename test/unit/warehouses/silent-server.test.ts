// A PostgreSQL port that takes connections and never says a word: a firewall, a proxy without a server, a server that hangs.

import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../../src/warehouses/index.ts'

test('a PostgreSQL that never answers is unreachable, which a run waits out', async () => {
  const silent = createServer((socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void silent.close())
  const { port } = silent.address() as AddressInfo
  const url = `postgres://user:secret@127.0.0.1:${port}/db`
  const failed = openWarehouse('lake', { postgres: url } as never, { waitMs: 200 })
  await expect(failed).rejects.toMatchObject({
    reason: 'warehouse',
    message: expect.stringMatching(/^blocked: warehouse: The warehouse lake .* cannot be reached/),
  })
  await expect(failed).rejects.not.toThrow(/secret/)
})
