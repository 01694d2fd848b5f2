// Plans on real parts: made by the command, applied by a run; and runs that wait until their plan is approved.

import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { untilHung } from '../hang.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { contactsConfig } from './contacts.ts'
import { contactsCsv, createProject, type Project } from './project.ts'
import { sampled } from '../runs.ts'

let postgres: Postgres
let project: Project
beforeAll(async () => {
  postgres = await startPostgres()
})
afterEach(async () => await project.stop())
afterAll(() => postgres.stop())

const named =
  (name: string) =>
  (_: number, cells: string[]): string[] => [cells[0]!, name, cells[2]!, cells[3]!]

const waitsFor = async () => {
  const ledger = project.ledger()
  try {
    await vi.waitUntil(
      async () => (await ledger.runs({ limit: 1 }))[0]?.reason === 'approval',
      untilHung,
    )
    return (await ledger.runs({ limit: 1 }))[0]!
  } finally {
    await ledger.close()
  }
}

test('a plan is applied once, and not after its source has changed', async () => {
  project = await createProject()
  project.write('contacts.csv', contactsCsv(120))
  await project.startWorker()
  const made = await project.command('--json', 'plan', 'contacts', '--diff')
  expect(made.code).toBe(0)
  project.write('contacts.csv', contactsCsv(121))
  const refused = await project.command('run', 'contacts', '--plan', '1')
  expect(refused.code).not.toBe(0)
  expect(refused.out + refused.err).toContain('1 row of the source; nothing was sent')
  expect(project.held().size).toBe(0)
  const shown = await project.command('show', 'contacts')
  expect(shown.out).toContain('not as planned: c-121')
  project.write('contacts.csv', contactsCsv(120))
  const applied = await project.command('run', 'contacts', '--plan', '1')
  expect(applied).toMatchObject({ code: 0 })
  expect(project.held().size).toBe(120)
  expect((await project.command('show', 'contacts')).out).toContain('applies plan 1')
  const again = await project.command('run', 'contacts', '--plan', '1')
  expect(again.code).not.toBe(0)
  expect(again.out + again.err).toContain('run 2 has applied it')
})

test('a run waits for its plan, and takes the verdict on this plan alone', async () => {
  project = await createProject({ config: contactsConfig({ settings: 'approve: plan' }) })
  project.write('contacts.csv', contactsCsv(120, named('Ann')))
  await project.startWorker()
  const handle = await project.start('contacts')
  const { message } = await waitsFor()
  expect(message).toMatch(
    /^120 rows wait for approval: every run of the sync asks; plan of run 1 \(\w{12}\): 120 create$/,
  )
  const digest = /\((\w{12})\)/.exec(message!)![1]!
  await expect
    .poll(() => handle.query('progress'), untilHung)
    .toMatchObject({ step: 'approval', verdicts: { create: 120 } })
  const seen = await project.command('--json', 'plan', 'contacts', '--run', '1')
  expect(seen.code).toBe(0)
  const plan = JSON.parse(seen.out)
  expect(plan).toMatchObject({ run: 1, state: 'blocked', verdicts: { create: 120 }, omitted: 100 })
  expect(plan.digest.startsWith(digest)).toBe(true)
  expect(plan.changes[0]).toMatchObject({ key: 'c-1', verdict: 'create' })
  expect(JSON.stringify(plan.changes[0])).toContain('Ann')
  expect((await project.command('plan', 'contacts', '--run', '1')).out).toContain(
    `approve 1 --plan ${digest}`,
  )
  const none = await project.command('plan', 'contacts', '--run', '2')
  expect(none).toMatchObject({ code: 2, err: expect.stringContaining('there is no run 2') })
  const wrong = await project.command('approve', 'contacts', '--plan', '0123456789ab')
  expect(wrong.code).not.toBe(0)
  expect(wrong.err).toContain(`the plan that waits is that of run 1, with the digest ${digest}`)
  expect(project.held().size).toBe(0)
  expect(await project.command('approve', 'contacts', '--plan', digest)).toMatchObject({ code: 0 })
  expect(await handle.result()).toMatchObject({
    state: 'complete',
    books: { states: { created: 120 } },
  })
})

test('a script that starts a run which waits for a person ends with the question, or waits with --wait', async () => {
  project = await createProject({ config: contactsConfig({ settings: 'approve: plan' }) })
  project.write('contacts.csv', contactsCsv(3))
  await project.startWorker()
  const asked = await project.command('run', 'contacts')
  expect(asked).toMatchObject({
    code: 3,
    err: expect.stringMatching(
      /Run 1 of contacts waits for a person: 3 rows wait .*plan of run 1 \((\w{12})\): 3 create\. To allow it: .*approve 1 --plan \1; to leave it undone: .*reject 1$/m,
    ),
  })
  const waiting = project.command('--json', 'run', 'contacts', '--attach', '--wait')
  expect(await project.command('approve', '1')).toMatchObject({ code: 0 })
  const { code, out } = await waiting
  expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, run: 1, state: 'complete' })
  project.write('contacts.csv', contactsCsv(3, named('New')))
  const json = await project.command('--json', 'run', 'contacts')
  expect(json.code).toBe(3)
  expect(JSON.parse(json.out)).toMatchObject({
    run: 2,
    state: 'blocked',
    error: { code: 'blocked_approval', message: expect.stringContaining('approve 2 --plan ') },
  })
  expect(await project.command('reject', '2')).toMatchObject({ code: 0 })
  const both = await project.command('run', 'contacts', '--detach', '--wait')
  expect(both).toMatchObject({ code: 2, err: expect.stringContaining('leave --detach out') })
})

/** What a person writes at the service. */
async function edit(key: string, name: string): Promise<void> {
  const { url: baseUrl, key: token } = project.service
  const client = new RecordsClient({ baseUrl, key: token })
  const filter = { property: 'svc_external_id', op: 'eq', value: key } as const
  const { data } = await client.queryRecords('svc_contact', { filter })
  await client.updateRecord('svc_contact', data[0]!.id, { svc_first_name: name })
  await client.close()
}

const names = () =>
  new Map([...project.held()].map(([key, { svc_first_name: name }]) => [key, name]))

test.each(sampled(['sqlite'], ['postgres']))(
  'planned, applied without what others changed, and taken back, with a ledger on %s',
  async (driver) => {
    project = await createProject({
      config: contactsConfig({
        settings: 'verify: all\n      on_conflict: theirs',
        ...(driver === 'postgres' && { ledger: '{ postgres: "${LEDGER_URL}" }' }),
      }),
    })
    if (driver === 'postgres') project.env['LEDGER_URL'] = await postgres.newDatabase()
    project.write('contacts.csv', contactsCsv(120))
    await project.startWorker()
    expect(await project.command('run', 'contacts')).toMatchObject({ code: 0 })
    await edit('c-1', 'Theirs')
    const before = names()
    project.write('contacts.csv', contactsCsv(125, named('New')))

    const plan = await project.command('--json', 'plan', 'contacts', '--diff')
    expect(JSON.parse(plan.out)).toMatchObject({
      plan: 1,
      looked_up: 125,
      look_up_requests: 2,
      // Three batches, and each row is looked up once more before it is sent.
      requests: 5,
      verdicts: { create: 5, update: 119, protected: 1 },
    })
    expect(names()).toEqual(before)
    const applied = await project.command('--json', 'run', 'contacts', '--plan', '1')
    expect(applied.code).toBe(0)
    expect(JSON.parse(applied.out)).toMatchObject({
      state: 'complete',
      rows: { created: 5, updated: 119, skipped: 1, reasons: { protected: 1 } },
      kept: { values: 1, rows: 1 },
    })
    const expected = new Map([...names().keys()].map((key) => [key, 'New']))
    expect(names()).toEqual(expected.set('c-1', 'Theirs'))

    await edit('c-2', 'Theirs too')
    await edit('c-125', 'Theirs too')
    const dry = await project.command('--json', 'undo', '2', '--dry-run')
    expect(JSON.parse(dry.out)).toMatchObject({ restored: 118, deleted: 4, kept: 1 })
    const undone = await project.command('--json', 'undo', '2', '--yes')
    expect(JSON.parse(undone.out)).toMatchObject({
      state: 'complete_with_differences',
      rows: { updated: 118, skipped: 1 },
      deletions: { due: 5, deleted: 4, skipped: 1, reasons: { changed_since: 1 } },
    })
    expect(undone.code).toBe(1)
    expect(names()).toEqual(before.set('c-2', 'Theirs too').set('c-125', 'Theirs too'))
    expect(await project.command('audit')).toMatchObject({ code: 0 })
  },
)
