// The tests of a mapping say what a run does: for random rows, the expectation that is taken from what a run has sent to a real
// service, or set aside in its ledger, passes; each one that is changed fails.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import type { Json } from '../../../src/core/json.ts'
import { clientWith, importScene } from '../import/scene.ts'
import { COLUMNS, mappingScene } from './scene.ts'

/** Those of the scene's configuration. */
const PROPERTIES: ImportConfig['properties'] = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_email: { column: 'email', split: ';' },
  svc_birthday: { column: 'born', format: 'DD.MM.YYYY' },
  svc_lifetime_value: { column: 'amount', unit_column: 'currency' },
  svc_score: { column: 'score', decimal: ',' },
  svc_subscribed: { column: 'news', true: ['ja'], false: ['nein'] },
  svc_tags: { column: 'tags', split: '|' },
  svc_lifecycle_stage: { column: 'stage' },
  svc_notes: { column: 'notes', empty: 'clear' },
  svc_source: { value: 'csv' },
}

const columns = COLUMNS.split(',')
const often = <T>(...cells: T[]) => fc.oneof(...cells.map((cell) => fc.constant(cell)))
const text = fc.string({ unit: 'grapheme', maxLength: 8 }).filter((one) => !one.includes('\0'))
const digits = (max: number) => fc.integer({ min: -max, max }).map(String)

/** Cells that mean something to each column, and some that do not. */
const cells: Readonly<Record<string, fc.Arbitrary<string>>> = {
  name: fc.oneof(text, often('', ' Ann ', '0012', 'true', '{"a":1}', '1.50', 'e\u0301')),
  email: often('', 'a@x.example', 'A@X.example; b@x.example', 'a@x.example;;b@x.example', 'none'),
  born: often('', '10.12.1985', ' 01.02.2000', '31.02.2000', '1985-12-10'),
  amount: fc.oneof(digits(1e9), often('', '1200.50', '0.10', '-0', '12,5', '1e3')),
  currency: often('EUR', 'USD', 'EUR ', '', 'euro'),
  score: fc.oneof(digits(1e6), often('', '4,50', '0,1', '4.5', '1234567890123456,7')),
  news: often('', 'ja', 'JA', 'nein', 'yes'),
  tags: often('', 'press', 'press | event', '|press||event|'),
  stage: often('', 'customer', 'Customer', 'gone'),
  notes: fc.oneof(text, often('', 'two\nlines "quoted", and more')),
}

const row = fc.record({ id: often(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), ...cells })

interface Outcome {
  readonly row: readonly string[]
  /** What was sent; null: the row was set aside. */
  readonly sent: Readonly<Record<string, Json>> | null
  readonly errors: readonly { readonly reason: string; readonly column: string | null }[]
}

/** A test as YAML; JSON is YAML. */
const yaml = (value: unknown): string => JSON.stringify(value).replaceAll('${', () => '$${')

const expectationOf = ({ sent, errors }: Outcome, isChanged: (at: number) => boolean) => {
  if (sent === null)
    return {
      reject: errors.map(({ reason, column }, at) =>
        isChanged(at) ? `x_${reason}` : `${reason} in ${column}`,
      ),
    }
  const expected = Object.keys(PROPERTIES).map((property, at): [string, unknown] => {
    const value = sent[property]
    const said = value === undefined ? '(not sent)' : value === null ? '(cleared)' : value
    return [property, isChanged(at) ? changed(said) : said]
  })
  return { expect: Object.fromEntries(expected) }
}

const changed = (value: Json): Json => {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1
  if (Array.isArray(value)) return [...(value as Json[]), 'more']
  if (typeof value === 'object') return { ...value, unit: 'CHF' }
  return value === '(not sent)' ? '(cleared)' : `${value}1`
}

test('what a run sends passes, and what it does not send fails', { timeout: 300_000 }, async () => {
  const s = await importScene(PROPERTIES)
  const m = await mappingScene({ tests: '[]', service: s.service })
  expect(await m.save()).toMatchObject({ code: 0 })
  let runs = 0
  const seen = { sent: 0, aside: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 20, maxLength: 60 }), async (given) => {
      runs++
      // A key of its own in most rows, and none in some.
      const rows = given.map(({ id, ...others }, at) => {
        const all: Record<string, string> = { ...others, id: id === 0 ? ' ' : ` r${runs}-${at}` }
        return columns.map((column) => all[column]!)
      })
      const outcomes = await outcomesOf(s, rows)
      for (const { sent } of outcomes) seen[sent === null ? 'aside' : 'sent']++
      const configure = (isChanged: (test: number, at: number) => boolean) =>
        m.configure(
          outcomes
            .map((outcome, test) =>
              yaml({
                name: `row ${test}`,
                row: Object.fromEntries(columns.map((name, at) => [name, outcome.row[at]])),
                ...expectationOf(outcome, (at) => isChanged(test, at)),
              }),
            )
            .map((one) => `- ${one}`)
            .join('\n'),
        )
      configure(() => false)
      const right = await m.report()
      expect(right.tests.filter(({ ok }) => !ok)).toEqual([])
      expect(right).toMatchObject({ code: 0, passed: outcomes.length })
      // One value of each, another one each time.
      const places = outcomes.map(({ sent, errors }, test) =>
        sent === null ? test % errors.length : test % Object.keys(PROPERTIES).length,
      )
      configure((test, at) => at === places[test])
      const wrong = await m.report()
      expect(wrong.tests.filter(({ ok }) => ok)).toEqual([])
      expect(wrong.tests.map(({ differences }) => differences.length)).toEqual(
        outcomes.map(() => 1),
      )
    }),
    { numRuns: 12, endOnFailure: true },
  )
  expect(seen.sent).toBeGreaterThan(20)
  expect(seen.aside).toBeGreaterThan(20)
})

/** What a run did with the rows: what it sent of each, as the client was given it, and what it set aside. */
async function outcomesOf(
  s: Awaited<ReturnType<typeof importScene>>,
  rows: readonly (readonly string[])[],
): Promise<Outcome[]> {
  const sent = new Map<string, Readonly<Record<string, Json>>>()
  s.rows(columns, rows)
  const { run, state } = await s.run({
    through: (client) =>
      clientWith(client, {
        batchUpsert: async (type, matching, batch, options) => {
          for (const { properties } of itemsIn(batch))
            sent.set(String(properties['svc_external_id']), properties)
          return await client.batchUpsert(type, matching, batch, options)
        },
      }),
  })
  const invalid = await s.ledger.report(run, { states: ['invalid'], after: 0, limit: 1_000 })
  const asideBy = new Map(invalid.map((item) => [item.ordinal, item]))
  const outcomes = rows.map((row, at): Outcome => {
    const item = asideBy.get(at + 1)
    if (item === undefined) return { row, sent: sent.get(row[0]!.trim())!, errors: [] }
    return {
      row,
      sent: null,
      errors: [item, ...item.more].map(({ reason, column }) => ({ reason: reason!, column })),
    }
  })
  expect(state).toMatch(/^complete/)
  expect(outcomes.filter(({ sent: one }) => one === undefined)).toEqual([])
  return outcomes
}

/** The items of a batch, as their bytes have them. */
function itemsIn(batch: object): { readonly properties: Readonly<Record<string, Json>> }[] {
  if (!('body' in batch)) throw new Error('expected the bytes of a batch')
  return (JSON.parse(String(batch.body)) as { data: ReturnType<typeof itemsIn> }).data
}
