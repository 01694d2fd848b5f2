// Which hosts a listener without a login answers as, and what counts as one address.

import { hostname } from 'node:os'
import { expect, it } from 'vitest'
import { isKnownHost } from '../../../src/net/hosts.ts'
import { MinuteLog } from '../../../src/net/minute-log.ts'
import { networkOf } from '../../../src/net/network.ts'

const NAMES = ['worker.example.com']

it.each([
  undefined,
  'localhost',
  'localhost:9464',
  'LOCALHOST:9464',
  '127.0.0.1:9464',
  '10.1.2.3:9464',
  '[::1]:9464',
  '[fd00::12]',
  'worker',
  'worker:9464',
  'worker_1:9464',
  'worker.example.com:9464',
  'WORKER.example.com',
  'worker.example.com.:9464',
  hostname(),
])('%s is answered', (host) => expect(isKnownHost(host, NAMES)).toBe(true))

it.each([
  '',
  'evil.com',
  'evil.com:9464',
  'evil.com.',
  '127.0.0.1.evil.com',
  'localhost.evil.com',
  'worker.example.com.evil.com',
  'evil-worker.example.com',
  'example.com',
  '127.0.0.1.nip.io:9464',
  'evil.com@localhost',
  'localhost@evil.com',
  'localhost/evil.com',
  'localhost evil.com',
  'localhost,evil.com',
  'xn--e1afmkfd.com',
  '[evil.com]',
  '[::1',
  '[1.2.3.4]',
  '1.2.3.4.5',
  '999.1.1.1',
  'a..b',
  ':9464',
  'localhost:',
  'localhost:9464:9464',
  'ev\u0131l.com',
])('%s is refused', (host) => expect(isKnownHost(host, NAMES)).toBe(false))

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2:ffff::', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
])('%s counts as %s', (address, network) => expect(networkOf(address)).toBe(network))

it('a flood of failures is two lines a minute for each address and name, whatever comes', () => {
  let now = 0
  const lines: Record<string, unknown>[] = []
  const log = new MinuteLog(
    (fields) => void lines.push(fields as never),
    () => now,
  )
  for (let at = 0; at < 500; at++) log.note({ user: 'anna', address: `10.0.0.${at % 2}` })
  expect(lines.map(({ count }) => count)).toEqual([1, 1])
  now += 60_000
  log.note({ user: 'anna', address: '10.0.0.0' })
  expect(lines.map(({ count }) => count)).toEqual([1, 1, 249, 249, 1])
  for (let at = 0; at < 5_000; at++)
    log.note({ user: null, address: `10.1.${at >> 8}.${at & 255}` })
  expect(lines.length).toBeLessThan(250)
  log.flush()
  expect(lines.at(-1)).toEqual({ user: null, address: null, count: expect.any(Number) })
  const counted = lines.reduce((sum, { count }) => sum + Number(count), 0)
  expect(counted).toBe(500 + 1 + 5_000)
})
