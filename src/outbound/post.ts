// One POST over a connection of its own. Promises kept here: it ends within its time; no redirect is followed; the answer's body is
// not read.

import { Client } from 'undici'
import type { createConnect } from './connect.ts'

/** The status of the answer. @throws what undici throws; a TimeoutError */
export async function postJson(
  url: URL,
  body: object,
  { connect, timeoutMs }: { connect: ReturnType<typeof createConnect>; timeoutMs: number },
): Promise<number> {
  const client = new Client(url.origin, { connect })
  try {
    const answer = await client.request({
      method: 'POST',
      path: url.pathname + url.search,
      headers: { 'content-type': 'application/json', 'user-agent': 'records-sync' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    })
    answer.body.on('error', () => {}).destroy()
    return answer.statusCode
  } finally {
    void client.destroy().catch(() => {})
  }
}
