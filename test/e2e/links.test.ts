// Links from end to end: a real Temporal server, the real service, both ledgers. What waits for its target is linked by a run that the
// other sync's run starts; what is known costs no request; a person pauses, resumes and cancels as with rows.

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { openLedger } from '../../src/ledger/open.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { loadConfig, readLedgerPlace } from '../../config/index.ts'
import { startProxy } from '../faults/proxy.ts'
import { untilHung } from '../hang.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import {
  ASSOCIATION,
  companiesCsv,
  domainOf,
  linkedContactsCsv,
  linkedDomains,
  linksConfig,
} from './linked-contacts.ts'
import { createProject, fastTuning, type Project } from './project.ts'
import { sampled, soakTest } from '../runs.ts'

let postgres: Postgres
let project: Project
beforeAll(async () => {
  postgres = await startPostgres()
})
afterEach(() => project.stop())
afterAll(() => postgres.stop())

const linkRequests = () => project.service.stats().byOperation['associateRecords'] ?? 0

/** Asks the ledger, whichever it is. */
async function asked<Result>(ask: (ledger: Ledger) => Promise<Result>): Promise<Result> {
  const { ledger: configured } = await loadConfig(project.configFile, project.env)
  const ledger = await openLedger(await readLedgerPlace(configured, project.env), {
    readOnly: true,
  })
  try {
    return await ask(ledger)
  } finally {
    await ledger.close()
  }
}

describe.each(sampled(['sqlite'], ['postgres']))('a ledger on %s', (driver) => {
  const create = async (options: Parameters<typeof createProject>[0] = {}) => {
    const place = driver === 'sqlite' ? './ledger.db' : '{ postgres: "${LEDGER_URL}" }'
    project = await createProject({ config: linksConfig(place), ...options })
    if (driver === 'postgres') project.env['LEDGER_URL'] = await postgres.newDatabase()
  }

  test('links wait for their targets, and are made once the other sync has brought them', async () => {
    await create()
    project.write('contacts.csv', linkedContactsCsv(300, 7))
    project.write('companies.csv', companiesCsv(7))
    await project.startWorker()
    const first = await (await project.start('contacts')).result()
    expect(first).toMatchObject({
      state: 'complete_with_differences',
      books: { states: { created: 300 }, links: { read: 300, states: { target_missing: 300 } } },
    })
    expect(linkRequests()).toBe(0)
    // The rows are not read again: the file may be gone.
    project.write('contacts.csv', 'id,first_name,company\n')
    await (await project.start('companies')).result()
    const linked = async () =>
      (await asked((ledger) => ledger.runs({ sync: 'contacts', limit: 1 })))[0]!
    await vi.waitUntil(async () => (await linked()).state === 'complete', untilHung)
    const run = await linked()
    expect(run).toMatchObject({ purpose: 'links', rowsRead: 0 })
    const books = await asked((ledger) => ledger.books(run.id))
    expect(books.links).toMatchObject({ read: 300, states: { linked: 300, target_missing: 0 } })
    expect(isBalanced(books)).toBe(true)
    expect(linkRequests()).toBe(300)
    const held = await linkedDomains(project)
    for (let index = 1; index <= 300; index++)
      expect(held.get(`c-${index}`)).toEqual([domainOf(index, 7)])

    project.write('contacts.csv', linkedContactsCsv(300, 7))
    const again = await (await project.start('contacts')).result()
    expect(again).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 300 }, links: { states: { unchanged: 300 } } },
    })
    expect(linkRequests()).toBe(300)
  })

  soakTest('a paused run sends no further link, and goes on where it was', async () => {
    await create({ gate: { free: 3, everyMs: 3_000, at: `/associations/${ASSOCIATION}/` } })
    project.write('contacts.csv', linkedContactsCsv(120, 3))
    project.write('companies.csv', companiesCsv(3))
    await project.startWorker()
    await (await project.start('companies')).result()
    const handle = await project.start('contacts', { ...fastTuning, in_flight: 2 })
    await vi.waitUntil(() => linkRequests() > 0, untilHung)
    expect(await project.command('status')).toMatchObject({
      out: expect.stringMatching(/contacts .*linking/),
    })
    expect(await project.command('pause', 'contacts')).toMatchObject({ code: 0 })
    const [run] = await asked((ledger) => ledger.runs({ sync: 'contacts', limit: 1 }))
    const paused = await asked((ledger) => ledger.books(run!.id))
    expect(paused.links).toMatchObject({ states: { in_flight: 0, linked: linkRequests() } })
    const before = linkRequests()
    project.gate.open()
    expect(linkRequests()).toBe(before)
    expect(await project.command('resume', 'contacts')).toMatchObject({ code: 0 })
    expect(await handle.result()).toMatchObject({
      state: 'complete',
      books: { links: { read: 120, states: { linked: 120 } } },
    })
    expect(linkRequests()).toBe(120)
  })

  soakTest(
    'a cancelled run says what was not linked, and the next one makes the rest',
    async () => {
      await create({ gate: { free: 3, everyMs: 3_000, at: `/associations/${ASSOCIATION}/` } })
      project.write('contacts.csv', linkedContactsCsv(120, 3))
      project.write('companies.csv', companiesCsv(3))
      await project.startWorker()
      await (await project.start('companies')).result()
      const handle = await project.start('contacts', { ...fastTuning, in_flight: 2 })
      await vi.waitUntil(() => linkRequests() > 0, untilHung)
      expect(await project.command('cancel', 'contacts')).toMatchObject({ code: 0 })
      await expect(handle.result()).rejects.toThrow(/cancelled/i)
      const [run] = await asked((ledger) => ledger.runs({ sync: 'contacts', limit: 1 }))
      expect(run!.state).toBe('cancelled')
      const { states } = run!.counts!.links!
      expect(states.linked).toBe(linkRequests())
      expect(states.linked + states.not_sent).toBe(120)
      project.gate.open()
      const { code } = await project.command('run', 'contacts', '--links')
      expect(code).toBe(0)
      expect(linkRequests()).toBe(120)
      const held = await linkedDomains(project)
      for (let index = 1; index <= 120; index++)
        expect(held.get(`c-${index}`)).toEqual([domainOf(index, 3)])
    },
  )
})

test('links that are answered 429 wait as long as the service asks, and none fails', async () => {
  project = await createProject({ config: linksConfig() })
  let refused = 0
  const proxy = await startProxy(project.service.url, (url, body) => {
    if (!url.includes(`/associations/${ASSOCIATION}/`) || ++refused > 5) return { pass: body }
    const problem = { type: 'about:blank', title: 'Too Many Requests', status: 429 }
    return {
      status: 429,
      headers: { 'content-type': 'application/problem+json', 'retry-after': '1' },
      body: JSON.stringify({ ...problem, detail: 'wait', code: 'rate_limited' }),
    }
  })
  try {
    project.env['RECORDS_URL'] = proxy.url
    project.write('contacts.csv', linkedContactsCsv(20, 2))
    project.write('companies.csv', companiesCsv(2))
    await project.startWorker()
    await (await project.start('companies')).result()
    expect(await (await project.start('contacts')).result()).toMatchObject({
      state: 'complete',
      books: { links: { read: 20, states: { linked: 20 } } },
    })
    expect(refused).toBeGreaterThan(5)
  } finally {
    proxy.close()
  }
})

test('a sync that only links, by the commands; check and plan say what it does', async () => {
  project = await createProject({ config: linksConfig() })
  project.write('contacts.csv', linkedContactsCsv(3, 2))
  project.write('companies.csv', companiesCsv(2))
  project.write('links.csv', 'contact,domain\nc-1,d0.example\nc-2,d1.example\nc-9,d1.example\n')
  const checked = await project.command('check')
  expect(checked).toMatchObject({ code: 0 })
  expect(checked.out).toMatch(
    /sync links: links of svc_contact, found by svc_external_id, from 2\s+columns:\s+svc_contact_company to svc_company by svc_domain/,
  )
  const planned = JSON.parse((await project.command('plan', 'links', '--json')).out) as object
  expect(planned).toMatchObject({ links: { read: 3, pending: 3, unchanged: 0 } })
  expect(project.service.stats().byOperation['associateRecords'] ?? 0).toBe(0)
  await project.startWorker()
  await (await project.start('companies')).result()
  await (await project.start('contacts')).result()
  const ran = await project.command('run', 'links', '--json')
  expect(ran.code).toBe(1)
  expect(JSON.parse(ran.out.trim().split('\n').at(-1)!)).toMatchObject({
    state: 'complete_with_differences',
    // The file names other companies than the contacts do.
    message:
      '1 link is waiting: its target does not exist yet; 2 links took the place of others, because the association allows one only',
  })
  expect((await linkedDomains(project)).get('c-2')).toEqual(['d1.example'])
  expect(await project.command('run', 'companies', '--links')).toMatchObject({
    code: 2,
    err: expect.stringContaining('"companies" has no links'),
  })
})
