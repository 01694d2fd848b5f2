// A service that answers 429 to the question for its OpenAPI document: the client waits as it is asked, and sends nothing to an address
// that the document may have changed.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { QuotaWait, RecordsClient } from '../../../src/client/index.ts'
import { manualClock } from '../service/api.ts'
import { KEY, problem } from './wire.ts'

const usualPlace = '/rest/v1/openapi.json'
const elsewhere = '/rest/docs/openapi.json'
const document = { openapi: '3.1.0', paths: { '/rest/v1/me': { get: {} } } }

interface Refusing {
  /** Which path is refused; the others lead to the document. */
  readonly path: string
  readonly headers: Record<string, string>
  /** How often. */
  readonly times: number
}

async function startRefusing({ path, headers, times }: Refusing) {
  const seen: string[] = []
  let left = times
  const server = createServer((request, response) => {
    const url = request.url!
    seen.push(url)
    const say = (status: number, body: object, more: Record<string, string> = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...more })
        .end(JSON.stringify(body))
    if (url === path && left > 0) {
      left -= 1
      return say(429, problem(429, 'rate_limited'), headers)
    }
    if (url === usualPlace && path !== usualPlace) return say(404, problem(404, 'not_found'))
    if (url === '/rest/v1/') return say(200, { data: { openapi_url: elsewhere } })
    if (url === usualPlace || url === elsewhere) return say(200, document)
    return say(200, { data: { org_id: 1, reach: 'org' } })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const clock = manualClock()
  const startMs = clock.nowMs
  const { port } = server.address() as AddressInfo
  const client = new RecordsClient({ baseUrl: `http://127.0.0.1:${port}`, key: KEY, clock })
  onTestFinished(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return { client, clock, seen, waitedS: () => (clock.nowMs - startMs) / 1_000 }
}

const at = new Date(Date.UTC(2026, 5, 1, 0, 0, 9)).toUTCString()
const now = new Date(Date.UTC(2026, 5, 1)).toUTCString()

/** Header, times that it is refused, and the seconds that are waited for. */
const WAITS: readonly [header: Record<string, string>, times: number, seconds: number][] = [
  [{ 'retry-after': '1' }, 1, 1],
  [{ 'retry-after': '7' }, 1, 7],
  [{ 'retry-after': '7' }, 5, 35],
  [{ 'retry-after': '45' }, 1, 45],
  [{ 'retry-after': '0' }, 3, 3],
  [{ 'retry-after': ' 2 ' }, 2, 4],
  [{ 'retry-after': at, date: now }, 1, 9],
  [{ 'retry-after': now, date: at }, 1, 1],
  [{}, 1, 1],
  [{}, 20, 20],
  [{ 'retry-after': '-5' }, 1, 1],
  [{ 'retry-after': '1.5' }, 1, 1],
  [{ 'retry-after': 'soon' }, 2, 2],
]

test.each(
  [usualPlace, '/rest/v1/', elsewhere].flatMap((path) =>
    WAITS.map(([headers, times, seconds]) => ({ path, headers, times, seconds })),
  ),
)('$path is refused $times times with $headers', async ({ seconds, ...refusing }) => {
  const { client, seen, waitedS } = await startRefusing(refusing)
  await client.readSelf()
  expect(waitedS()).toBe(seconds)
  expect(seen.filter((path) => path === refusing.path)).toHaveLength(refusing.times + 1)
  expect(seen.at(-1)).toBe('/rest/v1/me')
  expect(seen).not.toContain('/rest/v1/self/')
})

test.each([['46'], ['3600'], ['999999999999'], ['1']])(
  'a wait of %s s without an end is left to the caller, and asked for again when it is over',
  async (seconds) => {
    const refusing = { path: usualPlace, headers: { 'retry-after': seconds }, times: 50 }
    const { client, clock, seen } = await startRefusing(refusing)
    const failed = async () => {
      const error = await client.readSelf().then(
        () => null,
        (caught: unknown) => caught,
      )
      expect(error).toBeInstanceOf(QuotaWait)
      return (error as QuotaWait).retryAfterMs
    }
    const asked = await failed()
    expect(asked).toBeLessThanOrEqual(5 * 60_000)
    const before = seen.length
    expect(before).toBeLessThanOrEqual(46)
    // Nobody asks before that.
    clock.nowMs += asked - 1
    expect(await failed()).toBe(1)
    expect(seen).toHaveLength(before)
    clock.nowMs += 1
    if (seconds === '1') await client.readSelf()
    else await failed()
    expect(seen.length).toBeGreaterThan(before)
    expect(seen).not.toContain('/rest/v1/self/')
  },
)
