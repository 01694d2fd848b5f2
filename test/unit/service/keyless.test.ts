// Callers without a key: what one of them uses is no other caller's.

import { request } from 'node:http'
import { expect, test } from 'vitest'
import { KeylessQuota } from '../../../src/service/limits/keyless.ts'
import { createLimiter, LIMIT_MODELS } from '../../../src/service/limits/limiter.ts'
import { startApi } from './api.ts'

const LIMIT = 3
const start = Date.UTC(2026, 5, 1)

/** Two addresses, and whether they are counted as one. */
const PAIRS: readonly [one: string, other: string, isSame: boolean][] = [
  ['192.0.2.1', '192.0.2.1', true],
  ['192.0.2.1', '192.0.2.2', false],
  ['192.0.2.1', '::ffff:192.0.2.1', true],
  ['::ffff:192.0.2.1', '::FFFF:192.0.2.1', true],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
  ['127.0.0.1', '::1', false],
  ['127.0.0.1', '127.0.0.2', false],
  ['2001:db8:1:2::1', '2001:db8:1:2::2', true],
  ['2001:db8:1:2::1', '2001:DB8:1:2:ffff::', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['2001:db8::1', '2001:db8:0:0:5::1', true],
  ['fe80::1', 'fe80::2', true],
]

test.each(PAIRS.flatMap((pair) => LIMIT_MODELS.map((model) => [...pair, model] as const)))(
  '%s and %s are one: %s (%s)',
  (one, other, isSame, model) => {
    const quota = new KeylessQuota(() => createLimiter(model, LIMIT))
    for (let sent = 0; sent < LIMIT; sent++) expect(quota.take(one, start).retryAfterS).toBeNull()
    expect(quota.take(one, start).retryAfterS).not.toBeNull()
    expect(quota.take(other, start).retryAfterS === null).toBe(!isSame)
    // A connection that is gone has no address.
    expect(quota.take(undefined, start).retryAfterS).toBeNull()
  },
)

test('a limit that is set later holds for all networks, known or not', () => {
  const quota = new KeylessQuota(() => createLimiter('fixed', null))
  const isRefused = (address: string) => quota.take(address, start).retryAfterS !== null
  expect(isRefused('192.0.2.1')).toBe(false)
  quota.setLimit(0)
  expect([isRefused('192.0.2.1'), isRefused('192.0.2.2')]).toEqual([true, true])
  quota.setLimit(null)
  expect([isRefused('192.0.2.1'), isRefused('192.0.2.3')]).toEqual([false, false])
})

test('ten thousand networks are remembered, the latest ones', () => {
  let made = 0
  const quota = new KeylessQuota(() => {
    made += 1
    return createLimiter('fixed', 1)
  })
  const address = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`
  for (let index = 0; index <= 10_000; index++) quota.take(address(index), start)
  expect(made).toBe(10_001)
  expect(quota.take(address(10_000), start).retryAfterS).not.toBeNull()
  // The first one is forgotten.
  expect(quota.take(address(0), start).retryAfterS).toBeNull()
  expect(made).toBe(10_002)
})

test('a caller who used its quota up leaves the document to those of other addresses, and to keys', async () => {
  const { service, send } = await startApi({ limitPerMinute: LIMIT })
  const statusFrom = (localAddress: string, headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      const url = new URL('/rest/v1/openapi.json', service.url)
      request(url, { localAddress, agent: false, headers }, (answer) => {
        answer.resume()
        resolve(answer.statusCode!)
      })
        .on('error', reject)
        .end()
    })
  const wrong = { authorization: 'Bearer nobody' }
  for (let sent = 0; sent < LIMIT; sent++) await statusFrom('127.0.0.2', wrong)
  expect(await statusFrom('127.0.0.2')).toBe(429)
  expect(await statusFrom('127.0.0.3')).toBe(200)
  expect(await statusFrom('127.0.0.2', { authorization: `Bearer ${service.key}` })).toBe(200)
  expect((await send('GET', '/self/')).status).toBe(200)
})
