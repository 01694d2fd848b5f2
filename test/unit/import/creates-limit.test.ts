// The limit of new records: a repair knows which records it creates again, and asks.

import { expect, test } from 'vitest'
import type { ImportClient } from '../../../src/import/ports.ts'
import { CONTACT, importScene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const HEAD = ['id', 'name']
const rows = (name: string) => ['k0', 'k1', 'k2', 'k3'].map((id) => [id, name])

test('a repair that creates records again asks a person, by what it compared', async () => {
  const scene = await importScene(NAMES, { creates_max_percent: 60 })
  scene.rows(HEAD, rows('Ann'))
  await scene.run({ approves: true })
  for (const key of ['k0', 'k1'])
    await scene.client.deleteRecord(CONTACT, (await scene.held(key))!.id)
  const waits: (string | null)[] = []
  const noteWait = (message: string | null) => waits.push(message)
  const rejected = await scene.reconcile({ repair: true }, { noteWait })
  expect(waits).toEqual([
    '2 rows wait for approval: 100 % of them are new records, the limit creates_max_percent is 60',
  ])
  expect(rejected.state).toBe('cancelled')
  expect(scene.service.records(CONTACT)).toHaveLength(2)
  // Half of the rows that are sent is below the limit.
  scene.rows(HEAD, rows('Bea'))
  const below = await scene.reconcile({ repair: true }, { noteWait })
  expect([waits.length, below.state]).toEqual([1, 'complete'])
  expect(below.books.states).toMatchObject({ created: 2, updated: 2 })
})

test('a row that a repair holds back is no new record', async () => {
  const scene = await importScene(NAMES, { creates_max_percent: 0 })
  scene.rows(HEAD, rows('Ann'))
  await scene.run({ approves: true })
  await scene.client.deleteRecord(CONTACT, (await scene.held('k0'))!.id)
  scene.rows(HEAD, rows('Bea'))
  const lesser = (client: ImportClient) =>
    Object.assign(Object.create(client) as typeof client, {
      readSelf: async () => ({ ...(await client.readSelf()), reach: 'user' as const }),
    })
  const noteWait = () => expect.unreachable('nothing is created')
  const end = await scene.reconcile({ repair: true }, { through: lesser, noteWait })
  expect(end.books.states).toMatchObject({ created: 0, updated: 3, not_sent: 1 })
})
