// The console over a real ledger: its pages and its JSON are one, it answers for this machine alone, it shows no value of a row, and
// what is away comes back.

import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API, API_PATH, openApi, type ApiRoute } from '../../../src/console/api.ts'
import { differencesMain } from '../../../src/console/pages/differences.ts'
import { overviewMain } from '../../../src/console/pages/overview.ts'
import { planMain } from '../../../src/console/pages/plan.ts'
import { quotaMain } from '../../../src/console/pages/quota.ts'
import { rejectsMain } from '../../../src/console/pages/rejects.ts'
import { rowMain } from '../../../src/console/pages/row.ts'
import { reportPageMain, runMain } from '../../../src/console/pages/run.ts'
import { syncMain } from '../../../src/console/pages/sync.ts'
import { CONSOLE_SCRIPT } from '../../../src/console/script.ts'
import type { Overview } from '../../../src/console/views/overview.ts'
import type { RowView } from '../../../src/console/views/row.ts'
import type { RunView } from '../../../src/console/views/run.ts'
import type { SyncView } from '../../../src/console/views/sync.ts'
import type { Markup } from '../../../src/report/escape.ts'
import { HOSTILE, HOSTILE_KEY, openHostileSite } from './hostile.ts'
import { CONSOLE_CONFIG, openSite, type ConsoleSite } from './site.ts'

let site: ConsoleSite
let nowMs = Date.now() + 60_000

beforeAll(async () => {
  site = await openSite({
    clock: { now: () => nowMs },
    config: `${CONSOLE_CONFIG}\nconsole: { values: hidden }\n`,
  })
})
afterAll(() => site.close())

interface Answer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}

/** As a browser or a program would ask, with any Host. */
const ask = (
  path: string,
  { headers = {}, method = 'GET', url = site.url } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const asked = request(new URL(path, url), { headers, method }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }))
    })
    asked.on('error', reject).end()
  })

const json = async <Body>(path: string): Promise<Body> =>
  JSON.parse((await ask(`${API_PATH}${path}`)).text) as Body

const mainOf = (page: string): string => /<main[^>]*>([^]*)<\/main>/.exec(page)![1]!

/** The pages of the site, each with the JSON that it is drawn from. */
const pagesOf = ({ runs }: ConsoleSite): [path: string, draw: (data: never) => Markup][] => [
  ['/', overviewMain],
  ['/quota', quotaMain],
  ...['contacts', 'crm_copy', 'orders', 'deals'].map(
    (name) => [`/syncs/${name}`, syncMain] as [string, (data: never) => Markup],
  ),
  ...Object.values(runs).map((id) => [`/runs/${id}`, runMain] as [string, (data: never) => Markup]),
  [`/runs/${runs['rejects']}/report`, reportPageMain],
  ['/rows?key=SECRET%20key%2010', rowMain],
  ['/rows?key=SECRET%20extra%201', rowMain],
  ['/rows?record=SECRET%20record%2040', rowMain],
  [`/runs/${runs['rejects']}/rejects`, rejectsMain],
  [`/runs/${runs['planned']}/plan`, planMain],
  [`/runs/${runs['planned']}/plan?verdict=update`, planMain],
  [`/runs/${runs['rejects']}/plan`, planMain],
  ...['compared', 'equal', 'rejects', 'mirror', 'compared mirror'].map(
    (name) =>
      [`/runs/${runs[name]}/differences`, differencesMain] as [string, (data: never) => Markup],
  ),
]

describe('pages and JSON', () => {
  it('say the same, because the page is drawn from the object', async () => {
    const pages = pagesOf(site)
    expect(pages.length).toBeGreaterThan(15)
    for (const [path, draw] of pages) {
      const page = await ask(path)
      expect({ path, status: page.status }).toEqual({ path, status: 200 })
      const data = await json<never>(path === '/' ? '/overview' : path)
      expect({ path, main: mainOf(page.text) }).toEqual({ path, main: draw(data).toString() })
    }
  })

  it('keep the description of the API', async () => {
    const seen: string[] = []
    const paths: Record<string, string[]> = {
      '/syncs/{sync}': ['/syncs/contacts', '/syncs/crm_copy', '/syncs/companies?before=10'],
      '/runs/{run}': Object.values(site.runs).map((id) => `/runs/${id}`),
      '/runs/{run}/report': Object.values(site.runs).map((id) => `/runs/${id}/report`),
      '/runs/{run}/rejects': [`/runs/${site.runs['rejects']}/rejects`],
      '/runs/{run}/corrections': [`/runs/${site.runs['rejects']}/corrections`],
      '/runs/{run}/plan': ['planned', 'rejects'].map((name) => `/runs/${site.runs[name]}/plan`),
      '/runs/{run}/differences': Object.values(site.runs).map((id) => `/runs/${id}/differences`),
      '/search': ['/search?q=co', '/search?q=3', '/search', '/search?q=SECRET%20key%202'],
      '/rows': ['/rows?key=SECRET%20key%2010', '/rows?record=SECRET%20record%2040'],
    }
    for (const route of API)
      for (const path of paths[route.path] ?? [route.path]) {
        const answer = await json<object>(path)
        // Nothing more than is described, and nothing less.
        expect({ path, answer: strictly(route, answer) }).toEqual({ path, answer })
        seen.push(path)
      }
    expect(seen.length).toBeGreaterThan(20)
    const described = JSON.parse((await ask(`${API_PATH}/openapi.json`)).text) as {
      paths: Record<string, object>
    }
    expect(described).toEqual(JSON.parse(JSON.stringify(openApi())))
    expect(Object.keys(described.paths)).toEqual([
      ...API.map(({ path }) => path),
      '/session',
      '/rows/today',
      '/runs/{run}/{action}',
      '/syncs/{sync}/{action}',
    ])
  })

  it('hold no value of a row, no key and no record id', async () => {
    let chars = 0
    for (const [path] of pagesOf(site))
      for (const text of [
        (await ask(path)).text,
        (await ask(`${API_PATH}${path === '/' ? '/overview' : path}`)).text,
      ]) {
        chars += text.length
        // The page of a row says which row it is of; the hashes of these ledgers are their texts.
        const secret = /^\/rows|\/differences/.test(path)
          ? /.{30}(?<!hash of )SECRET (?!key|record|extra).{30}/
          : /.{30}SECRET.{30}/
        expect({ path, found: text.match(secret)?.[0] }).toEqual({ path })
      }
    expect(chars).toBeGreaterThan(100_000)
  })

  it('have the schema changes of a mirror by date, on the pages of its sync and of the run', async () => {
    const id = site.runs['mirror']!
    const data = await json<SyncView>('/syncs/crm_copy')
    const changes = data.schema_changes!.map(({ run, property, kind }) => [run, property, kind])
    expect(changes).toEqual([
      [id, 'svc_price', 'back'],
      [id, 'svc_tier', 'added'],
      [id, 'svc_score', 'retyped'],
      [id, 'svc_email', 'removed'],
    ])
    for (const path of ['/syncs/crm_copy', `/runs/${id}`]) {
      const { text } = await ask(path)
      expect(text).toContain('Schema changes')
      expect(text).toContain('svc_score__text')
      expect(text).toContain('not done: the run ended before the table was changed')
    }
    for (const path of ['/syncs/orders', '/syncs/contacts', `/runs/${site.runs['rejects']}`])
      expect((await ask(path)).text).not.toContain('Schema changes')
  })

  it('know syncs and runs by a search', async () => {
    expect(await json('/search?q=CON')).toMatchObject({ syncs: [{ sync: 'contacts' }], runs: [] })
    const id = site.runs['mirror']!
    expect(await json(`/search?q=%23${id}`)).toMatchObject({
      runs: [{ run: id, sync: 'crm_copy' }],
    })
    expect((await ask(`/search?q=${id}`)).text).toContain(`href="/runs/${id}"`)
    expect((await ask('/search?q=nothing')).text).toContain('Nothing was found')
  })

  it('have what every run did with a row, found by its key or its record', async () => {
    const { rejects, compared, again } = site.runs
    const byKey = await json<RowView>('/rows?key=SECRET%20key%2040')
    expect(
      byKey.events
        .filter(({ sync }) => sync === 'contacts')
        .map(({ run, kind, state }) => [run, kind, state]),
    ).toEqual(
      expect.arrayContaining([
        [again, 'row', 'unchanged'],
        [compared, 'row', 'created'],
        [compared, 'difference', 'different'],
        [rejects, 'row', 'refused'],
      ]),
    )
    const rejected = byKey.events.find(({ run, kind }) => run === rejects && kind === 'row')!
    expect(rejected).toMatchObject({
      reason: 'schema_invalid',
      property: 'svc_email',
      row: 40,
      attempts: 1,
    })
    expect(byKey.events.map(({ run }) => run)).toEqual(
      byKey.events.map(({ run }) => run).toSorted((a, b) => b - a),
    )
    const byRecord = await json<RowView>('/rows?record=SECRET%20record%201')
    expect(byRecord.events.map(({ key }) => key)).toContain('SECRET key 1')
    expect(byRecord.known[0]).toMatchObject({ key: 'SECRET key 1', sync: 'contacts' })
    // What was pasted with space around it is found, and so is the search for it.
    expect((await ask('/rows?key=%20SECRET%20key%2040%20')).status).toBe(200)
    expect(await json('/search?q=SECRET%20record%201')).toMatchObject({ rows: [{ by: 'record' }] })
    expect((await ask('/rows?key=nobody')).status).toBe(404)
    expect((await ask('/rows')).status).toBe(404)
  })

  it('page through the runs of a sync', async () => {
    const first = await json<{ runs: { run: number }[]; next_before: number | null }>(
      '/syncs/companies',
    )
    const next = await json<typeof first>(`/syncs/companies?before=${first.runs[4]!.run}`)
    expect(next.runs[0]!.run).toBe(first.runs[5]!.run)
    expect(next.next_before).toBeNull()
  })

  it('do not know what is not there', async () => {
    for (const path of [
      '/runs/999',
      '/runs/0',
      '/runs/x',
      '/syncs/nobody',
      '/nothing',
      '/syncs/__proto__',
    ]) {
      expect({ path, status: (await ask(path)).status }).toEqual({ path, status: 404 })
      const { status, text } = await ask(`${API_PATH}${path}`)
      expect({ path, status, text: JSON.parse(text) as object }).toMatchObject({
        status: 404,
        text: { error: { code: 'not_found' } },
      })
    }
    // A mirror has no rejects.
    expect((await ask(`/runs/${site.runs['mirror']}/rejects`)).status).toBe(404)
  })
})

/** What of an answer is described. */
const strictly = ({ answer }: ApiRoute, body: object): unknown => answer.parse(body)

describe('the overview', () => {
  const syncOf = async (name: string) =>
    (await json<Overview>('/overview')).syncs.find(({ sync }) => sync === name)!

  it('has every sync in the words of status, with what waits for a person', async () => {
    expect(await syncOf('invoices')).toMatchObject({
      state: 'blocked: auth, sending 0 %',
      tone: 'bad',
      attention: { words: 'Blocked: auth', message: 'something to know' },
    })
    expect(await syncOf('tickets')).toMatchObject({
      tone: 'look',
      attention: {
        words: 'Waits for you',
        next: [
          { command: `records-sync approve ${site.runs['approval']}` },
          { command: `records-sync reject ${site.runs['approval']}` },
        ],
      },
    })
    expect(await syncOf('deals')).toMatchObject({
      state: 'running, sending 50 %',
      live: { percent: 50, parts: { created: 50, pending: 50 } },
      attention: null,
      freshness: { state: 'never' },
    })
    expect(await syncOf('orders')).toMatchObject({ state: 'never run', tone: 'none', run: null })
    expect(await syncOf('contacts')).toMatchObject({ rejects: 13, freshness: { state: 'fresh' } })
    expect((await syncOf('companies')).history).toHaveLength(13)
  })

  it('says that a sync is late by its schedule', async () => {
    const before = nowMs
    nowMs += 3 * 3_600_000
    expect((await syncOf('contacts')).freshness).toMatchObject({ state: 'late' })
    // Its cron line begins a run every day.
    expect((await syncOf('companies')).freshness).toMatchObject({ late_after_seconds: 2_700 })
    nowMs = before
  })
})

describe('a run', () => {
  it('has its steps, as far as it came', async () => {
    const steps = async (name: string) =>
      (await json<RunView>(`/runs/${site.runs[name]}`)).steps.map(({ name: step, state }) => [
        step,
        state,
      ])
    expect(await steps('rejects')).toEqual([
      ['Read the source', 'done'],
      ['Send', 'done'],
      ['Read back', 'done'],
      ['Close the books', 'done'],
    ])
    expect((await steps('live')).map(([, state]) => state)).toEqual(['done', 'now', 'next', 'next'])
    expect(await steps('mirror')).toEqual([['Read and merge the tables', 'ended']])
    const { steps: timed, run } = await json<RunView>(`/runs/${site.runs['rejects']}`)
    const [read, sent, back, closed] = timed
    expect(sent).toMatchObject({ from: read!.to, to: expect.any(String) })
    expect([back!.from, back!.to]).toEqual([sent!.to, null])
    expect([closed!.from, closed!.to]).toEqual([null, run.closed_at])
    const { text } = await ask(`/runs/${run.run}`)
    const timeline = text.slice(text.indexOf('class="timeline"'))
    expect(timeline).toMatch(
      /Read back<\/b>[^]*?from\s+<time[^]*?Close the books<\/b>[^]*?until\s+<time/,
    )
  })

  it('names the runs that belong to it', async () => {
    const { rejects, retry } = site.runs
    expect((await json<RunView>(`/runs/${rejects}`)).related).toMatchObject([{ run: retry }])
    expect((await json<RunView>(`/runs/${retry}`)).related).toMatchObject([{ run: rejects }])
  })
})

describe('who may ask', () => {
  const port = () => new URL(site.url).port

  it('is this machine alone, by whatever of its names', async () => {
    for (const host of [
      `127.0.0.1:${port()}`,
      `localhost:${port()}`,
      `LOCALHOST:${port()}`,
      `[::1]:${port()}`,
    ])
      expect({ host, status: (await ask('/', { headers: { host } })).status }).toEqual({
        host,
        status: 200,
      })
    const others = [
      'evil.example',
      `evil.example:${port()}`,
      '127.0.0.1',
      `127.0.0.1.evil.example:${port()}`,
      `10.0.0.1:${port()}`,
    ]
    for (const host of others) {
      const { status, text } = await ask('/', { headers: { host } })
      expect({ host, isRefused: status === 421 || status === 400 }).toEqual({
        host,
        isRefused: true,
      })
      expect(text).not.toContain('contacts')
    }
  })

  it('names one host, and a path that can be read', async () => {
    const { hostname, port } = new URL(site.url)
    const twice = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      let text = ''
      socket.setEncoding('utf8').on('data', (part: string) => (text += part))
      socket.on('error', reject).on('close', () => resolve(text))
      const hosts = [`Host: ${hostname}:${port}`, 'Host: evil.example']
      socket.write(['GET / HTTP/1.1', ...hosts, 'Connection: close', '', ''].join('\r\n'))
    })
    expect(twice).toMatch(/^HTTP\/1\.1 400 /)
    for (const path of ['/%', '/syncs/%ff', `${API_PATH}/runs/%ff`]) {
      const { status, headers, text } = await ask(path)
      expect([path, status]).toEqual([path, 400])
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(text).toContain('The address cannot be read')
      if (path.startsWith(API_PATH))
        expect(JSON.parse(text)).toMatchObject({ error: { code: 'bad_request' } })
    }
  })

  it('is no page of another origin, and nobody who would change something', async () => {
    const refused = [
      { headers: { origin: 'http://evil.example' } },
      { headers: { origin: 'null' } },
      { headers: { origin: `https://127.0.0.1:${port()}` } },
      { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' } },
      { headers: { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' } },
    ]
    for (const options of refused)
      expect({
        ...options,
        status: (await ask(`${API_PATH}/overview`, options)).status,
      }).toMatchObject({ status: 403 })
    const allowed = [
      { headers: { origin: site.url } },
      { headers: { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' } },
      { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } },
    ]
    for (const options of allowed)
      expect({ ...options, status: (await ask('/', options)).status }).toMatchObject({
        status: 200,
      })
    for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PATCH'])
      expect({ method, status: (await ask('/', { method })).status }).toEqual({
        method,
        status: 405,
      })
  })

  it('gets a page that loads nothing but our own style and script', async () => {
    const { headers, text } = await ask('/')
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['content-security-policy']).not.toContain('unsafe')
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    expect(text).not.toMatch(/ style="| on\w+="|<script>|javascript:/)
    const [, script] = /<script src="([^"]+)"/.exec(text)!
    expect((await ask(script!)).text).toBe(CONSOLE_SCRIPT)
    const missing = await ask('/nothing')
    expect(missing.headers['content-security-policy']).toBe(headers['content-security-policy'])
  })
})

describe('hostile texts', () => {
  it('are texts on every page, whoever brought them', async () => {
    const other = await openHostileSite()
    try {
      let found = 0
      const key = encodeURIComponent(HOSTILE_KEY)
      const more = [
        `/rows?key=${key}`,
        `/search?q=${key}`,
        `/search?q=${encodeURIComponent(HOSTILE)}`,
        `/runs/${other.runs['rejects']}/corrections`,
        `/syncs/${encodeURIComponent(HOSTILE)}`,
      ]
      for (const path of [...pagesOf(other).map(([each]) => each), ...more]) {
        const { text } = await ask(path, { url: other.url })
        expect({ path, bad: /<img|<svg onload|<script>alert/.exec(text)?.[0] }).toEqual({ path })
        const here = text.split('&lt;img src=x').length - 1
        if (path === more[0] || /^\/runs\/\d+(\/corrections)?$|^\/quota$/.test(path))
          expect({ path, hasSome: here > 0 }).toEqual({ path, hasSome: true })
        found += here
      }
      expect(found).toBeGreaterThan(300)
    } finally {
      await other.close()
    }
  })
})
