// A webhook on loopback that keeps what it is sent.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** @param path what its URL ends with */
export async function startHook(path: string) {
  const received: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      received.push(JSON.parse(text) as Record<string, unknown>)
      response.end('ok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
