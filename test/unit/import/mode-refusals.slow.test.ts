// Imports that only create, or only update: one row that the service refuses by the whole request does not hold up the others, and a
// run that is cancelled looks up what it has in flight.

import { describe, expect, it } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { systemClock } from '../../../src/core/ports.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, CONTACT, importScene, type Scene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1], refused_in_row_max: 9 } }
const OPERATIONS = { create: 'batchCreate', update: 'batchUpdate' } as const

const seed = async (scene: Scene, mode: 'create' | 'update', count: number) => {
  scene.rows(
    ['id', 'name'],
    Array.from({ length: count }, (_, index) => [`k${index}`, `ours ${index}`]),
  )
  if (mode === 'create') return
  for (let index = 0; index < count; index++)
    await scene.client.createRecord(CONTACT, { svc_external_id: `k${index}`, svc_first_name: '' })
}

/** Refuses each request that has the text in its body. */
const refusing =
  (mode: 'create' | 'update', text: string, facts: { status: number; field?: string }) =>
  (client: ImportClient): ImportClient => {
    const operation = OPERATIONS[mode]
    const send = async (...given: readonly unknown[]) => {
      const [, input, options] = given as [
        string,
        { body: string },
        { permit?: { unused(): void } },
      ]
      if (!input.body.includes(text))
        return await (client[operation] as (...args: readonly unknown[]) => Promise<never>)(
          ...given,
        )
      options.permit?.unused()
      const isConflict = facts.status === 409
      throw new ServiceFailure(`${operation}: refused`, {
        kind: 'problem',
        disposition: facts.status === 403 || facts.status === 404 ? 'halt' : 'reject',
        block: 'contract',
        outcomeUnknown: false,
        problemCode: isConflict ? 'conflict' : 'request_invalid',
        detail: 'no',
        ...facts,
      })
    }
    return clientWith(client, { [operation]: send })
  }

describe.each(['create', 'update'] as const)('mode %s', (mode) => {
  it.each([400, 413, 403])(
    'sets one row aside whose batch is answered %i whole',
    async (status) => {
      const scene = await importScene(NAMES, { mode })
      await seed(scene, mode, 120)
      const end = await scene.run({ ...fast, through: refusing(mode, '"ours 70"', { status }) })
      const done = mode === 'create' ? 'created' : 'updated'
      expect(end.state).toBe('complete_with_rejects')
      expect(end.books.states).toMatchObject({ [done]: 119, refused: 1 })
      const held = scene.service
        .records(CONTACT)
        .map(({ properties }) => properties['svc_first_name'])
      expect(held.filter((name) => String(name).startsWith('ours'))).toHaveLength(119)
    },
  )

  it('looks up what a run has in flight that is cancelled', async () => {
    const scene = await importScene(NAMES, { mode })
    await seed(scene, mode, 3)
    let ahead = 0
    const end = await scene.run({
      ...fast,
      ending: 'cancelled',
      clock: { ...systemClock, now: () => systemClock.now() + ahead },
      // By then nothing that was recorded can be sent any more.
      beforeClose: async () => (ahead = 60_000),
      through: (client) =>
        clientWith(client, {
          [OPERATIONS[mode]]: async (...given: readonly unknown[]) => {
            await (client[OPERATIONS[mode]] as (...all: readonly unknown[]) => Promise<never>)(
              ...given,
            )
            throw new TypeError('the worker ended')
          },
        }),
    })
    const done = mode === 'create' ? 'created' : 'updated'
    expect(end.books).toMatchObject({ states: { [done]: 3 }, inDoubt: 0, lookedUp: 3 })
  })
})

it('a create that is refused alone because its key is taken exists', async () => {
  const scene = await importScene(NAMES, { mode: 'create' })
  await seed(scene, 'create', 3)
  const field = '/data/0/properties/svc_external_id'
  const through = refusing('create', '"ours 1"', { status: 409, field })
  const end = await scene.run({ ...fast, through })
  expect(end).toMatchObject({ state: 'complete', books: { states: { created: 2, exists: 1 } } })
})

it('a create that is refused because another property is taken is rejected', async () => {
  const scene = await importScene(NAMES, { mode: 'create' })
  await seed(scene, 'create', 3)
  const field = '/data/0/properties/svc_first_name'
  const through = refusing('create', '"ours 1"', { status: 409, field })
  const end = await scene.run({ ...fast, through })
  expect(end.books.states).toMatchObject({ created: 2, exists: 0, refused: 1 })
})

it('an update that is refused alone because its record is gone is absent', async () => {
  const scene = await importScene(NAMES, { mode: 'update' })
  await seed(scene, 'update', 60)
  let isGone = false
  const through = (client: ImportClient) => {
    const refused = refusing('update', '"ours 1"', { status: 404 })(client)
    return clientWith(refused, {
      batchUpdate: async (...given) => {
        // It goes between the look-up and the batch.
        const { id } = (await scene.held('k1')) ?? {}
        if (id !== undefined && isGone) await scene.client.deleteRecord(CONTACT, id)
        isGone = true
        return await refused.batchUpdate(...given)
      },
    })
  }
  const end = await scene.run({ ...fast, through })
  expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 59, not_found: 1 } } })
})

it('a lost create whose row was answered 500 is not sent again where a second record could be made', async () => {
  const scene = await importScene(
    { svc_last_name: { column: 'id' }, svc_first_name: { column: 'name' } },
    { mode: 'create', matching_property: 'svc_last_name' },
  )
  await seed(scene, 'create', 3)
  let calls = 0
  // The index of the service does not show the record yet.
  let isLagging = true
  const through = (client: ImportClient) =>
    clientWith(client, {
      queryRecords: async (...given) => {
        const page = await client.queryRecords(...given)
        return isLagging ? { ...page, data: [] } : page
      },
      batchCreate: async (...given) => {
        calls++
        const answer = await client.batchCreate(...given)
        const [first, ...rest] = answer.data
        const problem = { code: 'internal_error', status: 500, detail: 'failed' } as never
        return {
          ...answer,
          data: [{ index: first!.index, status: 500, problem } as const, ...rest],
        }
      },
    })
  const beforeClose = async () => (isLagging = false)
  const end = await scene.run({ ...fast, through, beforeClose })
  expect(calls).toBe(1)
  expect(scene.service.records(CONTACT)).toHaveLength(3)
  expect(end).toMatchObject({ state: 'complete', books: { states: { created: 3 }, lookedUp: 1 } })
})
