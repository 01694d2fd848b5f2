// Pages that cannot be delivered whole. They are asked for with fewer records; what fails alone is set aside and named, and every other
// record is in the table.

import { expect, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import { CONTACT, mirrorSceneOn, SCHEMA } from './scene.ts'
import {
  given,
  problemOf,
  startProxied,
  type Asked,
  type Given,
  type ProxiedService,
} from './proxied.ts'
import { quickClock } from '../../quick-clock.ts'

type Failure = Given | 'torn' | 'silent'

const html = (status: number) => given(status, 'text/html', `<html>${status}</html>`)
const FAILURES: Record<string, () => Failure> = {
  'a 500 of the service': () => problemOf(500, 'internal_error'),
  'a 503 of the service': () => problemOf(503, 'service_unavailable'),
  'a 503 with a short wait': () => ({
    ...problemOf(503, 'service_unavailable'),
    headers: { 'content-type': 'application/problem+json', 'retry-after': '0' },
  }),
  'a 504 of the service': () => problemOf(504, 'timeout'),
  'a 408 of the service': () => problemOf(408, 'timeout'),
  'a 500 of a gateway': () => html(500),
  'a 502 of a gateway': () => html(502),
  'a 503 of a gateway': () => html(503),
  'a 504 of a gateway': () => html(504),
  'a 520 of a gateway': () => html(520),
  'a 524 of a gateway': () => html(524),
  'a 502 as JSON': () => given(502, 'application/json', { message: 'Bad Gateway' }),
  'a body that is torn': () => 'torn',
  'half of the JSON': () => given(200, 'application/json', '{"data": [{"id": "rec'),
  'no answer in time': () => 'silent',
  'more than can be read': () =>
    given(200, 'application/json', `{"data": "${'x'.repeat(600_000)}"}`),
}

const isQuery = ({ method, url }: Asked) => method === 'POST' && url.endsWith('/records/query/')
const limitOf = ({ body }: Asked) => (JSON.parse(body) as { limit?: number }).limit ?? 100

const sceneOf = () => mirrorSceneOn(() => startProxied({ seedRecords: 230 }))

/** A client that waits for less, and reads less, than usual. */
const short = (service: ProxiedService) => (): MirrorClient =>
  new RecordsClient({
    baseUrl: service.url,
    key: service.key,
    timeoutMs: 700,
    clock: quickClock(),
    bodyBytesMax: 500_000,
  })

test.each([60, 7, 1])('pages of more than %i records fail, each in another way', async (most) => {
  const s = await sceneOf()
  const left = Object.values(FAILURES)
  s.service.rules.before = (asked) =>
    isQuery(asked) && limitOf(asked) > most ? left.shift()?.() : undefined
  const run = await s.run({ through: short(s.service) })
  expect([run.state, run.message, left.length]).toEqual(['complete', null, 0])
  expect(await s.difference()).toEqual([])
  // The size recovers.
  const sizes = s.service.asked.filter(isQuery).map(limitOf)
  expect(Math.min(...sizes)).toBeLessThanOrEqual(50)
  await s.run({ full: true })
  expect(s.service.asked.filter(isQuery).map(limitOf).at(-1)).toBe(100)
})

test('pages that always fail above a size are read below it', async () => {
  const s = await sceneOf()
  s.service.rules.before = (asked) =>
    isQuery(asked) && limitOf(asked) > 25 ? problemOf(504, 'timeout') : undefined
  expect((await s.run()).state).toBe('complete')
  expect(await s.difference()).toEqual([])
})

interface Poison {
  readonly id: string
  readonly failure: () => Failure
}

/** What an answer is that holds one of these records, whatever else it holds; one with a single property may still show it. */
const poison = (service: ProxiedService, records: readonly Poison[], isShown: boolean) => {
  service.rules.after = (asked, { body }) => {
    if (!asked.url.includes('/records/')) return undefined
    const isBare =
      isQuery(asked) &&
      (JSON.parse(asked.body) as { properties?: string[] }).properties?.length === 1
    if (isBare && isShown) return undefined
    const text = body.toString('utf8')
    return records.find(({ id }) => text.includes(`"${id}"`))?.failure()
  }
}

const spread = (service: ProxiedService, failures: readonly (() => Failure)[]): Poison[] =>
  failures.map((failure, index) => ({
    id: service.records(CONTACT)[20 + index * 11]!.id,
    failure,
  }))

test('records that fail alone are set aside by their ids, each for its own reason', async () => {
  const s = await sceneOf()
  const records = spread(s.service, Object.values(FAILURES))
  poison(s.service, records, true)
  const run = await s.run({ through: short(s.service) })
  expect(run.state).toBe('complete_with_differences')
  expect(run.message).toContain(`${records.length} records could not be read and were set aside`)
  expect(run.message).toContain(records[0]!.id)
  const ids = (await s.sql(`SELECT _id FROM ${SCHEMA}.${CONTACT}`)).flat()
  expect(ids).toHaveLength(230 - records.length)
  expect(records.filter(({ id }) => ids.includes(id))).toEqual([])
  // They are asked for again, although they have not changed.
  delete s.service.rules.after
  const next = await s.run()
  expect([next.state, next.message]).toEqual(['complete', null])
  expect(await s.difference()).toEqual([])
})

test('records that no listing shows are set aside by the time between their neighbours', async () => {
  const s = await sceneOf()
  const failures = ['a 500 of the service', 'a body that is torn', 'a 502 of a gateway'] as const
  const records = spread(
    s.service,
    failures.map((name) => FAILURES[name]!),
  )
  poison(s.service, records, false)
  const run = await s.run({ through: short(s.service) })
  expect(run.state).toBe('complete_with_differences')
  expect(run.message).toContain(`${records.length} records could not be read and were set aside`)
  expect(run.message).toMatch(/what has svc_created_at from \S+ to before \S+/)
  expect(
    await s.sql(`SELECT count(*) = ${230 - records.length} FROM ${SCHEMA}.${CONTACT}`),
  ).toEqual([[true]])
  delete s.service.rules.after
  const next = await s.run()
  expect([next.state, next.message]).toEqual(['complete', null])
  expect(await s.difference()).toEqual([])
})

test('a service that answers nothing is waited for, and no record is set aside', async () => {
  const s = await sceneOf()
  s.service.rules.before = (asked) =>
    asked.url.includes('/records/') ? problemOf(503, 'service_unavailable') : undefined
  await expect(s.run()).rejects.toMatchObject({ block: 'service', status: 503 })
  delete s.service.rules.before
  expect((await s.run()).state).toBe('complete')
})
