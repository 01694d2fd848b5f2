// A service, or a proxy before it, that answers a write with a redirect: a slip costs nothing, one that stays blocks the run.

import { expect, test } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { clientWith, importScene } from './scene.ts'

const redirected = () =>
  new ServiceFailure('batchUpsert: the answer (status 302) is not believed', {
    kind: 'distrusted',
    disposition: 'retry',
    block: 'contract',
    outcomeUnknown: true,
    status: 302,
  })
const rows = Array.from({ length: 120 }, (_, n) => [`c-${n}`, `Name ${n}`])
const tuning = { in_flight: 1, resend_backoff_ms: [1] }

/** The client, with that many redirects in front. */
const redirecting = (times: number) => (client: Parameters<typeof clientWith>[0]) => {
  let left = times
  return clientWith(client, {
    batchUpsert: async (...given) => {
      if (left-- > 0) {
        given[3]?.permit?.lost()
        throw redirected()
      }
      return await client.batchUpsert(...given)
    },
  })
}

test('two redirects are sent over again, and the run is complete', async () => {
  const s = await importScene({
    svc_external_id: { column: 'id' },
    svc_first_name: { column: 'name' },
  })
  s.rows(['id', 'name'], rows)
  const end = await s.run({ through: redirecting(2), tuning })
  expect(end).toMatchObject({
    state: 'complete',
    books: { states: { created: 120 }, replayed: 50 },
  })
})

test('a redirect that stays blocks the run: contract', async () => {
  const s = await importScene({
    svc_external_id: { column: 'id' },
    svc_first_name: { column: 'name' },
  })
  s.rows(['id', 'name'], rows)
  const failed = await s
    .run({ through: redirecting(Infinity), tuning })
    .catch((error: unknown) => error)
  expect(failed).toMatchObject({ type: 'Blocked' })
  expect((await s.ledger.runs({ limit: 1 }))[0]).toMatchObject({
    state: 'blocked',
    reason: 'contract',
  })
})
