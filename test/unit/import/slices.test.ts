// Slices of time that are shorter than what they hold: no lane takes a permit only to give it back, and what is counted over
// batches is counted over slices.

import { describe, expect, test } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import {
  systemClock,
  type AcquireOptions,
  type Permit,
  type Quota,
} from '../../../src/core/ports.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, importScene } from './scene.ts'

/** Grants nothing until the callers of the first slice have gone; from then on the real quota does. */
function closedAtFirst(real: Quota) {
  const counts = { gaveUp: 0, granted: 0, unused: 0 }
  const quota: Quota = {
    limitPerMinute: () => real.limitPerMinute(),
    acquire: async (options: AcquireOptions = {}): Promise<Permit> => {
      if (counts.gaveUp === 0 && options.priority !== 'interactive')
        await new Promise((_, reject) => {
          options.signal!.addEventListener('abort', () => {
            counts.gaveUp += 1
            reject(options.signal!.reason)
          })
        })
      const permit = await real.acquire(options)
      counts.granted += 1
      return {
        observe: (answer) => permit.observe(answer),
        lost: () => permit.lost(),
        unused: () => {
          counts.unused += 1
          permit.unused()
        },
      }
    },
  }
  return { quota, counts }
}

/** 60 rows, and a quota that lets a batch through after so long. Who has given up five times finds it broken. */
async function slowScene(waitMs: number) {
  const scene = await importScene(
    { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } },
    { keep_before: true },
  )
  scene.rows(
    ['id', 'name'],
    Array.from({ length: 60 }, (_, index) => [`c-${index}`, 'Ada']),
  )
  let gaveUp = 0
  const quota = (real: Quota): Quota => ({
    limitPerMinute: () => real.limitPerMinute(),
    acquire: async (options: AcquireOptions = {}): Promise<Permit> => {
      if (options.priority === 'interactive') return await real.acquire(options)
      if (gaveUp === 5) throw new Error('five slices have sent nothing')
      await systemClock.sleep(waitMs, options.signal).catch((error: unknown) => {
        gaveUp++
        throw error
      })
      return await real.acquire(options)
    },
  })
  return { scene, quota }
}

test('a slice ends on time although no permit came, and the next one goes on', async () => {
  const scene = await importScene({
    svc_external_id: { column: 'id' },
    svc_first_name: { column: 'name' },
  })
  scene.rows(
    ['id', 'name'],
    Array.from({ length: 120 }, (_, index) => [`c-${index}`, 'Ada']),
  )
  let counts: { gaveUp: number; granted: number; unused: number } | null = null
  let quota: Quota | null = null
  const through = (client: ImportClient): ImportClient => {
    if (quota === null) ({ quota, counts } = closedAtFirst(client.quota))
    return clientWith(client, { quota })
  }
  const ended = await scene.run({ through, tuning: { segment_ms: 1_000, in_flight: 4 } })
  expect(ended.state).toBe('complete')
  expect(ended.books.states.created).toBe(120)
  expect(counts!.gaveUp).toBe(4)
}, 600_000)

test('a slice that has looked rows up goes on until they are sent, however long its permit takes', async () => {
  const { scene, quota } = await slowScene(1_500)
  const through = (client: ImportClient): ImportClient =>
    clientWith(client, { quota: quota(client.quota) })
  const tuning = { segment_ms: 1_000, in_flight: 1 }
  const ended = await scene.run({ through, tuning })
  expect(ended.state).toBe('complete')
  expect(ended.books.states.created).toBe(60)
}, 600_000)

test('a row that the service could not serve is sent again in slices that are shorter than the waits in between', async () => {
  const scene = await importScene({
    svc_external_id: { column: 'id' },
    svc_first_name: { column: 'name' },
  })
  scene.rows(['id', 'name'], [['c-1', 'Ada']])
  const slicesMax = 20
  let slices = 0
  let sent = 0
  const through = (client: ImportClient): ImportClient =>
    clientWith(client, {
      itemsPerRequest: async (operation) => {
        if (++slices > slicesMax) throw new Error(`${slicesMax} slices, and ${sent} sendings`)
        return await client.itemsPerRequest(operation)
      },
      batchUpsert: async (type, property, batch, options) => {
        const answer = await client.batchUpsert(type, property, batch, options)
        if (++sent > 4) return answer
        const result = { index: 0, status: 500, record: null, problem: null } as const
        return { ...answer, data: [result] }
      },
    })
  const tuning = { segment_ms: 300, item_backoff_ms: [100, 400, 500, 500] }
  const ended = await scene.run({ through, tuning })
  expect(ended.state).toBe('complete')
  expect(sent).toBe(5)
}, 600_000)

describe('a service that refuses whole requests, down to the last row of them', () => {
  /** Requests in which a row is named `Poison` are refused, each 400 ms after it was sent. */
  async function refusing(names: readonly string[]) {
    const scene = await importScene({
      svc_external_id: { column: 'id' },
      svc_first_name: { column: 'name' },
    })
    scene.rows(
      ['id', 'name'],
      names.map((name, index) => [`c-${index}`, name]),
    )
    let ahead = 0
    const clock = { ...systemClock, now: () => systemClock.now() + ahead }
    const through = (client: ImportClient): ImportClient =>
      clientWith(client, {
        batchUpsert: async (type, property, batch, options) => {
          ahead += 400
          if (!JSON.stringify(batch).includes('Poison'))
            return await client.batchUpsert(type, property, batch, options)
          options?.permit?.unused()
          throw new ServiceFailure('refused', {
            kind: 'problem',
            disposition: 'reject',
            block: 'contract',
            outcomeUnknown: false,
            status: 422,
            problemCode: 'VALIDATION_ERROR',
          })
        },
      })
    return scene.run({ through, clock, tuning: { segment_ms: 4_000, in_flight: 1 } })
  }
  const rows = (count: number, name: string) => Array.from({ length: count }, () => name)

  test('blocks the run, however few requests a slice holds', async () => {
    await expect(refusing(rows(120, 'Poison'))).rejects.toThrow(
      /the service refused (5[1-9]|[6-9]\d|1[01]\d|120) rows in a row, each sent alone/,
    )
  }, 600_000)

  test('pays with those rows alone if it takes others in between', async () => {
    const names = [...rows(50, 'Poison'), ...rows(50, 'Ada'), ...rows(50, 'Poison')]
    const ended = await refusing(names)
    expect(ended.state).toBe('complete_with_rejects')
    expect(ended.books.states).toMatchObject({ created: 50, refused: 100 })
  }, 600_000)
})
