// Two workers in processes of their own share a PostgreSQL ledger; one of them is killed. The commands say of it what they
// say of a SQLite file.

import { afterEach, expect, test } from 'vitest'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { contactsConfig, contactsCsv, createProject, fastTuning, type Project } from './project.ts'

let postgres: Postgres | null = null
let project: Project | null = null
afterEach(async () => {
  await project?.stop()
  await postgres?.stop()
})

const config = contactsConfig({
  ledger: '{ postgres: "${LEDGER_URL}" }',
  settings: 'verify: sample',
})
const rows = 8_000

test('two workers on one PostgreSQL ledger finish an import, though one is killed; the books balance', async () => {
  postgres = await startPostgres()
  project = await createProject({ config, service: { latencyMs: 20 } })
  const { cli, held } = project
  project.write(
    'contacts.csv',
    contactsCsv(rows, (index, cells) => (index === 7 ? ['', ...cells.slice(1)] : cells)),
  )

  const unset = await cli('worker')
  expect(unset).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^The URL of the ledger: .*`LEDGER_URL` is not set/),
  })
  project.env['LEDGER_URL'] = await postgres.newDatabase()
  expect(await cli('status')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/contacts +– +never run/),
  })

  const first = project.spawnWorker()
  project.spawnWorker()
  const handle = await project.start('contacts', { ...fastTuning, rows_per_segment: 1_000 })
  await expect.poll(() => held().size, { interval: 20 }).toBeGreaterThan(1_000)
  first.kill('SIGKILL')
  expect(await handle.result()).toMatchObject({ state: 'complete_with_rejects' })

  expect(held().size).toBe(rows - 1)
  const shown = JSON.parse((await cli('show', '1', '--json')).out) as object
  const ledger = await openPostgresLedger(
    { url: project.env['LEDGER_URL'], schema: 'records_sync' },
    { readOnly: true },
  )
  const books = await ledger.books(1)
  await ledger.close()
  expect(books).toMatchObject({
    read: rows,
    inDoubt: 0,
    states: { invalid: 1, planned: 0, sent: 0 },
  })
  expect(books.states.created + books.states.updated).toBe(rows - 1)
  expect(shown).toMatchObject({ state: 'complete_with_rejects', rows_read: rows, balanced: true })

  const again = await cli('run', 'contacts', '--json')
  expect(again.code).toBe(1)
  expect(await cli('rejects', '2', '-o', '-')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Name 7'),
  })
  expect((await cli('status')).out).toMatch(/contacts +2 +complete_with_rejects/)
})
