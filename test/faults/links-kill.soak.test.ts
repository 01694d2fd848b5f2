// Workers that are killed while a run makes links: no link is lost, none goes to another record, and the books say what became of
// each.

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { loadConfig, readLedgerPlace } from '../../config/index.ts'
import { isBalanced } from '../../src/core/domain/books.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import {
  companiesCsv,
  domainOf,
  linkedContactsCsv,
  linkedDomains,
  linksConfig,
} from '../e2e/linked-contacts.ts'
import { createProject, type Project } from '../e2e/project.ts'
import { HANG_MS } from '../hang.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { runKilled } from './killed-run.ts'
import { startProxy } from './proxy.ts'
import { rounds, seed } from '../runs.ts'

const kills = rounds(1, 5)
const rows = 1_500
const domains = 13

let postgres: Postgres
let project: Project
const proxies: { close(): void }[] = []
beforeAll(async () => {
  postgres = await startPostgres()
})
afterEach(async () => {
  for (const proxy of proxies.splice(0)) proxy.close()
  await project.stop()
})
afterAll(() => postgres.stop())

async function booksOf(run: number) {
  const { ledger: configured } = await loadConfig(project.configFile, project.env)
  const ledger = await openLedger(await readLedgerPlace(configured, project.env), {
    readOnly: true,
  })
  try {
    return await ledger.books(run)
  } finally {
    await ledger.close()
  }
}

async function expectLinked(shift: number) {
  const held = await linkedDomains(project)
  expect(held.size).toBe(rows)
  for (let index = 1; index <= rows; index++)
    expect(held.get(`c-${index}`)).toEqual([domainOf(index + shift, domains)])
}

test.each(['sqlite', 'postgres'])(
  `a ledger on %s: ${kills} kills while links are made (RECORDS_SYNC_SEED=${seed})`,
  async (driver) => {
    const place = driver === 'sqlite' ? './ledger.db' : '{ postgres: "${LEDGER_URL}" }'
    project = await createProject({ config: linksConfig(place), service: { latencyMs: 40 } })
    if (driver === 'postgres') project.env['LEDGER_URL'] = await postgres.newDatabase()
    const next = seededRandom(seed)
    project.write('companies.csv', companiesCsv(domains))
    const worker = await project.startWorker()
    await (await project.start('companies')).result()
    worker.shutdown()
    await worker.stopped
    // Each round moves every contact to another company. Bounded: every round kills at least once, or ends its run.
    for (let round = 1, killed = 0; killed < kills; round++) {
      project.write('contacts.csv', linkedContactsCsv(rows, domains, { shift: round }))
      killed += await runKilled(project, kills - killed, next)
      const books = await booksOf(round + 1)
      expect(isBalanced(books)).toBe(true)
      expect(books.links).toMatchObject({
        read: rows,
        states: { linked: rows, pending: 0, in_flight: 0, outcome_unknown: 0, not_sent: 0 },
      })
      await expectLinked(round)
    }
  },
  HANG_MS * (2 + kills),
)

test('each third answer lost, carried out or not: every link is made, and known as made', async () => {
  project = await createProject({ config: linksConfig() })
  let links = 0
  const proxy = await startProxy(project.service.url, (url, body) => {
    if (!url.includes('/associations/svc_') || ++links % 3 !== 0) return { pass: body }
    if (links % 2 === 0) throw new Error('lost on the way to the service')
    return { pass: body, isLost: true }
  })
  proxies.push(proxy)
  project.env['RECORDS_URL'] = proxy.url
  project.write('companies.csv', companiesCsv(domains))
  project.write('contacts.csv', linkedContactsCsv(rows, domains))
  await project.startWorker()
  await (await project.start('companies')).result()
  expect(await (await project.start('contacts')).result()).toMatchObject({
    state: 'complete',
    books: { links: { read: rows, states: { linked: rows } } },
  })
  await expectLinked(0)
})
