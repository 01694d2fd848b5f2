// Section 4.5: has_more, cursors, and the pages that cursors lead to.

import { listCall, queryCall } from '../calls.ts'
import { broken } from '../expect.ts'
import { readRule, refusalRule } from '../rule-kinds.ts'
import { matchesFilter } from '../filter-semantics.ts'
import { candidatesFor } from '../operands.ts'
import { nextPageCall, pageIn, allPages, expectSameRecords } from '../pages.ts'
import { Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'

const NO_CURSOR = 'conform-no-such-cursor'
/** Pages of one record that are read one after the other. */
const STEPS_MAX = 5

export const section4Pages: readonly Rule[] = [
  readRule('4.5.has-more', 'has_more is true when another page exists.', async (kit) => {
    const sample = await kit.probe.sampleOf(2)
    const exchange = await kit.query(sample.type.name, { limit: 1 })
    const { hasMore, records } = pageIn(exchange)
    if (hasMore || records.length > 1) return
    const expected = `true: ${sample.type.name} has more records`
    throw broken(exchange, '/pagination/has_more', expected, 'false')
  }),
  readRule('4.5.pages', 'Following cursors gives every record once.', async (kit) => {
    const samples = await kit.probe.samples()
    const some = samples.find(({ whole, records }) => whole && records.length > 1)
    if (!some) throw new Unchecked('no type has two records and few enough to read them all')
    const limit = Math.max(1, Math.floor(some.records.length / 4))
    await expectSameRecords(async () => {
      const { records: due } = await kit.probe.sampleAgain(some)
      const call = queryCall(some.type.name, { limit })
      const { records, exchange, pages } = await allPages(kit, call, 12)
      if (pages < 2) throw new Unchecked('there is no second page')
      return { due, found: records, exchange }
    }, `the records of the listing, in pages of ${limit}`)
  }),
  readRule('4.5.list-pages', 'A cursor of a listing leads to its next page.', async (kit) => {
    for (const sample of await kit.probe.samples()) {
      const page = pageIn(await kit.call(listCall(sample.type.name)))
      if (!page.hasMore || page.cursor === null) continue
      const exchange = await kit.call(nextPageCall(listCall(sample.type.name), page.cursor))
      const known = new Set(page.records.map(({ id }) => id))
      const again = pageIn(exchange).records.filter(({ id }) => known.has(id)).length
      if (again === 0) return
      throw broken(exchange, '/data', 'other records', `${again} records of the page before`)
    }
    throw new Unchecked('no type has a second page of records')
  }),
  readRule(
    '4.5.cursor-carries-query',
    'A cursor encodes its query: it leads on without the filter being given again.',
    async (kit) => {
      for (const { sample, filter, splits, property } of candidatesFor(
        'is_null',
        await kit.probe.samples(),
      )) {
        const due = sample.records.filter(
          ({ properties }) => matchesFilter(filter, properties) === 'yes',
        ).length
        if (!splits || due < 2) continue
        const first = pageIn(await kit.query(sample.type.name, { filter, limit: 1 }))
        let cursor = first.hasMore ? first.cursor : null
        if (cursor === null) throw new Unchecked('no cursor leads to the second page')
        for (let step = 0; cursor !== null && step < STEPS_MAX; step += 1) {
          const exchange = await kit.call(
            queryCall(sample.type.name, { cursor, limit: 1 }, 'cursor and limit'),
          )
          const page = pageIn(exchange)
          const wrong = page.records.some(
            ({ properties }) => matchesFilter(filter, properties) === 'no',
          )
          if (wrong) {
            const expected = `records that match the first page's filter (${property.name} is_null)`
            throw broken(exchange, '/data', expected, 'one that does not')
          }
          cursor = page.cursor
        }
        return
      }
      throw new Unchecked('no filter finds two records of a type and leaves out others')
    },
  ),
  refusalRule({
    id: '4.5.cursor-unknown',
    text: 'A cursor that the service does not recognise is request_invalid, reason cursor_invalid.',
    of: (kit) => kit.anyType(),
    refused: (type) => [
      queryCall(type, { cursor: NO_CURSOR }),
      { ...listCall(type), query: { cursor: NO_CURSOR } },
    ],
    refusal: { code: 'request_invalid', reason: 'cursor_invalid' },
  }),
]
