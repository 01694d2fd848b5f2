// Imports that only create, or only update, through a proxy that loses answers, and with workers that are killed: no key gets a second
// record, no record is touched that is not to be, and the books say what became of each row.

import { afterEach, describe, expect, test } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { seededRandom } from '../../src/service/limits/faults.ts'
import { contactsConfig, contactsCsv, createProject, type Project } from '../e2e/project.ts'
import { HANG_MS } from '../hang.ts'
import { runKilled } from './killed-run.ts'
import { startProxy } from './proxy.ts'
import { rounds, seed, sampled } from '../runs.ts'

const kills = rounds(1, 5)

let project: Project
const proxies: { close(): void }[] = []
afterEach(async () => {
  for (const proxy of proxies.splice(0)) proxy.close()
  await project.stop()
})

const BATCHES = { create: '/batch/create/', update: '/batch/update/', upsert: '/batch/upsert/' }
type Mode = keyof typeof BATCHES

const booksOf = async (run: number) => {
  const ledger = project.ledger()
  try {
    return await ledger.books(run)
  } finally {
    await ledger.close()
  }
}

const file = (rows: number, name: string, key = 'c') =>
  contactsCsv(rows, (index, cells) => [
    `${key}-${index}`,
    `${name} ${index}`,
    `${key}${cells[2]}`,
    cells[3]!,
  ])

/** Keeps the first of these rows at the service before anything is imported, as another writer has made them. */
async function theirs(rows: number, key = 'c') {
  for (let first = 1; first <= rows; first += 50) {
    const data = Array.from({ length: Math.min(50, rows - first + 1) }, (_, index) => ({
      properties: {
        svc_external_id: `${key}-${first + index}`,
        svc_first_name: 'theirs',
      },
    }))
    const answer = await fetch(
      `${project.service.url}/rest/v1/objects/svc_contact/records/batch/create/`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${project.service.key}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ data }),
      },
    )
    expect(((await answer.json()) as { summary: { failed: number } }).summary.failed).toBe(0)
  }
}

/** Row by row what the service holds once a run of `rows` has come to its end, `known` of which were there before. */
function expectHeld(mode: Mode, rows: number, known: number, name: string, key = 'c') {
  const held = [...project.held()].filter(([id]) => id.startsWith(`${key}-`))
  expect(held).toHaveLength(mode === 'update' ? known : rows)
  for (const [id, properties] of held) {
    const index = Number(id.slice(key.length + 1))
    const isTheirs = mode === 'create' && index <= known
    expect(properties['svc_first_name']).toBe(isTheirs ? 'theirs' : `${name} ${index}`)
  }
}

const statesOf = (mode: Mode, rows: number, known: number) =>
  ({
    create: { created: rows - known, exists: known },
    update: { updated: known, not_found: rows - known },
    upsert: { updated: known },
  })[mode]

describe.each(['create', 'update', 'upsert'] as const)('mode %s', (mode) => {
  const settings = `verify: all\n      mode: ${mode}`

  test('with each third answer lost, carried out or not, ends with one record a key', async () => {
    project = await createProject({ config: contactsConfig({ settings }) })
    let batches = 0
    const proxy = await startProxy(project.service.url, (url, body) => {
      if (!url.includes(BATCHES[mode]) || ++batches % 3 !== 0) return { pass: body }
      if (batches % 2 === 0) throw new Error('lost on the way to the service')
      return { pass: body, isLost: true }
    })
    proxies.push(proxy)
    await theirs(150)
    project.env['RECORDS_URL'] = proxy.url
    project.write('contacts.csv', file(900, 'ours'))
    await project.startWorker()
    const result = await (await project.start('contacts')).result()
    expect(result).toMatchObject({ state: 'complete' })
    const books = await booksOf(1)
    expect(isBalanced(books)).toBe(true)
    if (mode !== 'upsert') expect(books.states).toMatchObject(statesOf(mode, 900, 150))
    if (mode === 'create') expect(books.lookedUp).toBeGreaterThan(0)
    else expect(books.replayed).toBeGreaterThan(0)
    expectHeld(mode, 900, 150, 'ours')
  })
})

describe.each(sampled<Mode>([], ['create', 'update']))('mode %s', (mode) => {
  test(
    `${kills} kills at random moments (RECORDS_SYNC_SEED=${seed}) lose and double nothing`,
    async () => {
      const [rows, known] = mode === 'create' ? [5_000, 500] : [4_000, 3_500]
      const config = contactsConfig({ settings: `verify: none\n      mode: ${mode}` })
      project = await createProject({ service: { latencyMs: 40 }, config })
      const next = seededRandom(seed)
      // Bounded: every round kills at least once, or ends a run within the test's time.
      for (let round = 1, killed = 0; killed < kills; round++) {
        const key = `r${round}`
        await theirs(known, key)
        project.write('contacts.csv', file(rows, 'ours', key))
        killed += await runKilled(project, kills - killed, next)
        const books = await booksOf(round)
        expect(isBalanced(books)).toBe(true)
        expect(books.states).toMatchObject(statesOf(mode, rows, known))
        expectHeld(mode, rows, known, 'ours', key)
      }
    },
    HANG_MS * (2 + kills),
  )
})
