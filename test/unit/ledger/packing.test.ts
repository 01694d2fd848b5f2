// What crosses to the thread of a ledger comes out as it went in, whatever is in it.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ItemOutcome, ItemPlace, PlannedItem, StagedItem } from '../../../src/ledger/ledger.ts'
import { packingOf } from '../../../src/ledger/thread/packing.ts'
import { runs } from '../../runs.ts'

const RUNS = { numRuns: runs(1_000) }
const texts = fc.oneof(fc.string(), fc.constantFrom('', '\n', 'a\nb', '\0'))
const text = fc.option(texts)
/** Members that most rows do not have. */
const seldom = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 9 })

/** Ordinals that rise, mostly by one. */
const rowsOf = <Row extends object>(row: fc.Arbitrary<Row>) =>
  fc.array(fc.tuple(fc.constantFrom(1, 1, 1, 2, 7), row), { maxLength: 60 }).map((steps) => {
    let ordinal = 0
    return steps.map(([step, one]) => ({ ordinal: (ordinal += step), ...defined(one) }))
  })
const defined = <Row extends object>(row: Row) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as Row

const places = rowsOf(
  fc.record({ recordId: fc.option(text, { nil: undefined }) }),
) as unknown as fc.Arbitrary<ItemPlace[]>
const outcomes = rowsOf(
  fc.record({
    state: fc.constantFrom('created', 'created', 'updated', 'rejected'),
    httpStatus: fc.constantFrom(201, 201, 200, null),
    recordId: text,
    code: fc.oneof({ arbitrary: fc.constant(null), weight: 9 }, { arbitrary: texts, weight: 1 }),
    reason: fc.constant(null),
    field: fc.constant(null),
    detail: fc.constant(null),
    inDoubt: fc.constantFrom(false, false, false, true),
    marks: text,
    answered: seldom(
      fc.constantFrom(null, { reason: 'r', detail: 'd', column: null, value: null, field: 'f' }),
    ),
  }),
) as unknown as fc.Arbitrary<ItemOutcome[]>
const planned = rowsOf(
  fc.record({
    key: texts,
    payload: texts,
    hash: texts,
    attempts: fc.nat(5),
    rawKey: seldom(text),
    recordId: seldom(text),
    isReplayed: seldom(fc.constant(true as const)),
  }),
) as unknown as fc.Arbitrary<PlannedItem[]>
const staged = rowsOf(
  fc.record({
    line: fc.nat(),
    raw: texts,
    valid: fc.constantFrom(true, true, true, false),
    key: texts,
    payload: texts,
    hash: texts,
    of: seldom(fc.nat()),
    rawKey: seldom(texts),
    withdrawn: seldom(fc.constant(true as const)),
    watermark: fc.option(texts, { nil: undefined }),
  }),
) as unknown as fc.Arbitrary<StagedItem[]>

/** What the ledger is given of a call: packed, cloned and unpacked. */
const crossed = (method: string, values: readonly unknown[]) => {
  const { pack, unpack } = packingOf(method)!
  return unpack(structuredClone(pack(values)))
}

describe('rows that cross to the thread of a ledger', () => {
  const batchOf = (items: readonly ItemPlace[]) => ({ batch: 3, attempt: 2, digest: 'd', items })
  const segment = { first: 1, last: 90 }
  const ended = { status: 200, requestId: 'r', durationMs: 1.5 }

  it('are what they were: staged rows', () => {
    fc.assert(
      fc.property(staged, (items) => {
        expect(crossed('stageItems', [1, 2, items])).toEqual([1, 2, items])
      }),
      RUNS,
    )
  })

  it('are what they were: places and outcomes', () => {
    fc.assert(
      fc.property(places, outcomes, (items, settled) => {
        const batch = batchOf(items)
        const options = { operation: 'batchUpsert', replayed: true }
        for (const [method, values] of [
          ['settle', [1, segment, 4, batch, ended, settled]],
          ['release', [1, segment, 4, batch, ended]],
          ['recordResend', [1, segment, 4, batch, options]],
          ['recordSend', [1, segment, 4, { ...options, digest: 'd', items }]],
          ['recordNoAnswer', [1, batch, ended]],
        ] as const)
          expect(crossed(method, values)).toEqual(values)
      }),
      RUNS,
    )
  })

  it('are what they were: what is planned', () => {
    fc.assert(
      fc.property(planned, (items) => {
        const { packResult, unpackResult } = packingOf('nextPlanned')!
        expect(unpackResult(structuredClone(packResult(items)), [])).toEqual(items)
      }),
      RUNS,
    )
  })

  it('are few parts where most are alike', () => {
    const outcome = { httpStatus: 201, code: null, reason: null, field: null, detail: null }
    const items = Array.from({ length: 50 }, (_, index) => {
      const ordinal = index + 1
      return {
        ordinal,
        state: 'created',
        ...outcome,
        recordId: `r${index}`,
        inDoubt: false,
        marks: 'm',
      }
    })
    const sent = batchOf(items.map(({ ordinal }) => ({ ordinal })))
    const packed = packingOf('settle')!.pack([1, segment, 4, sent, ended, items])
    expect(packed[5]).toHaveLength(1)
    expect((packed[3] as { places: unknown }).places).toEqual([
      { first: 1, last: 50, recordIds: null },
    ])
  })
})
