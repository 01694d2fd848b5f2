// Imports into the other service, by the activities in the order of the workflow, without Temporal: what it holds afterwards is
// compared with the rows of the file, cell by cell, whatever the run says.

import { describe, expect, it, onTestFinished } from 'vitest'
import { RecordsClient } from '../../src/client/index.ts'
import { contactScene } from './contact-scene.ts'
import { COLUMNS, cells, contactDifferences, rowOf, rowsOf } from './contacts.ts'
import type { Json, OtherServiceOptions } from './index.ts'

const writes = ({ service }: Awaited<ReturnType<typeof contactScene>>) =>
  service.asked('batchUpsert')
const noWait = { resend_backoff_ms: [1], item_backoff_ms: [1] }
const fast = { tuning: noWait }

describe.each<[string, OtherServiceOptions]>([
  ['a plain service', {}],
  ['other names and paths', { prefix: 'q_', fieldTypes: 'other', paths: 'other' }],
  ['items answered 204', { batchItems: '204', batchStatus: 207 }],
  ['items answered without a record', { batchItems: 'bare', singleWrites: 'nothing' }],
  ['short and empty pages', { pages: 'empty', seed: 5 }],
  ['times with an offset', { times: 'offset', self: 'prose', clockAhead: -7_200_000 }],
])('%s', (_, options) => {
  it('holds each row once, and the same file again sends nothing', async () => {
    const made = await contactScene(options)
    const rows = rowsOf(160)
    made.rows(COLUMNS, cells(rows))
    const first = await made.run(fast)
    expect(first).toMatchObject({ state: 'complete', rows: 160 })
    expect(first.books.readBack).toMatchObject({ equal: 160, different: 0, missing: 0 })
    expect(contactDifferences(made.service, rows)).toEqual([])
    const sent = writes(made)
    const second = await made.run(fast)
    expect(second).toMatchObject({ state: 'complete', books: { states: { unchanged: 160 } } })
    expect(writes(made)).toBe(sent)
    const changed = [...rows.slice(0, 100), ...rows.slice(100).map((__, n) => rowOf(n + 101, 2))]
    made.rows(COLUMNS, cells(changed))
    expect(await made.run(fast)).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 100 } },
    })
    expect(contactDifferences(made.service, changed)).toEqual([])
    expect(await made.reconcile({}, fast)).toMatchObject({ state: 'complete', differences: [] })
  })
})

describe('keys of a service that compares exactly', () => {
  const of = (id: string, first: string) => ({ ...rowOf(1), id, first, mail: '' })

  it('that differ in spaces and form only are one record', async () => {
    const made = await contactScene()
    made.rows(COLUMNS, cells([of('K1', 'one'), of('K2', 'two'), of('\u00e91', 'composed')]))
    await made.run(fast)
    made.rows(COLUMNS, cells([of(' K1', 'one'), of('K2 ', 'new'), of('e\u03011', 'decomposed')]))
    const second = await made.run(fast)
    const held = made.service
      .records(made.contact)
      .map(({ properties }) => [properties[made.id], properties['acme_first_name']])
    expect(held).toEqual([
      ['K1', 'one'],
      ['K2', 'new'],
      ['\u00e91', 'decomposed'],
    ])
    expect(second.state).toBe('complete')
  })

  it('that differ in case only are apart where the service keeps them apart', async () => {
    const made = await contactScene()
    made.rows(COLUMNS, cells([of('ab', 'lower'), of('AB', 'upper')]))
    const { books } = await made.run(fast)
    expect(books.states).toMatchObject({ created: 2, superseded: 0 })
    expect(made.service.count(made.contact)).toBe(2)
  })

  it.each(['none', 'all'] as const)(
    'are one record where the service folds them: the last row wins in every run, and the first is told (verify: %s)',
    async (verify) => {
      const made = await contactScene({ matching: 'folded' }, { verify })
      const { service, contact } = made
      const held = () =>
        service.records(contact).map(({ properties }) => properties['acme_first_name'])
      const file = (upper: string, lower: string) => {
        const of20 = (id: string, first: string) =>
          Array.from({ length: 20 }, (_, index) => of(`${id}${index}`, `${first} ${index}`))
        made.rows(COLUMNS, cells([...of20('CI', upper), ...of20('ci', lower), of('own', 'apart')]))
      }
      const last = (first: string) => [
        ...Array.from({ length: 20 }, (_, index) => `${first} ${index}`),
        'apart',
      ]
      const ended = {
        state: 'complete_with_differences',
        message: expect.stringContaining(
          '20 rows were overwritten by a later row of the same record',
        ),
        books: { readBack: { overwritten: 20 } },
      }
      file('first', 'last')
      expect(await made.run(fast)).toMatchObject(ended)
      expect(held().toSorted()).toEqual(last('last').toSorted())
      // Only the earlier rows change, then nothing does, then only the later ones.
      for (const [upper, lower] of [
        ['other', 'last'],
        ['other', 'last'],
        ['other', 'newer'],
      ] as const) {
        file(upper, lower)
        const { run, ...again } = await made.run(fast)
        expect(again).toMatchObject(ended)
        expect(again.books.states.unchanged).toBe(1)
        expect(held().toSorted()).toEqual(last(lower).toSorted())
        const [group] = await made.ledger.rejectGroups(run)
        expect(group).toMatchObject({ reason: 'same_record', items: 20, example: 1 })
        // Nobody sends the older ones alone.
        expect(await made.retry(run, {}, fast)).toMatchObject({ rows: 0 })
      }
    },
    120_000,
  )

  it('of which a run has the earlier one only: the later one is sent again by the next', async () => {
    const made = await contactScene({ matching: 'folded' }, { verify: 'none' })
    made.rows(COLUMNS, cells([of('ab', 'one')]))
    await made.run(fast)
    made.rows(COLUMNS, cells([of('AB', 'two')]))
    expect(await made.run(fast)).toMatchObject({ state: 'complete' })
    made.rows(COLUMNS, cells([of('AB', 'two'), of('ab', 'one')]))
    expect(await made.run(fast)).toMatchObject({
      state: 'complete_with_differences',
      books: { readBack: { overwritten: 1 } },
    })
    const [record] = made.service.records(made.contact)
    expect(record!.properties['acme_first_name']).toBe('one')
  })

  it('of e-mail are one record, in whatever case they come', async () => {
    const made = await contactScene(
      {},
      {
        matching_property: 'contact_mail',
        properties: {
          contact_mail: { column: 'mail' },
          acme_first_name: { column: 'first' },
        },
      },
    )
    const person = (mail: string, first: string) => ({ ...rowOf(1), mail, first })
    made.rows(COLUMNS, cells([person('bob@x.org', 'one')]))
    await made.run(fast)
    made.rows(COLUMNS, cells([person('BOB@X.org', 'two')]))
    const { books } = await made.run(fast)
    const held = made.service.records(made.contact).map(({ properties }) => properties)
    // Either the service has one record of it, or it keeps both, and the books say so; never one that nobody knows of.
    const rows = Object.values(books.states).reduce((sum, one) => sum + one, 0)
    expect(rows).toBe(1)
    expect(held.length).toBe(books.states.created + 1)
  })
})

describe('what the service makes of values', () => {
  const lowered = (value: Json, name: string): Json =>
    name === 'email' ? [String((value as string[])[0]).toLowerCase()] : value

  it.each(['plain', 'other'] as const)('e-mails in lower case, %s names', async (fieldTypes) => {
    const made = await contactScene({ lowerEmails: true, fieldTypes })
    const rows = rowsOf(120)
    made.rows(COLUMNS, cells(rows))
    const first = await made.run(fast)
    expect(first.state).toBe('complete')
    expect(contactDifferences(made.service, rows, lowered)).toEqual([])
    const sent = writes(made)
    expect(await made.run(fast)).toMatchObject({ books: { states: { unchanged: 120 } } })
    expect(writes(made)).toBe(sent)
  })

  it('is told, is not plainly complete, and is sent at most twice', async () => {
    const made = await contactScene({
      normalise: (value, kind) => (kind === 'text' ? value.replace(/^Ada/, 'ADA') : value),
    })
    const rows = rowsOf(90)
    made.rows(COLUMNS, cells(rows))
    const first = await made.run(fast)
    const other = rows.filter(({ first: name }) => name.startsWith('Ada')).length
    expect(first).toMatchObject({
      state: 'complete_with_differences',
      books: { readBack: { different: other, equal: 90 - other, missing: 0 } },
    })
    const runs = [await made.run(fast), await made.run(fast), await made.run(fast)]
    expect(runs[0]!.books.states.unchanged).toBe(90 - other)
    expect(runs[1]!.books.states.unchanged).toBe(90)
    expect(runs[2]!.books.states.unchanged).toBe(90)
    expect(runs[0]!.books.readBack).toMatchObject({ normalised: other })
  })
})

describe('faults', () => {
  it('of reads cost their own reads only, and verification ends', async () => {
    const made = await contactScene({ seed: 11 })
    const rows = rowsOf(2_000)
    made.rows(COLUMNS, cells(rows))
    made.service.set({
      faults: [
        {
          rate: 0.15,
          kinds: ['drop_before', '500', '503'],
          on: 'reads',
          operations: ['queryRecords', 'readRecord'],
        },
      ],
    })
    const { state, books } = await made.run({ ...fast, tries: 300 })
    expect(state).toBe('complete')
    expect(books.readBack).toMatchObject({ equal: 2_000 })
    const reads = made.service.seen.filter(({ operation }) => operation === 'queryRecords')
    const answered = reads.filter(({ status, fault }) => status === 200 && fault === null)
    expect(answered.length).toBeLessThanOrEqual(22)
    expect(reads.length).toBeLessThanOrEqual(60)
    expect(contactDifferences(made.service, rows)).toEqual([])
  })

  it('of writes lose and double nothing', async () => {
    const made = await contactScene({ seed: 7 })
    const rows = rowsOf(600)
    made.rows(COLUMNS, cells(rows))
    made.service.set({
      faults: [
        {
          rate: 0.3,
          kinds: [
            'drop_before',
            'drop_after',
            'torn',
            '500',
            '500_after',
            '503',
            '503_after',
            '504',
            '502',
            '429',
          ],
          operations: ['batchUpsert'],
        },
      ],
    })
    const { state, books } = await made.run({ ...fast, tries: 20 })
    expect(state).toBe('complete')
    expect(books.readBack).toMatchObject({ equal: 600 })
    expect(contactDifferences(made.service, rows)).toEqual([])
  })

  it('of items that are carried out all the same are flagged as replayed', async () => {
    const made = await contactScene({
      itemFaults: { rate: 0.4, applied: 0.5, status: 500 },
      seed: 3,
    })
    const rows = rowsOf(200)
    made.rows(COLUMNS, cells(rows))
    const { books } = await made.run(fast)
    expect(contactDifferences(made.service, rows)).toEqual([])
    const { created, updated } = books.states
    expect(created + updated).toBe(200)
    expect(updated).toBeGreaterThan(0)
    // Created by this run, and told as updated: each of them is among the replayed ones.
    expect(books.replayed).toBeGreaterThanOrEqual(updated)
  })
})

it('a key of another org gets nothing', async () => {
  const made = await contactScene()
  const other = made.service.addOrg(2)
  made.service.addKey('key-of-org-2', { org: 2 })
  let key = made.service.key
  const moving = new RecordsClient({ baseUrl: made.service.url, key: () => Promise.resolve(key) })
  onTestFinished(() => moving.close())
  const rows = rowsOf(500)
  made.rows(COLUMNS, cells(rows))
  // After two batches the key is revoked, and the new one is of another org.
  const hold = made.service.hold(({ operation }) => operation === 'batchUpsert', { count: 3 })
  const running = made
    .run({
      connect: async (_name, home) => ({
        client: home === null ? moving : moving.forHome(home),
        keyFingerprint: await moving.keyFingerprint(),
      }),
      tuning: { in_flight: 3, ...noWait },
      tries: 3,
    })
    .catch((error: unknown) => error)
  await hold.arrived
  made.service.revoke(key)
  key = 'key-of-org-2'
  hold.open()
  const ended = await running
  expect(other.list(made.contact).length).toBe(0)
  expect(ended).toBeInstanceOf(Error)
  expect(String(ended)).toMatch(/\b2\b/)
})
