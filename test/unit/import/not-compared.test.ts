// A property that the service keeps a value of its own of, quite another one than is sent: told by every run with the setting that
// ends it, and neither counted nor sent again under that setting; but never taken for sent where it was not.

import { expect, test } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, importScene } from './scene.ts'

const HEAD = ['id', 'name', 'country']
const rowsOf = (country: string, name = 'Ada', count = 3) =>
  Array.from({ length: count }, (_, index) => [`c-${index}`, name, country])

const mapping = (compare?: boolean): ImportConfig['properties'] => ({
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_last_name: { column: 'country', ...(compare !== undefined && { compare }) },
})

/** A service that keeps `United Kingdom` where it is sent anything, or `change` makes of it. */
const keeping =
  (change = (_sent: string) => 'United Kingdom') =>
  (client: ImportClient): ImportClient =>
    clientWith(client, {
      batchUpsert: (type, matching, batch, options) => {
        const { body, count } = batch as { body: string; count: number }
        const { data } = JSON.parse(body) as { data: { properties: Record<string, string> }[] }
        for (const { properties } of data)
          properties['svc_last_name'] = change(String(properties['svc_last_name']))
        return client.batchUpsert(
          type,
          matching,
          { body: JSON.stringify({ data }), count },
          options,
        )
      },
    })

const sceneOf = (compare: boolean | undefined, verify: ImportConfig['verify'] = 'all') =>
  importScene(mapping(compare), { verify })
const through = keeping()

test.each(['all', 'none'] as const)(
  'without the setting every run tells of it, and names the setting (verify: %s)',
  async (verify) => {
    const scene = await sceneOf(undefined, verify)
    scene.rows(HEAD, rowsOf('UK'))
    for (let again = 0; again < 3; again++) {
      const { run, ...ended } = await scene.run({ through })
      expect(ended).toMatchObject({
        state: 'complete_with_differences',
        books: { readBack: { different: 3 } },
      })
      const { warnings } = (await scene.ledger.run(run))!
      expect(warnings).toEqual([expect.stringMatching(/^svc_last_name: .*`compare: false`/)])
      expect(warnings[0]!.length).toBeLessThan(300)
    }
  },
)

test('a difference of the key, and a form of its own, name no setting', async () => {
  const scene = await sceneOf(undefined)
  scene.rows(HEAD, rowsOf('Uk'))
  const ended = await scene.run({ through: keeping((sent) => sent.toUpperCase()) })
  expect(ended.state).toBe('complete_with_differences')
  expect((await scene.ledger.run(ended.run))!.warnings).toEqual([])
})

test.each(['all', 'sample', 'none'] as const)(
  'with it the rows are as they were sent, and are not sent again (verify: %s)',
  async (verify) => {
    const scene = await sceneOf(false, verify)
    scene.rows(HEAD, rowsOf('UK'))
    const first = await scene.run({ through })
    expect(first).toMatchObject({
      state: 'complete',
      message: null,
      books: { readBack: { different: 0, normalised: 0, equal: verify === 'none' ? 0 : 3 } },
    })
    expect((await scene.ledger.run(first.run))!.warnings).toEqual([
      'not compared, because of `compare: false`: `svc_last_name`',
    ])
    expect(await scene.run({ through })).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 3 } },
    })
    // Another value of the source is sent all the same.
    scene.rows(HEAD, rowsOf('GB'))
    const sent: string[] = []
    const noting = keeping((country) => {
      sent.push(country)
      return 'United Kingdom'
    })
    expect(await scene.run({ through: noting })).toMatchObject({
      state: 'complete',
      books: { states: { updated: 3 } },
    })
    expect(sent).toEqual(['GB', 'GB', 'GB'])
  },
)

test('it takes effect for rows that earlier runs were told of', async () => {
  const scene = await sceneOf(undefined)
  scene.rows(HEAD, rowsOf('UK'))
  await scene.run({ through })
  const as = { name: 'contacts', import: { properties: mapping(false) } }
  expect(await scene.run({ through, as })).toMatchObject({ state: 'complete' })
  expect(await scene.run({ through, as })).toMatchObject({ books: { states: { unchanged: 3 } } })
})

test('other properties of the rows are compared as before', async () => {
  const scene = await sceneOf(false)
  scene.rows(HEAD, rowsOf('UK'))
  const spoiling = (client: ImportClient) =>
    clientWith(through(client), {
      queryRecords: async (...given) => {
        const page = await client.queryRecords(...given)
        const spoiled = page.data.map((record) => ({
          ...record,
          properties: { ...record.properties, svc_first_name: 'Bob' },
        }))
        return { ...page, data: spoiled }
      },
    })
  expect(await scene.run({ through: spoiling })).toMatchObject({
    state: 'complete_with_differences',
    books: { readBack: { different: 3 } },
  })
})

test('a reconciliation finds both sides equal, and says what it did not compare', async () => {
  const scene = await sceneOf(false)
  scene.rows(HEAD, rowsOf('UK'))
  await scene.run({ through })
  const looked = await scene.reconcile({}, { through })
  expect(looked).toMatchObject({ state: 'complete', differences: [] })
  expect((await scene.ledger.run(looked.run))!.warnings).toEqual([
    'not compared, because of `compare: false`: `svc_last_name`',
  ])
  expect(await scene.run({ through })).toMatchObject({ books: { states: { unchanged: 3 } } })
})

test('a reconciliation does not take a value for sent that was not', async () => {
  const scene = await sceneOf(false)
  scene.rows(HEAD, rowsOf('UK'))
  await scene.run({ through })
  scene.rows(HEAD, rowsOf('FR'))
  const looked = await scene.reconcile({}, { through })
  expect(looked.differences.map(({ field, kind }) => [field, kind])).toEqual(
    rowsOf('FR').map(() => ['svc_last_name', 'different']),
  )
  const mended = await scene.reconcile({ repair: true }, { through: keeping(() => 'France') })
  expect(mended).toMatchObject({ state: 'complete', books: { states: { updated: 3 } } })
  expect(mended.differences.every(({ repaired }) => repaired)).toBe(true)
  expect(await scene.run({ through })).toMatchObject({ books: { states: { unchanged: 3 } } })
  expect(await scene.reconcile({}, { through })).toMatchObject({ differences: [] })
})

test('a row whose answer was lost is not taken for accepted by its other properties', async () => {
  const scene = await sceneOf(false)
  scene.rows(HEAD, rowsOf('UK'))
  await scene.run({ through })
  scene.rows(HEAD, rowsOf('FR'))
  const losing = (client: ImportClient) =>
    clientWith(client, {
      batchUpsert: async (_type, _matching, batch) => ({
        data: Array.from({ length: (batch as { count: number }).count }, (_, index) => ({
          index,
          status: 500 as const,
          problem: {
            type: 'about:blank',
            title: 'Internal error',
            status: 500 as const,
            code: 'internal_error' as const,
            detail: 'lost',
          },
        })),
        summary: { total: 3, succeeded: 0, failed: 3 },
        requestId: null,
      }),
    })
  expect(await scene.run({ through: losing, tuning: { item_backoff_ms: [1] } })).toMatchObject({
    state: 'complete_with_rejects',
    books: { states: { outcome_unknown: 3 }, inDoubt: 3 },
  })
  expect(await scene.run({ through: keeping(() => 'France') })).toMatchObject({
    state: 'complete',
    books: { states: { updated: 3 } },
  })
})
