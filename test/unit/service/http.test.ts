import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fingerprintOf, startService } from '../../../src/service/index.ts'
import { expectProblem, expectStandardHeaders, manualClock, startApi } from './api.ts'
import type { Api } from './api.ts'

let api: Api
beforeAll(async () => {
  api = await startApi({ seedRecords: 2 })
})
afterAll(() => api.service.close())

const records = '/objects/svc_contact/records/'

describe('authentication', () => {
  it.each([
    ['no key', null],
    ['an unknown key', 'rsk_0000000000000000000000000000000000000000'],
  ])('refuses %s', async (_name, key) => {
    const answer = await api.send('GET', '/self/', { key })
    expectProblem(answer, 401, 'unauthenticated')
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  it('takes a key from the header only', async () => {
    const answer = await api.send('GET', `/self/?key=${api.service.key}`, { key: null })
    expectProblem(answer, 401, 'unauthenticated')
  })

  it('lets everybody read the root and the OpenAPI document', async () => {
    const root = await api.send('GET', '/', { key: null })
    expect(root.body.data).toEqual({
      version: 'v1',
      openapi_url: `${api.service.url}/rest/v1/openapi.json`,
      docs_url: `${api.service.url}/docs`,
    })
    expectStandardHeaders(root)
    expect((await api.send('GET', '/openapi.json', { key: null })).body.openapi).toBe('3.1.0')
  })

  it('revokes a key on the next request', async () => {
    const key = api.service.mintKey()
    expect(key).toMatch(/^rsk_[0-9A-Za-z]{40}$/)
    expect((await api.send('GET', '/self/', { key })).body.data.reach).toBe('user')
    api.service.revokeKey(key)
    expectProblem(await api.send('GET', '/self/', { key }), 401, 'unauthenticated')
  })
})

describe('grants', () => {
  it('show, hide and forbid object types', async () => {
    const key = api.service.mintKey({
      grants: { svc_contact: { read: true, write: false }, svc_risk: { read: true, write: true } },
    })
    const listed = await api.send('GET', '/objects/', { key })
    expect(listed.body.data.map((type: { name: string }) => type.name)).toEqual([
      'svc_contact',
      'svc_risk',
    ])
    const self = await api.send('GET', '/self/', { key })
    expect(self.body.data.permissions).toEqual([
      { entity_type: 'svc_contact', read: true, write: false },
      { entity_type: 'svc_risk', read: true, write: true },
    ])
    const deals = '/objects/svc_deal/'
    expectProblem(await api.send('GET', `${deals}records/`, { key }), 403, 'permission_denied')
    const query = await api.send('POST', `${deals}records/query/`, { key, body: {} })
    expectProblem(query, 403, 'permission_denied')
    expectProblem(await api.send('GET', deals, { key }), 404, 'not_found')
    expectProblem(await api.send('GET', `${deals}records/x/`, { key }), 404, 'not_found')
    const body = { data: { properties: {} } }
    const write = await api.send('POST', records, { key, body })
    expectProblem(write, 403, 'permission_denied', 'write_forbidden')
    // The object type's own rule comes first, whatever the grants are.
    for (const each of [key, api.service.key, api.service.mintKey({ grants: {} })]) {
      const risk = await api.send('POST', '/objects/svc_risk/records/', { key: each, body })
      expectProblem(risk, 403, 'permission_denied', 'type_read_only')
    }
    expectProblem(await api.send('GET', '/objects/constructor/', { key }), 404, 'not_found')
  })

  it('accept only association on svc_meeting, nothing on svc_risk, everything elsewhere', async () => {
    const { body } = await api.send('GET', '/objects/')
    const operations = new Map(
      body.data.map((type: { name: string; writable_operations: string[] }) => [
        type.name,
        type.writable_operations,
      ]),
    )
    expect(operations.get('svc_meeting')).toEqual(['associate'])
    expect(operations.get('svc_risk')).toEqual([])
    expect(operations.get('project')).toEqual(['create', 'update', 'delete', 'associate'])
  })
})

describe('requests that are not well formed', () => {
  it('refuses an unknown path', async () => {
    expectProblem(await api.send('GET', '/nowhere/'), 404, 'not_found')
    expectProblem(await api.send('GET', '/objects'), 404, 'not_found')
  })

  it('refuses another method and says which there are', async () => {
    const answer = await api.send('DELETE', records, { body: 'not even JSON' })
    expectProblem(answer, 405, 'request_invalid')
    expect(answer.headers.get('allow')).toBe('GET, POST, PUT')
    expectProblem(await api.send('GET', `${records}query/`), 405, 'request_invalid')
  })

  it.each(['text/html', 'application/json;q=0, */*', 'image/*', 'application/xml;q=0.9'])(
    'refuses Accept: %s',
    async (accept) => {
      const answer = await api.send('GET', '/objects/', { headers: { accept } })
      expectProblem(answer, 406, 'request_invalid')
    },
  )

  it.each(['*/*', 'application/json', 'text/html, application/*;q=0.1', 'Application/JSON ; q=1'])(
    'takes Accept: %s',
    async (accept) => {
      expect((await api.send('GET', '/objects/', { headers: { accept } })).status).toBe(200)
    },
  )

  it('refuses a body that is no JSON, no object, too long, or of another media type', async () => {
    const send = (body: unknown, type = 'application/json') =>
      api.send('POST', `${records}query/`, { body, headers: { 'content-type': type } })
    expectProblem(await send('{"limit": 1'), 400, 'request_invalid')
    expectProblem(await send(''), 400, 'request_invalid')
    for (const body of ['[]', 'null', '7', '"text"']) {
      expectProblem(await send(body), 400, 'request_invalid')
    }
    expectProblem(await send({ search: 'x'.repeat(5_000_000) }), 413, 'request_invalid')
    expectProblem(await send('limit=1', 'text/plain'), 415, 'request_invalid')
    expectProblem(await api.send('POST', `${records}query/`), 400, 'request_invalid')
  })

  it('refuses a bad escape in the path, and bytes that are not HTTP', async () => {
    expectProblem(await api.send('GET', '/objects/%zz/'), 400, 'request_invalid')
    const { port } = new URL(api.service.url)
    const text = await new Promise<string>((resolve, reject) => {
      let received = ''
      const socket = connect(Number(port), '127.0.0.1', () => socket.write('NOT HTTP\r\n\r\n'))
      socket.on('data', (chunk) => (received += chunk)).on('error', reject)
      socket.on('close', () => resolve(received))
    })
    const [head = '', body = ''] = text.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 400 /)
    for (const name of ['Svc-Request-Id', 'Cache-Control', 'RateLimit-Limit']) {
      expect(head).toContain(`\r\n${name}: `)
    }
    expect(JSON.parse(body)).toMatchObject({ status: 400, code: 'request_invalid' })
  })

  it('survives trees of JSON that are very deep', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const filter = `{"filter":${'{"$and":['.repeat(20_000)}{}${']}'.repeat(20_000)}}`
    expectProblem(
      await api.send('POST', `${records}query/`, { body: filter }),
      422,
      'request_invalid',
      'filter_too_deep',
    )
    const body = `{"data":{"properties":{"svc_email":${deep}}}}`
    expectProblem(
      await api.send('POST', records, { body }),
      422,
      'request_invalid',
      'schema_invalid',
    )
    const leaf = `{"filter":{"property":"svc_email","op":"in","value":${deep}}}`
    expectProblem(
      await api.send('POST', `${records}query/`, { body: leaf }),
      422,
      'request_invalid',
      'invalid_filter',
    )
  })
})

describe('a failure of the service itself', () => {
  it('is an internal error that says nothing of its cause', async () => {
    let calls = 0
    const clock = {
      ...manualClock(),
      now: () => {
        // The first key asks, then the limiter; the write asks next.
        if ((calls += 1) === 3) throw new Error('a secret of the machine')
        return 0
      },
    }
    const failing = await startApi({ clock })
    try {
      const body = { data: { properties: {} } }
      const answer = await failing.send('POST', records, { body })
      expectProblem(answer, 500, 'internal_error')
      expect(JSON.stringify(answer.body)).not.toContain('secret')
      expect((await failing.send('POST', records, { body })).status).toBe(201)
    } finally {
      await failing.service.close()
    }
  })
})

describe('limits', () => {
  it('pass as many requests a minute as the limit says, and tell when to come back', async () => {
    const clock = manualClock()
    clock.nowMs += 20_500
    const limited = await startApi({ limitPerMinute: 2, clock })
    try {
      const remaining = async () =>
        (await limited.send('GET', '/self/')).headers.get('ratelimit-remaining')
      expect([await remaining(), await remaining()]).toEqual(['1', '0'])
      const refused = await limited.send('GET', '/self/')
      expectProblem(refused, 429, 'rate_limited')
      expect(refused.headers.get('ratelimit-remaining')).toBe('0')
      expect(refused.headers.get('retry-after')).toBe('40')
      // Callers without a key do not use up what the org has.
      clock.nowMs += 39_500
      for (const status of [401, 401, 429]) {
        expect((await limited.send('GET', '/self/', { key: null })).status).toBe(status)
      }
      expect(await remaining()).toBe('1')
      limited.service.setLimit(null)
      expect((await limited.send('GET', '/self/')).headers.get('ratelimit-limit')).toMatch(
        /^\d{7,}$/,
      )
    } finally {
      await limited.service.close()
    }
  })
})

describe('the service about itself', () => {
  it('describes exactly the routes that it has, with references that resolve', async () => {
    const { body } = await api.send('GET', '/openapi.json')
    for (const [path, operations] of Object.entries<object>(body.paths)) {
      const url = path.replace('/rest/v1', '').replace('{object_type}', 'svc_contact')
      const probe = await api.send('OPTIONS', url.replace('{id}', 'x'))
      expect(probe.status).toBe(405)
      const methods = Object.keys(operations).map((method) => method.toUpperCase())
      expect(probe.headers.get('allow')?.split(', ').toSorted()).toEqual(methods.toSorted())
    }
    const refs = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      (match) => match[1]!,
    )
    expect(refs.length).toBeGreaterThan(50)
    for (const ref of new Set(refs)) {
      const target = ref.split('/').reduce((node, name) => node?.[name], body)
      expect(target, ref).toBeTypeOf('object')
    }
    const upsert = body.paths['/rest/v1/objects/{object_type}/records/'].put
    expect(upsert.operationId).toBe('upsertRecord')
    expect(upsert.parameters.map((each: { name: string }) => each.name)).toEqual([
      'object_type',
      'matching_property',
    ])
    expect(upsert.responses['422'].content).toHaveProperty(['application/problem+json'])
    expect(body.components.schemas.Problem.properties.code.enum).toContain('conflict')
  })

  it('has a page for the documentation and one for the type of each problem', async () => {
    const problem = (await api.send('GET', '/nowhere/')).body
    const page = await fetch(problem.type)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('not_found')
    expect((await api.send('GET', '/docs', { key: null })).body).toContain('/docs/errors/conflict')
    expectProblem(await api.send('GET', '/docs/errors/nonsense'), 404, 'not_found')
  })

  it('counts requests, and logs each with the fingerprint of its key and never the key', async () => {
    const lines: string[] = []
    const write = (fields: object, event: string) =>
      void lines.push(JSON.stringify({ event, ...fields }))
    const logger = { debug: write, info: write, warn: write, error: write }
    const logged = await startApi({ logger })
    await logged.send('GET', `/self/?cursor=${logged.service.key}`)
    await logged.send('GET', '/self/', { key: null })
    await logged.service.close()
    expect(lines).toHaveLength(2)
    expect(JSON.parse(lines[0]!)).toMatchObject({
      event: 'service_request',
      route: '/rest/v1/self/',
      status: 200,
      key: fingerprintOf(logged.service.key),
    })
    expect(lines.join()).not.toContain(logged.service.key)
    expect(logged.service.stats()).toEqual({
      requests: 2,
      byOperation: { readSelf: 2 },
      byStatus: { 200: 1, 401: 1 },
    })
  })

  it('has another org at each start, and the same contacts', async () => {
    const other = await startApi({ seedRecords: 2 })
    try {
      expect(other.service.orgId).not.toBe(api.service.orgId)
      const of = (each: Api) =>
        [...each.service.records('svc_contact')].map((record) => record.properties)
      expect(of(other)).toEqual(of(api))
      expect(of(other)).toHaveLength(2)
    } finally {
      await other.service.close()
    }
  })

  it('refuses options out of range, and a port that is taken', async () => {
    for (const options of [{ port: -1 }, { latencyMs: 1.5 }, { limitPerMinute: -1 }]) {
      await expect(startService(options)).rejects.toMatchObject({ code: 'service_options' })
    }
    const faults = { seed: 1, rate: 2, kinds: [] }
    await expect(startService({ faults })).rejects.toThrow('faults.rate')
    const port = Number(new URL(api.service.url).port)
    await expect(startService({ port })).rejects.toMatchObject({ code: 'service_port' })
  })
})
