// By how much the service's clock is ahead of ours, as its answers tell.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'

test('the Date of the newest answer tells how far the clock of the service is ahead', async () => {
  let date: string | null = 'Mon, 01 Jun 2026 07:00:00 GMT'
  const server = createServer((_, answer) => {
    answer.sendDate = false
    if (date !== null) answer.setHeader('date', date)
    answer.statusCode = 500
    answer.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const client = new RecordsClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: `svc_pat_${'k'.repeat(32)}`,
    retries: 0,
    discover: false,
    clock: { now: () => Date.UTC(2026, 5, 1, 8), sleep: async () => {} },
  })
  onTestFinished(() => client.close())
  const ask = async () => {
    await expect(client.readSelf()).rejects.toMatchObject({ status: 500 })
  }
  expect(client.clockAheadMs()).toBeNull()
  await ask()
  expect(client.clockAheadMs()).toBe(-3_600_000)
  // One of none says nothing new, nor does one that is no time.
  for (const none of [null, 'yesterday']) {
    date = none
    await ask()
    expect(client.clockAheadMs()).toBe(-3_600_000)
  }
  date = 'Mon, 01 Jun 2026 08:00:05 GMT'
  await ask()
  expect(client.forHome({ origin: client.origin, orgId: 7 }).clockAheadMs()).toBe(5_000)
})
