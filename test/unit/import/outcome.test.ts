// From an answer to the books: each status has one outcome, and a batch that is refused whole is taken apart until the
// refused items stand alone, within the bound of promise 5: at most 12 requests per isolated item.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BATCH_ITEM_STATUSES,
  BATCH_ITEMS_MAX,
  type BatchItemResult,
} from '../../../src/contract/index.ts'
import { ServiceFailure, type FieldFault } from '../../../src/core/errors.ts'
import { ITEM_ATTEMPTS_MAX } from '../../../src/core/limits.ts'
import { itemOutcome, refusedOutcome, splitRefusedBatch } from '../../../src/import/look/outcome.ts'
import type { PlannedItem } from '../../../src/ledger/ledger.ts'

const item = (ordinal: number, attempts = 0): PlannedItem => ({
  ordinal,
  key: `k${ordinal}`,
  payload: '{}',
  hash: 'h',
  attempts,
})
const items = (count: number) => Array.from({ length: count }, (_, index) => item(index + 1))

const refusal = (facts: {
  field?: string
  errors?: FieldFault[]
  detail?: string
  reason?: string
}) =>
  new ServiceFailure('refused', {
    kind: 'problem',
    disposition: 'reject',
    block: 'contract',
    outcomeUnknown: false,
    status: 422,
    problemCode: 'request_invalid',
    ...facts,
  })
const complaint = (field: string): FieldFault => ({
  field,
  reason: 'schema_invalid',
  detail: 'bad',
})

const problem = (status: BatchItemResult['status'], more: object = {}): BatchItemResult => ({
  index: 0,
  status,
  problem: {
    type: 't',
    title: 't',
    status,
    detail: 'the detail',
    code: 'request_invalid',
    ...more,
  },
})

describe('itemOutcome', () => {
  const record = { id: 'r1', object_type: 'svc_contact', properties: {} }

  it.each([
    [201, 'created', 'r1'],
    [200, 'updated', 'r1'],
    [204, 'updated', null],
  ] as const)('%d is %s', (status, state, recordId) => {
    const result: BatchItemResult = { index: 0, status, ...(recordId === null ? {} : { record }) }
    expect(itemOutcome(item(7), result)).toEqual({
      ordinal: 7,
      state,
      httpStatus: status,
      recordId,
      code: null,
      reason: null,
      field: null,
      marks: null,
      detail: null,
      inDoubt: false,
    })
  })

  it.each([403, 404, 409, 422] as const)('%d is refused, whatever was tried before', (status) => {
    for (const attempts of [0, ITEM_ATTEMPTS_MAX])
      expect(itemOutcome(item(7, attempts), problem(status))).toMatchObject({
        ordinal: 7,
        state: 'refused',
        httpStatus: status,
        code: 'request_invalid',
        detail: 'the detail',
        inDoubt: false,
      })
  })

  it.each([500, 503] as const)(
    '%d is tried again until the attempts are spent, then in doubt',
    (status) => {
      const states = Array.from({ length: ITEM_ATTEMPTS_MAX }, (_, attempts) => {
        const outcome = itemOutcome(item(7, attempts), problem(status))
        return `${outcome.state} ${outcome.inDoubt}`
      })
      const again = Array.from({ length: ITEM_ATTEMPTS_MAX - 1 }, () => 'pending false')
      expect(states).toEqual([...again, 'in_flight true'])
    },
  )

  it('covers every status of a batch item', () => {
    const states = BATCH_ITEM_STATUSES.map((status) => itemOutcome(item(1), problem(status)).state)
    expect(new Set(states)).toEqual(new Set(['created', 'updated', 'refused', 'pending']))
  })

  it('takes reason, place and words from the problem, else from its first complaint', () => {
    const errors = [
      { field: '/data/3/properties/svc_email', detail: 'no e-mail', reason: 'schema_invalid' },
      { field: '/data/3/properties/other', detail: 'other', reason: 'other' },
    ]
    expect(itemOutcome(item(1), problem(422, { errors }))).toMatchObject({
      reason: 'schema_invalid',
      field: '/properties/svc_email',
      detail: 'no e-mail',
    })
    const own = { reason: 'write_forbidden', field: '/properties/svc_name' }
    expect(itemOutcome(item(1), problem(422, { ...own, errors }))).toMatchObject({
      ...own,
      detail: 'the detail',
    })
    expect(itemOutcome(item(1), { index: 0, status: 422 })).toMatchObject({
      state: 'refused',
      code: null,
      field: null,
      detail: null,
    })
  })
})

describe('refusedOutcome', () => {
  it('is refused, with a pointer below the item', () => {
    const failure = refusal({
      errors: [complaint('/data/0/properties/svc_email')],
      detail: 'whole',
    })
    expect(refusedOutcome(item(4), failure)).toEqual({
      ordinal: 4,
      marks: null,
      state: 'refused',
      httpStatus: 422,
      recordId: null,
      code: 'request_invalid',
      reason: 'schema_invalid',
      field: '/properties/svc_email',
      detail: 'whole',
      inDoubt: false,
    })
    expect(refusedOutcome(item(4), refusal({ field: '/data/0' })).field).toBe('/')
    expect(refusedOutcome(item(4), refusal({})).field).toBeNull()
  })
})

describe('splitRefusedBatch', () => {
  it('sends what is pointed at alone, then the rest together', () => {
    const failure = refusal({
      errors: [
        complaint('/data/3/properties/a'),
        complaint('/data/1'),
        complaint('/data/3/properties/b'),
      ],
    })
    const parts = splitRefusedBatch(items(5), failure).map((part) =>
      part.map(({ ordinal }) => ordinal),
    )
    expect(parts).toEqual([[2], [4], [1, 3, 5]])
  })

  it.each([
    ['no pointer', refusal({})],
    ['a pointer elsewhere', refusal({ field: '/matching_property' })],
    ['a pointer behind the end', refusal({ field: '/data/4/properties/a' })],
    ['a pointer that is no index', refusal({ field: '/data/1x/properties/a' })],
    [
      'pointers at everything',
      refusal({ errors: [0, 1, 2, 3].map((at) => complaint(`/data/${at}`)) }),
    ],
  ])('halves on %s', (_, failure) => {
    const parts = splitRefusedBatch(items(4), failure).map((part) =>
      part.map(({ ordinal }) => ordinal),
    )
    expect(parts).toEqual([
      [1, 2],
      [3, 4],
    ])
  })

  const pointer = fc.oneof(
    fc.integer({ min: 0, max: BATCH_ITEMS_MAX + 5 }).map((at) => `/data/${at}/properties/x`),
    fc.constantFrom('', '/', '/data', '/data/', '/data/-1', '/data/1e1', '/data/007'),
  )

  it('gives a partition of smaller, non-empty parts, whatever the pointers are', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: BATCH_ITEMS_MAX }),
        fc.array(pointer),
        (count, pointers) => {
          const batch = items(count)
          const parts = splitRefusedBatch(batch, refusal({ errors: pointers.map(complaint) }))
          const together = parts.flat().map(({ ordinal }) => ordinal)
          expect(together.toSorted((a, b) => a - b)).toEqual(batch.map(({ ordinal }) => ordinal))
          expect(parts.every((part) => part.length > 0 && part.length < count)).toBe(true)
          for (const part of parts)
            expect(part.map(({ ordinal }) => ordinal)).toEqual(
              part.map(({ ordinal }) => ordinal).toSorted((a, b) => a - b),
            )
        },
      ),
    )
  })

  /** A service that refuses every batch with a poison item in it, and points at some, all or none of them. */
  function simulate(
    count: number,
    poison: ReadonlySet<number>,
    pointsAt: (at: number[]) => number[],
  ) {
    let requests = 0
    const refused: number[] = []
    const accepted: number[] = []
    const send = (batch: readonly PlannedItem[]): void => {
      requests++
      const bad = batch.flatMap(({ ordinal }, index) => (poison.has(ordinal) ? [index] : []))
      if (bad.length === 0) return void accepted.push(...batch.map(({ ordinal }) => ordinal))
      if (batch.length === 1) return void refused.push(batch[0]!.ordinal)
      const errors = pointsAt(bad).map((index) => complaint(`/data/${index}/properties/x`))
      for (const part of splitRefusedBatch(batch, refusal({ errors }))) send(part)
    }
    send(items(count))
    return {
      requests,
      refused: new Set(refused),
      accepted: new Set(accepted),
      ends: refused.length + accepted.length,
    }
  }

  const poisonOf = fc.uniqueArray(fc.integer({ min: 1, max: BATCH_ITEMS_MAX }))
  it.each([
    ['every poison item', (at: number[]) => at],
    ['the first only', (at: number[]) => at.slice(0, 1)],
    ['none', () => []],
    ['an innocent one', () => [0]],
  ])('isolates exactly the poison where the service points at %s', (_, pointsAt) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: BATCH_ITEMS_MAX }), poisonOf, (count, ordinals) => {
        const poison = new Set(ordinals.filter((ordinal) => ordinal <= count))
        const result = simulate(count, poison, pointsAt)
        expect(result.refused).toEqual(poison)
        expect(result.accepted.size).toBe(count - poison.size)
        expect(result.ends).toBe(count)
      }),
    )
  })

  it.each([
    ['points at each', (at: number[]) => at],
    ['points at the first', (at: number[]) => at.slice(0, 1)],
    ['says nothing', () => []],
  ])('costs at most 12 requests more per isolated item where the service %s', (_, pointsAt) => {
    fc.assert(
      fc.property(poisonOf, (ordinals) => {
        const { requests } = simulate(BATCH_ITEMS_MAX, new Set(ordinals), pointsAt)
        expect(requests).toBeLessThanOrEqual(1 + 12 * ordinals.length)
      }),
    )
  })
})
