// Rows that leave the file take their records with them: by command and through Temporal, with each ledger. A person is asked first
// where they are many.

import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { untilHung } from '../hang.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { contactsConfig, contactsCsv, createProject, type Project } from './project.ts'
import { sampled } from '../runs.ts'

let postgres: Postgres
let project: Project
beforeAll(async () => {
  postgres = await startPostgres()
})
afterEach(() => project.stop())
afterAll(() => postgres.stop())

const settings = 'verify: sample\n      missing_rows: delete'
const json = async (...args: string[]) => {
  const { code, out, err } = await project.command(...args, '--json')
  if (out === '') throw new Error(`${args.join(' ')}: ${err}`)
  return { code, result: JSON.parse(out) }
}

test.each(sampled(['sqlite'], ['postgres']))('with a ledger on %s', async (driver) => {
  project = await createProject({
    config: contactsConfig({
      settings,
      ...(driver === 'postgres' && { ledger: '{ postgres: "${LEDGER_URL}" }' }),
    }),
  })
  if (driver === 'postgres') project.env['LEDGER_URL'] = await postgres.newDatabase()
  project.write('contacts.csv', contactsCsv(300))
  await project.startWorker()
  expect(await (await project.start('contacts')).result()).toMatchObject({ state: 'complete' })

  // Few are removed without a question.
  project.write('contacts.csv', contactsCsv(295))
  const plan = await json('plan', 'contacts')
  expect(plan.result).toMatchObject({ removals: { pending: 5 }, asks_first: [] })
  const few = await (await project.start('contacts')).result()
  expect(few).toMatchObject({ state: 'complete', books: { removals: { deleted: 5 } } })
  expect(project.held().size).toBe(295)

  // Many wait for a person, with the rows that are to be sent.
  project.write(
    'contacts.csv',
    contactsCsv(200, (index, cells) =>
      index === 1 ? [cells[0]!, 'New', ...cells.slice(2)] : cells,
    ),
  )
  expect((await json('plan', 'contacts')).result.asks_first).toMatchObject([
    { limit: 'missing_rows_max_percent', records: 95 },
  ])
  const handle = await project.start('contacts')
  const waits = async () =>
    (await json('show', '3')).result.message?.includes('95 records wait to be deleted')
  await vi.waitUntil(waits, untilHung)
  expect(project.held().size).toBe(295)
  expect(project.held().get('c-1')).toMatchObject({ svc_first_name: 'Name 1' })
  const approved = await project.command('approve', '3')
  expect(approved).toMatchObject({
    code: 0,
    out: expect.stringContaining('1 row is sent, 95 records are deleted'),
  })
  expect(await handle.result()).toMatchObject({
    state: 'complete',
    books: { states: { updated: 1 }, removals: { deleted: 95 } },
  })
  expect(project.held().size).toBe(200)
  const shown = await json('show', '3')
  expect(shown.result).toMatchObject({
    message: '95 deletions due = 95 deleted',
    deletions: { deleted: 95 },
    rows_different: 0,
  })
  expect((await project.command('show', '3')).out).toMatch(/95 deletions due = 95 deleted/)
  expect(await project.command('audit')).toMatchObject({ code: 0 })

  // A file that broke is refused, and says what to do.
  project.write('contacts.csv', contactsCsv(0))
  const broken = await json('run', 'contacts')
  expect(broken.code).not.toBe(0)
  expect(broken.result.message).toContain('The source has no rows, and run 3 read 200')
  expect(project.held().size).toBe(200)
})
