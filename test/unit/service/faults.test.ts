import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BatchResponse } from '../../../src/contract/index.ts'
import type { FaultKind } from '../../../src/service/index.ts'
import { expectProblem, manualClock, startApi } from './api.ts'
import type { Api } from './api.ts'

let api: Api
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.service.close())

const type = 'svc_contact'
const upsert = (svc_external_id = 'a') => api.upsert(type, 'svc_external_id', { svc_external_id })
const always = (kind: FaultKind) => api.service.setFaults({ seed: 1, rate: 1, kinds: [kind] })
const stored = () => [...api.service.records(type)].length

describe('a fault', () => {
  it.each([
    ['reset_before', 0],
    ['reset_after', 1],
    ['torn_body', 1],
  ] as const)('%s breaks the connection after %i records were stored', async (kind, count) => {
    always(kind)
    await expect(upsert()).rejects.toThrow()
    expect(stored()).toBe(count)
    api.service.setFaults(null)
    expect((await upsert()).status).toBe(count === 1 ? 200 : 201)
  })

  it('torn_body sends the head and a part of the body', async () => {
    always('torn_body')
    const response = await fetch(`${api.service.url}/rest/v1/objects/`, {
      headers: { authorization: `Bearer ${api.service.key}` },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('svc-request-id')).toMatch(/^req_/)
    await expect(response.text()).rejects.toThrow()
  })

  it('html_502 is the answer of a proxy', async () => {
    always('html_502')
    const answer = await upsert()
    expect(answer.status).toBe(502)
    expect(answer.headers.get('content-type')).toBe('text/html')
    expect(answer.headers.get('svc-request-id')).toBeNull()
    expect(stored()).toBe(0)
  })

  it('unavailable_503 is the answer of the service', async () => {
    always('unavailable_503')
    const answer = await upsert()
    expectProblem(answer, 503, 'service_unavailable')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(stored()).toBe(0)
  })

  it('item_503 leaves some items of a batch out, the same ones for the same seed', async () => {
    const items = Array.from({ length: 50 }, (_, index) => ({ svc_external_id: `id-${index}` }))
    const statuses = async () => {
      always('item_503')
      const { body } = await api.batch(type, 'svc_external_id', items)
      const { data, summary } = BatchResponse.parse(body)
      const failed = data.filter(({ status }) => status === 503)
      expect(summary).toMatchObject({ failed: failed.length, succeeded: 50 - failed.length })
      for (const { problem } of failed) expect(problem?.code).toBe('service_unavailable')
      return data.map(({ status }) => status)
    }
    const first = await statuses()
    const failed = first.filter((status) => status === 503).length
    expect(failed).toBeGreaterThan(5)
    expect(failed).toBeLessThan(45)
    expect(stored()).toBe(50 - failed)
    const second = await statuses()
    expect(second.map((status) => status === 503)).toEqual(first.map((status) => status === 503))
    expect((await api.send('GET', `/objects/${type}/records/`)).status).toBe(200)
  })

  it('comes to the planned share of requests, in the same order for the same seed', async () => {
    const run = async (seed: number) => {
      api.service.setFaults({ seed, rate: 0.3, kinds: ['unavailable_503', 'html_502'] })
      const statuses: number[] = []
      for (let count = 0; count < 60; count += 1) {
        statuses.push((await api.send('GET', '/self/')).status)
      }
      return statuses
    }
    const first = await run(7)
    expect(await run(7)).toEqual(first)
    expect(await run(8)).not.toEqual(first)
    const share = first.filter((status) => status !== 200).length / first.length
    expect(share).toBeGreaterThan(0.1)
    expect(share).toBeLessThan(0.5)
  })

  it('never takes the place of a refusal', async () => {
    always('unavailable_503')
    expectProblem(await api.send('GET', '/self/', { key: null }), 401, 'unauthenticated')
  })
})

describe('a service that is down', () => {
  it('destroys every connection, and is the same when it is up again', async () => {
    await upsert()
    api.service.setDown(true)
    await expect(upsert()).rejects.toThrow()
    await expect(upsert()).rejects.toThrow()
    api.service.setDown(false)
    expect((await upsert()).status).toBe(200)
  })
})

describe('latency', () => {
  it('is waited before each answer', async () => {
    const clock = manualClock()
    const slow = await startApi({ clock, latencyMs: 250 })
    const before = clock.nowMs
    await slow.send('GET', '/self/')
    await slow.send('GET', '/self/', { key: null })
    expect(clock.nowMs - before).toBe(500)
    await slow.service.close()
  })
})
