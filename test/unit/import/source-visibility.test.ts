// A source of records whose key sees less than that of the run before: the records whose rows it does not see are deleted only
// when a person says so.

import { expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { ADMINISTRATOR } from '../../../src/service/auth/keys.ts'
import { startService } from '../../../src/service/index.ts'
import { CONTACT, importScene } from './scene.ts'

const user = (id: string) => ({ ...ADMINISTRATOR, id })

/** Three records in the source, of which `ada` does not see p0, and their copies. */
async function copyScene(copies = true) {
  const service = await startService({ users: [user('usr_ada'), user('usr_ben')] })
  const closing: (() => Promise<unknown>)[] = [() => service.close()]
  onTestFinished(async () => {
    for (const close of closing.toReversed()) await close()
  })
  const clientOf = (key: string) => {
    const client = new RecordsClient({ baseUrl: service.url, key })
    closing.push(() => client.close())
    return client
  }
  const org = clientOf(service.key)
  const ada = clientOf(service.mintKey({ userId: 'usr_ada', reach: 'user' }))
  const ben = clientOf(service.mintKey({ userId: 'usr_ben', reach: 'user' }))
  for (const n of [0, 1, 2])
    await org.createRecord(CONTACT, {
      svc_external_id: `p${n}`,
      svc_first_name: 'Ann',
      svc_private: n === 0,
    })
  const properties = ['svc_external_id', 'svc_first_name']
  const scene = await importScene(
    {
      svc_external_id: { column: 'svc_external_id' },
      svc_first_name: { column: 'svc_first_name' },
    },
    { from: { records: { connection: 'src', object_type: CONTACT, properties } } },
  )
  if (copies) await scene.run({ readsWith: org })
  const warnings = async (run: number) => (await scene.ledger.run(run))!.warnings.join('\n')
  const count = () => scene.service.records(CONTACT).length
  return { scene, service, clientOf, org, ada, ben, warnings, count }
}

const REPAIR = { repair: true, deleteExtra: true }

test('one record whose row a lesser key does not see is deleted only when a person approves', async () => {
  const { scene, ada, warnings, count } = await copyScene()
  const run = await scene.run({ readsWith: ada })
  expect(await warnings(run.run)).toMatch(
    /key of the source \(key#\w+\) sees less than that of run 1 \(key#\w+\): its reach is user and was org.*; 2 rows were read, and 3 by run 1/,
  )
  const look = await scene.reconcile({}, { readsWith: ada })
  expect(look.differences).toMatchObject([{ key: 'p0', kind: 'extra' }])
  expect(await warnings(look.run)).toMatch(/sees less than that of run 1/)
  const waits: (string | null)[] = []
  const noteWait = (message: string | null) => waits.push(message)
  const rejected = await scene.reconcile(REPAIR, { readsWith: ada, noteWait })
  expect(waits).toEqual([
    expect.stringMatching(
      /^1 record waits to be deleted: .* sees less than that of run 1 .* reach is user and was org.*; the source may have rows for them$/,
    ),
  ])
  expect([rejected.state, count()]).toEqual(['cancelled', 3])
  const approved = await scene.reconcile(REPAIR, { readsWith: ada, noteWait, approves: true })
  expect([waits.length, approved.state, count()]).toEqual([2, 'complete', 2])
  // Nothing is left that the key may not see: it is the measure from now on.
  const next = await scene.run({ readsWith: ada })
  expect(await warnings(next.run)).not.toContain('sees less')
})

test('a key that sees as much deletes without a question', async () => {
  const { scene, org, ada, count } = await copyScene()
  await scene.run({ readsWith: ada })
  const all = await scene.reconcile({}, { readsWith: org })
  expect([all.state, all.differences]).toEqual(['complete', []])
  const { id } = (await org.queryRecords(CONTACT, {})).data[1]!
  await org.deleteRecord(CONTACT, id)
  const noteWait = () => expect.unreachable('nobody has to be asked')
  const end = await scene.reconcile(REPAIR, { readsWith: org, noteWait })
  expect([end.state, count()]).toEqual(['complete', 2])
})

test('what a key of another user brought in is asked for, though the run before had this key', async () => {
  const { scene, ada, ben, count } = await copyScene(false)
  await ben.createRecord(CONTACT, { svc_external_id: 'b0', svc_private: true })
  await scene.run({ readsWith: ada })
  await scene.run({ readsWith: ben })
  await scene.run({ readsWith: ada })
  const waits: (string | null)[] = []
  await scene.reconcile(REPAIR, { readsWith: ada, noteWait: (text) => waits.push(text) })
  expect(waits).toEqual([expect.stringContaining("another user's")])
  expect(count()).toBe(3)
})

test('the reach of the same key is lowered while the source is read', async () => {
  const { scene, org, count } = await copyScene()
  let asked = 0
  const lowered = Object.assign(Object.create(org) as RecordsClient, {
    readSelf: async () => {
      const self = await org.readSelf()
      return ++asked > 1 ? { ...self, reach: 'user' as const } : self
    },
  })
  await org.deleteRecord(CONTACT, (await org.queryRecords(CONTACT, {})).data[0]!.id)
  const waits: (string | null)[] = []
  const noteWait = (text: string | null) => waits.push(text)
  await scene.reconcile(REPAIR, { readsWith: lowered, noteWait })
  expect(waits).toEqual([expect.stringMatching(/sees less than in run 1: its reach is user/)])
  expect(count()).toBe(3)
})

test('fewer rows of another key that sees as much are told', async () => {
  const { scene, service, clientOf, org, warnings } = await copyScene()
  await org.deleteRecord(CONTACT, (await org.queryRecords(CONTACT, {})).data[0]!.id)
  const other = clientOf(service.mintKey({ reach: 'org' }))
  const end = await scene.run({ readsWith: other })
  expect(await warnings(end.run)).toMatch(
    /^2 rows were read, and 3 by run 1, with another key of the source \(key#\w+, before key#\w+\)$/m,
  )
})
