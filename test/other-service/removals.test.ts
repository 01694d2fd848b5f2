// Records whose rows are gone, on another service: with other paths for deletions and updates, and with single operations alone.

import { describe, expect, it } from 'vitest'
import type { ImportConfig } from '../../config/index.ts'
import { contactScene } from './contact-scene.ts'
import { COLUMNS, cells, contactDifferences, rowsOf } from './contacts.ts'
import type { Json, OtherServiceOptions } from './index.ts'

const BATCHES = ['batchCreate', 'batchUpdate', 'batchUpsert', 'batchDelete']

async function scene(options: OtherServiceOptions, config: Partial<ImportConfig>) {
  const made = await contactScene(options, config)
  /** A value in the form in which the service stores it. */
  const fold = (value: Json, name: string): Json => {
    const { org } = made.service
    const { prefix = 'acme_' } = options
    const property = org.property(org.type(made.contact)!, `${prefix}${name}`)!
    const folded = org.normalised(property, value)
    return property.multi ? folded : folded[0]!
  }
  return { ...made, fold }
}

const how = {
  tries: 20,
  approves: true,
  tuning: { resend_backoff_ms: [1], item_backoff_ms: [1], segment_ms: 20 },
}

const SERVICES: readonly [string, OtherServiceOptions][] = [
  ['a plain service', {}],
  ['other names and paths', { prefix: 'q_', fieldTypes: 'other', paths: 'other' }],
  ['items answered 204', { batchItems: '204', batchStatus: 207 }],
  ['forms of its own', { lowerEmails: true, trim: true, times: 'offset' }],
  ['a clock that goes ahead', { clockAhead: 3_600_000 }],
  ['single operations alone', { lacks: BATCHES }],
  ['single operations with other paths', { lacks: BATCHES, prefix: 'q_', paths: 'other' }],
]

describe.each(SERVICES)('%s', (_, options) => {
  it('is left by the records of rows that are gone', async () => {
    const made = await scene(options, { missing_rows: 'delete' })
    const rows = rowsOf(130)
    made.rows(COLUMNS, cells(rows))
    await made.run(how)
    made.rows(COLUMNS, cells(rows.slice(60)))
    const end = await made.run(how)
    expect(end).toMatchObject({ state: 'complete', books: { removals: { deleted: 60 } } })
    expect(contactDifferences(made.service, rows.slice(60), made.fold)).toEqual([])
  })

  it('keeps the records of rows that are gone with other values', async () => {
    const { prefix = 'acme_' } = options
    const cleared = `${prefix}stage`
    const made = await scene(options, { missing_rows: { clear: { [cleared]: 'lost' } } })
    const rows = rowsOf(70)
    made.rows(COLUMNS, cells(rows))
    await made.run(how)
    made.rows(COLUMNS, cells(rows.slice(60)))
    const end = await made.run(how)
    expect(end).toMatchObject({ state: 'complete', books: { removals: { cleared: 60 } } })
    const held = [...rows.slice(60), ...rows.slice(0, 60).map((row) => ({ ...row, stage: 'lost' }))]
    expect(contactDifferences(made.service, held, made.fold)).toEqual([])
  })
})

it.each([
  ['delete', { missing_rows: 'delete' }, ['batchDelete', 'deleteRecord']],
  ['clear', { missing_rows: { clear: { acme_stage: 'lost' } } }, ['batchUpdate', 'updateRecord']],
] as const)('refuses to %s where the service has no operation for it', async (_, config, lacks) => {
  const made = await scene({ lacks }, config)
  made.rows(COLUMNS, cells(rowsOf(1)))
  const failed = await made.run(how).catch((error: unknown) => String(error))
  expect(failed).toContain(
    `missing_rows needs ${lacks.join(' or ')}, and the document of the service has neither; remove missing_rows`,
  )
  expect(made.service.count(made.contact)).toBe(0)
})
