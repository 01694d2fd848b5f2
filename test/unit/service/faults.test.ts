import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BatchResponse } from '../../../src/contract/index.ts'
import { FAULT_KINDS, Faults } from '../../../src/service/limits/faults.ts'
import type { FaultTarget } from '../../../src/service/limits/faults.ts'
import type { FaultKind } from '../../../src/service/index.ts'
import { expectProblem, manualClock, startApi } from './api.ts'
import type { Api } from './api.ts'
import { answersIn, rawConnection } from './raw.ts'

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

  it('unavailable_503_date says until when to wait, and that is not over yet', async () => {
    const clock = manualClock(Date.UTC(2026, 5, 1, 12, 0, 0, 400))
    const dated = await startApi({ clock })
    dated.service.setFaults({ seed: 1, rate: 1, kinds: ['unavailable_503_date'] })
    const answer = await dated.send('GET', '/self/')
    expectProblem(answer, 503, 'service_unavailable')
    expect(answer.headers.get('retry-after')).toBe('Mon, 01 Jun 2026 12:00:02 GMT')
    await dated.service.close()
  })

  it.each([
    ['internal_500_before', 0],
    ['internal_500_after', 1],
  ] as const)('%s is a problem after %i records were stored', async (kind, count) => {
    always(kind)
    const answer = await api.send('POST', `/objects/${type}/records/`, {
      body: { data: { properties: { svc_external_id: 'a' } } },
    })
    expectProblem(answer, 500, 'internal_error')
    expect(answer.headers.get('location')).toBeNull()
    expect(stored()).toBe(count)
  })

  it('slow_body sends the answer in pieces, whole and right, within its time', async () => {
    const clock = manualClock()
    const sleeps: number[] = []
    let release = () => {}
    clock.sleep = (ms) => {
      sleeps.push(ms)
      return new Promise((resolve) => (release = resolve))
    }
    const slow = await startApi({ clock })
    try {
      slow.service.setFaults({ seed: 1, rate: 1, kinds: ['slow_body'], slowBodyMs: 500 })
      const { socket, send, received, until } = await rawConnection(slow.service.url)
      const lines = ['GET /rest/v1/objects/ HTTP/1.1', 'Host: x']
      send([...lines, `Authorization: Bearer ${slow.service.key}`, '', ''].join('\r\n'))
      await until(/\r\n\r\n./)
      const length = Number(/content-length: (\d+)/i.exec(received())![1])
      const bodyBytes = () => received().length - received().indexOf('\r\n\r\n') - 4
      expect(bodyBytes()).toBeLessThan(length / 5)
      while (bodyBytes() < length) {
        const before = bodyBytes()
        release()
        await until(new RegExp(`\\r\\n\\r\\n[^]{${before + 1}}`))
      }
      release()
      const [answer] = answersIn(received())
      expect(answer).toMatchObject({ status: 200 })
      // The connection is as good as new.
      send('GET /rest/v1/nowhere/ HTTP/1.1\r\nHost: x\r\n\r\n')
      await until(/HTTP\/1\.1 401 /)
      slow.service.setFaults(null)
      expect(answer?.body).toEqual((await slow.send('GET', '/objects/')).body)
      expect(sleeps.length).toBeGreaterThan(5)
      expect(sleeps.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(500)
      socket.destroy()
    } finally {
      await slow.service.close()
    }
  })

  it.each([
    ['torn_body', 204],
    ['slow_body', 204],
    ['item_503', 204],
    ['expired_cursor', 204],
    ['reset_after', null],
  ] as const)('%s on a deletion: it is done, and answered %s', async (kind, status) => {
    const { id } = (await upsert()).body.data
    always(kind)
    const answer = api.send('DELETE', `/objects/${type}/records/${id}/`)
    if (status === null) await expect(answer).rejects.toThrow()
    else expect((await answer).status).toBe(status)
    expect(stored()).toBe(0)
  })

  it.each(['torn_body', 'slow_body', 'item_503', 'item_500', 'expired_cursor'] as const)(
    '%s leaves its place to another kind where it does not fit',
    async (kind) => {
      api.service.setFaults({ seed: 1, rate: 1, kinds: [kind, 'unavailable_503'] })
      for (let count = 0; count < 10; count += 1) {
        const path = `/objects/${type}/records/x/`
        expectProblem(await api.send('DELETE', path), 503, 'service_unavailable')
        const head = await fetch(`${api.service.url}/rest/v1/self/`, {
          method: 'HEAD',
          headers: { authorization: `Bearer ${api.service.key}` },
        })
        expect(head.status).toBe(503)
      }
    },
  )

  it('short_page gives a third of a page, and every record all the same', async () => {
    for (let index = 0; index < 20; index += 1) await upsert(`id-${index}`)
    always('short_page')
    const seen: string[] = []
    let cursor: string | null = null
    let pages = 0
    do {
      const { body } = await api.query(type, cursor === null ? { limit: 9 } : { cursor })
      expect(body.data.length).toBeLessThanOrEqual(3)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.pagination.next_cursor
      pages += 1
    } while (cursor !== null)
    expect(pages).toBe(7)
    expect(seen).toEqual([...api.service.records(type)].map(({ id }) => id))
  })

  it('expired_cursor refuses cursors, and nothing else', async () => {
    const first = { limit: 1 }
    for (const id of ['a', 'b', 'c']) await upsert(id)
    const { next_cursor: cursor } = (await api.query(type, first)).body.pagination
    always('expired_cursor')
    expect((await api.query(type, first)).status).toBe(200)
    expectProblem(await api.query(type, { cursor }), 400, 'request_invalid', 'cursor_invalid')
    const listing = await api.send('GET', `/objects/${type}/records/?cursor=${cursor}`)
    expectProblem(listing, 400, 'request_invalid', 'cursor_invalid')
    api.service.setFaults(null)
    expect((await api.query(type, { cursor })).status).toBe(200)
  })

  it.each([
    ['item_503', 503, 'service_unavailable'],
    ['item_500', 500, 'internal_error'],
  ] as const)(
    '%s leaves some items of a batch out, the same ones for the same seed',
    async (kind, status, code) => {
      const items = Array.from({ length: 50 }, (_, index) => ({ svc_external_id: `id-${index}` }))
      const failures = async () => {
        always(kind)
        const { body } = await api.batch(type, 'svc_external_id', items)
        const { data, summary } = BatchResponse.parse(body)
        const failed = data.filter((item) => item.status >= 400)
        expect(summary).toMatchObject({ failed: failed.length, succeeded: 50 - failed.length })
        for (const item of failed) {
          expect({ status: item.status, code: item.problem?.code }).toEqual({ status, code })
        }
        return failed.map(({ index }) => index)
      }
      const failed = await failures()
      expect(failed.length).toBeGreaterThan(5)
      expect(failed.length).toBeLessThan(45)
      expect(stored()).toBe(50 - failed.length)
      expect(await failures()).toEqual(failed)
      expect((await api.send('GET', `/objects/${type}/records/`)).status).toBe(200)
    },
  )

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
    const body = '{"limit":1,"limit":2}'
    const query = await api.send('POST', `/objects/${type}/records/query/`, { body })
    expectProblem(query, 400, 'request_invalid')
  })
})

describe('the plan', () => {
  const victim: FaultTarget = {
    isBatch: false,
    hasCursor: false,
    isPage: false,
    hasAnswerBody: true,
  }
  const batch: FaultTarget = { ...victim, isBatch: true }

  it('comes to the same share of the requests that a kind fits, whatever else is planned', () => {
    const faults = new Faults({ seed: 3, rate: 0.2, kinds: ['item_503', 'item_500', 'torn_body'] })
    const drawn = Array.from({ length: 4_000 }, (_, index) =>
      faults.next(index % 2 === 0 ? victim : batch),
    )
    for (const [first, kinds] of [
      [0, ['torn_body']],
      [1, ['item_500', 'item_503', 'torn_body']],
    ] as const) {
      const own = drawn.filter((_, index) => index % 2 === first)
      const hit = own.filter((kind) => kind !== null)
      expect(hit.length / own.length).toBeCloseTo(0.2, 1)
      expect([...new Set(hit)].toSorted()).toEqual(kinds)
    }
  })

  it('may leave nothing that fits', () => {
    const faults = new Faults({ seed: 3, rate: 1, kinds: ['item_503', 'expired_cursor'] })
    expect(faults.next(victim)).toBeNull()
    expect(new Faults({ seed: 3, rate: 1, kinds: [] }).next(batch)).toBeNull()
  })

  it('is refused where it makes no sense', () => {
    const plan = { seed: 1, rate: 0.5, kinds: [...FAULT_KINDS] }
    expect(() => api.service.setFaults({ ...plan, rate: 1.1 })).toThrow('faults.rate')
    expect(() => api.service.setFaults({ ...plan, rate: Number.NaN })).toThrow('faults.rate')
    expect(() => api.service.setFaults({ ...plan, slowBodyMs: 60_001 })).toThrow('slowBodyMs')
    const unknown = ['gremlins' as FaultKind]
    expect(() => api.service.setFaults({ ...plan, kinds: unknown })).toThrow('some of reset_before')
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
