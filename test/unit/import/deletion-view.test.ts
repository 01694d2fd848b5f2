// A run that deletes: a key that sees less than the one that compared deletes nothing, and to a key of reach user no record is gone
// because it does not find it.

import { expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { ADMINISTRATOR } from '../../../src/service/auth/keys.ts'
import { DELETES } from './people.ts'
import { clientWith, connectedAs, CONTACT, importScene, type RunOptions } from './scene.ts'
import { removalGroups } from '../../removal-groups.ts'

const NAMES = { svc_external_id: { column: 'id' } }
const ADA = { ...ADMINISTRATOR, id: 'usr_ada' }
const ids = (count: number) => Array.from({ length: count }, (_, at) => [`k${at}`])

/** A run has written k0 to k5, and the source has k0 and k1 left. */
async function scene() {
  const s = await importScene(NAMES, {}, { users: [ADA] })
  s.rows(['id'], ids(6))
  await s.run()
  s.rows(['id'], ids(2))
  const key = s.service.mintKey({ userId: 'usr_ada', reach: 'user' })
  const client = new RecordsClient({ baseUrl: s.service.url, key })
  onTestFinished(() => client.close())
  return {
    ...s,
    ledger: s.ledger,
    lesser: client,
    hide: async (...keys: string[]) => {
      for (const one of keys) {
        const { id } = (await s.held(one))!
        await s.client.updateRecord(CONTACT, id, { svc_private: true } as never)
      }
    },
    left: () => s.service.records(CONTACT).length,
    warnings: async (run: number) => (await s.ledger.run(run))!.warnings.join(),
  }
}

/** The last step deletes. `then`: the key of each time that it is begun; the steps before have one that sees all. */
function keysOfSteps(all: RecordsClient, then: readonly RecordsClient[]): RunOptions {
  let begun = 0
  let isClosing = false
  return {
    connect: () => connectedAs(isClosing ? then[begun++]! : all, 'test').connect(),
    beforeClose: async () => (isClosing = true),
    approves: true,
    tries: then.length,
  }
}

test('a key that sees less than the one that compared deletes nothing, and the run waits for one that sees as much', async () => {
  const s = await scene()
  await s.hide('k3')
  const failed = await s
    .reconcile(DELETES, keysOfSteps(s.client, [s.lesser]))
    .catch((error: unknown) => error)
  expect(failed).toMatchObject({ type: 'Blocked' })
  expect((failed as Error).message).toMatch(/permission.*its reach is user and was org/)
  expect(s.left()).toBe(6)
})

test('such a run goes on where the key is put back', async () => {
  const s = await scene()
  await s.hide('k3')
  const end = await s.reconcile(DELETES, keysOfSteps(s.client, [s.lesser, s.client]))
  expect(end).toMatchObject({
    state: 'complete',
    message: '4 differed: 4 extra; all of them mended; 4 deletions due = 4 deleted',
  })
  expect(s.left()).toBe(2)
})

test('a key that is changed while the service deletes: what it does not find is no deletion', async () => {
  const s = await scene()
  await s.hide('k3')
  // The look is that of the key that compared, the deletion that of another one.
  const swapped = clientWith(s.client, {
    batchDelete: (...given) => s.lesser.batchDelete(...given),
    readSelf: (...given) => (s.left() < 6 ? s.lesser : s.client).readSelf(...given),
  }) as RecordsClient
  const steps = keysOfSteps(s.client, [swapped, s.client])
  const left: number[] = []
  const connect: NonNullable<RunOptions['connect']> = async (...given) => {
    left.push(s.left())
    return await steps.connect!(...given)
  }
  const end = await s.reconcile(DELETES, { ...steps, connect })
  expect(left.at(-1)).toBe(3)
  expect(end).toMatchObject({
    state: 'complete',
    message: '4 differed: 4 extra; all of them mended; 4 deletions due = 4 deleted',
  })
  expect(s.left()).toBe(2)
})

test('to a key of reach user a record that it does not find any more is not gone', async () => {
  const s = await scene()
  const end = await s.reconcile(DELETES, {
    ...connectedAs(s.lesser, 'test'),
    approves: true,
    beforeClose: () => s.hide('k3', 'k4'),
  })
  expect(end).toMatchObject({ state: 'complete_with_differences' })
  expect(end.differences.filter(({ repaired }) => !repaired)).toMatchObject([
    { key: 'k3', kind: 'extra' },
    { key: 'k4', kind: 'extra' },
  ])
  expect(await removalGroups(s.ledger, end.run)).toContainEqual(
    expect.objectContaining({ state: 'unproven', reason: 'not_visible', records: 2 }),
  )
  expect(s.left()).toBe(4)
  const looked = await s.reconcile()
  expect(looked.differences.map(({ key }) => key)).toEqual(['k3', 'k4'])
})

test('nor is one for which the deletion itself answers that there is none', async () => {
  const s = await scene()
  const late = clientWith(s.lesser, {
    batchDelete: async (...given) => {
      await s.hide('k3')
      return await s.lesser.batchDelete(...given)
    },
  })
  const end = await s.reconcile(DELETES, {
    ...connectedAs(late, 'test'),
    approves: true,
  })
  expect(end).toMatchObject({ state: 'complete_with_differences' })
  expect(await removalGroups(s.ledger, end.run)).toContainEqual(
    expect.objectContaining({ state: 'unproven', reason: 'not_visible', records: 1 }),
  )
  expect(s.left()).toBe(3)
})

test('a record that somebody else deletes meanwhile is gone, to a key of reach org', async () => {
  const s = await scene()
  const remove = async (key: string) => s.client.deleteRecord(CONTACT, (await s.held(key))!.id)
  const end = await s.reconcile(DELETES, {
    approves: true,
    beforeClose: () => remove('k3'),
    through: (client) =>
      clientWith(client, {
        batchDelete: async (...given) => {
          await remove('k4')
          return await client.batchDelete(...given)
        },
      }),
  })
  expect(end).toMatchObject({
    state: 'complete',
    message:
      '4 differed: 4 extra; all of them mended; 4 deletions due = 4 deleted (already_gone 2)',
  })
  expect((await s.reconcile()).state).toBe('complete')
})
