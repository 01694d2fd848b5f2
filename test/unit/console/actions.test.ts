// What people do in the console, over a real ledger: who may, what is noted, what is said where it cannot be done. What the Temporal
// server does with it is in test/e2e/console-actions.test.ts.

import { request } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import type { RunView } from '../../../src/console/views/run.ts'
import type { BeganAction } from '../../../src/ledger/ledger.ts'
import { importWithRejects, plainNames } from '../report/scenes.ts'
import { openSite, type ConsoleSite } from './site.ts'

let site: ConsoleSite
beforeAll(async () => {
  site = await openSite()
})
afterAll(() => site.close())
beforeEach(() => {
  site.away.ledger = false
})

interface Answer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}

const ask = (
  path: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(site.url)
    const asked = request({ hostname, port, path, headers, method }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }))
    })
    asked.on('error', reject).end(body)
  })

/** A page as a browser has it: its cookie, and the fields of its form. */
async function load(path: string) {
  const { headers, text } = await ask(path)
  const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(text)![1]!
  const [cookie] = headers['set-cookie'] as string[]
  return {
    cookie: cookie!.split(';')[0]!,
    whole: cookie!,
    csrf: field('csrf'),
    form: field('form'),
    made: field('made'),
  }
}
type Loaded = Pick<Awaited<ReturnType<typeof load>>, 'cookie' | 'csrf' | 'form' | 'made'>

const send = (
  path: string,
  { cookie, csrf, form, made }: Loaded,
  headers: Record<string, string> = {},
) =>
  ask(path, {
    method: 'POST',
    headers: {
      cookie,
      origin: site.url,
      'sec-fetch-site': 'same-origin',
      'sec-fetch-mode': 'navigate',
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    body: new URLSearchParams({ csrf, form, made }).toString(),
  })

const noted = () => site.ledger.actions({ limit: 100 })
const mainOf = (page: string): string => /<main[^>]*>([^]*)<\/main>/.exec(page)![1]!
const live = () => `/runs/${site.runs['live']}`

describe('an action', () => {
  it('that the Temporal server does not take is noted, and the page says why', async () => {
    const page = await load(live())
    const sent = await send(`${live()}/pause`, page)
    expect(sent.status).toBe(303)
    const location = String(sent.headers['location'])
    expect(location).toMatch(/^\/runs\/\d+\?did=\d+$/)
    const shown = mainOf((await ask(location)).text)
    expect(shown).toContain('Nothing was done.')
    expect(shown).toContain('127.0.0.1:9')
    expect((await noted())[0]).toMatchObject({
      action: 'pause',
      run: site.runs['live'],
      sync: 'deals',
      who: 'anna@desk',
      via: 'console',
      state: 'refused',
    })
    expect(shown).toContain('pause: refused')
  })

  it('that is sent twice is one', async () => {
    const page = await load(live())
    const before = (await noted()).length
    const answers = [await send(`${live()}/pause`, page), await send(`${live()}/pause`, page)]
    expect(answers.map(({ headers }) => headers['location'])).toEqual([
      answers[0]!.headers['location'],
      answers[0]!.headers['location'],
    ])
    expect((await noted()).length).toBe(before + 1)
  })

  it('is not begun while the ledger is away', async () => {
    const page = await load(live())
    const before = (await noted()).length
    site.away.ledger = true
    const { status, text } = await send(`${live()}/pause`, page)
    expect(status).toBe(503)
    expect(text).toContain('The ledger cannot be read now')
    site.away.ledger = false
    expect((await noted()).length).toBe(before)
  })

  const done = async (about: Pick<BeganAction, 'action' | 'sync' | 'run'>) => {
    const asked = { who: 'ben@desk <b>', via: 'command', details: null, token: null } as const
    const noted_ = await site.ledger.beginAction({ ...asked, ...about })
    if (!('begun' in noted_)) throw new Error('it is known')
    await site.ledger.endAction(noted_.begun.number, { state: 'done', result: null })
    return noted_.begun.number
  }

  it('that another person did since the page was made says who', async () => {
    const run = site.runs['equal']!
    const page = await load('/')
    await done({ action: 'cancel', sync: 'companies', run })
    const { status, headers } = await send(`/runs/${run}/cancel`, page)
    expect(status).toBe(303)
    expect(headers['location']).toMatch(/already=/)
    const shown = mainOf((await ask(String(headers['location']))).text)
    expect(shown).toMatch(/Already cancelled\s+by <b>ben@desk &lt;b&gt;<\/b>/)
    // What was done before the page was made is no answer to it.
    const later = await send(`/runs/${run}/cancel`, await load('/'))
    expect(later.headers['location']).toMatch(/stale=cancel/)
  })

  it('that cannot be done says why, whatever was done before', async () => {
    const first = await done({ action: 'run', sync: 'companies', run: null })
    const page = await load('/syncs/companies')
    await done({ action: 'run', sync: 'companies', run: null })
    const sent = await send('/syncs/companies/run', page)
    expect(sent.headers['location']).toMatch(/did=/)
    const shown = mainOf((await ask(String(sent.headers['location']))).text)
    expect(shown).toContain('Nothing was done.')
    expect(shown).toContain('127.0.0.1:9')
    const [latest] = await noted()
    expect(latest).toMatchObject({ action: 'run', state: 'refused' })
    // A link cannot say that it was done already either.
    const link = mainOf((await ask(`/syncs/companies?already=${latest!.number}`)).text)
    expect(link).not.toContain('class="notice')
    expect(mainOf((await ask(`/syncs/companies?already=${first}`)).text)).toContain('Already')
  })

  it('of a sync that is not configured any more is refused with that', async () => {
    const run = await importWithRejects(site.ledger, { ...plainNames, sync: 'renamed' })
    const { status, text } = await send(`/runs/${run}/retry`, await load('/'))
    expect(status).toBe(409)
    expect(mainOf(text)).toMatch(/there is no sync .*renamed/)
  })

  it('that is not possible now is not done', async () => {
    const page = await load('/')
    const before = (await noted()).length
    const { headers } = await send(`/runs/${site.runs['rejects']}/pause`, page)
    expect(headers['location']).toMatch(/stale=pause/)
    expect((await ask(String(headers['location']))).text).toContain(
      'it is not possible as things are now',
    )
    // Another plan than the one that waits.
    const wrong = await send(`/runs/${site.runs['approval']}/approve?plan=0123456789ab`, page)
    expect(wrong.headers['location']).toMatch(/stale=approve/)
    expect((await noted()).length).toBe(before)
    // Names that every object has are no actions either.
    for (const name of ['constructor', 'toString', '__proto__', 'foo'])
      expect([name, (await send(`${live()}/${name}`, page)).status]).toEqual([name, 303])
    for (const path of ['/runs/99999/pause', '/runs/x/pause', '/syncs/nothing/run'])
      expect({ path, status: (await send(path, page)).status }).toEqual({ path, status: 404 })
  })

  it('that sends, deletes or ends something asks first', async () => {
    for (const path of [
      `${live()}/cancel`,
      '/syncs/companies/run',
      '/syncs/companies/reconcile?repair=true',
    ]) {
      const { status, text } = await ask(path)
      expect({ path, status }).toEqual({ path, status: 200 })
      expect(mainOf(text)).toContain(`formaction="${path}"`)
    }
    const [written] = await site.ledger.runs({ sync: 'companies', limit: 1 })
    const { text } = await ask(`/runs/${written!.id}/undo`)
    // Its key is not here.
    expect(mainOf(text)).toContain('cannot be counted here')
    expect(mainOf(text)).not.toContain('<button')
  })
})

describe('who may act', () => {
  const refused = async (path: string, page: Loaded, headers: Record<string, string> = {}) => {
    const before = (await noted()).length
    const { status } = await send(path, page, headers)
    expect((await noted()).length).toBe(before)
    return status
  }

  it('is a page of this console, with the token of its session', async () => {
    const page = await load(live())
    const other = await load(live())
    const path = `${live()}/pause`
    expect(page.whole).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/)
    expect(await refused(path, { ...page, csrf: '' })).toBe(403)
    expect(await refused(path, { ...page, csrf: `${page.csrf.slice(1)}x` })).toBe(403)
    expect(await refused(path, { ...page, csrf: other.csrf })).toBe(403)
    expect(await refused(path, { ...page, cookie: '' })).toBe(403)
    // A cookie that somebody else made up, by whatever token.
    const [name] = page.cookie.split('=')
    expect(await refused(path, { ...page, cookie: `${name}=mine.mine`, csrf: 'mine' })).toBe(403)
    expect(await refused(path, { ...page, cookie: `${name}=.`, csrf: '' })).toBe(403)
    expect(await refused(`${API_PATH}${path}`, { ...page, csrf: '' })).toBe(403)
  })

  it('is no page of another origin, however it is sent', async () => {
    const page = await load(live())
    const path = `${live()}/pause`
    expect(await refused(path, page, { origin: 'http://evil.example' })).toBe(403)
    expect(await refused(path, page, { origin: 'null' })).toBe(403)
    expect(await refused(path, page, { 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await refused(path, page, { 'sec-fetch-site': 'same-site' })).toBe(403)
    expect(await refused(path, page, { host: `evil.example:${new URL(site.url).port}` })).toBe(421)
  })

  it('leaves the folder of the console by no path', async () => {
    const page = await load('/')
    for (const path of [
      '/runs/../../records-sync.yaml',
      '/runs/..%2f..%2frecords-sync.yaml/pause',
      '/syncs/..%2f..%2fkey/run',
      '/assets/../../records-sync.yaml',
      '/assets/%2e%2e/%2e%2e/records-sync.yaml',
    ]) {
      const { status, text } = await ask(path)
      expect({ path, isRefused: status === 404 || status === 400 }).toEqual({
        path,
        isRefused: true,
      })
      expect(text).not.toContain('CRM_KEY')
      expect([400, 404]).toContain(await refused(path, page))
    }
  })
})

describe('programs', () => {
  it('act with the token of a session', async () => {
    const begun = await ask(`${API_PATH}/session`)
    const { who, csrf } = JSON.parse(begun.text) as { who: string; csrf: string }
    expect(who).toBe('anna@desk')
    const cookie = (begun.headers['set-cookie'] as string[])[0]!.split(';')[0]!
    const { actions } = JSON.parse((await ask(`${API_PATH}${live()}`)).text) as RunView
    const pause = actions.find(({ action }) => action === 'pause')!
    const post = (path: string) =>
      ask(`${API_PATH}${path}`, { method: 'POST', headers: { cookie, 'x-csrf-token': csrf } })
    const answer = await post(pause.path)
    expect(answer.status).toBe(503)
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'temporal_unreachable' } })
    expect((await noted())[0]).toMatchObject({ action: 'pause', via: 'api', state: 'refused' })
    // A run of the sync is no answer to that either.
    const run = await post('/syncs/companies/run')
    expect(run.status).toBe(503)
    expect(JSON.parse(run.text)).toMatchObject({ error: { code: 'temporal_unreachable' } })
    const impossible = await post(`/runs/${site.runs['rejects']}/pause`)
    expect(impossible.status).toBe(409)
    expect(JSON.parse(impossible.text)).toMatchObject({ error: { code: 'not_possible' } })
  })
})
