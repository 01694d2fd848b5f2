// What the answers to upserts say of themselves, with and without reading back: a service that writes something else, or answers
// with something else, is told of, and one that answers with less, or too early, is not.

import { describe, expect, it } from 'vitest'
import type { ImportConfig } from '../../config/index.ts'
import { importSceneOn } from '../unit/import/scene.ts'
import { COLUMNS, cells, contactDifferences, mappingOf, rowsOf } from './contacts.ts'
import { startOtherService } from './index.ts'
import type { OtherServiceOptions } from './index.ts'

const ROWS = 70
const rows = rowsOf(ROWS)

async function scene(options: OtherServiceOptions, verify: ImportConfig['verify'] = 'none') {
  const made = await importSceneOn(
    () => startOtherService({ ...options, retryAfter: '0' }),
    mappingOf({ prefix: 'acme_', fieldTypes: 'plain' }),
    { object_type: 'acme_contact', matching_property: 'acme_external_id', verify },
  )
  made.rows(COLUMNS, cells(rows))
  const reads = () => made.service.asked('queryRecords')
  return { ...made, reads }
}

const reasons = async ({ ledger }: Awaited<ReturnType<typeof scene>>, run: number) =>
  (await ledger.rejectGroups(run)).map(({ reason, field, items }) => ({ reason, field, items }))

describe.each(['none', 'sample', 'all'] as const)('verify: %s', (verify) => {
  it('a service that writes other records than those asked for', async () => {
    const made = await scene({ writes: 'otherkey' }, verify)
    for (let again = 0; again < 2; again++) {
      const { run, ...ended } = await made.run()
      expect(ended).toMatchObject({
        state: 'complete_with_differences',
        message: `${ROWS} rows were accepted and read back otherwise: ${ROWS} missing`,
        books: { readBack: { missing: ROWS, different: 0 }, states: { unchanged: 0 } },
      })
      expect(await reasons(made, run)).toMatchObject([{ reason: 'read_back_missing', items: ROWS }])
    }
  })

  it('a service that answers with other records, although those asked for are as they were sent', async () => {
    const made = await scene({ answers: 'otherkey' }, verify)
    for (let again = 0; again < 2; again++) {
      const { run, ...ended } = await made.run()
      expect(contactDifferences(made.service, rows)).toEqual([])
      expect(ended).toMatchObject({
        state: 'complete_with_differences',
        books: { readBack: { different: ROWS, equal: 0 }, states: { unchanged: 0 } },
      })
      const { warnings } = (await made.ledger.run(run))!
      expect(warnings).toEqual([expect.stringContaining('records of other keys than were sent')])
      expect(await reasons(made, run)).toEqual([
        { reason: 'answered_other_record', field: '/properties/acme_external_id', items: ROWS },
      ])
      const [first] = await made.ledger.report(run, {
        states: [],
        after: 0,
        limit: 1,
        readBack: true,
      })
      const [record] = made.service.records('acme_contact')
      expect(first).toMatchObject({
        recordId: record!.id,
        column: 'id',
        value: '"k-1"',
        detail: 'acme_external_id: sent "k-1", the service answered "zzz-k-1" (another value)',
      })
    }
    made.service.set({ answers: 'held' })
    expect(await made.run()).toMatchObject({
      state: 'complete',
      books: { states: { updated: ROWS } },
    })
    expect(await made.run()).toMatchObject({ state: 'complete', requests: expect.any(Number) })
  })

  it('a service that writes other values', async () => {
    const made = await scene({ writes: 'otherval' }, verify)
    for (let again = 0; again < 2; again++) {
      const { run, ...ended } = await made.run()
      expect(ended).toMatchObject({
        state: 'complete_with_differences',
        books: { readBack: { different: ROWS }, states: { unchanged: 0 } },
      })
      expect(await reasons(made, run)).toEqual([
        { reason: 'read_back_different', field: '/properties/acme_first_name', items: ROWS },
      ])
    }
  })

  it.each(['otherval', 'before'] as const)(
    'a service that holds what was sent, and answers with something else (%s)',
    async (answers) => {
      const made = await scene({ answers }, verify)
      expect(await made.run()).toMatchObject({
        state: 'complete',
        books: { readBack: { different: 0, missing: 0 } },
      })
      made.rows(COLUMNS, cells(rowsOf(ROWS, 2)))
      const { run, ...ended } = await made.run()
      expect(ended).toMatchObject({
        state: 'complete',
        message: null,
        books: { readBack: { equal: ROWS, different: 0, missing: 0 } },
      })
      expect(await reasons(made, run)).toEqual([])
      expect(contactDifferences(made.service, rowsOf(ROWS, 2))).toEqual([])
      expect(await made.run()).toMatchObject({ books: { states: { unchanged: ROWS } } })
    },
  )
})

it.each<[string, OtherServiceOptions]>([
  ['with the records', {}],
  ['with the key alone', { answers: 'partial' }],
  ['without a record', { batchItems: 'bare' }],
  ['with 204', { batchItems: '204' }],
  ['with e-mails in small letters', { lowerEmails: true }],
])('an answer %s costs no read where nothing is read back', async (_, options) => {
  const made = await scene(options)
  const before = made.reads()
  const ended = await made.run()
  expect(ended).toMatchObject({
    state: 'complete',
    message: null,
    books: { readBack: { equal: 0, different: 0, missing: 0, normalised: 0 } },
  })
  expect(made.reads()).toBe(before)
})

it('a form of its own is known without reading everything back', async () => {
  const made = await scene({
    normalise: (value, kind) => (kind === 'text' ? value.replace(/^Ada/, 'ADA') : value),
  })
  const other = rows.filter(({ first }) => first.startsWith('Ada')).length
  expect(await made.run()).toMatchObject({
    state: 'complete_with_differences',
    books: { readBack: { different: other, equal: 0 } },
  })
  expect(made.reads()).toBe(1)
  expect(await made.run()).toMatchObject({
    state: 'complete',
    books: { readBack: { normalised: other }, states: { updated: other, unchanged: ROWS - other } },
  })
  expect(await made.run()).toMatchObject({ books: { states: { unchanged: ROWS } } })
})

it.each<[string, OtherServiceOptions]>([
  ['in small letters, and finds by any', { matching: 'folded' }],
  ['in small letters, and finds by them alone', { matching: 'exact' }],
])('keys that the service keeps %s are a form of theirs, no other record', async (_, options) => {
  const made = await scene({
    ...options,
    normalise: (value, kind) =>
      kind === 'text' && value.startsWith('KEY-') ? value.toLowerCase() : value,
  })
  const upper = rowsOf(20).map((row, index) => ({ ...row, id: `KEY-${index}` }))
  made.rows(COLUMNS, cells(upper))
  expect(await made.run()).toMatchObject({
    state: 'complete_with_differences',
    books: { readBack: { different: 20, missing: 0 } },
  })
  expect(await made.run()).toMatchObject({
    state: 'complete',
    books: { readBack: { normalised: 20 } },
  })
  expect(await made.run()).toMatchObject({ books: { states: { unchanged: 20 } } })
  expect(made.service.count('acme_contact')).toBe(20)
})

it('what was answered otherwise and never read back is left over, and is sent by the next run', async () => {
  const made = await scene({ writes: 'otherval' })
  const { run, ...ended } = await made.run({ ending: 'cancelled' })
  expect(ended).toMatchObject({ state: 'cancelled', books: { readBack: { different: ROWS } } })
  expect(await reasons(made, run)).toEqual([
    { reason: 'answered_different', field: '/properties/acme_first_name', items: ROWS },
  ])
  expect(made.reads()).toBe(0)
  made.service.set({ writes: 'sent' })
  expect(await made.retry(run)).toMatchObject({ state: 'complete', rows: ROWS })
  expect(await made.run()).toMatchObject({
    state: 'complete',
    books: { states: { unchanged: ROWS } },
  })
  expect(contactDifferences(made.service, rows)).toEqual([])
})

it('the last row of a record, which is sent once more, is read by its last answer', async () => {
  const made = await scene({ matching: 'folded', writes: 'otherval' })
  const of = (id: string, first: string) => ({ ...rows[0]!, id, first, mail: '' })
  made.rows(COLUMNS, cells([of('ab', 'one'), of('AB', 'two')]))
  for (let again = 0; again < 2; again++)
    expect(await made.run()).toMatchObject({
      state: 'complete_with_differences',
      books: { readBack: { overwritten: 1, different: 1 } },
    })
  made.service.set({ writes: 'sent' })
  expect(await made.run()).toMatchObject({ books: { readBack: { overwritten: 1, different: 0 } } })
})
