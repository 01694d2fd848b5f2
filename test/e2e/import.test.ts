// The import from end to end: a real file, the real service, a real Temporal server, a real ledger.

import { afterEach, expect, test } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { slowly } from './batch-gate.ts'
import { contactsCsv, createProject, fastTuning, type Project } from './project.ts'

let project: Project
afterEach(async () => await project.stop())

const booksOf = async (run: number) => {
  const ledger = project.ledger()
  try {
    return { run: (await ledger.run(run))!, books: await ledger.books(run) }
  } finally {
    await ledger.close()
  }
}

test('every row of a file becomes exactly one record, in batches of 50', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(2_345))
  await project.startWorker()
  const result = await (await project.start('contacts')).result()
  expect(result).toMatchObject({ run: 1, state: 'complete' })
  const { books } = await booksOf(1)
  expect(books).toMatchObject({ read: 2_345, states: { created: 2_345 } })
  expect(isBalanced(books)).toBe(true)
  const held = project.held()
  expect(held.size).toBe(2_345)
  expect(held.get('c-7')).toMatchObject({ svc_first_name: 'Name 7', svc_score: 7 })
  expect(project.service.stats().byOperation['batchUpsert']).toBe(
    Math.ceil(1_000 / 50) * 2 + Math.ceil(345 / 50),
  )
})

test('a second import of the same file writes nothing; a changed row is written alone', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(500))
  await project.startWorker()
  await (await project.start('contacts')).result()
  const before = project.service.stats().byOperation['batchUpsert']
  expect(await (await project.start('contacts')).result()).toMatchObject({
    run: 2,
    books: { states: { unchanged: 500 } },
  })
  expect(project.service.stats().byOperation['batchUpsert']).toBe(before)
  project.write(
    'contacts.csv',
    contactsCsv(500, (index, cells) =>
      index === 77 ? [cells[0]!, 'Changed', cells[2]!, cells[3]!] : cells,
    ),
  )
  expect(await (await project.start('contacts')).result()).toMatchObject({
    books: { states: { unchanged: 499, updated: 1 } },
  })
  expect(project.held().get('c-77')).toMatchObject({ svc_first_name: 'Changed' })
})

test('bad rows are set aside with line and reason, doubles are superseded by the last valid row', async () => {
  project = await createProject()
  project.write(
    'contacts.csv',
    contactsCsv(300, (index, cells) => {
      if (index === 10) return [cells[0]!, cells[1]!, cells[2]!, 'ten']
      if (index === 20) return ['', cells[1]!, cells[2]!, cells[3]!]
      if (index === 30) return ['c-31', 'Superseded', cells[2]!, cells[3]!]
      if (index === 40) return ['c-41', 'Early', cells[2]!, cells[3]!]
      if (index === 41) return ['c-41', 'Late', 'not an address', cells[3]!]
      return cells
    }),
  )
  await project.startWorker()
  const result = await (await project.start('contacts')).result()
  expect(result).toMatchObject({
    state: 'complete_with_rejects',
    books: { read: 300, states: { created: 296, invalid: 3, superseded: 1 } },
  })
  expect(project.held().get('c-31')).toMatchObject({ svc_first_name: 'Name 31' })
  expect(project.held().get('c-41')).toMatchObject({ svc_first_name: 'Early' })
  const ledger = project.ledger()
  const items = await ledger.report(1, { states: ['invalid'], after: 0, limit: 10 })
  await ledger.close()
  expect(items.map(({ line, column, reason, value }) => ({ line, column, reason, value }))).toEqual(
    [
      { line: 11, column: 'score', reason: 'not_a_number', value: 'ten' },
      { line: 21, column: 'id', reason: 'key_missing', value: '' },
      { line: 42, column: 'email', reason: 'not_an_email', value: 'not an address' },
    ],
  )
})

test('verify reads back what was written', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(250))
  const config = (await import('node:fs')).readFileSync(project.configFile, 'utf8')
  project.write('records-sync.yaml', config.replace('verify: none', 'verify: all'))
  await project.startWorker()
  await (await project.start('contacts')).result()
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const db = new DatabaseSync(project.ledgerFile)
  expect(
    db.prepare('SELECT verified, count(*) AS items FROM items GROUP BY verified').all(),
  ).toEqual([{ verified: 'equal', items: 250 }])
  db.close()
})

test('a second run of the same sync ends at once and names the first', async () => {
  project = await createProject({ gate: slowly })
  project.write('contacts.csv', contactsCsv(1_500))
  await project.startWorker()
  const first = await project.start('contacts', { ...fastTuning, in_flight: 1 })
  await expect
    .poll(() => project.service.stats().byOperation['batchUpsert'] ?? 0)
    .toBeGreaterThan(0)
  const second = await project.start('contacts')
  await expect(second.result()).rejects.toMatchObject({
    cause: {
      cause: { type: 'AlreadyRunning', message: expect.stringContaining(first.workflowId) },
    },
  })
  await first.cancel()
  await expect(first.result()).rejects.toThrow()
  const { run, books } = await booksOf(1)
  expect(run.state).toBe('cancelled')
  expect(isBalanced(books)).toBe(true)
  expect(books.states.created).toBe(project.held().size)
  expect(books.states.created + books.states.not_sent).toBe(1_500)
})

test('a terminated workflow is taken over: its books are closed and the next run goes on', async () => {
  project = await createProject({ gate: slowly })
  project.write('contacts.csv', contactsCsv(1_500))
  const worker = await project.startWorker()
  const first = await project.start('contacts', { ...fastTuning, in_flight: 1 })
  await expect
    .poll(() => project.service.stats().byOperation['batchUpsert'] ?? 0)
    .toBeGreaterThan(2)
  await first.terminate('by hand')
  project.gate.open()
  const second = await (await project.start('contacts')).result()
  expect(second).toMatchObject({ run: 2, state: 'complete' })
  const { run, books } = await booksOf(1)
  expect(run).toMatchObject({ state: 'failed', reason: 'abandoned' })
  expect(isBalanced(books)).toBe(true)
  expect(project.held().size).toBe(1_500)
  worker.shutdown()
  await worker.stopped
})

test('each turn of a segment is labelled with the rows that it begins with', async () => {
  project = await createProject({ service: { latencyMs: 100 } })
  project.write('contacts.csv', contactsCsv(1_500))
  await project.startWorker()
  const tuning = { ...fastTuning, rows_per_segment: 10_000, in_flight: 1, segment_ms: 1_000 }
  const handle = await project.start('contacts', tuning)
  await handle.result()
  const { events } = await handle.fetchHistory()
  const labels = (events ?? []).flatMap(({ userMetadata }) => {
    const { data } = userMetadata?.summary ?? {}
    const text = data ? Buffer.from(data).toString() : ''
    const [, first] = /push contacts, rows (\d+) to 1500/.exec(text) ?? []
    return first === undefined ? [] : [Number(first)]
  })
  expect(labels[0]).toBe(1)
  // On a busy machine a turn may end before its first batch does: the next one has the same label.
  expect(labels).toEqual(labels.toSorted((a, b) => a - b))
  expect(new Set(labels).size).toBeGreaterThan(1)
})
