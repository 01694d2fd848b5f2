// A service whose cursors are numbers of records: one that is deleted, or moves behind the others, takes a place of those that follow.

import { expect, test } from 'vitest'
import { offsetPages } from '../sources/offset-pages.ts'
import { CONTACT, mirrorScene } from './scene.ts'

test('a listing has all records where one that was read is deleted', async () => {
  const s = await mirrorScene({ service: { seedRecords: 310 } })
  const gone = s.service.records(CONTACT)[3]!.id
  const between = () => s.client.batchDelete(CONTACT, { items: [{ id: gone }] })
  const run = await s.run({ through: offsetPages(between) })
  expect(run).toMatchObject({ state: 'complete', message: null })
  expect(await s.difference()).toEqual([])
})

test('a read of changes has all of them where one that was read changes again', async () => {
  const s = await mirrorScene({ service: { seedRecords: 310 } })
  await s.run()
  const records = s.service.records(CONTACT)
  for (const [at, { id }] of records.entries())
    await s.client.updateRecord(CONTACT, id, { svc_first_name: `new ${at}` })
  const again = () => s.client.updateRecord(CONTACT, records[3]!.id, { svc_first_name: 'newest' })
  const run = await s.run({ through: offsetPages(again) })
  expect(run).toMatchObject({ state: 'complete' })
  expect(run.streams[CONTACT]).toMatchObject({ changed: 310 })
  expect(await s.difference()).toEqual([])
})
