// The order of a property, against a sorted list: leaves that split, empty and unite, and an order that is built while
// others write.

import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StoredValue } from '../../../src/service/schema/field-types.ts'
import { SYSTEM_TYPES } from '../../../src/service/schema/system-types.ts'
import { Order } from '../../../src/service/store/order.ts'
import { RecordStore } from '../../../src/service/store/record-store.ts'
import {
  compareSortPositions,
  type Slot,
  type StoredValues,
} from '../../../src/service/store/slots.ts'
import { runs } from '../../runs.ts'

const type = SYSTEM_TYPES.get('svc_contact')!
const score = type.properties.get('svc_score')!
const compare = compareSortPositions(score)

const none = Object.fromEntries([...type.properties.keys()].map((name) => [name, null]))
const propertiesOf = (value: StoredValue) => ({ ...none, svc_score: value })
const common = Array.from({ length: 50 }, (_, value) => propertiesOf(value))
const seqs = (slots: Iterable<{ seq: number }>) => Array.from(slots, ({ seq }) => seq)

/** Said by the first place that differs: a difference of two long lists takes minutes to print. */
function expectSame(found: Iterable<{ seq: number }>, expected: readonly { seq: number }[]): void {
  const [a, b] = [seqs(found), seqs(expected)]
  const at = a.findIndex((seq, index) => seq !== b[index])
  expect({ length: a.length, at, found: a[at] }).toEqual({ length: b.length, at: -1 })
}

const place = fc.record({
  value: fc.option(fc.integer({ min: 0, max: 20 }), { freq: 10 }),
  seq: fc.nat(1_500),
})

/** Slots that came and left: so many that leaves split; those that leave are in a row, so that leaves empty, or all but a few. */
const round = fc.record({
  came: fc.array(place, { maxLength: 1_200, size: 'max' }),
  left: fc.record({
    from: fc.nat(500),
    count: fc.nat(1_500),
    stays: fc.constantFrom(7, 20, Infinity),
  }),
})

describe('an order', () => {
  it('walks as a sorted list does, from any position, whatever came and left', () => {
    fc.assert(
      fc.property(
        fc.array(round, { minLength: 1, maxLength: 3 }),
        fc.array(place),
        (rounds, from) => {
          const order = new Order(score)
          let held: { value: StoredValue; seq: number }[] = []
          for (const { came, left } of rounds) {
            for (const each of came) {
              if (!held.some((one) => compare(one, each) === 0)) held.push(each)
              order.apply({ kind: 'came', value: each.value, slot: { seq: each.seq } as Slot })
            }
            held = held.toSorted(compare)
            const { from: first, count, stays } = left
            const leave = held.filter(
              (_, at) => at >= first && at < first + count && (at + 1) % stays !== 0,
            )
            held = held.filter((each) => !leave.includes(each))
            for (const each of leave)
              order.apply({ kind: 'left', value: each.value, slot: { seq: each.seq } as Slot })
            // What is not there leaves without a trace.
            order.apply({ kind: 'left', value: 99, slot: { seq: 1 } as Slot })
          }
          for (const at of [null, ...from, ...held.slice(0, 20)]) {
            const after = held.filter((each) => at === null || compare(each, at) > 0)
            const before = held.filter((each) => at === null || compare(each, at) < 0)
            expectSame(order.walk('asc', at), after)
            expectSame(order.walk('desc', at), before.toReversed())
          }
        },
      ),
      { numRuns: runs(20), endOnFailure: true },
    )
  })

  /** So many that the building pauses a dozen times. */
  const RECORDS = 12_000

  it('that is built while others write agrees with the records once it is there', async () => {
    const change = fc.record({
      kind: fc.constantFrom('insert', 'replace', 'delete', 'revive'),
      at: fc.nat(RECORDS - 1),
      value: fc.option(fc.nat(5), { freq: 10 }),
    })
    let met = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 30, maxLength: 60, size: 'max' }),
        async (changes) => {
          const store = new RecordStore(type)
          const slots: Slot[] = []
          const insert = (properties: StoredValues) => {
            const seq = slots.length + 1
            slots.push(store.insert(seq, `rec_${seq}`, properties))
          }
          for (let index = 0; index < RECORDS; index += 1) insert(common[(index * 31) % 50]!)
          const order = store.prepareOrder(score)
          let isMade = false
          void order.then(() => (isMade = true))
          let during = 0
          for (const [index, { kind, at, value }] of changes.entries()) {
            const slot = slots[at % slots.length]!
            if (kind === 'insert') insert(propertiesOf(value))
            else if (kind === 'replace' && slot.live) store.replace(slot, propertiesOf(value))
            else if (kind === 'delete' && slot.live) store.delete(slot)
            else if (kind === 'revive' && !slot.live) store.revive(slot)
            if (!isMade) during += 1
            // Several changes a turn, so that they meet every part of the building.
            if (index % 5 === 4) await turn()
          }
          await order
          met += during
          const expected = [...store.live()]
            .map(({ seq, record }) => ({ seq, value: record.properties['svc_score']! }))
            .sort(compare)
          expectSame(store.walk(score, 'asc', null), expected)
        },
      ),
      { numRuns: runs(15), endOnFailure: true },
    )
    expect(met).toBeGreaterThanOrEqual(runs(15) * 5)
  })
})
