import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyFingerprint, startService } from '../../../src/service/index.ts'
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
    for (const method of ['DELETE', 'PROPFIND']) {
      const answer = await api.send(method, records, { body: 'not even JSON' })
      expectProblem(answer, 405, 'request_invalid')
      expect(answer.headers.get('allow')).toBe('GET, HEAD, POST, PUT, OPTIONS')
    }
    expectProblem(await api.send('GET', `${records}query/`), 405, 'request_invalid')
    expectProblem(await api.send('PROPFIND', '/nowhere/'), 404, 'not_found')
    expectProblem(await api.send('POST', '/docs'), 405, 'request_invalid')
  })

  it('refuses a query parameter that the operation does not know, or that is given twice', async () => {
    for (const query of ['cursr=x', 'cursor=x&cursor=x', '__proto__=x', '=x', 'a%5B%5D=1']) {
      const answer = await api.send('GET', `${records}?${query}`)
      expectProblem(answer, 400, 'request_invalid')
    }
    const answer = await api.send('GET', `${records}?cursr=x`)
    expect(answer.body.detail).toBe('Unknown query parameter "cursr": there is cursor, properties')
    expectProblem(await api.send('GET', '/self/?cursor=x'), 400, 'request_invalid')
    expect((await api.send('GET', '/self/?')).status).toBe(200)
    const typo = await api.send('PUT', `${records}?matching_propery=svc_external_id`, {
      body: { data: { properties: { svc_external_id: 'x' } } },
    })
    expectProblem(typo, 400, 'request_invalid')
  })

  it.each([
    ['a bad escape', '/objects/%zz/', 400, 'request_invalid'],
    ['an escape that is no UTF-8', '/objects/%ff/', 400, 'request_invalid'],
    ['a slash in a name', '/objects/svc_contact%2Frecords/', 404, 'not_found'],
    ['a NUL', '/objects/svc%00/', 404, 'not_found'],
    ['a name that is too long for one', `/objects/${'x'.repeat(201)}/`, 404, 'not_found'],
    ['a long id', `${records}${'x'.repeat(8_000)}/`, 404, 'not_found'],
    ['a long query', `/self/?cursor=${'x'.repeat(8_000)}`, 400, 'request_invalid'],
  ])('answers a path with %s', async (_name, path, status, code) => {
    expectProblem(await api.send('GET', path), status, code)
    expectProblem(await api.send('GET', path, { key: null }), 401, 'unauthenticated')
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
})

describe('HEAD', () => {
  const head = (path: string, key: string | null = api.service.key) =>
    fetch(api.service.url + (path.startsWith('/docs') ? path : `/rest/v1${path}`), {
      method: 'HEAD',
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
    })

  it('answers every GET as GET does, without a body, and counts once', async () => {
    const { paths } = (await api.send('GET', '/openapi.json')).body
    const urls = Object.keys(paths)
      .filter((path) => 'get' in paths[path])
      .map((path) => path.replace('/rest/v1', ''))
      .map((path) => path.replace('{object_type}', 'svc_contact').replace('{id}', 'x'))
    expect(urls.length).toBeGreaterThan(8)
    for (const url of [...urls, '/docs', '/docs/errors/conflict', '/nowhere/', '/self/?a=b']) {
      const get = await api.send('GET', url)
      const before = api.service.stats()
      const answer = await head(url)
      const after = api.service.stats()
      expect(answer.status, url).toBe(get.status)
      expect(await answer.text(), url).toBe('')
      // The id in a problem is another one, of the same length. What belongs to the connection is left out.
      const own = new Set(['svc-request-id', 'date', 'connection', 'keep-alive'])
      const headersOf = ({ headers }: { headers: Headers }) =>
        [...headers].filter(([name]) => !own.has(name))
      expect(headersOf(answer), url).toEqual(headersOf(get))
      expect(after.requests - before.requests).toBe(1)
    }
    expect((await head('/self/', null)).status).toBe(401)
    expect((await head(`${records}query/`)).status).toBe(405)
  })
})

describe('OPTIONS', () => {
  it('tells the methods of a path to anybody, and nothing about other origins', async () => {
    const answer = await api.send('OPTIONS', `${records}x/`, { key: null, body: 'ignored' })
    expect(answer.status).toBe(204)
    expect(answer.headers.get('allow')).toBe('GET, HEAD, PATCH, DELETE, OPTIONS')
    expectStandardHeaders(answer)
    expect([...answer.headers.keys()].filter((name) => name.includes('access-control'))).toEqual([])
    expect((await api.send('OPTIONS', '/docs', { key: null })).headers.get('allow')).toBe(
      'GET, HEAD, OPTIONS',
    )
    expectProblem(await api.send('OPTIONS', '/nowhere/'), 404, 'not_found')
  })
})

describe('the end of v1', () => {
  it('is announced on every response once it is decided', async () => {
    const deprecation = {
      since: new Date('2026-01-01T00:00:00.900Z'),
      sunset: new Date('2027-03-01T12:00:00Z'),
    }
    const old = await startApi({ deprecation })
    try {
      for (const path of ['/', '/self/', '/nowhere/', '/objects/%zz/', '/docs']) {
        const { headers } = await old.send('GET', path)
        expect(headers.get('deprecation'), path).toBe('@1767225600')
        expect(headers.get('sunset'), path).toBe('Mon, 01 Mar 2027 12:00:00 GMT')
      }
    } finally {
      await old.service.close()
    }
    expect((await api.send('GET', '/self/')).headers.get('deprecation')).toBeNull()
    const backwards = { since: deprecation.sunset, sunset: deprecation.since }
    await expect(startService({ deprecation: backwards })).rejects.toThrow('not before since')
    const noDate = { since: new Date('soon'), sunset: deprecation.sunset }
    await expect(startService({ deprecation: noDate })).rejects.toThrow('two dates')
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
      expect(probe.status).toBe(204)
      const described = Object.keys(operations).map((method) => method.toUpperCase())
      const methods = [...described, 'OPTIONS', ...(described.includes('GET') ? ['HEAD'] : [])]
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
    await logged.send('PROPFIND', `/objects/${logged.service.key}/`)
    await logged.send('GET', `/objects/%zz/${logged.service.key}`)
    logged.service.setFaults({ seed: 1, rate: 1, kinds: ['reset_after'] })
    await expect(logged.send('GET', '/objects/')).rejects.toThrow()
    await logged.service.close()
    const facts = lines.map((line) => JSON.parse(line))
    expect(facts.map(({ method, route, status }) => [method, route, status])).toEqual([
      ['GET', '/rest/v1/self/', 400],
      ['GET', '/rest/v1/self/', 401],
      ['PROPFIND', '/rest/v1/objects/:object_type/', 405],
      ['GET', null, 400],
      ['GET', '/rest/v1/objects/', null],
    ])
    for (const each of facts) expect(each.request_id).toMatch(/^req_/)
    expect(JSON.parse(lines[0]!)).toMatchObject({
      event: 'service_request',
      ms: expect.any(Number),
      key: keyFingerprint(logged.service.key),
    })
    expect(lines.join()).not.toContain(logged.service.key)
    expect(logged.service.stats()).toEqual({
      requests: 5,
      byOperation: { readSelf: 2, listObjectTypes: 1 },
      byStatus: { 400: 2, 401: 1, 405: 1 },
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
