// The kit against the real service, which breaks no rule: reading, writing, few and many records, a quota, a stop.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isJsonObject } from '../../../src/core/json.ts'
import { RULES, runConformance } from '../../../src/conform/index.ts'
import { readSchemaFile, startService } from '../../../src/service/index.ts'
import type { RunningService } from '../../../src/service/index.ts'
import { manualClock } from '../service/api.ts'
import { conformBroken, everythingIn, idsOf, startScene } from './scene.ts'

let service: RunningService
beforeAll(async () => void (service = await startScene()))
afterAll(async () => await service.close())

const writing = ['svc_contact', 'svc_company']

describe('the real service', () => {
  test('keeps what can be checked by reading, and nothing is written', async () => {
    const before = everythingIn(service)
    const requestsBefore = service.stats().byOperation
    const report = await runConformance({ service: service.url, key: service.key })
    expect(idsOf(report, 'broken')).toEqual([])
    expect(idsOf(report, 'kept').length).toBeGreaterThan(140)
    expect(everythingIn(service)).toBe(before)
    expect(report).toMatchObject({ write: [], marker: null, removed: 0, leftovers: [] })
    const requests = service.stats().byOperation
    for (const operation of ['createRecord', 'upsertRecord', 'batchCreate', 'batchUpsert']) {
      expect(requests[operation]).toBe(requestsBefore[operation])
    }
  })

  test('keeps what can be checked by writing, and nothing is left behind', async () => {
    const before = everythingIn(service)
    const report = await runConformance({ service: service.url, key: service.key, write: writing })
    expect(idsOf(report, 'broken')).toEqual([])
    expect(idsOf(report, 'unchecked')).toEqual([
      '4.3.5.write-forbidden',
      '4.5.list-pages',
      '8.rate-limited',
    ])
    expect(everythingIn(service)).toBe(before)
    expect(report.removed).toBeGreaterThan(40)
    expect(report.leftovers).toEqual([])
    expect(report.requests).toBeLessThan(report.requestsMax)
  })

  test.each(['svc_contact', 'svc_company', 'svc_deal', 'project'])(
    'writes to %s alone',
    async (type) => {
      const empty = await startService()
      try {
        const report = await runConformance({ service: empty.url, key: empty.key, write: [type] })
        expect(idsOf(report, 'broken')).toEqual([])
        expect(idsOf(report, 'kept').length).toBeGreaterThan(165)
        expect(report.leftovers).toEqual([])
        expect([...empty.records(type)]).toEqual([])
      } finally {
        await empty.close()
      }
    },
  )

  test('with many records keeps them too: a sample is compared', async () => {
    const large = await startService({ seedRecords: 2_000 })
    try {
      const report = await runConformance({
        service: large.url,
        key: large.key,
        write: ['svc_contact'],
      })
      expect(idsOf(report, 'broken')).toEqual([])
      expect(idsOf(report, 'kept')).toContain('4.5.list-pages')
      expect(idsOf(report, 'kept')).toContain('2.11.contains')
      expect([...large.records('svc_contact')]).toHaveLength(2_000)
    } finally {
      await large.close()
    }
  })

  test('without records says what it could not check', async () => {
    const empty = await startService()
    try {
      const report = await runConformance({ service: empty.url, key: empty.key })
      expect(idsOf(report, 'broken')).toEqual([])
      const verdict = report.rules.find(({ id }) => id === '4.1.limit')!.verdict
      expect(verdict).toEqual({
        kind: 'unchecked',
        why: 'no object type with 2 records: --write TYPE makes some',
      })
    } finally {
      await empty.close()
    }
  })

  test('compares two keys', async () => {
    const otherKey = service.mintKey({ grants: { svc_contact: { read: true, write: false } } })
    const report = await runConformance({ service: service.url, key: service.key, otherKey })
    expect(idsOf(report, 'broken')).toEqual([])
    expect(idsOf(report, 'kept')).toContain('4.3.5.write-forbidden')
  })

  test('with a key of few grants breaks nothing', async () => {
    const grants = {
      svc_risk: { read: true, write: false },
      svc_contact: { read: true, write: false },
    }
    const key = service.mintKey({ grants })
    const report = await runConformance({ service: service.url, key })
    expect(idsOf(report, 'broken')).toEqual([])
  })

  test('without exchange rates', async () => {
    service.setExchangeRates(false)
    try {
      const report = await runConformance({
        service: service.url,
        key: service.key,
        write: writing,
      })
      expect(idsOf(report, 'broken')).toEqual([])
    } finally {
      service.setExchangeRates(true)
    }
  })
})

test('a service of another brand, with its own paths where the specification leaves them open, keeps the same', async () => {
  const before = everythingIn(service)
  const ours = '/rest/v1/objects/{object_type}/records/batch/'
  const theirs = '/rest/v1/bulk/{object_type}/'
  const report = await conformBroken(
    service,
    {
      request: (request) => {
        request.path = request.path
          .replace(/\/bulk\/(\w+)\//, '/objects/$1/records/batch/')
          .replace(/\/association_types\/$/, '/associations/')
      },
      answer: (answer, { path }) => {
        answer.headers['acme-request-id'] = answer.headers['svc-request-id']!
        delete answer.headers['svc-request-id']
        if (!path.endsWith('/openapi.json')) return
        answer.body = JSON.parse(
          JSON.stringify(answer.body)
            .replaceAll(ours, theirs)
            .replaceAll('/rest/v1/associations/', '/rest/v1/association_types/'),
        )
      },
    },
    { write: writing },
  )
  expect(idsOf(report, 'broken')).toEqual([])
  expect(idsOf(report, 'kept')).toEqual(expect.arrayContaining(['4.4.upsert', '2.5.listed']))
  expect(everythingIn(service)).toBe(before)
})

test('an operation that the document does not show, where its path is open, is not checked', async () => {
  const report = await conformBroken(
    service,
    {
      answer: ({ body }, { path }) => {
        if (path.endsWith('/openapi.json')) delete body.paths['/rest/v1/associations/']
      },
    },
    { write: ['svc_contact'] },
  )
  expect(idsOf(report, 'broken')).toEqual([])
  const { verdict } = report.rules.find(({ id }) => id === '2.5.listed')!
  expect(verdict).toEqual({
    kind: 'unchecked',
    why: expect.stringMatching(/^section 4\.7 leaves open where "The association definitions" is/),
  })
})

describe('the quota', () => {
  test('is waited for', async () => {
    const clock = manualClock()
    const limited = await startService({ seedRecords: 10, limitPerMinute: 60, clock })
    try {
      const report = await runConformance({ service: limited.url, key: limited.key, clock })
      expect(idsOf(report, 'broken')).toEqual([])
      expect(report.waitedMs).toBeGreaterThan(60_000)
      expect(report.requests).toBeLessThan(400)
    } finally {
      await limited.close()
    }
  })

  test('is not waited for longer than allowed', async () => {
    const clock = manualClock()
    const limited = await startService({ seedRecords: 10, limitPerMinute: 60, clock })
    try {
      const options = { service: limited.url, key: limited.key, clock, waitMaxMs: 1_000 }
      const report = await runConformance(options)
      expect(idsOf(report, 'broken')).toEqual([])
      expect(report.waitedMs).toBeLessThan(5_000)
      expect(idsOf(report, 'unchecked').length).toBeGreaterThan(50)
    } finally {
      await limited.close()
    }
  })

  test('and the bound of requests hold, and what was made is removed over it', async () => {
    const before = everythingIn(service)
    const options = { service: service.url, key: service.key, write: writing, requestsMax: 200 }
    const report = await runConformance(options)
    expect(idsOf(report, 'broken')).toEqual([])
    expect(report.rules.at(-1)!.id.startsWith('9')).toBe(true)
    expect(report.removed).toBeGreaterThan(0)
    expect(report.requests).toBeLessThan(200 + report.removed + 10)
    expect(everythingIn(service)).toBe(before)
  })
})

describe('scratch records', () => {
  test('are removed when the run is stopped', async () => {
    const before = everythingIn(service)
    const stop = new AbortController()
    const report = await runConformance({
      service: service.url,
      key: service.key,
      write: writing,
      signal: stop.signal,
      progress: ({ text }) => text.startsWith('A batch upsert') && stop.abort(new Error('stopped')),
    })
    expect(report.interrupted).toBe(true)
    expect(report.removed).toBeGreaterThan(10)
    expect(report.leftovers).toEqual([])
    expect(everythingIn(service)).toBe(before)
  })

  test('whose create was never answered are found by their marker', async () => {
    const before = everythingIn(service)
    const created: object[] = []
    const report = await conformBroken(
      service,
      {
        answer(answer, { method, path, body }) {
          if (method !== 'POST' || !path.endsWith('/svc_contact/records/') || answer.status !== 201)
            return
          created.push(body)
          // The record is there, and the answer says nothing of it.
          if (created.length > 5) Object.assign(answer, { status: 502, body: 'Bad gateway' })
        },
      },
      { write: ['svc_contact'] },
    )
    expect(created.length).toBeGreaterThan(10)
    expect(report.leftovers).toEqual([])
    expect(everythingIn(service)).toBe(before)
  })

  test('that cannot be removed are named', async () => {
    const own = await startScene()
    try {
      const report = await conformBroken(
        own,
        {
          request: ({ method, path }) =>
            method === 'DELETE' && !path.includes('no-such')
              ? { status: 204, headers: {}, body: undefined }
              : undefined,
        },
        { write: ['project'] },
      )
      expect(idsOf(report, 'broken')).toContain('4.delete')
      const left = [...own.records('project')].map(({ id }) => id)
      expect(left.length).toBeGreaterThan(10)
      expect(report.leftovers).toEqual([
        { object_type: 'project', ids: expect.any(Array), unsure: null },
      ])
      expect(report.leftovers[0]!.ids.toSorted()).toEqual(left.toSorted())
    } finally {
      await own.close()
    }
  })

  test('a record that a read-only type should have refused is removed or named', async () => {
    const own = await startScene()
    try {
      const report = await conformBroken(
        own,
        {
          request: (request) => {
            // Creates of risks make projects.
            if (request.method !== 'POST' || !request.path.includes('svc_')) return
            if (request.path.endsWith('/records/') && !request.path.includes('project')) {
              request.path = '/rest/v1/objects/project/records/'
            }
          },
        },
        { write: ['project'] },
      )
      expect(idsOf(report, 'broken')).toContain('4.3.5.create')
      expect(report.leftovers).toEqual([
        { object_type: expect.stringMatching(/^svc_/), ids: [expect.any(String)], unsure: null },
      ])
    } finally {
      await own.close()
    }
  })
})

describe('a type that may be written and is not', () => {
  const person = {
    name: 'person',
    label_plural: 'People',
    properties: [
      { name: 'code', field_type: 'text', is_unique: true },
      { name: 'mail', field_type: 'email', is_unique: true, is_multi: true },
      { name: 'number', field_type: 'number', is_unique: true },
      { name: 'call', field_type: 'phone', is_unique: true, is_multi: true },
      { name: 'name', field_type: 'text' },
      { name: 'town', field_type: 'text' },
    ],
  }
  let own: RunningService
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'records-sync-conform-'))
    const file = join(folder, 'schema.json')
    writeFileSync(file, JSON.stringify({ types: [person] }))
    own = await startScene({ schema: readSchemaFile(file) })
    rmSync(folder, { recursive: true })
  })
  afterAll(() => own.close())

  test('gets scratch records whose unique lists and numbers do not collide', async () => {
    const report = await runConformance({ service: own.url, key: own.key, write: ['person'] })
    expect(idsOf(report, 'broken')).toEqual([])
    expect(report.unprepared).toEqual([])
    const unchecked = idsOf(report, 'unchecked').filter((id) => writingRules.includes(id))
    // Both need more than a type: another key, and an association.
    expect(unchecked.filter((id) => !/write-forbidden|associate|3\.6/.test(id))).toEqual([])
  })

  test('is named with the reason', async () => {
    const report = await conformBroken(
      own,
      {
        request: ({ method, path }) =>
          method === 'POST' && path.endsWith('/person/records/')
            ? { status: 403, headers: {}, body: { code: 'permission_denied' } }
            : undefined,
      },
      { write: ['person'] },
    )
    expect(report.unprepared).toEqual([
      { object_type: 'person', why: expect.stringMatching(/POST .* was answered 403/) },
    ])
  })
})

const writingRules = RULES.filter(({ phase }) => phase === 'writes').map(({ id }) => id)

describe('a run that cannot begin says why', () => {
  const refused = async (options: Parameters<typeof runConformance>[0]) =>
    await runConformance(options).then(
      () => null,
      (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
    )

  test('no service', async () => {
    expect(await refused({ service: 'http://127.0.0.1:1', key: 'rsk_x' })).toMatch(
      /^conform_unreachable: .*connection refused/,
    )
  })
  test('plain HTTP to another machine', async () => {
    expect(await refused({ service: 'http://example.com', key: 'rsk_x' })).toMatch(
      /^base_url_invalid/,
    )
  })
  test('a key that is not accepted', async () => {
    const said = await refused({ service: service.url, key: 'rsk_not_one_of_ours' })
    expect(said).toMatch(/^conform_key: .* 401/)
    expect(said).not.toContain('rsk_not_one_of_ours')
  })
  test('a type that does not exist or is read-only', async () => {
    const options = { service: service.url, key: service.key }
    expect(await refused({ ...options, write: ['svc_unicorn'] })).toMatch(
      /^conform_write: .*expected one of .*svc_contact/,
    )
    expect(await refused({ ...options, write: ['svc_risk'] })).toMatch(/does not accept create/)
  })
})

/** Values that are also words of the rules, or of every service. */
const WORDS = ['false', 'subscriber', 'opportunity', 'customer', 'former']

test('evidence holds no value of a record, no record id, no cursor and no key', async () => {
  // Nearly everything is broken somehow, so that there is evidence of every kind.
  const few = await conformBroken(service, {
    answer: ({ body, status }, { path }) => {
      if (status === 200 && path.endsWith('/query/') && body.data.length > 1) body.data.pop()
      if (status >= 400) body.title = String(body.detail)
      if (body?.pagination) body.pagination.next_cursor ??= 'quirin'
    },
  })
  const wrong = await conformBroken(service, {
    answer: ({ body, headers }, { path }) => {
      if (path.includes('cursor=')) delete headers['cache-control']
      for (const { properties } of Array.isArray(body?.data) ? body.data : []) {
        if (!properties) continue
        properties.svc_email = properties.svc_email?.[0] ?? null
        properties.svc_lifetime_value = properties.svc_lifetime_value?.amount ?? null
      }
    },
  })
  expect(idsOf(few, 'broken').length).toBeGreaterThan(15)
  expect(idsOf(wrong, 'broken')).toEqual(
    expect.arrayContaining(['1.no-store', '2.1.multi-value', '2.1.currency-value']),
  )
  const text = JSON.stringify([few, wrong])
  expect(text).toContain('?cursor=…')
  expect(text).not.toContain('cursor=conform')
  expect(text).not.toContain(service.key)
  const values = [...service.records('svc_contact')].flatMap(({ id, properties }) => [
    id,
    ...Object.values(properties)
      .flat()
      .map((value) => String(isJsonObject(value) ? value['amount'] : value))
      .filter((value) => value.length > 4 && !WORDS.includes(value)),
  ])
  expect(values.length).toBeGreaterThan(100)
  for (const value of values) expect(text).not.toContain(value)
})

test('every rule has an id of its own, of a section, and a sentence', () => {
  expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length)
  for (const { id, text } of RULES) {
    expect(id).toMatch(/^[1245789](\.\d+)*\.[a-z_-]+$/)
    expect(text).toMatch(/^\S.*\.$/)
  }
})
