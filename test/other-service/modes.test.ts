// Imports that only create, or only update, on another service: with other paths and shapes of answers, and with single operations
// alone. What it holds afterwards is compared with the rows, whatever the run says.

import { describe, expect, it } from 'vitest'
import { contactScene } from './contact-scene.ts'
import { COLUMNS, cells, contactDifferences, rowsOf } from './contacts.ts'
import type { OtherServiceOptions } from './index.ts'

const BATCHES = ['batchCreate', 'batchUpdate', 'batchUpsert']

const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

const SERVICES: readonly [string, OtherServiceOptions][] = [
  ['a plain service', {}],
  ['other names and paths', { prefix: 'q_', fieldTypes: 'other', paths: 'other' }],
  ['items answered 204', { batchItems: '204', batchStatus: 207 }],
  ['items answered without a record', { batchItems: 'bare' }],
  ['single operations alone', { lacks: BATCHES }],
  ['single operations with other paths', { lacks: BATCHES, prefix: 'q_', paths: 'other' }],
]

describe.each(SERVICES)('%s', (_, options) => {
  it('is created on, and then updated on', async () => {
    const made = await contactScene(options, { mode: 'create' })
    const rows = rowsOf(130)
    made.rows(COLUMNS, cells(rows.slice(0, 30)))
    await made.run(fast)
    made.rows(COLUMNS, cells([...rowsOf(30, 2), ...rows.slice(30)]))
    const created = await made.run(fast)
    expect(created).toMatchObject({
      state: 'complete',
      books: { states: { created: 100, exists: 30 }, readBack: { equal: 100 } },
    })
    expect(contactDifferences(made.service, rows)).toEqual([])
    const as = { as: { name: 'updates', import: { mode: 'update' } } } as const
    const newer = rowsOf(140, 3)
    made.rows(COLUMNS, cells(newer))
    const updated = await made.run({ ...fast, ...as })
    expect(updated).toMatchObject({
      state: 'complete',
      books: { states: { updated: 130, not_found: 10 }, readBack: { equal: 130 } },
    })
    expect(contactDifferences(made.service, newer.slice(0, 130))).toEqual([])
    const again = await made.run({ ...fast, ...as })
    expect(again.books.states).toMatchObject({ unchanged: 130, not_found: 10 })
  })
})

it.each([
  ['create', ['batchCreate', 'createRecord'], 'upsert`, `update'],
  ['update', ['batchUpdate', 'updateRecord'], 'upsert`, `create'],
  ['upsert', ['batchUpsert', 'upsertRecord'], 'create`, `update'],
] as const)(
  'refuses mode %s where the service has no operation for it',
  async (mode, lacks, offers) => {
    const made = await contactScene({ lacks }, { mode })
    made.rows(COLUMNS, cells(rowsOf(1)))
    const failed = await made.run(fast).catch((error: unknown) => String(error))
    expect(failed).toContain(
      `mode ${mode} needs ${lacks.join(' or ')}, and the document of the service has neither; what it has is enough for: mode \`${offers}\``,
    )
    expect(made.service.count(made.contact)).toBe(0)
  },
)
