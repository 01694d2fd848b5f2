// A service in front of the real one: it may change what passes, or answer in the service's place.

import { createServer, type OutgoingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the proxy does with a request: pass this body on, and lose the answer if it is to; or give this answer. */
export type Passing =
  | { readonly pass: string; readonly isLost?: boolean }
  | { readonly status: number; readonly headers: OutgoingHttpHeaders; readonly body: string }

/** Starts a proxy on a free port of the loopback. What `decide` waits for, the request waits for. */
export async function startProxy(
  target: string,
  decide: (url: string, body: string) => Passing | Promise<Passing>,
): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      void (async () => {
        const passing = await decide(request.url ?? '/', Buffer.concat(chunks).toString())
        if (!('pass' in passing)) {
          response.writeHead(passing.status, passing.headers)
          response.end(passing.body)
          return
        }
        const answer = await fetch(`${target}${request.url}`, {
          method: request.method ?? 'GET',
          headers: {
            authorization: request.headers.authorization ?? '',
            'content-type': 'application/json',
          },
          ...(passing.pass === '' ? {} : { body: passing.pass }),
        })
        const text = await answer.text()
        if (passing.isLost) return void response.destroy()
        response.writeHead(answer.status, Object.fromEntries(answer.headers))
        response.end(text)
        // What breaks behind the proxy breaks in front of it.
      })().catch(() => response.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
