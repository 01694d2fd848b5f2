// Reads that failed for the moment are asked again; writes never are.

import { expect, test } from 'vitest'
import { systemClock } from '../../../src/core/ports.ts'
import { always, clientOf, failureOf, oneRecord, problem, startWire } from './wire.ts'

const busy = { status: 503, body: problem(503, 'service_unavailable') }
const redirect = { status: 302, headers: { location: 'https://elsewhere.test/' } }
const html = { status: 200, type: 'text/html', body: '<p>one moment</p>' }

/** A clock whose waits are over at once, and are written down. */
function noting() {
  const waits: number[] = []
  const sleep = async (ms: number) => void waits.push(ms)
  return { waits, clock: { ...systemClock, sleep } }
}
const read = (client: ReturnType<typeof clientOf>, options = {}) =>
  client.readRecord('svc_contact', 'rec_1', options)

test.each([
  ['503', busy],
  ['a redirect', redirect],
  ['a page of a proxy', html],
  ['500', { status: 500, body: problem(500, 'internal_error') }],
])('%s twice, and then the answer: nobody hears of it', async (_, failure) => {
  const wire = await startWire(always(failure, failure, oneRecord))
  const { waits, clock } = noting()
  const client = clientOf(wire.url, { retries: undefined, clock })
  const permit = client.quota.permit()
  expect(await read(client, { permit })).toMatchObject({ id: 'rec_1' })
  expect(wire.seen).toHaveLength(3)
  // The permit that came along is for the first of them.
  expect(client.quota.closed).toHaveLength(3)
  expect(client.quota.closed.every((end) => end !== null)).toBe(true)
  expect(waits).toHaveLength(2)
  expect(waits[0]).toBeGreaterThanOrEqual(250)
  expect(waits[0]).toBeLessThanOrEqual(500)
  expect(waits[1]).toBeGreaterThanOrEqual(1_000)
})

test('a torn connection too; after the last try it fails as it did', async () => {
  const wire = await startWire((socket) => socket.destroy())
  const { clock } = noting()
  const error = await failureOf(read(clientOf(wire.url, { retries: 3, clock })))
  expect(error).toMatchObject({ kind: 'no_answer', disposition: 'retry' })
  expect(wire.seen).toHaveLength(4)
})

test('a redirect that stays is a matter for a person', async () => {
  const wire = await startWire(always(redirect))
  const { clock } = noting()
  const error = await failureOf(read(clientOf(wire.url, { retries: undefined, clock })))
  expect(error).toMatchObject({ kind: 'distrusted', block: 'contract' })
  expect(wire.seen).toHaveLength(3)
})

test('Retry-After is waited for; a long one is left to the caller', async () => {
  const soon = { ...busy, headers: { 'Retry-After': '3' } }
  const late = { ...busy, headers: { 'Retry-After': '60' } }
  const { waits, clock } = noting()
  const wire = await startWire(always(soon, late))
  const error = await failureOf(read(clientOf(wire.url, { retries: undefined, clock })))
  expect(error.retryAfterMs).toBe(60_000)
  expect(waits).toHaveLength(1)
  expect(waits[0]).toBeGreaterThanOrEqual(3_000)
  expect(wire.seen).toHaveLength(2)
})

test('what is certain is asked once: 404, 422, 403', async () => {
  for (const [status, code] of [
    [404, 'not_found'],
    [422, 'request_invalid'],
    [403, 'permission_denied'],
  ] as const) {
    const wire = await startWire(always({ status, body: problem(status, code) }))
    await failureOf(read(clientOf(wire.url, { retries: undefined })))
    expect(wire.seen).toHaveLength(1)
  }
})

test('a write is sent once', async () => {
  const wire = await startWire(always(busy))
  const client = clientOf(wire.url, { retries: undefined })
  await failureOf(client.updateRecord('svc_contact', 'rec_1', {}))
  expect(wire.seen).toHaveLength(1)
})

test('an abort ends the wait', async () => {
  const wire = await startWire(always(busy))
  const controller = new AbortController()
  const sleep = async (_: number, signal?: AbortSignal) => {
    controller.abort(new Error('enough'))
    signal?.throwIfAborted()
  }
  const client = clientOf(wire.url, { retries: undefined, clock: { ...systemClock, sleep } })
  await expect(read(client, { signal: controller.signal })).rejects.toThrow('enough')
  expect(wire.seen).toHaveLength(1)
})
