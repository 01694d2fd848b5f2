// Temporal's own metrics: the SDK serves them itself, on a port of this machine that only this process uses.

import { createServer, type AddressInfo } from 'node:net'

/** The SDK's option, and the page that it then serves: on a free port of the loopback address. */
export async function temporalPageOnFreePort() {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return {
    exporter: {
      bindAddress: `127.0.0.1:${port}`,
      countersTotalSuffix: true,
      unitSuffix: true,
      useSecondsForDurations: true,
    },
    url: `http://127.0.0.1:${port}/metrics`,
  }
}
