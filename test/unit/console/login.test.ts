// Who may log in to the console, and what each role may do: over real HTTP and a real ledger. The same in a browser is in
// test/e2e/console-login.test.ts.

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { scryptSync } from 'node:crypto'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import {
  hashPassword,
  isPasswordOf,
  parsePasswordHash,
  workOf,
} from '../../../src/console/login/password-hash.ts'
import { FAILURES_MAX } from '../../../src/console/login/login-limits.ts'
import type { RunView } from '../../../src/console/views/run.ts'
import type { Logger } from '../../../src/core/ports.ts'
import { STREAMS_OF_ONE_MAX } from '../../../src/console/live-streams.ts'
import { CONSOLE_CONFIG, fillLedger, openSite, type ConsoleSite } from './site.ts'

const PASSWORD = 'correct horse battery'
const HOUR = 3_600_000
let secrets: string
let site: ConsoleSite
let runs: Record<string, number>
let skew = 0
const lines: string[] = []

/** Keeps what is logged. */
const keep = (level: string) => (fields: object, message: string) =>
  void lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
const logger = {
  debug: keep('debug'),
  info: keep('info'),
  warn: keep('warn'),
  error: keep('error'),
} as unknown as Logger

const usersOf = (folder: string) => `
  users:
    vera: { role: viewer, password: { file: ${folder}/vera } }
    otto: { role: operator, password: { file: ${folder}/otto } }
    anna: { role: approver, password: { file: ${folder}/anna } }`

const openWith = (console_: string) =>
  openSite({
    config: `${CONSOLE_CONFIG}\nconsole:${console_}\n`,
    logger,
    clock: { now: () => Date.now() + skew },
    fill: async (ledger) => (runs = await fillLedger(ledger)),
  })

async function putHash(name: string, hash: string): Promise<void> {
  const file = join(secrets, name)
  await writeFile(file, hash)
  await chmod(file, 0o600)
}

beforeAll(async () => {
  secrets = await mkdtemp(join(tmpdir(), 'records-sync-console-users-'))
  const hash = await hashPassword(PASSWORD)
  for (const name of ['vera', 'otto', 'anna']) await putHash(name, hash)
  site = await openWith(usersOf(secrets))
})
afterAll(async () => {
  await site.close()
  await rm(secrets, { recursive: true, force: true })
})
beforeEach(() => {
  // What was refused before counts no more.
  skew += HOUR
  lines.length = 0
})

interface Answer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}

const ask = (
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
  url = site.url,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const method = body === undefined ? 'GET' : 'POST'
    const asked = request({ hostname, port, path, headers, method }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }))
    })
    asked.on('error', reject).end(body)
  })

const cookieOf = ({ headers }: Answer): string =>
  ((headers['set-cookie'] as string[] | undefined)?.[0] ?? '').split(';')[0]!
const csrfOf = ({ text }: Answer): string => /name="csrf" value="([^"]+)"/.exec(text)![1]!
const post = (path: string, cookie: string, fields: Record<string, string>, more = {}) =>
  ask(path, {
    headers: {
      cookie,
      origin: site.url,
      'content-type': 'application/x-www-form-urlencoded',
      ...more,
    },
    body: new URLSearchParams(fields).toString(),
  })

/** A login as a browser does it. */
async function login(name: string, password = PASSWORD, more: Record<string, string> = {}) {
  const page = await ask('/login')
  const sent = await post('/login', cookieOf(page), { csrf: csrfOf(page), name, password, ...more })
  return { sent, before: cookieOf(page), cookie: cookieOf(sent) }
}

const live = () => `/runs/${runs['live']}`
/** Sends the form of a page. */
async function act(path: string, cookie: string) {
  const page = await ask('/', { headers: { cookie } })
  return await post(path, cookie, { csrf: csrfOf(page), form: 'a'.repeat(20) + Math.random() })
}
const noted = () => site.ledger.actions({ limit: 100 })
const basic = (name: string, password = PASSWORD) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

describe('without a login', () => {
  it('a page leads to the login, and back after it', async () => {
    const { status, headers } = await ask('/runs/1?x=1')
    expect([status, headers['location']]).toEqual([303, '/login?next=%2Fruns%2F1%3Fx%3D1'])
    const page = await ask(String(headers['location']))
    expect(page.text).toContain('name="next" value="/runs/1?x=1"')
    // Nothing of the project.
    expect(page.text).not.toMatch(/companies|records-sync\.yaml/)
    const { sent } = await login('vera', PASSWORD, { next: '/runs/1?x=1' })
    expect([sent.status, sent.headers['location']]).toEqual([303, '/runs/1?x=1'])
  })

  it.each([
    '/',
    '/syncs/companies',
    '/runs/1/report',
    '/runs/1/plan',
    '/quota',
    '/search?q=a',
    '/rows?key=a',
    '/nothing',
    '/%2e%2e/login/../runs/1',
    '/assets/../runs/1',
    '/assets/%2e%2e/login',
    '/login/',
    '/LOGIN/x',
  ])('%s is not shown', async (path) => {
    const { status, text } = await ask(path)
    expect(status).toBe(303)
    expect(text).toBe('')
  })

  it('programs hear what is missing', async () => {
    for (const path of ['/overview', '/runs/1', '/openapi.json', '/session', '/nothing']) {
      const { status, text } = await ask(`${API_PATH}${path}`)
      expect({ path, status, code: (JSON.parse(text) as { error: object }).error }).toEqual({
        path,
        status: 401,
        code: {
          code: 'not_logged_in',
          message: expect.stringContaining('Log in first') as string,
        },
      })
    }
  })

  it('no stream of events tells anything', async () => {
    const { text } = await ask('/live')
    expect(text).toBe('event: login\ndata: login\n\n')
  })

  it('nothing is done', async () => {
    const before = (await noted()).length
    const page = await ask('/login')
    const fields = { csrf: csrfOf(page), form: 'a'.repeat(20) }
    const sent = await post(`${live()}/pause`, cookieOf(page), fields)
    expect([sent.status, sent.headers['location']]).toEqual([
      303,
      `/login?next=${encodeURIComponent(live())}`,
    ])
    expect((await post(`${API_PATH}${live()}/pause`, cookieOf(page), fields)).status).toBe(401)
    // Where something was typed, the login leads back to it.
    for (const more of ['', '/file']) {
      const typed = await post(`/runs/1/corrections${more}?columns=1`, cookieOf(page), fields)
      expect(typed.headers['location']).toBe(
        `/login?next=${encodeURIComponent('/runs/1/corrections?columns=1')}`,
      )
    }
    expect((await noted()).length).toBe(before)
  })
})

it('one person leaves room for the streams of others', async () => {
  const open = async (cookie: string) => {
    const over = new AbortController()
    const answer = await fetch(`${site.url}/live`, { headers: { cookie }, signal: over.signal })
    return { status: answer.status, end: () => over.abort() }
  }
  const vera = (await login('vera')).cookie
  const streams = []
  for (let count = 0; count < STREAMS_OF_ONE_MAX; count++) streams.push(await open(vera))
  streams.push(await open((await login('vera')).cookie), await open((await login('anna')).cookie))
  for (const { end } of streams) end()
  expect(streams.map(({ status }) => status)).toEqual([
    ...Array.from({ length: STREAMS_OF_ONE_MAX }, () => 200),
    503,
    200,
  ])
})

describe('a login', () => {
  it('begins another session than the browser had', async () => {
    const { sent, before, cookie } = await login('anna')
    expect(sent.status).toBe(303)
    expect(cookie).not.toBe(before)
    expect(String(sent.headers['set-cookie'])).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/)
    expect((await ask('/', { headers: { cookie } })).status).toBe(200)
    // The session that was planted before is worth nothing.
    expect((await ask('/', { headers: { cookie: before } })).status).toBe(303)
  })

  it('that is wrong gets the same answer, whatever is wrong', async () => {
    const shape = ({ status, headers, text }: Answer) => ({
      status,
      names: Object.keys(headers).toSorted(),
      text: text.replaceAll(/value="[^"]*"/g, ''),
    })
    const answers = []
    for (const [name, password] of [
      ['anna', 'wrong password 1'],
      ['nobody', 'wrong password 1'],
      ['nobody', PASSWORD],
      ['__proto__', PASSWORD],
      ['constructor', PASSWORD],
      ['', PASSWORD],
      ['anna', ''],
    ] as const)
      answers.push(shape((await login(name, password)).sent))
    expect(answers[0]).toMatchObject({ status: 401 })
    expect(answers[0]!.text).toContain('do not belong together')
    for (const answer of answers) expect(answer).toEqual(answers[0])
    const log = lines.join('\n')
    expect(log).toContain('console_login_failed')
    expect(log).toContain('"user":"anna"')
    expect(log).not.toMatch(/nobody|wrong password|correct horse/)
  })

  it.each([
    ['a form', 'anna', () => login('anna', 'wrong password 2')],
    ['a form', null, () => login('wrong password 2', '')],
    ['Basic', 'otto', () => ask(`${API_PATH}/overview`, { headers: basic('otto', 'wrong 22') })],
    [
      'Basic',
      null,
      () => ask(`${API_PATH}/overview`, { headers: basic('who\u001b[31m', 'wrong 22') }),
    ],
    [
      'Basic',
      null,
      () => ask(`${API_PATH}/syncs/deals`, { headers: basic('__proto__', 'wrong 22') }),
    ],
    [
      'Basic',
      null,
      () => ask(`${API_PATH}/quota`, { headers: basic('x'.repeat(500), 'wrong 22') }),
    ],
    [
      'Basic',
      'vera',
      () => ask(`${API_PATH}/quota`, { headers: basic('vera', 'y'.repeat(1_500)) }),
    ],
    [
      'Basic of a POST',
      'vera',
      () => ask(`${API_PATH}${live()}/pause`, { headers: basic('vera', 'wrong 22'), body: '' }),
    ],
  ] as const)(
    'by %s that fails is in the log, with whom (%s) and without what was typed',
    async (_, user, fail) => {
      await fail()
      // Those before have been counted for an earlier test.
      expect(lines.at(-1)).toBe(
        `warn console_login_failed ${JSON.stringify({ user, address: '127.0.0.1', why: 'wrong', count: 1 })}`,
      )
      expect(lines.join('')).not.toMatch(/wrong password|wrong 22|who|proto|xxx|yyy/)
    },
  )

  it('that is not checked any more is in the log too, with a count', async () => {
    for (let at = 0; at < FAILURES_MAX.address + 5; at++)
      await ask(`${API_PATH}/overview`, { headers: basic('otto', `wrong ${at}`) })
    skew += HOUR
    await ask(`${API_PATH}/overview`, { headers: basic('otto', 'wrong again') })
    const of = (why: string, count: number) =>
      `warn console_login_failed ${JSON.stringify({ user: 'otto', address: '127.0.0.1', why, count })}`
    expect(lines.slice(-5)).toEqual([
      of('wrong', 1),
      of('later', 1),
      of('wrong', FAILURES_MAX.address - 1),
      of('later', 4),
      of('wrong', 1),
    ])
  })

  it('gets in while one address has more idle connections than there are places', async () => {
    const { port } = new URL(site.url)
    const idle = await Promise.all(
      Array.from(
        { length: 600 },
        () =>
          new Promise<Socket>((resolve) => {
            const socket = connect({
              host: '127.0.0.1',
              port: Number(port),
              localAddress: '127.0.0.5',
            })
            socket.on('error', () => {}).once('connect', () => resolve(socket))
          }),
      ),
    )
    expect((await login('anna')).sent.status).toBe(303)
    for (const socket of idle) socket.destroy()
    expect(lines.filter((line) => line.includes('connections_closed'))).toEqual([
      'warn connections_closed {"listener":"console","why":"share_of_address","address":"127.0.0.5","count":1}',
    ])
  })

  it('takes the same work for every name, also next to a hash of older costs', async () => {
    const older = parsePasswordHash(`scrypt:15:8:1:${'a'.repeat(22)}:${'b'.repeat(43)}`)!
    const own = parsePasswordHash(await hashPassword(PASSWORD))!
    // OWASP: three passes with 32 MiB.
    expect([own.logN, own.p]).toEqual([15, 3])
    expect([workOf(older), workOf(own)]).toEqual([2, 6])
    expect(await isPasswordOf(PASSWORD, own, 9)).toBe(true)
    expect(await isPasswordOf(PASSWORD, older, 6)).toBe(false)
    const { salt } = own
    const key = scryptSync('an older password', salt, 32, {
      N: 2 ** 15,
      r: 8,
      p: 1,
      maxmem: 2 ** 28,
    })
    const text = `scrypt:15:8:1:${salt.toString('base64url')}:${key.toString('base64url')}`
    expect(await isPasswordOf('an older password', parsePasswordHash(text)!)).toBe(true)
  })

  it('is taken from a page of this console alone', async () => {
    const mine = await ask('/login')
    const fields = { csrf: csrfOf(mine), name: 'anna', password: PASSWORD }
    // A page of another origin has its own session, or none, and so another token.
    const other = await ask('/login')
    expect((await post('/login', cookieOf(other), fields)).status).toBe(403)
    expect((await post('/login', '', fields)).status).toBe(403)
    const foreign = { origin: 'http://evil.example' }
    expect((await post('/login', cookieOf(mine), fields, foreign)).status).toBe(403)
    const site_ = { 'sec-fetch-site': 'cross-site' }
    expect((await post('/login', cookieOf(mine), fields, site_)).status).toBe(403)
    expect((await post('/login', cookieOf(mine), fields)).status).toBe(303)
  })

  it.each([
    '//evil.example',
    '/\\evil.example',
    'http://evil.example',
    'javascript:alert(1)',
    '/login',
    '/logout',
    '/api/v1/overview',
    '/x\r\nset-cookie: a=b',
    '/..//evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e%2e//evil.example',
    '/..\\\\evil.example',
  ])('goes on to no %s', async (next) => {
    const { sent, cookie } = await login('vera', PASSWORD, { next })
    expect([sent.status, sent.headers['location']]).toEqual([303, '/'])
    // Nor does the page of somebody who is in.
    const path = `/login?next=${encodeURIComponent(next)}`
    const { status, headers } = await ask(path, { headers: { cookie } })
    expect([status, headers['location']]).toEqual([303, '/'])
  })

  it('ends with a logout', async () => {
    const { cookie } = await login('anna')
    const page = await ask('/', { headers: { cookie } })
    expect(page.text).toMatch(/<b>anna<\/b>\s+approver/)
    // Not by a page of another origin.
    await post('/logout', cookie, { csrf: 'x' })
    expect((await ask('/', { headers: { cookie } })).status).toBe(200)
    const out = await post('/logout', cookie, { csrf: csrfOf(page) })
    expect(String(out.headers['set-cookie'])).toMatch(/Max-Age=0/)
    expect((await ask('/', { headers: { cookie } })).status).toBe(303)
    expect((await post(`${live()}/pause`, cookie, { csrf: csrfOf(page) })).status).toBe(303)
  })

  it('ends with its time', async () => {
    const { cookie } = await login('anna')
    skew += 7.9 * HOUR
    expect((await ask('/', { headers: { cookie } })).status).toBe(200)
    skew += 0.2 * HOUR
    expect((await ask('/', { headers: { cookie } })).status).toBe(303)
  })

  it('ends when the password is another one', async () => {
    const { cookie } = await login('otto')
    await putHash('otto', await hashPassword('another password'))
    skew += 120_000
    expect((await ask('/', { headers: { cookie } })).status).toBe(303)
    expect((await login('otto')).sent.status).toBe(401)
    expect((await login('otto', 'another password')).sent.status).toBe(303)
    await putHash('otto', await hashPassword(PASSWORD))
  })

  it('makes room for newer ones of the same person', async () => {
    const cookies = []
    for (let count = 0; count < 21; count++) cookies.push((await login('vera')).cookie)
    const isIn = async (cookie: string) => (await ask('/', { headers: { cookie } })).status === 200
    expect([await isIn(cookies[0]!), await isIn(cookies[1]!), await isIn(cookies[20]!)]).toEqual([
      false,
      true,
      true,
    ])
  })
})

describe('guessing', () => {
  it('ends after some failures of an address, for programs too', async () => {
    for (let count = 0; count < FAILURES_MAX.address; count++)
      expect((await login(`name${count}`, 'wrong password')).sent.status).toBe(401)
    const { sent } = await login('anna')
    expect(sent.status).toBe(429)
    expect(Number(sent.headers['retry-after'])).toBeGreaterThan(0)
    expect((await ask(`${API_PATH}/overview`, { headers: basic('anna') })).status).toBe(429)
    // A spoofed address is none.
    const spoofed = { 'x-forwarded-for': '198.51.100.7', forwarded: 'for=198.51.100.7' }
    const page = await ask('/login')
    const fields = { csrf: csrfOf(page), name: 'anna', password: PASSWORD }
    expect((await post('/login', cookieOf(page), fields, spoofed)).status).toBe(429)
    skew += 600_000
    expect((await login('anna')).sent.status).toBe(303)
  })

  it('at the same time is counted before it is checked', async () => {
    const page = await ask('/login')
    const fields = { csrf: csrfOf(page), name: 'anna', password: 'wrong password' }
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => post('/login', cookieOf(page), fields)),
    )
    const checked = answers.filter(({ status }) => status === 401).length
    expect(checked).toBeLessThanOrEqual(FAILURES_MAX.address)
    expect(answers.filter(({ status }) => status === 429).length).toBe(40 - checked)
  })
})

describe('a role', () => {
  const may = async (name: string, path: string): Promise<boolean> => {
    const { cookie } = await login(name)
    const before = (await noted()).length
    const { status } = await act(path, cookie)
    const [first] = await noted()
    const isDone = (await noted()).length > before
    expect(isDone ? 303 : 403).toBe(status)
    if (isDone) expect(first).toMatchObject({ who: name, via: 'console' })
    return isDone
  }

  const cases: [name: string, path: () => string, expected: boolean[]][] = [
    ['pause of a run', () => `${live()}/pause`, [false, true, true]],
    ['cancel of a run', () => `${live()}/cancel`, [false, true, true]],
    ['a retry', () => `/runs/${runs['rejects']}/retry`, [false, true, true]],
    ['a run', () => '/syncs/companies/run', [false, true, true]],
    ['a comparison', () => '/syncs/companies/reconcile', [false, true, true]],
    ['a repair', () => '/syncs/companies/reconcile?repair=true', [false, true, true]],
    ['the repair of tables', () => '/syncs/orders/reconcile?repair=true', [false, false, true]],
    ['pause of a schedule', () => '/syncs/companies/pause_schedule', [false, true, true]],
    ['an undo', () => `/runs/${runs['equal']! + 12}/undo`, [false, false, true]],
  ]
  it.each(cases)('may, or may not: %s', async (_, path, expected) => {
    const found = []
    for (const name of ['vera', 'otto', 'anna']) found.push(await may(name, path()))
    expect(found).toEqual(expected)
  })

  it('asks for a record as it is now if it is an operator', async () => {
    const path = '/rows/today?sync=companies&record=1'
    const statuses = []
    for (const name of ['vera', 'otto'])
      statuses.push((await act(path, (await login(name)).cookie)).status)
    // Values are shown to approvers alone here.
    expect(statuses).toEqual([403, 403])
    expect((await act(path, (await login('vera')).cookie)).text).toContain(
      'needs the role operator',
    )
    expect((await act(path, (await login('otto')).cookie)).text).toContain('hides values of rows')
  })

  it('sees values of rows if it is an approver', async () => {
    const found = []
    for (const name of ['vera', 'otto', 'anna']) {
      const path = `${API_PATH}/runs/${runs['planned']}/plan`
      found.push(JSON.parse((await ask(path, { headers: basic(name) })).text).values)
    }
    expect(found).toEqual(['hidden', 'hidden', 'shown'])
  })

  it('releases a plan if it is an approver', async () => {
    const view = async (name: string) => {
      const path = `${API_PATH}/runs/${runs['planned']}`
      return JSON.parse((await ask(path, { headers: basic(name) })).text) as RunView
    }
    const names = ({ actions }: RunView) => actions.map(({ action }) => action)
    const views = [await view('vera'), await view('otto'), await view('anna')] as const
    expect(views.map(names)).toEqual([[], ['cancel'], ['approve', 'reject', 'cancel']])
    const approve = views[2].actions[0]!.path
    for (const path of [approve, approve.replace('approve', 'reject')]) {
      const found = []
      for (const name of ['vera', 'otto', 'anna']) found.push(await may(name, path))
      expect({ path, found }).toEqual({ path, found: [false, false, true] })
    }
  })

  it('corrects rejects if it is an operator', async () => {
    const found = []
    for (const name of ['vera', 'otto']) {
      const { cookie } = await login(name)
      const { status, text } = await act(`/runs/${runs['rejects']}/corrections`, cookie)
      found.push({ status, isRole: text.includes('it needs the role operator') })
    }
    expect(found[0]).toEqual({ status: 403, isRole: true })
    expect(found[1]).toMatchObject({ isRole: false })
    expect(found[1]!.status).not.toBe(403)
  })

  it('sees the buttons of what it may do, and no page that asks for more', async () => {
    const { cookie } = await login('otto')
    const page = async (path: string) => await ask(path, { headers: { cookie } })
    const shown = await page(`/runs/${runs['planned']}`)
    expect(shown.text).toContain('/cancel')
    expect(shown.text).not.toContain('/approve')
    const asked = await page(`/runs/${runs['equal']! + 12}/undo`)
    expect(asked.status).toBe(403)
    expect(asked.text).toContain('it needs the role approver, and otto has the role operator')
  })

  it('is that of the configuration as it is now', async () => {
    const { cookie } = await login('anna')
    const file = join(site.folder, 'records-sync.yaml')
    const write = (text: string) =>
      writeFile(file, `${CONSOLE_CONFIG}\nconsole:${usersOf(secrets)}\n${text}`.trimEnd() + '\n')
    const text = usersOf(secrets).replace('role: approver', 'role: viewer')
    await writeFile(file, `${CONSOLE_CONFIG}\nconsole:${text}\n`)
    expect((await act(`${live()}/pause`, cookie)).status).toBe(403)
    // Without users nobody gets in any more: it began with some.
    await writeFile(file, CONSOLE_CONFIG)
    expect((await ask('/', { headers: { cookie } })).status).toBe(303)
    expect((await ask('/')).status).toBe(303)
    await write('')
    expect((await ask('/', { headers: { cookie } })).status).toBe(200)
  })
})

describe('a program', () => {
  it('sends name and password with the request, and no token', async () => {
    const session = await ask(`${API_PATH}/session`, { headers: basic('otto') })
    expect(JSON.parse(session.text)).toMatchObject({ who: 'otto', role: 'operator' })
    const sent = await ask(`${API_PATH}${live()}/pause`, { headers: basic('otto'), body: '' })
    expect(sent.status).toBe(503)
    expect((await noted())[0]).toMatchObject({ action: 'pause', who: 'otto', via: 'api' })
    const viewer = await ask(`${API_PATH}${live()}/pause`, { headers: basic('vera'), body: '' })
    expect([viewer.status, JSON.parse(viewer.text)]).toMatchObject([
      403,
      { error: { code: 'forbidden' } },
    ])
  })

  it('whose password is wrong is not asked for it, as browsers would ask the person', async () => {
    const bad = [
      basic('otto', 'wrong password'),
      { authorization: 'Basic !' },
      { authorization: '' },
    ]
    for (const headers of [...bad, { authorization: 'Bearer x' }]) {
      const { status, headers: answered } = await ask(`${API_PATH}/overview`, { headers })
      expect(status).toBe(401)
      expect(answered['www-authenticate']).toBeUndefined()
    }
  })

  it('cannot get pages with a password, and no form of a page either', async () => {
    expect((await ask('/', { headers: basic('anna') })).status).toBe(303)
    const sent = await ask(`${live()}/pause`, { headers: basic('anna'), body: '' })
    expect(sent.status).toBe(303)
  })

  it('has no use of a cookie next to a wrong password', async () => {
    const { cookie } = await login('anna')
    const headers = { cookie, ...basic('anna', 'wrong password') }
    expect((await ask(`${API_PATH}/overview`, { headers })).status).toBe(401)
  })
})

describe('behind a proxy', () => {
  let proxied: ConsoleSite
  afterEach(() => proxied.close())
  const host = { host: 'console.example.com' }
  const open = async (trusted: string, more = '') =>
    (proxied = await openWith(`
  url: https://console.example.com
  behind_proxy: { trusted: ["${trusted}"]${more} }
${more === '' ? usersOf(secrets) : '  users: { anna@example.com: { role: operator } }'}`))

  it('a person is whom the header of the proxy names', async () => {
    await open('127.0.0.0/8', ', user_header: X-Forwarded-User')
    const named = (name: string) => ({ ...host, 'x-forwarded-user': name })
    const session = await ask(
      `${API_PATH}/session`,
      { headers: named('anna@example.com') },
      `http://127.0.0.1:${proxied.port}`,
    )
    expect(JSON.parse(session.text)).toMatchObject({ who: 'anna@example.com', role: 'operator' })
    expect(String(session.headers['set-cookie'])).toMatch(
      /^__Host-records-sync-\d+=.*; HttpOnly; SameSite=Lax; Secure$/,
    )
    const at = `http://127.0.0.1:${proxied.port}`
    for (const headers of [
      host,
      named(''),
      named('ben@example.com'),
      named('anna@example.com, root'),
      named('__proto__'),
      { ...host, 'x-forwarded-email': 'anna@example.com' },
      { ...host, ...basic('anna@example.com', '') },
    ])
      expect((await ask(`${API_PATH}/session`, { headers }, at)).status).toBe(403)
  })

  it('nobody but the proxy is answered, whatever it sends', async () => {
    await open('10.0.0.5', ', user_header: X-Forwarded-User')
    const at = `http://127.0.0.1:${proxied.port}`
    for (const headers of [
      { ...host, 'x-forwarded-user': 'anna@example.com' },
      { ...host, 'x-forwarded-user': 'anna@example.com', 'x-forwarded-for': '10.0.0.5' },
      { 'x-forwarded-user': 'anna@example.com' },
    ])
      for (const path of ['/', '/login', `${API_PATH}/overview`, '/live']) {
        const { status, text } = await ask(path, { headers }, at)
        expect(status).toBe(403)
        expect(text).toContain('answers its proxy alone')
      }
  })

  it('the console answers as the configured host alone, and believes no other forwarded header', async () => {
    await open('127.0.0.1')
    const at = `http://127.0.0.1:${proxied.port}`
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await ask('/login', { headers }, at)).status
    expect(await statusOf(host)).toBe(200)
    expect(await statusOf({ host: 'console.example.com:443' })).toBe(200)
    for (const name of [
      'evil.example',
      'console.example.com:80',
      'console.example.com.evil.example',
    ])
      expect({ name, status: await statusOf({ host: name }) }).toEqual({ name, status: 421 })
    expect(
      await statusOf({ host: 'evil.example', 'x-forwarded-host': 'console.example.com' }),
    ).toBe(421)
    expect(await statusOf({ ...host, 'x-forwarded-host': 'evil.example' })).toBe(200)
    expect(await statusOf({ ...host, origin: 'https://console.example.com' })).toBe(200)
    expect(await statusOf({ ...host, origin: 'http://console.example.com' })).toBe(403)
    expect(await statusOf({ ...host, origin: 'https://evil.example' })).toBe(403)
  })

  it('counts failures by the address that the proxy saw last', async () => {
    await open('127.0.0.1')
    const at = `http://127.0.0.1:${proxied.port}`
    const tries = async (forwarded: string, name: string) => {
      const page = await ask('/login', { headers: host }, at)
      const body = new URLSearchParams({ csrf: csrfOf(page), name, password: 'wrong password' })
      const headers = {
        ...host,
        cookie: cookieOf(page),
        origin: 'https://console.example.com',
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-for': forwarded,
      }
      return (await ask('/login', { headers, body: body.toString() }, at)).status
    }
    // What a person sends before the last address is theirs to make up.
    for (let count = 0; count < FAILURES_MAX.address; count++)
      expect(await tries(`192.0.2.${count}, 203.0.113.9`, `a${count}`)).toBe(401)
    expect(await tries('192.0.2.200, 203.0.113.9', 'b')).toBe(429)
    expect(await tries('203.0.113.10', 'c')).toBe(401)
  })
})
