// A reconciliation of an import finds every difference, names it, and mends it: source against service, with a real service
// and a real ledger.

import { readdirSync, readlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { show } from '../../../src/cli/commands/show.ts'
import { status } from '../../../src/cli/commands/status.ts'
import type { RecordsClient } from '../../../src/client/index.ts'
import type { ChangedBy } from '../../../src/core/domain/differences.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { textHash } from '../../../src/import/mapping/map.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { ADMINISTRATOR } from '../../../src/service/auth/keys.ts'
import { said } from '../cli/said.ts'
import { clientWith, CONTACT, importScene, type RunEnd, type Scene } from './scene.ts'

/** A property in each of its field type's ways: as it is at first, as each side changes it, and as it only looks different. */
interface Kind {
  readonly property: string
  readonly first: string
  readonly ours: string
  readonly theirs: unknown
  readonly looks: string
}

const KINDS: readonly Kind[] = [
  { property: 'svc_first_name', first: 'José', ours: 'JOSÉ', theirs: 'josé', looks: 'Jose\u0301' },
  {
    property: 'svc_notes',
    first: 'one\ntwo',
    ours: 'one\nthree',
    theirs: 'one',
    looks: 'one\ntwo  ',
  },
  {
    property: 'svc_email',
    first: 'ann@x.example',
    ours: 'cleo@x.example',
    theirs: ['bea@x.example'],
    looks: 'Ann@X.Example',
  },
  {
    property: 'svc_phone',
    first: '+49 30 1234',
    ours: '+49 30 9999',
    theirs: ['+49 30 5555'],
    looks: ' +49 30 1234',
  },
  {
    property: 'svc_website',
    first: 'https://x.example/a',
    ours: 'https://x.example/b',
    theirs: 'https://x.example/c',
    looks: 'https://X.example/a',
  },
  { property: 'svc_score', first: '10.5', ours: '10.51', theirs: 11, looks: '10.50' },
  {
    property: 'svc_birthday',
    first: '2020-01-02',
    ours: '2020-01-03',
    theirs: '2020-01-04',
    looks: ' 2020-01-02 ',
  },
  {
    property: 'svc_last_contacted_at',
    first: '2026-01-01T10:00:00Z',
    ours: '2026-01-01T10:00:01Z',
    theirs: '2026-01-01T12:00:00Z',
    looks: '2026-01-01T11:00:00+01:00',
  },
  {
    property: 'svc_lifecycle_stage',
    first: 'lead',
    ours: 'customer',
    theirs: 'former',
    looks: ' lead',
  },
  {
    property: 'svc_tags',
    first: 'vip;press',
    ours: 'vip',
    theirs: ['vip', 'event'],
    looks: 'press;vip',
  },
  {
    property: 'svc_lifetime_value',
    first: '10.50',
    ours: '10.51',
    theirs: { amount: '10.50', unit: 'USD' },
    looks: '10.5',
  },
  {
    property: 'svc_owner',
    first: 'usr_one',
    ours: 'usr_two',
    theirs: 'usr_three',
    looks: ' usr_one ',
  },
  { property: 'svc_subscribed', first: 'true', ours: 'false', theirs: false, looks: 'TRUE' },
]

const MAPPING: ImportConfig['properties'] = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'svc_first_name' },
  svc_notes: { column: 'svc_notes' },
  svc_email: { column: 'svc_email', split: ';' },
  svc_phone: { column: 'svc_phone', split: ';' },
  svc_website: { column: 'svc_website' },
  svc_score: { column: 'svc_score' },
  svc_birthday: { column: 'svc_birthday' },
  svc_last_contacted_at: { column: 'svc_last_contacted_at' },
  svc_lifecycle_stage: { column: 'svc_lifecycle_stage' },
  svc_tags: { column: 'svc_tags', split: ';' },
  svc_lifetime_value: { column: 'svc_lifetime_value', unit: 'EUR' },
  svc_owner: { column: 'svc_owner' },
  svc_subscribed: { column: 'svc_subscribed' },
}
const USERS = ['usr_one', 'usr_two', 'usr_three'].map((id) => ({ ...ADMINISTRATOR, id }))
const COLUMNS = Object.values(MAPPING).map(({ column }) => column!)

/** A row whose values are those of every kind at first, but for `changes`. */
const rowOf = (id: string, changes: Readonly<Record<string, string>> = {}): string[] =>
  COLUMNS.map((column) =>
    column === 'id'
      ? id
      : (changes[column] ?? KINDS.find(({ property }) => property === column)!.first),
  )

const patch = async (scene: Scene, externalId: string, properties: Record<string, unknown>) => {
  const record = await scene.held(externalId)
  await scene.client.updateRecord(CONTACT, record!.id, properties as never)
}

/** `key property kind whose`, sorted. */
const told = ({ differences }: RunEnd): string[] =>
  differences
    .map(({ key, field, kind, whose }) => `${key} ${field ?? '-'} ${kind} ${whose}`)
    .toSorted()

const SIDES = ['theirs', 'ours', 'both', 'cleared', 'looks'] as const

test('every kind of difference is found and named, and nothing else; repair leaves both sides equal', async () => {
  const scene = await importScene(MAPPING, {}, { users: USERS })
  const ids = KINDS.flatMap(({ property }) => SIDES.map((side) => `${side} ${property}`))
  const others = ['equal', 'deleted', 'gone', 'twice', 'moved']
  scene.rows(
    COLUMNS,
    [...ids, ...others].map((id) => rowOf(id)),
  )
  const first = await scene.run()
  expect(first.state).toBe('complete')

  // People work at both sides.
  const expected: string[] = []
  const expect_ = (id: string, field: string, kind: string, whose: ChangedBy) =>
    expected.push(`${id} ${field} ${kind} ${whose}`)
  const rows = [rowOf('equal'), rowOf('deleted'), rowOf('new')]
  for (const { property, ours, theirs, looks } of KINDS) {
    const id = (side: string) => `${side} ${property}`
    rows.push(rowOf(id('theirs')), rowOf(id('cleared')))
    rows.push(rowOf(id('ours'), { [property]: ours }), rowOf(id('both'), { [property]: ours }))
    rows.push(rowOf(id('looks'), { [property]: looks }))
    await patch(scene, id('theirs'), { [property]: theirs })
    await patch(scene, id('both'), { [property]: property === 'svc_subscribed' ? null : theirs })
    await patch(scene, id('cleared'), { [property]: null })
    expect_(id('theirs'), property, 'different', 'service')
    expect_(id('cleared'), property, 'different', 'service')
    expect_(id('ours'), property, 'stale', 'source')
    expect_(id('both'), property, 'different', 'both')
  }
  // Two fields at once, one by each side.
  rows.push(rowOf('twice', { svc_score: '77' }))
  await patch(scene, 'twice', { svc_first_name: 'Zoe' })
  expect_('twice', 'svc_score', 'different', 'source')
  expect_('twice', 'svc_first_name', 'different', 'service')
  await scene.client.deleteRecord(CONTACT, (await scene.held('deleted'))!.id)
  expect_('deleted', '-', 'missing', 'service')
  expect_('new', '-', 'missing', 'source')
  // "gone" is not in the source any more.
  expect_('gone', '-', 'extra', 'source')
  rows.push(rowOf('moved'))
  await patch(scene, 'moved', { svc_external_id: 'elsewhere' })
  expect_('moved', 'svc_external_id', 'different', 'service')
  scene.rows(COLUMNS, rows)

  const before = scene.service.records(CONTACT)
  const looked = await scene.reconcile()
  expect(told(looked)).toEqual(expected.toSorted())
  expect(looked.state).toBe('complete_with_differences')
  expect(looked.books.states.unchanged).toBe(KINDS.length + 1)
  expect(scene.service.records(CONTACT)).toEqual(before)

  const repaired = await scene.reconcile({ repair: true, deleteExtra: true })
  expect(told(repaired)).toEqual(expected.toSorted())
  expect(repaired.differences.filter((one) => !one.repaired).map(({ key }) => key)).toEqual([
    'moved',
  ])
  expect(await scene.held('gone')).toBeNull()
  expect(await scene.held('elsewhere')).not.toBeNull()

  // Once the key is put back by a person nothing is left.
  await patch(scene, 'elsewhere', { svc_external_id: 'moved' })
  const last = await scene.reconcile()
  expect(told(last)).toEqual([])
  expect(last).toMatchObject({ state: 'complete', message: 'both sides are equal' })
  expect((await scene.ledger.reconciled('contacts')).verifiedThrough).toBe(
    (await scene.ledger.run(last.run))!.openedAt,
  )
})

const NAMES: ImportConfig['properties'] = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
}
const names = (count: number, name = 'Ann') =>
  Array.from({ length: count }, (_, index) => [`c-${index + 1}`, name])
const HEAD = ['id', 'name']

const lost = () =>
  new ServiceFailure('no answer came', {
    kind: 'no_answer',
    disposition: 'retry',
    block: 'service',
    outcomeUnknown: true,
  })

test('what is in doubt is settled by asking, before anyone is told that it failed', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(60))
  // The first batch is carried out, the second is not; neither is answered.
  let sent = 0
  const cancelled = await scene.run({
    ending: 'cancelled',
    tuning: { in_flight: 1, resend_backoff_ms: [0], item_backoff_ms: [0] },
    through: (client) =>
      clientWith(client, {
        async batchUpsert(...given) {
          const { permit } = given[3] ?? {}
          if (sent++ === 0) await client.batchUpsert(...given)
          else permit?.unused()
          throw lost()
        },
      }),
  })
  expect(cancelled.books.states).toMatchObject({ updated: 50, not_sent: 10, outcome_unknown: 0 })
  expect(cancelled.books.inDoubt).toBe(0)
  const again = await scene.run()
  expect(again.books.states).toMatchObject({ unchanged: 50, created: 10 })
  // What was found counts as what was sent last.
  await patch(scene, 'c-1', { svc_first_name: 'Zoe' })
  scene.rows(HEAD, [['c-1', 'Bea'], ...names(60).slice(1)])
  expect(told(await scene.reconcile())).toEqual(['c-1 svc_first_name different both'])
})

test('whoever takes over a run whose workflow is gone asks for what it had in flight', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(60))
  let sent = 0
  const lostRun = await scene.run({
    ending: 'lost',
    tuning: { in_flight: 1, resend_backoff_ms: [0] },
    through: (client) =>
      clientWith(client, {
        async batchUpsert(...given) {
          if (sent++ === 0) await client.batchUpsert(...given)
          else given[3]?.permit?.unused()
          throw lost()
        },
      }),
  })
  expect(lostRun.books.states).toMatchObject({ in_flight: 50, pending: 10 })
  const next = await scene.run()
  expect(next.books.states).toMatchObject({ unchanged: 50, created: 10 })
  const taken = (await scene.ledger.run(lostRun.run))!
  expect(taken).toMatchObject({ state: 'failed', reason: 'abandoned' })
  expect(taken.counts).toMatchObject({
    inDoubt: 0,
    states: { updated: 50, not_sent: 10, outcome_unknown: 0 },
  })
})

test('rows whose outcome nobody knows are found by a reconciliation, or named as unknown', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(100))
  let sent = 0
  const silent = { queryRecords: () => Promise.reject(lost()) }
  const doubtful = await scene.run({
    ending: 'cancelled',
    tuning: { in_flight: 2, resend_backoff_ms: [0] },
    through: (client) =>
      clientWith(client, {
        ...silent,
        async batchUpsert(...given) {
          if (sent++ === 0) await client.batchUpsert(...given)
          else given[3]?.permit?.unused()
          throw lost()
        },
      }),
  })
  expect(doubtful.books).toMatchObject({ inDoubt: 100, states: { outcome_unknown: 100 } })
  const reconciled = await scene.reconcile({ repair: true })
  expect(reconciled.books.states).toMatchObject({ unchanged: 50, created: 50 })
  expect(new Set(reconciled.differences.map(({ kind, whose }) => `${kind} ${whose}`))).toEqual(
    new Set(['missing source']),
  )
  expect((await scene.run()).books.states.unchanged).toBe(100)
})

test('a record that is deleted between two reads is missing, and repair makes it anew', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(3))
  await scene.run()
  const repaired = await scene.reconcile(
    { repair: true },
    {
      through: (client) =>
        clientWith(client, {
          async queryRecords(...given) {
            const answer = await client.queryRecords(...given)
            const gone = answer.data.find(
              ({ properties }) => properties['svc_external_id'] === 'c-2',
            )
            if (gone) await scene.client.deleteRecord(CONTACT, gone.id).catch(() => {})
            return answer
          },
        }),
    },
  )
  // It was there when it was compared, and the next one finds that it is gone.
  expect(told(repaired)).toEqual([])
  const next = await scene.reconcile({ repair: true })
  expect(told(next)).toEqual(['c-2 - missing service'])
  expect(next.state).toBe('complete')
  expect((await scene.held('c-2'))!.properties['svc_first_name']).toBe('Ann')
})

test('a service that stores something else is told, and never called equal', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(3))
  await scene.run()
  scene.rows(HEAD, [['c-1', 'Bea'], ...names(3).slice(1)])
  const shouts = (properties: Record<string, unknown>) => ({
    svc_first_name: String(properties['svc_first_name']).toUpperCase(),
  })
  const repaired = await scene.reconcile(
    { repair: true },
    {
      through: (client) =>
        clientWith(client, {
          async batchUpsert(type, matching, input, options) {
            const answer = await client.batchUpsert(type, matching, input, options)
            for (const { record } of answer.data)
              if (record)
                await scene.client.updateRecord(type, record.id, shouts(record.properties) as never)
            return answer
          },
        }),
    },
  )
  expect(told(repaired)).toEqual(['c-1 svc_first_name stale source'])
  expect(repaired.differences[0]!.repaired).toBe(false)
  expect(repaired.state).toBe('complete_with_differences')
  expect((await scene.ledger.reconciled('contacts')).verifiedThrough).toBeNull()
  expect(told(await scene.reconcile())).toEqual(['c-1 svc_first_name different unknown'])
})

test('a part can be compared: a sample, or the rows of one value; what the source lacks is not judged by it', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, [...names(200), ['c-201', 'Bea']])
  await scene.run()
  scene.rows(HEAD, [...names(200), ['c-201', 'Bea'], ['c-202', 'Bea']].slice(1))
  const part = await scene.reconcile({ where: { column: 'name', digest: textHash('Bea') } })
  expect(part.books.read).toBe(2)
  expect(told(part)).toEqual(['c-202 - missing source'])
  const sample = await scene.reconcile({ sample: 20 })
  expect(sample.books.read).toBeGreaterThan(10)
  expect(sample.books.read).toBeLessThan(40)
  expect(sample.rows).toBe(sample.books.read)
  expect(sample.differences.filter(({ kind }) => kind === 'extra')).toEqual([])
  expect((await scene.ledger.reconciled('contacts')).verifiedThrough).toBeNull()
  await expect(
    scene.reconcile({ where: { column: 'nmae', digest: textHash('Bea') } }),
  ).rejects.toThrow('--where: the source has no column "nmae"; it has: id, name')
  expect(openPaths().filter((path) => path.endsWith('rows.csv'))).toEqual([])
})

/** The files that this process has open. */
const openPaths = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })

test('a repair that would delete many asks a person first', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(170))
  await scene.run()
  scene.rows(HEAD, names(50))
  const asked: (string | null)[] = []
  const refused = await scene.reconcile(
    { repair: true, deleteExtra: true },
    { noteWait: (message) => asked.push(message) },
  )
  expect(refused.state).toBe('cancelled')
  expect(asked).toContain(
    '120 records wait to be deleted: 70.6 % of those that the sync has written; above 1 % a person is asked',
  )
  expect(scene.service.records(CONTACT)).toHaveLength(170)
  // One of them may not be deleted, as the service says.
  const { id: kept } = (await scene.held('c-60'))!
  const forbids = async (...given: Parameters<RecordsClient['batchDelete']>) => {
    const [type, input, options] = given
    if (!('items' in input)) throw new Error('items were expected')
    const items = input.items.filter(({ id }) => id !== kept)
    const { data, ...rest } = await scene.client.batchDelete(type, { items }, options)
    const results = input.items.map(({ id }, index) => ({
      index,
      status: id === kept ? 403 : data[items.findIndex((one) => one.id === id)]!.status,
    }))
    return { ...rest, data: results } as Awaited<ReturnType<RecordsClient['batchDelete']>>
  }
  const approved = await scene.reconcile(
    { repair: true, deleteExtra: true },
    { approves: true, through: (client) => clientWith(client, { batchDelete: forbids }) },
  )
  expect(approved).toMatchObject({
    state: 'complete_with_rejects',
    message:
      '120 differ: 120 extra; 119 of them mended; 120 deletions due = 119 deleted + 1 rejected (refused 1)',
  })
  expect(scene.service.records(CONTACT)).toHaveLength(51)

  // Three requests of up to 50 deleted them, and no row was sent.
  expect(await scene.ledger.progress(approved.run)).toMatchObject({ requests: 3, planned: 0 })
  const config = join(scene.folder, 'records-sync.yaml')
  await writeFile(
    config,
    `ledger: ./ledger.db
connections: { crm: { service: "${scene.service.url}", key: { file: ./key } } }
syncs:
  contacts:
    import:
      { from: { csv: ./rows.csv }, to: crm, object_type: ${CONTACT}, matching_property: svc_external_id, properties: { svc_external_id: id } }
`,
  )
  const { out } = await said(config, (context) => show(context, String(approved.run)))
  expect(out.join('\n')).toContain('3 writing requests, 119 records deleted')
  const json = await said(config, (context) => show(context, String(approved.run)), true)
  expect(JSON.parse(json.out[0]!)).toMatchObject({ requests: 3, deleted: 119 })
  const { out: standing } = await said(config, status, true)
  expect(JSON.parse(standing[0]!)[0].latest_reconciliation).toMatchObject({ deleted: 119 })
  const lines = (await said(config, status)).out
  expect(lines.find((line) => line.includes('(reconcile)'))).toMatch(/ 50 +119 +/)
})

test('what was sent last is what counts: an update moves it, and a value that was left out was never sent', async () => {
  const scene = await importScene({ ...NAMES, svc_score: { column: 'score' } })
  const head = [...HEAD, 'score']
  scene.rows(head, [
    ['c-1', 'Ann', '1'],
    ['c-2', 'Bea', ''],
  ])
  await scene.run()
  scene.rows(head, [
    ['c-1', 'Ann', '2'],
    ['c-2', 'Bea', ''],
  ])
  await scene.run()
  await patch(scene, 'c-1', { svc_first_name: 'Zoe' })
  await patch(scene, 'c-2', { svc_score: 5 })
  scene.rows(head, [
    ['c-1', 'Ann', '3'],
    ['c-2', 'Bea', '7'],
  ])
  expect(told(await scene.reconcile())).toEqual([
    'c-1 svc_first_name different service',
    'c-1 svc_score different source',
    'c-2 svc_score stale source',
  ])
})

test('looking asks nobody, whatever the limits are', async () => {
  const scene = await importScene(NAMES, { rows_max: 2 })
  scene.rows(HEAD, names(2))
  await scene.run()
  scene.rows(HEAD, names(9, 'Bea'))
  expect(await scene.reconcile()).toMatchObject({
    state: 'complete_with_differences',
    message: '9 differ: 7 missing, 2 stale',
  })
  expect((await scene.reconcile({ repair: true })).state).toBe('cancelled')
  expect((await scene.reconcile({ repair: true }, { approves: true })).state).toBe('complete')
})

test('a retry sends what a run left over, and only that', async () => {
  const scene = await importScene({ ...NAMES, svc_score: { column: 'score' } })
  const head = [...HEAD, 'score']
  const rows = [
    ['c-1', 'Ann', '1'],
    ['c-2', 'Bea', 'many'],
    ['c-3', 'Cleo', '3'],
  ]
  scene.rows(head, rows)
  const first = await scene.run()
  expect(first.books.states).toMatchObject({ created: 2, invalid: 1 })
  const again = await scene.retry(first.run)
  expect(again.books).toMatchObject({ read: 1, states: { invalid: 1 } })
  const correction = await scene.ledger.addCorrections(first.run, null, [
    { ordinal: 2, raw: ['c-2', 'Bea', '2'] },
  ])
  const corrected = await scene.retry(first.run, { correction })
  expect(corrected).toMatchObject({ state: 'complete', books: { read: 1, states: { created: 1 } } })
  expect((await scene.held('c-2'))!.properties['svc_score']).toBe(2)
  // Its result belongs to the row of the first run, which is left no more.
  const [item] = await scene.ledger.report(corrected.run, {
    states: ['created'],
    after: 0,
    limit: 9,
  })
  expect(item).toMatchObject({ of: 2, line: 3 })
  const left = { states: ['invalid'], after: 0, limit: 9, isLeft: true } as const
  expect(await scene.ledger.report(first.run, left)).toEqual([])
  expect((await scene.ledger.laterRuns(first.run, 'retry')).map(({ id }) => id)).toEqual([
    again.run,
    corrected.run,
  ])
})

test('what a reconciliation leaves different can be retried', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(5))
  await scene.run()
  await patch(scene, 'c-3', { svc_first_name: 'Zoe' })
  const looked = await scene.reconcile()
  expect(looked.books.states).toMatchObject({ unchanged: 4, not_sent: 1 })
  const sent = await scene.retry(looked.run)
  expect(sent.books.states).toMatchObject({ updated: 1 })
  expect((await scene.reconcile()).message).toBe('both sides are equal')
})

test('looking changes nothing that is believed: the next import sends what it would have sent', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(1_002))
  await scene.run()
  await patch(scene, 'c-3', { svc_first_name: 'Zoe' })
  const looked = await scene.reconcile()
  expect(looked.books.states).toMatchObject({ unchanged: 1_001, not_sent: 1 })
  expect((await scene.run()).books.states).toMatchObject({ unchanged: 1_002 })
})

test('keys are found in the form that the service keeps, and as numbers', async () => {
  const mails = await importScene(
    { svc_email: { column: 'mail', split: ';' }, svc_first_name: { column: 'name' } },
    { matching_property: 'svc_email' },
  )
  // Both forms of each are more than a request may name.
  const people = Array.from({ length: 80 }, (_, index) => `ann${index}@x.example`)
  const mail = (form: (text: string) => string) => people.map((one) => [form(one), 'Ann'])
  mails.rows(
    ['mail', 'name'],
    mail((one) => one),
  )
  await mails.run()
  mails.rows(
    ['mail', 'name'],
    mail((one) => one.replace('ann', 'Ann')),
  )
  // A list is searched for exactly these values (specification section 2.11).
  const strict = (client: ImportClient) =>
    clientWith(client, {
      queryRecords(type, query, options) {
        const { filter } = query ?? {}
        if (!filter || !('op' in filter) || filter.op !== 'in')
          return client.queryRecords(type, query, options)
        const value = (filter.value as string[]).filter((one) => one === one.toLowerCase())
        const exact = { ...filter, value: value.length > 0 ? value : ['nobody@x.example'] }
        return client.queryRecords(type, { ...query, filter: exact }, options)
      },
    })
  expect((await mails.reconcile({}, { through: strict })).books.states.unchanged).toBe(80)

  const numbers = await importScene(
    { svc_score: { column: 'score' }, svc_first_name: { column: 'name' } },
    { matching_property: 'svc_score' },
  )
  const head = ['score', 'name']
  numbers.rows(head, [
    ['10.50', 'Ann'],
    ['11', 'Bea'],
  ])
  await numbers.run()
  numbers.rows(head, [['10.5', 'Ann']])
  const looked = await numbers.reconcile()
  expect(told(looked)).toEqual(['11 - extra source'])
  expect(looked.books.states).toMatchObject({ unchanged: 1 })
})

test('a reconciliation that is killed goes on, and finds each difference once', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, names(1_500))
  await scene.run()
  for (const id of ['c-7', 'c-700', 'c-1400']) await patch(scene, id, { svc_first_name: 'Zoe' })
  // Every third request of the comparison fails as if its worker had gone; the activity is begun anew.
  let asked = 0
  const repaired = await scene.reconcile(
    { repair: true },
    {
      tries: 10,
      through: (client) =>
        clientWith(client, {
          queryRecords: (...given) =>
            ++asked % 3 === 0 ? Promise.reject(lost()) : client.queryRecords(...given),
        }),
    },
  )
  expect(told(repaired)).toEqual(
    ['c-7', 'c-700', 'c-1400'].map((id) => `${id} svc_first_name different service`).toSorted(),
  )
  expect(repaired.books.states).toMatchObject({ unchanged: 1_497, updated: 3 })
  expect(repaired.state).toBe('complete')
})

test('of a source without rows nothing is said to be equal, and nothing is verified', async () => {
  const scene = await importScene({ svc_external_id: { column: 'id' } })
  scene.rows(['id'], [])
  expect(await scene.reconcile()).toMatchObject({
    state: 'complete',
    message: 'no row was compared',
  })
  expect((await scene.ledger.reconciled('contacts')).verifiedThrough).toBeNull()
})
