// What a person does to a run: pause, resume, cancel, approve, reject and backfill, by the commands, on real parts.

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import type { Run } from '../../src/ledger/ledger.ts'
import { backfill, pause } from '../../workflows/names.ts'
import { contactsCsv, createProject, fastTuning, type Project } from './project.ts'
import { slowly } from './batch-gate.ts'
import { untilHung } from '../hang.ts'
import { soakTest } from '../runs.ts'

const mapping = `
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      empty: clear
      properties: { svc_external_id: id, svc_first_name: first_name, svc_score: score }
`
const config = `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
warehouses:
  lake: { duckdb: ":memory:" }
  copy: { duckdb: ./copy.duckdb }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }${mapping}
    schedule: every 1 day
  limited:
    import:
      from: { csv: ./limited.csv }
      rows_max: 100
      creates_max_percent: 20
      clears_max_percent: 10${mapping}
  by_day:
    import:
      from: { query: "SELECT id, first_name, score FROM 'days.csv' WHERE day >= :from AND day < :to", warehouse: lake }${mapping}
  crm_copy:
    mirror: { from: crm, to: copy, object_types: [svc_contact, svc_company] }
`

let project: Project
let client: RecordsClient

beforeAll(async () => {
  project = await createProject({ config, gate: { ...slowly, free: Infinity } })
  client = new RecordsClient({ baseUrl: project.service.url, key: project.service.key })
  await project.startWorker()
})
afterAll(async () => {
  await client.close()
  await project.stop()
})

const soon = untilHung
async function latest(sync: string): Promise<Run> {
  const ledger = project.ledger()
  try {
    const [run] = await ledger.runs({ sync, limit: 1 })
    return run!
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
/** Contacts of the service whose external id begins so. */
const held = (prefix: string) => [...project.held().keys()].filter((key) => key.startsWith(prefix))
const upserts = () => project.service.stats().byOperation['batchUpsert'] ?? 0
/** One batch of 50 at a time, all in one segment: with the gate paced a run lasts until the test has steered it. */
const slow = { ...fastTuning, in_flight: 1, segments_in_flight: 1, rows_per_segment: 100_000 }
const blockedBy = async (sync: string, reason: string) =>
  await vi.waitFor(
    async () => expect(await latest(sync)).toMatchObject({ state: 'blocked', reason }),
    soon,
  )

test('what blocks a run, and what went wrong last, is seen in Temporal', async () => {
  const key = project.service.key
  project.write(
    'contacts.csv',
    contactsCsv(600, (index, cells) => [
      `e-${index}`,
      cells[1]!,
      cells[2]!,
      index === 7 ? 'many' : index === 300 ? '1e999' : cells[3]!,
    ]),
  )
  project.write('key', 'svc_wrong_key')
  expect(await project.command('schedules', 'apply')).toMatchObject({ code: 0 })
  const id = (await project.queue()).replace('records-sync-', 'sync:contacts:')
  const schedule = async () => (await project.client.schedule.getHandle(id).describe()).state
  expect(await schedule()).toMatchObject({ paused: false })
  const handle = await project.start('contacts', slow)
  await blockedBy('contacts', 'auth')
  const stateOf = async () => (await handle.describe()).searchAttributes['SyncState']
  await vi.waitFor(async () => expect(await stateOf()).toEqual(['blocked']), soon)
  await vi.waitFor(
    async () =>
      expect(await handle.query('progress')).toMatchObject({
        state: 'blocked',
        message: expect.stringMatching(/^auth: /),
      }),
    soon,
  )
  await vi.waitFor(async () => expect(await schedule()).toMatchObject({ paused: true }), soon)
  expect((await schedule()).note).toMatch(/auth/)
  const { currentDetails } = await handle.query<{ currentDetails: string }>(
    '__temporal_workflow_metadata',
  )
  expect(currentDetails).toMatch(
    /^\*\*contacts\*\*, run \d+: stage, \*\*blocked\*\*\n\nauth: .*\n\nPut a working key /,
  )
  project.write('key', key)
  expect(await handle.result()).toMatchObject({ state: 'complete_with_rejects' })
  expect(await stateOf()).toEqual(['complete_with_rejects'])
  expect(await schedule()).toMatchObject({ paused: false })
  expect((await handle.describe()).searchAttributes['RowsFailed']).toEqual([2])
  expect(await handle.query('lastErrors')).toEqual([
    {
      ordinal: 7,
      code: 'row_invalid',
      reason: expect.stringMatching(/^[a-z_]+$/),
      pointer: '/properties/svc_score',
    },
    {
      ordinal: 300,
      code: 'row_invalid',
      reason: expect.stringMatching(/^[a-z_]+$/),
      pointer: '/properties/svc_score',
    },
  ])
})

test('a paused run keeps its batch in flight, sends no other, and goes on where it was', async () => {
  project.write('contacts.csv', contactsCsv(2_000))
  project.gate.pace(2)
  const handle = await project.start('contacts', slow)
  await vi.waitFor(() => expect(held('c-').length).toBeGreaterThan(0), soon)
  const paused = await project.command('pause', 'contacts', '--reason', 'the CRM is moved')
  expect(paused).toMatchObject({
    code: 0,
    out: expect.stringMatching(/Run \d+ of contacts: paused/),
  })
  const run = await latest('contacts')
  expect(run).toMatchObject({ state: 'paused', message: 'the CRM is moved' })
  const { states } = await booksOf(run.id)
  expect(states.in_flight).toBe(0)
  expect(states.created).toBe(held('c-').length)
  expect(states.pending).toBeGreaterThan(0)
  const before = upserts()
  await vi.waitFor(
    async () =>
      expect(await handle.query('progress')).toMatchObject({
        state: 'paused',
        message: 'the CRM is moved',
      }),
    soon,
  )
  expect((await project.command('status')).out).toMatch(/contacts .*paused/)
  // A second pause is no mistake, and nothing goes on meanwhile.
  expect(await handle.executeUpdate(pause, { args: [undefined] })).toEqual({ state: 'paused' })
  expect(upserts()).toBe(before)

  project.gate.open()
  expect(await project.command('resume', String(run.id))).toMatchObject({
    code: 0,
    out: expect.stringContaining('goes on'),
  })
  expect(await handle.result()).toMatchObject({
    state: 'complete',
    books: { read: 2_000, replayed: 0, states: { created: 2_000 } },
  })
  expect(held('c-').length).toBe(2_000)
  // The activity was told to stop; it did not just come to the end of its slice.
  const { events } = await handle.fetchHistory()
  expect(events?.filter((event) => event.activityTaskCanceledEventAttributes)).toHaveLength(1)
  const { actions } = JSON.parse((await project.command('--json', 'show', String(run.id))).out)
  expect(actions.slice(0, 2)).toMatchObject([
    { action: 'resume', state: 'done', via: 'command', who: expect.stringContaining('@') },
    { action: 'pause', state: 'done', details: 'the CRM is moved', run: run.id },
  ])
  expect((await project.command('show', String(run.id))).out).toMatch(
    /paused \(the CRM is moved\) by .*@/,
  )
  expect(await project.command('resume', String(run.id))).toMatchObject({
    code: 3,
    err: expect.stringContaining('is complete: nothing can be done in it any more'),
  })
  const { searchAttributes } = await handle.describe()
  expect(searchAttributes).toMatchObject({
    SyncName: ['contacts'],
    SyncKind: ['import'],
    SyncState: ['complete'],
    RowsFailed: [0],
  })
})

test('a cancelled run keeps what is done, says what was not, and closes its books', async () => {
  project.write(
    'contacts.csv',
    contactsCsv(2_000, (index, cells) => [cells[0]!, `Other ${index}`, cells[2]!, cells[3]!]),
  )
  project.gate.pace(2)
  const before = upserts()
  const handle = await project.start('contacts', slow)
  await vi.waitFor(() => expect(upserts()).toBeGreaterThan(before), soon)
  const cancelled = await project.command('cancel', 'contacts')
  expect(cancelled.code).toBe(0)
  expect(cancelled.out).toMatch(/cancelled[^]* rows read = [^]*not_sent/)
  await expect(handle.result()).rejects.toThrow(/cancelled/i)
  const { counts, state } = await latest('contacts')
  expect(state).toBe('cancelled')
  expect(counts!.states.updated).toBeGreaterThan(0)
  expect(counts!.states.updated + counts!.states.not_sent).toBe(2_000)
})

soakTest('a run that is paused can be cancelled', async () => {
  project.gate.pace(2)
  const before = upserts()
  const handle = await project.start('contacts', slow)
  await vi.waitFor(() => expect(upserts()).toBeGreaterThan(before), soon)
  await project
    .command('pause', 'contacts')
    .then(({ code, err }) => expect({ code, err }).toEqual({ code: 0, err: '' }))
  expect(await project.command('cancel', 'contacts')).toMatchObject({ code: 0 })
  await expect(handle.result()).rejects.toThrow(/cancelled/i)
  expect(await latest('contacts')).toMatchObject({ state: 'cancelled' })
  project.gate.open()
})

const limited = (rows: number, edit?: Parameters<typeof contactsCsv>[1]) =>
  project.write('limited.csv', contactsCsv(rows, edit).replaceAll('c-', 'l-'))

test('above a limit a run asks first: what is approved is sent, what is rejected is not', async () => {
  limited(120)
  const before = upserts()
  const first = await project.start('limited')
  await blockedBy('limited', 'approval')
  const asked = await latest('limited')
  expect(asked.message).toBe(
    '120 rows wait for approval: the limit rows_max is 100; 100 % of them are new records, the limit creates_max_percent is 20',
  )
  // The ledger knows before the workflow does.
  await vi.waitFor(
    async () =>
      expect(await first.query('progress')).toMatchObject({ step: 'approval', state: 'blocked' }),
    soon,
  )
  const rejected = await project.command('reject', 'limited')
  expect(rejected).toMatchObject({ code: 0, out: expect.stringContaining('nothing is sent') })
  expect(await first.result()).toMatchObject({
    state: 'cancelled',
    books: { states: { not_sent: 120 } },
  })
  expect(await latest('limited')).toMatchObject({ message: 'rejected; nothing was sent' })
  expect(upserts()).toBe(before)

  const second = await project.start('limited')
  await blockedBy('limited', 'approval')
  const approved = await project.command('approve', 'limited')
  expect(approved).toMatchObject({ code: 0, out: expect.stringContaining('the rows are sent') })
  expect(await second.result()).toMatchObject({
    state: 'complete',
    books: { states: { created: 120 } },
  })
})

soakTest('keys that no run has written are looked up before they count as new', async () => {
  // 60 records that somebody else has made, 12 keys that are new: 12 of 72 are below 20 %.
  for (const from of [201, 251])
    await client.batchCreate('svc_contact', {
      items: Array.from({ length: from === 201 ? 50 : 10 }, (_, at) => ({
        properties: { svc_external_id: `l-${from + at}` },
      })),
    })
  const line = (index: number) => `l-${index},Name ${index},person${index}@example.com,1`
  const file = (upTo: number) =>
    project.write(
      'limited.csv',
      [
        'id,first_name,email,score',
        ...Array.from({ length: upTo - 200 }, (_, at) => line(201 + at)),
        '',
      ].join('\n'),
    )
  file(272)
  const below = await project.start('limited')
  expect(await below.result()).toMatchObject({
    state: 'complete',
    books: { states: { created: 12, updated: 60 } },
  })

  limited(10, (index, cells) => [
    cells[0]!,
    `Again ${index}`,
    cells[2]!,
    index <= 4 ? '' : cells[3]!,
  ])
  const clearing = await project.start('limited', { ...fastTuning, approval_ms: 10_000 })
  await blockedBy('limited', 'approval')
  expect((await latest('limited')).message).toContain(
    '13.4 % of the values are cleared, the limit clears_max_percent is 10',
  )
  // Nobody answers.
  expect(await clearing.result()).toMatchObject({ state: 'cancelled' })
  expect(await latest('limited')).toMatchObject({
    message: 'it was not approved in time; nothing was sent',
  })
})

test('a backfill is limited to its window, or says why it cannot be', async () => {
  const days = Array.from({ length: 30 }, (_, at) => {
    const day = String(at + 1).padStart(2, '0')
    return `d-${at + 1},Day ${day},1,2026-01-${day}`
  })
  project.write('days.csv', ['id,first_name,score,day', ...days, ''].join('\n'))
  const done = await project.command(
    '--json',
    'backfill',
    'by_day',
    '--from',
    '2026-01-05',
    '--to',
    '2026-01-10',
  )
  expect(done).toMatchObject({ code: 0 })
  expect(JSON.parse(done.out)).toMatchObject({
    state: 'complete',
    rows_read: 5,
    backfill: { window: { from: '2026-01-05', to: '2026-01-10' }, only: null },
  })
  expect(held('d-').toSorted()).toEqual(['d-5', 'd-6', 'd-7', 'd-8', 'd-9'])
  expect((await project.command('show', String((await latest('by_day')).id))).out).toMatch(
    /backfill from 2026-01-05 to 2026-01-10/,
  )
  const csv = await project.command('backfill', 'contacts', '--from', '2026-01-05')
  expect(csv.code).toBe(2)
  expect(csv.err).toMatch(/contacts: a CSV file has no time/)
})

test('a backfill of a mirror reads the records of its window, and of no other type', async () => {
  await client.createRecord('svc_company', { svc_name: 'Acme' })
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const done = await project.command(
    '--json',
    'backfill',
    'crm_copy',
    '--from',
    '2020-01-01',
    '--to',
    tomorrow,
    '--object-types',
    'svc_company',
  )
  expect(done).toMatchObject({ code: 0 })
  const { streams } = JSON.parse(done.out)
  expect(streams).toMatchObject([{ stream: 'svc_company', inserted: 1 }])
})

test('without an input a backfill answers with what can be written, and misspelt ones say what was meant', async () => {
  const start = async (input: unknown, id: string) =>
    await project.client.workflow.execute(backfill, {
      taskQueue: await project.queue(),
      workflowId: project.workflowId(`help-${id}`),
      args: input === undefined ? [] : [input],
    })
  const help = (await start(undefined, 'none')) as { write: object[]; syncs: object[] }
  expect(await start({}, 'empty')).toEqual(help)
  expect(help.write).toEqual([
    { sync: 'contacts' },
    { sync: 'limited' },
    { sync: 'by_day', from: '2026-01-01', to: '2026-02-01' },
    { sync: 'crm_copy', from: '2026-01-01', to: '2026-02-01' },
  ])
  expect(help.syncs).toContainEqual({ sync: 'crm_copy', kind: 'mirror', window: 'yes' })
  for (const [input, expected] of [
    [{ sync: 'crm_cpy' }, /^there is no sync of that name; did you mean crm_copy\?/],
    [{ snyc: 'crm_copy' }, /^snyc is unknown; did you mean sync\?/],
    [{ sync: 'crm_copy', from: '01/02/2026' }, /from: expected a day such as 2026-01-01/],
    [{ sync: 'crm_copy', from: '2026-02-30' }, /from: expected a day/],
    [{ sync: 'crm_copy', from: '2026-02-01', to: '2026-01-01' }, /^from has to be before to/],
    [{ sync: 'crm_copy', full: 'yes', from: '2026-01-01' }, /^full reads everything/],
    [{ sync: 'contacts', full: true }, /is an import, which has no full/],
    [{ sync: 'by_day', object_types: 'svc_contact' }, /is an import, which has no object_types/],
    [[], /expected object/],
    [{ sync: 'contacts', tuning: { in_flight: 0 } }, /^tuning: in_flight: /],
  ] as const) {
    const refused = await start(input, JSON.stringify(input)).then(
      () => null,
      (error: { cause?: { type?: string; message?: string } }) => error.cause,
    )
    expect(refused).toMatchObject({
      type: 'InvalidInput',
      message: expect.stringMatching(expected),
      details: [{ write: expect.objectContaining({ sync: expect.any(String) }) }],
    })
  }
})
