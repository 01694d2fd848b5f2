// A service that fails: whose failure it is, and that nobody else pays for it.

import { afterEach, expect, test } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { startService } from '../../src/service/index.ts'
import { contactsCsv, createProject, fastTuning, type Project } from '../e2e/project.ts'
import { startProxy } from './proxy.ts'

let project: Project
const proxies: { close(): void }[] = []
afterEach(async () => {
  for (const proxy of proxies.splice(0)) proxy.close()
  await project.stop()
})

const stateOf = async (run: number) => {
  const ledger = project.ledger()
  try {
    return await ledger.run(run)
  } finally {
    await ledger.close()
  }
}
const booksOf = async (run: number) => {
  const ledger = project.ledger()
  try {
    return await ledger.books(run)
  } finally {
    await ledger.close()
  }
}
const untilBlocked = async (run: number, reason: string) =>
  await expect.poll(async () => (await stateOf(run).catch(() => null))?.reason).toBe(reason)

const expectAllHeld = (rows: number) => {
  const held = project.held()
  expect(held.size).toBe(rows)
  for (let index = 1; index <= rows; index++)
    expect(held.get(`c-${index}`)).toMatchObject({
      svc_first_name: `Name ${index}`,
      svc_score: index,
    })
}

test('with every kind of fault on a quarter of the requests no row is lost and none is left without an outcome', async () => {
  project = await createProject({
    service: {
      faults: {
        seed: 42,
        rate: 0.25,
        kinds: [
          'reset_before',
          'reset_after',
          'torn_body',
          'html_502',
          'unavailable_503',
          'item_503',
        ],
      },
    },
  })
  project.write('contacts.csv', contactsCsv(2_000))
  await project.startWorker()
  const result = await (await project.start('contacts')).result()
  expect(result).toMatchObject({ state: 'complete', books: { read: 2_000 } })
  const books = await booksOf(1)
  expect(isBalanced(books)).toBe(true)
  expect(books.states.outcome_unknown).toBe(0)
  // Answers were lost after the work was done: those rows are flagged, and "created" is a lower bound.
  expect(books.replayed).toBeGreaterThan(0)
  expectAllHeld(2_000)
})

test('items answered 503 inside an answer are sent again, and only they', async () => {
  project = await createProject({
    service: { faults: { seed: 7, rate: 0.2, kinds: ['item_503'] } },
  })
  project.write('contacts.csv', contactsCsv(1_000))
  await project.startWorker()
  const result = await (await project.start('contacts')).result()
  expect(result).toMatchObject({ state: 'complete', books: { read: 1_000 } })
  expectAllHeld(1_000)
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const db = new DatabaseSync(project.ledgerFile)
  const again = db.prepare('SELECT count(*) AS items FROM items WHERE attempts > 1').get()
  db.close()
  const { items } = again as { items: number }
  expect(items).toBeGreaterThan(0)
  expect(items).toBeLessThan(1_000)
  // A 503 does not say that the item was not written.
  expect(result.books?.replayed).toBe(items)
})

test('a service that is down at the start blocks the run; it goes on by itself', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(200))
  project.service.setDown(true)
  await project.startWorker()
  const handle = await project.start('contacts')
  await untilBlocked(1, 'service')
  project.service.setDown(false)
  expect(await handle.result()).toMatchObject({
    state: 'complete',
    books: { states: { created: 200 } },
  })
})

test('a service that goes down in the middle blocks the run, and no item pays for it', async () => {
  project = await createProject({ gate: { free: 8, everyMs: 1_000 } })
  project.write('contacts.csv', contactsCsv(1_500))
  await project.startWorker()
  const handle = await project.start('contacts', { ...fastTuning, in_flight: 2 })
  await expect.poll(() => project.held().size).toBeGreaterThan(300)
  project.service.setDown(true)
  project.gate.open()
  await untilBlocked(1, 'service')
  expect((await booksOf(1)).states).toMatchObject({ outcome_unknown: 0, refused: 0 })
  project.service.setDown(false)
  expect(await handle.result()).toMatchObject({ state: 'complete' })
  expect((await booksOf(1)).states).toMatchObject({ outcome_unknown: 0, refused: 0 })
  expectAllHeld(1_500)
})

test('a key that is revoked in the middle blocks the run until the key file holds a new one', async () => {
  project = await createProject({ gate: { free: 8, everyMs: 1_000 } })
  project.write('contacts.csv', contactsCsv(1_500))
  await project.startWorker()
  const handle = await project.start('contacts', { ...fastTuning, in_flight: 2 })
  await expect.poll(() => project.held().size).toBeGreaterThan(300)
  project.service.revokeKey(project.service.key)
  project.gate.open()
  await untilBlocked(1, 'auth')
  project.write('key', project.service.mintKey())
  expect(await handle.result()).toMatchObject({ state: 'complete' })
  expectAllHeld(1_500)
})

test('what another org accepted counts for nothing', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  await (await project.start('contacts')).result()
  const other = await startService()
  try {
    project.env['RECORDS_URL'] = other.url
    project.write('key', other.key)
    expect(await (await project.start('contacts')).result()).toMatchObject({
      books: { states: { created: 120, unchanged: 0 } },
    })
    expect([...other.records('svc_contact')]).toHaveLength(120)
  } finally {
    await other.close()
  }
})

/** A proxy that refuses whole batches which hold a poisoned row; `pointer` says whether it names the row. */
async function poisonProxy(
  target: string,
  pointer: boolean,
): Promise<{ url: string; refusals: () => number }> {
  let refusals = 0
  const proxy = await startProxy(target, (url, body) => {
    if (!url.includes('/batch/upsert/') || !body.includes('Poison')) return { pass: body }
    refusals++
    const { data } = JSON.parse(body) as { data: { properties: { svc_first_name: string } }[] }
    const index = data.findIndex((item) => item.properties.svc_first_name === 'Poison')
    return {
      status: 422,
      headers: {
        'content-type': 'application/problem+json',
        'svc-request-id': 'proxy',
        'ratelimit-limit': '100000',
        'ratelimit-remaining': '100000',
      },
      body: JSON.stringify({
        type: 'about:blank',
        title: 'Unprocessable Content',
        status: 422,
        code: 'request_invalid',
        reason: 'schema_invalid',
        detail: 'no poison',
        ...(pointer ? { field: `/data/${index}/properties/svc_first_name` } : {}),
      }),
    }
  })
  proxies.push(proxy)
  return { url: proxy.url, refusals: () => refusals }
}

for (const pointer of [true, false])
  test(`a row that makes the service refuse its whole batch is found ${pointer ? 'by its pointer' : 'by halving'}, alone`, async () => {
    project = await createProject()
    const proxy = await poisonProxy(project.service.url, pointer)
    project.env['RECORDS_URL'] = proxy.url
    project.write(
      'contacts.csv',
      contactsCsv(200, (index, cells) =>
        index === 33 ? [cells[0]!, 'Poison', cells[2]!, cells[3]!] : cells,
      ),
    )
    await project.startWorker()
    expect(await (await project.start('contacts')).result()).toMatchObject({
      state: 'complete_with_rejects',
      books: { states: { created: 199, refused: 1 } },
    })
    expect(proxy.refusals()).toBeLessThanOrEqual(pointer ? 2 : 7)
    const ledger = project.ledger()
    const [item] = await ledger.report(1, { states: ['refused'], after: 0, limit: 10 })
    await ledger.close()
    expect(item).toMatchObject({ ordinal: 33, line: 34, httpStatus: 422, reason: 'schema_invalid' })
  })

test('a service that refuses everything down to the last item blocks the run: contract', async () => {
  project = await createProject()
  const proxy = await poisonProxy(project.service.url, false)
  project.env['RECORDS_URL'] = proxy.url
  project.write(
    'contacts.csv',
    contactsCsv(200, (_, cells) => [cells[0]!, 'Poison', cells[2]!, cells[3]!]),
  )
  await project.startWorker()
  const handle = await project.start('contacts', { ...fastTuning, blocked_probe_ms: 60_000 })
  await untilBlocked(1, 'contract')
  // The service's own words may quote values: they are in the ledger, and never in the history.
  const ledger = project.ledger()
  const [item] = await ledger.report(1, { states: ['refused'], after: 0, limit: 1 })
  await ledger.close()
  expect(item?.detail).toBe('no poison')
  const pendingOf = async () => JSON.stringify((await handle.describe()).raw.pendingActivities)
  // The ledger has it a moment before.
  await expect.poll(pendingOf).toContain('blocked: contract')
  const pending = await pendingOf()
  expect(pending.includes('no poison')).toBe(false)
  await handle.cancel()
  await expect(handle.result()).rejects.toThrow()
  expect(isBalanced(await booksOf(1))).toBe(true)
})

test('a service with single upserts only gets one upsert for each row', async () => {
  project = await createProject()
  const document = (await (await fetch(`${project.service.url}/rest/v1/openapi.json`)).json()) as {
    paths: Record<string, unknown>
  }
  for (const path of Object.keys(document.paths)) {
    if (path.includes('/batch/')) delete document.paths[path]
  }
  const proxy = await startProxy(project.service.url, (url, body) => {
    const headers = { 'content-type': 'application/json' }
    if (url !== '/rest/v1/openapi.json') return { pass: body }
    return { status: 200, headers, body: JSON.stringify(document) }
  })
  proxies.push(proxy)
  project.env['RECORDS_URL'] = proxy.url
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  const result = await (await project.start('contacts')).result()
  expect(result).toMatchObject({ state: 'complete', books: { states: { created: 120 } } })
  expectAllHeld(120)
  const { byOperation } = project.service.stats()
  expect(byOperation['upsertRecord']).toBe(120)
  expect(byOperation['batchUpsert']).toBeUndefined()
  expect((await stateOf(1))?.state).toBe('complete')
})

test('a proxy that finds a body too large, in HTML, gets half of it', async () => {
  project = await createProject()
  const proxy = await startProxy(project.service.url, (url, body) => {
    if (!url.includes('/batch/upsert/') || body.length < 3_000) return { pass: body }
    return { status: 413, headers: { 'content-type': 'text/html' }, body: '<h1>too large</h1>' }
  })
  proxies.push(proxy)
  project.env['RECORDS_URL'] = proxy.url
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  const result = await (await project.start('contacts')).result()
  expect(result).toMatchObject({ state: 'complete', books: { states: { created: 120 } } })
  expectAllHeld(120)
})
