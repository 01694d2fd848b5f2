// Rows with too few or too many cells, and sources without rows: set aside or told, and never taken for what they are not.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { rawRows, readCorrections, createRejectsSheet } from '../../../src/corrections/index.ts'
import { textHash } from '../../../src/import/mapping/map.ts'
import { importScene } from './scene.ts'

const properties: ImportConfig['properties'] = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_last_name: { column: 'city' },
}
const columns = ['id', 'name', 'city']
const whole = (count: number) =>
  Array.from({ length: count }, (_, index) => [`c-${index + 1}`, `n${index + 1}`, 'Ulm'])
/** 50 rows: the tenth has too few cells, the twentieth too many. */
const ragged = () =>
  whole(50).map((row, index) =>
    index === 9 ? row.slice(0, 2) : index === 19 ? [...row, 'more', '7'] : row,
  )

test('of 50 rows two are ragged: they alone are set aside, and corrected they are sent', async () => {
  const s = await importScene(properties)
  s.rows(columns, ragged())
  const first = await s.run()
  expect(first.state).toBe('complete_with_rejects')
  expect(first.books.states).toMatchObject({ created: 48, invalid: 2 })
  const items = await s.ledger.report(first.run, { states: ['invalid'], after: 0, limit: 10 })
  expect(
    items.map(({ line, reason, value, detail, raw }) => [line, reason, value, detail, raw]),
  ).toEqual([
    [
      11,
      'row_ragged',
      null,
      'the row has 2 cells; expected 3, as in the header; `ragged: pad` under `from` reads such rows',
      ['c-10', 'n10'],
    ],
    [
      21,
      'row_ragged',
      '"more","7"',
      'the row has 5 cells; expected 3, as in the header',
      ['c-20', 'n20', 'Ulm', 'more', '7'],
    ],
  ])

  // Sent again as they were, they are set aside again.
  const again = await s.retry(first.run)
  expect(again.books.states).toMatchObject({ created: 0, updated: 0, invalid: 2 })

  const run = (await s.ledger.run(first.run))!
  const sheet = createRejectsSheet(run, false)
  const [short, long] = items.map((item) => sheet.line(item))
  const file = join(s.folder, 'rejects.csv')
  writeFileSync(file, sheet.header + short!.replace('"",', '"Bonn",') + long!)
  const corrections = readCorrections([file], {
    run: first.run,
    columns,
    rawOf: (ordinals) => rawRows(s.ledger, first.run, ordinals),
  })
  let correction: number | null = null
  for await (const page of corrections.pages())
    correction = await s.ledger.addCorrections(first.run, correction, page)
  expect(corrections.account()).toMatchObject({ rows: 2, unchanged: 1 })
  const mended = await s.retry(first.run, { correction: correction! })
  // What nobody corrected is not taken for right.
  expect(mended.books.states).toMatchObject({ created: 1, invalid: 1 })
  expect((await s.held('c-10'))?.properties).toMatchObject({ svc_last_name: 'Bonn' })
  expect(await s.held('c-20')).toBeNull()
})

test('a short last row stops the run before anything is written', async () => {
  const s = await importScene(properties)
  s.rows(columns, [...whole(3), ['c-4', 'n4']])
  await expect(s.run({ ending: 'cancelled' })).rejects.toThrow(
    'the last row has 2 cells; expected 3',
  )
  expect(await s.held('c-1')).toBeNull()
})

test('no record is deleted as extra while the key of a row is not known', async () => {
  const s = await importScene(properties)
  s.rows(columns, whole(50))
  await s.run()
  s.rows(columns, ragged())
  const kept = await s.reconcile({ repair: true, deleteExtra: true }, { approves: true })
  expect(kept.state).toBe('complete_with_rejects')
  expect(await s.held('c-10')).not.toBeNull()
  expect(await s.held('c-20')).not.toBeNull()
  expect((await s.ledger.run(kept.run))!.warnings).toContain(
    'nothing was deleted: 2 rows have no key that can be read, so a record that seems extra may be theirs',
  )
  // Nor is a person asked about many.
  s.rows(columns, ragged().slice(0, 30))
  expect((await s.reconcile({ repair: true, deleteExtra: true })).state).toBe(
    'complete_with_rejects',
  )
  expect(await s.held('c-50')).not.toBeNull()
  s.rows(columns, whole(49))
  await s.reconcile({ repair: true, deleteExtra: true }, { approves: true })
  expect(await s.held('c-49')).not.toBeNull()
  expect(await s.held('c-50')).toBeNull()
})

test('a source that has no rows any more is told', async () => {
  const s = await importScene(properties)
  s.rows(columns, [])
  const empty = await s.run()
  expect((await s.ledger.run(empty.run))!.warnings).toContain('the source has no rows')
  s.rows(columns, whole(5))
  const full = await s.run()
  expect((await s.ledger.run(full.run))!.warnings).toEqual([])
  s.rows(columns, [])
  const { run } = await s.run()
  expect((await s.ledger.run(run))!.warnings).toContain(
    `the source has no rows; run ${full.run} read 5: did its export break?`,
  )
})

test('a source with fewer rows than `rows_min` asks first, in regular runs', async () => {
  const s = await importScene(properties, { rows_min: 5 })
  s.rows(columns, whole(5))
  expect((await s.run()).state).toBe('complete')
  s.rows(columns, whole(4))
  const asked = await s.run()
  expect(asked.state).toBe('cancelled')
  const approved = await s.run({ approves: true })
  expect(approved.state).toBe('complete')
  s.rows(columns, [])
  expect((await s.run()).state).toBe('cancelled')
  s.rows(columns, ragged())
  const { run } = await s.run()
  // Two rows are left: a retry has no more, and asks nobody.
  expect((await s.retry(run)).state).toBe('complete_with_rejects')
})

test('a reconciliation of the rows of one value tells of ragged rows too', async () => {
  const s = await importScene(properties)
  s.rows(columns, whole(50))
  await s.run()
  s.rows(columns, ragged())
  const part = await s.reconcile({ where: { column: 'name', digest: textHash('n3') } })
  expect(part.books.read).toBe(3)
  expect(part.books.states).toMatchObject({ unchanged: 1, invalid: 2 })
})
