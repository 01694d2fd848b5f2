// A PostgreSQL ledger: the commands say of it what they say of a SQLite file. What workers do that share one is seen in
// `faults/workers.test.ts`.

import { afterEach, expect, test } from 'vitest'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { contactsConfig, contactsCsv, createProject, type Project } from './project.ts'

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
const rows = 400

test('the commands say of a PostgreSQL ledger what they say of a file; the books balance', async () => {
  postgres = await startPostgres()
  project = await createProject({ config })
  const { cli, command, held } = project
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
  expect(await command('status')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/contacts +– +never run/),
  })

  await project.startWorker()
  const handle = await project.start('contacts')
  expect(await handle.result()).toMatchObject({ state: 'complete_with_rejects' })

  expect(held().size).toBe(rows - 1)
  const shown = JSON.parse((await command('show', '1', '--json')).out) as object
  const ledger = await openPostgresLedger(
    { url: project.env['LEDGER_URL'], schema: 'records_sync' },
    { readOnly: true },
  )
  const books = await ledger.books(1)
  await ledger.close()
  expect(books).toMatchObject({
    read: rows,
    inDoubt: 0,
    states: { invalid: 1, pending: 0, in_flight: 0 },
  })
  expect(books.states.created + books.states.updated).toBe(rows - 1)
  expect(shown).toMatchObject({ state: 'complete_with_rejects', rows_read: rows, balanced: true })

  const again = await command('run', 'contacts', '--json')
  expect(again.code).toBe(1)
  expect(await cli('rejects', '2', '-o', '-')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Name 7'),
  })
  expect((await command('status')).out).toMatch(/contacts +2 +complete_with_rejects/)
})
