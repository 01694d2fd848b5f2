// Imports that only create, or only update: what is not to be written is left as it is and counted, and a lost answer never makes a
// second record.

import { describe, expect, it } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { OutcomeUnknown } from '../../../src/client/index.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, CONTACT, importScene, losesFirst, type Scene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const HEAD = ['id', 'name']
const noWait = { resend_backoff_ms: [1], item_backoff_ms: [1] }
const fast = { tuning: noWait }

const numbered = (count: number, name: string): string[][] =>
  Array.from({ length: count }, (_, index) => [`k${index}`, `${name} ${index}`])

const heldNames = (scene: Scene) =>
  new Map(
    scene.service
      .records(CONTACT)
      .map(({ properties }) => [properties['svc_external_id'], properties['svc_first_name']]),
  )

const createOne = (scene: Scene, id: string, name: string) =>
  scene.client.createRecord(CONTACT, { svc_external_id: id, svc_first_name: name })

const AWAY = {
  kind: 'problem',
  block: 'service',
  disposition: 'retry',
  outcomeUnknown: false,
} as const

/** No create is answered, and nothing is looked up after the first one. @param isCarriedOut whether the service carries them out */
const losesAndEnds =
  (isCarriedOut: boolean) =>
  (client: ImportClient): ImportClient => {
    let isAway = false
    return clientWith(client, {
      queryRecords: async (...given) => {
        if (isAway) throw new ServiceFailure('away', { ...AWAY, disposition: 'halt' })
        return await client.queryRecords(...given)
      },
      batchCreate: async (...given) => {
        isAway = true
        if (isCarriedOut) await client.batchCreate(...given)
        throw new OutcomeUnknown('lost', { ...AWAY, disposition: 'halt', outcomeUnknown: true })
      },
    })
  }

describe('create', () => {
  const create = () => importScene(NAMES, { mode: 'create', verify: 'all' })

  it('creates what is missing, and leaves what is there as it is', async () => {
    const scene = await create()
    for (const key of ['k3', 'k7', 'k150']) await createOne(scene, key, 'theirs')
    scene.rows(HEAD, numbered(160, 'ours'))
    const end = await scene.run(fast)
    expect(end).toMatchObject({
      state: 'complete',
      message: '3 rows are there already, and were not written',
      books: { states: { created: 157, exists: 3 }, readBack: { equal: 157 } },
    })
    expect(isBalanced(end.books)).toBe(true)
    const names = heldNames(scene)
    expect(names.size).toBe(160)
    expect(['k3', 'k7', 'k150'].map((key) => names.get(key))).toEqual(Array(3).fill('theirs'))
    expect(names.get('k4')).toBe('ours 4')
    const again = await scene.run(fast)
    expect(again.books.states).toMatchObject({ unchanged: 157, exists: 3, created: 0 })
    expect(await scene.ledger.progress(end.run)).toMatchObject({ created: 157, skipped: 3 })
  })

  it('does not write a changed row of a record that it has created', async () => {
    const scene = await create()
    scene.rows(HEAD, [['k1', 'Ann']])
    await scene.run(fast)
    scene.rows(HEAD, [['k1', 'Anna']])
    expect((await scene.run(fast)).books.states).toMatchObject({ exists: 1 })
    expect(heldNames(scene).get('k1')).toBe('Ann')
  })

  it.each([true, false])(
    'settles a batch whose answer was lost by its records (carried out: %s)',
    async (isDone) => {
      const scene = await create()
      scene.rows(HEAD, numbered(120, 'ours'))
      const end = await scene.run({ ...fast, through: losesFirst('batchCreate', isDone) })
      expect(end).toMatchObject({ state: 'complete', books: { states: { created: 120 } } })
      expect(end.books.lookedUp).toBe(isDone ? 50 : undefined)
      expect(end.books.replayed).toBe(isDone ? 0 : 50)
      expect(heldNames(scene).size).toBe(120)
      expect(scene.service.records(CONTACT)).toHaveLength(120)
      expect((await scene.run(fast)).books.states).toMatchObject({ unchanged: 120 })
    },
  )

  it('leaves in doubt what it finds with other values after a lost answer', async () => {
    const scene = await create()
    scene.rows(HEAD, numbered(3, 'ours'))
    const through = (client: ImportClient) => {
      const losing = losesFirst('batchCreate', false)(client)
      return clientWith(losing, {
        batchCreate: async (...given) => {
          await createOne(scene, 'k1', 'theirs').catch(() => {})
          return await losing.batchCreate(...given)
        },
      })
    }
    const end = await scene.run({ ...fast, through })
    expect(end.state).toBe('complete_with_rejects')
    expect(end.books).toMatchObject({ states: { created: 2, outcome_unknown: 1 }, inDoubt: 1 })
    expect(heldNames(scene).get('k1')).toBe('theirs')
    expect((await scene.retry(end.run, {}, fast)).books.states).toMatchObject({ exists: 1 })
  })

  it('takes the conflict of a key that came in between for a row that exists', async () => {
    const scene = await create()
    scene.rows(HEAD, numbered(4, 'ours'))
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchCreate: async (...given) => {
          await createOne(scene, 'k2', 'theirs').catch(() => {})
          return await client.batchCreate(...given)
        },
      })
    const end = await scene.run({ ...fast, through })
    expect(end).toMatchObject({
      state: 'complete',
      books: { states: { created: 3, exists: 1, refused: 0 } },
    })
    expect(heldNames(scene).get('k2')).toBe('theirs')
  })

  it('never sends a lost row again where the service takes a second record of its key', async () => {
    const scene = await importScene(
      { svc_last_name: { column: 'id' }, svc_first_name: { column: 'name' } },
      { mode: 'create', matching_property: 'svc_last_name' },
    )
    scene.rows(HEAD, numbered(3, 'ours'))
    // The record is there, and the index of the service does not show it yet.
    let isLagging = true
    const through = (client: ImportClient) => {
      const losing = losesFirst('batchCreate', true)(client)
      return clientWith(losing, {
        queryRecords: async (...given) => {
          const page = await client.queryRecords(...given)
          return isLagging ? { ...page, data: [] } : page
        },
      })
    }
    const end = await scene.run({
      ...fast,
      through,
      beforeClose: async () => (isLagging = false),
    })
    expect(scene.service.records(CONTACT)).toHaveLength(3)
    expect(end).toMatchObject({ state: 'complete', books: { states: { created: 3 }, lookedUp: 3 } })
  })

  it('says that a row is in doubt whose record is never found', async () => {
    const scene = await importScene(
      { svc_last_name: { column: 'id' }, svc_first_name: { column: 'name' } },
      { mode: 'create', matching_property: 'svc_last_name' },
    )
    scene.rows(HEAD, numbered(3, 'ours'))
    const end = await scene.run({ ...fast, through: losesFirst('batchCreate', false) })
    expect(end).toMatchObject({
      state: 'complete_with_rejects',
      books: { states: { outcome_unknown: 3 }, inDoubt: 3 },
    })
    expect((await scene.retry(end.run, {}, fast)).books.states).toMatchObject({ created: 3 })
    expect(scene.service.records(CONTACT)).toHaveLength(3)
  })

  it('finds what an earlier run has sent and never saw answered, if it is as it was sent', async () => {
    const scene = await create()
    scene.rows(HEAD, numbered(3, 'ours'))
    const first = await scene.run({ ...fast, through: losesAndEnds(true), ending: 'cancelled' })
    expect(first.books).toMatchObject({ states: { outcome_unknown: 3 }, inDoubt: 3 })
    scene.rows(HEAD, [...numbered(2, 'ours'), ['k2', 'changed since']])
    const next = await scene.run(fast)
    expect(next.books).toMatchObject({ states: { created: 2, exists: 1 }, lookedUp: 2 })
    expect((await scene.run(fast)).books.states).toMatchObject({ unchanged: 2, exists: 1 })
  })

  it('counts a record once that a later run has made of a row in doubt', async () => {
    const scene = await create()
    scene.rows(HEAD, numbered(3, 'ours'))
    const first = await scene.run({ ...fast, through: losesAndEnds(false), ending: 'cancelled' })
    expect(first.books).toMatchObject({ states: { outcome_unknown: 3 }, inDoubt: 3 })
    const second = await scene.run(fast)
    expect(second.books.states).toMatchObject({ created: 3 })
    // Its key is looked up again, as one that may have several records.
    await scene.ledger.noteRecordsOfKeys(second.run, [{ key: 'k1', records: ['a', 'b'] }])
    const third = await scene.run(fast)
    expect(third.books.states).toMatchObject({ created: 0, exists: 1, unchanged: 2 })
  })

  it('takes a row for its own that the service has made and answered with 503', async () => {
    const scene = await create()
    scene.rows(HEAD, numbered(3, 'ours'))
    let calls = 0
    const end = await scene.run({
      ...fast,
      through: (client) =>
        clientWith(client, {
          batchCreate: async (...given) => {
            const answer = await client.batchCreate(...given)
            if (++calls === 1) throw new ServiceFailure('busy', AWAY)
            return answer
          },
        }),
    })
    expect([calls, end.state]).toEqual([2, 'complete'])
    expect(end.books.states).toMatchObject({ created: 3, exists: 0 })
  })

  it('settles what was in flight when the worker ended', async () => {
    const scene = await create()
    scene.rows(HEAD, numbered(120, 'ours'))
    const end = await scene.run({
      ...fast,
      tries: 2,
      through: (client) => {
        let calls = 0
        return clientWith(client, {
          batchCreate: async (...given) => {
            const answer = await client.batchCreate(...given)
            // The ledger never learns of the first answer.
            if (++calls === 1) throw new TypeError('the worker ended')
            return answer
          },
        })
      },
    })
    expect(end).toMatchObject({ state: 'complete', books: { states: { created: 120 } } })
    expect(end.books.lookedUp).toBeGreaterThanOrEqual(50)
    expect(scene.service.records(CONTACT)).toHaveLength(120)
  })

  it('takes the last of several rows with one key', async () => {
    const scene = await create()
    scene.rows(HEAD, [
      ['k1', 'first'],
      ['k1', 'last'],
    ])
    expect((await scene.run(fast)).books.states).toMatchObject({ created: 1, superseded: 1 })
    expect(heldNames(scene).get('k1')).toBe('last')
  })

  it('is reconciled by what it may write', async () => {
    const scene = await create()
    await createOne(scene, 'k1', 'theirs')
    scene.rows(HEAD, numbered(4, 'ours'))
    await scene.run(fast)
    const { id: k2 } = (await scene.held('k2'))!
    await scene.client.updateRecord(CONTACT, k2, { svc_first_name: 'changed' })
    await scene.client.deleteRecord(CONTACT, (await scene.held('k3'))!.id)
    const looked = await scene.reconcile({}, fast)
    expect(looked.differences).toMatchObject([{ key: 'k3', kind: 'missing' }])
    expect(looked.books.states).toMatchObject({ unchanged: 1, exists: 2, not_sent: 1 })
    const repaired = await scene.reconcile({ repair: true }, fast)
    expect(repaired).toMatchObject({
      state: 'complete',
      books: { states: { unchanged: 1, exists: 2, created: 1 } },
    })
    expect(heldNames(scene).get('k2')).toBe('changed')
    expect(heldNames(scene).get('k1')).toBe('theirs')
  })
})

describe('update', () => {
  const update = () => importScene(NAMES, { mode: 'update', verify: 'all' })
  const seed = async (scene: Scene, count: number) => {
    for (let index = 0; index < count; index++) await createOne(scene, `k${index}`, 'old')
  }

  it('updates what is there, and creates nothing', async () => {
    const scene = await update()
    await seed(scene, 120)
    scene.rows(HEAD, [...numbered(120, 'new'), ['gone1', 'x'], ['gone2', 'x']])
    const end = await scene.run(fast)
    expect(end).toMatchObject({
      state: 'complete',
      message: '2 rows are not there, and were not created',
      books: { states: { updated: 120, not_found: 2 }, readBack: { equal: 120 } },
    })
    expect(isBalanced(end.books)).toBe(true)
    const names = heldNames(scene)
    expect(names.size).toBe(120)
    expect(names.get('k119')).toBe('new 119')
    expect((await scene.run(fast)).books.states).toMatchObject({ unchanged: 120, not_found: 2 })
  })

  /** Another program makes the record of a key its own: another key, other values. */
  const takeAway = async (scene: Scene, key: string) => {
    const { id } = (await scene.held(key))!
    const theirs = { svc_external_id: `${key}-theirs`, svc_first_name: 'theirs' }
    await scene.client.updateRecord(CONTACT, id, theirs)
  }

  it('leaves a record alone that has another key since, and updates the one that has the key', async () => {
    const scene = await update()
    await seed(scene, 4)
    scene.rows(HEAD, numbered(4, 'new'))
    await scene.run(fast)
    for (const key of ['k0', 'k1']) await takeAway(scene, key)
    await createOne(scene, 'k1', 'another record')
    scene.rows(HEAD, numbered(4, 'newer'))
    const end = await scene.run(fast)
    expect(end).toMatchObject({
      state: 'complete',
      message: '1 row is not there, and was not created',
      books: { states: { updated: 3, not_found: 1, refused: 0 } },
    })
    expect(Object.fromEntries(heldNames(scene))).toEqual({
      'k0-theirs': 'theirs',
      'k1-theirs': 'theirs',
      k1: 'newer 1',
      k2: 'newer 2',
      k3: 'newer 3',
    })
    // As it was sent once, but not to a record that has the key.
    scene.rows(HEAD, numbered(4, 'new'))
    expect((await scene.run(fast)).books.states).toMatchObject({ updated: 3, not_found: 1 })
    const looked = await scene.reconcile({ repair: true }, fast)
    expect(looked).toMatchObject({ state: 'complete', books: { states: { not_found: 1 } } })
    expect(heldNames(scene).get('k0-theirs')).toBe('theirs')
  })

  it.each(['none', 'all'] as const)(
    'leaves the key as it is, and says so, if it changes after the look-up (verify: %s)',
    async (verify) => {
      const scene = await importScene(NAMES, { mode: 'update', verify })
      await seed(scene, 3)
      scene.rows(HEAD, numbered(3, 'new'))
      const through = (client: ImportClient) =>
        clientWith(client, {
          batchUpdate: async (...given) => {
            await takeAway(scene, 'k1')
            // The one that has the key now is as our row: that does not show what was written.
            await scene.client.createRecord(CONTACT, {
              svc_external_id: 'k1',
              svc_first_name: 'new 1',
            })
            return await client.batchUpdate(...given)
          },
        })
      const end = await scene.run({ ...fast, through })
      expect(end.state).toBe('complete_with_differences')
      const [row] = await scene.ledger.report(end.run, { states: ['updated'], after: 1, limit: 1 })
      expect(row).toMatchObject({ key: 'k1', reason: 'answered_other_record' })
      expect([...heldNames(scene).keys()]).toEqual(['k0', 'k1-theirs', 'k2', 'k1'])
      // It is tried again.
      const again = await scene.run(fast)
      expect(again.books.states).toMatchObject({ unchanged: 2, updated: 1 })
      expect(heldNames(scene).get('k1')).toBe('new 1')
    },
  )

  it('looks a key up again before a lost batch is sent again', async () => {
    const scene = await update()
    await seed(scene, 60)
    scene.rows(HEAD, numbered(60, 'new'))
    let isFirst = true
    const through = (client: ImportClient) => {
      const losing = losesFirst('batchUpdate', false)(client)
      return clientWith(losing, {
        batchUpdate: async (...given) => {
          const wasFirst = isFirst
          isFirst = false
          try {
            return await losing.batchUpdate(...given)
          } finally {
            if (wasFirst) {
              for (const key of ['k3', 'k4']) await takeAway(scene, key)
              await createOne(scene, 'k4', 'another record')
            }
          }
        },
      })
    }
    const end = await scene.run({ ...fast, through })
    expect(end).toMatchObject({
      state: 'complete',
      books: { states: { updated: 59, not_found: 1 } },
    })
    expect(isBalanced(end.books)).toBe(true)
    const names = heldNames(scene)
    expect(['k3-theirs', 'k4-theirs', 'k4', 'k5'].map((key) => names.get(key))).toEqual([
      'theirs',
      'theirs',
      'new 4',
      'new 5',
    ])
  })

  it('looks up again what was in flight when the worker ended', async () => {
    const scene = await update()
    await seed(scene, 60)
    scene.rows(HEAD, numbered(60, 'new'))
    let calls = 0
    const end = await scene.run({
      ...fast,
      tries: 2,
      through: (client) =>
        clientWith(client, {
          batchUpdate: async (...given) => {
            if (++calls > 1) return await client.batchUpdate(...given)
            await takeAway(scene, 'k3')
            throw new TypeError('the worker ended')
          },
        }),
    })
    expect(end).toMatchObject({
      state: 'complete',
      books: { states: { updated: 59, not_found: 1 } },
    })
    expect(heldNames(scene).get('k3-theirs')).toBe('theirs')
  })

  it('finds a record whose key has another form, and leaves the form as it is', async () => {
    const scene = await importScene(
      { svc_email: { column: 'id' }, svc_first_name: { column: 'name' } },
      { mode: 'update', matching_property: 'svc_email', verify: 'all' },
    )
    const { id } = await scene.client.createRecord(CONTACT, { svc_email: ['Ann@Example.com'] })
    const held = () => scene.service.records(CONTACT).find((record) => record.id === id)!.properties
    const form = held()['svc_email']
    for (const name of ['new', 'newer']) {
      scene.rows(HEAD, [['ANN@example.com', name]])
      const end = await scene.run(fast)
      expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 1 } } })
    }
    expect(held()).toMatchObject({ svc_email: form, svc_first_name: 'newer' })
    expect((await scene.reconcile({}, fast)).state).toBe('complete')
  })

  it('does not send the later row of a record again that has other keys by then', async () => {
    const scene = await importScene(
      { svc_email: { column: 'id' }, svc_first_name: { column: 'name' } },
      { mode: 'update', matching_property: 'svc_email' },
    )
    const both = { svc_email: ['a@x.example', 'b@x.example'] }
    const { id } = await scene.client.createRecord(CONTACT, both)
    scene.rows(HEAD, [
      ['a@x.example', 'one'],
      ['b@x.example', 'two'],
    ])
    const theirs = { svc_email: ['c@x.example'], svc_first_name: 'theirs' }
    let calls = 0
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchUpdate: async (...given) => {
          const answer = await client.batchUpdate(...given)
          if (++calls === 1) await scene.client.updateRecord(CONTACT, id, theirs)
          return answer
        },
      })
    const end = await scene.run({ ...fast, through })
    expect(calls).toBe(1)
    expect(end.state).toBe('complete_with_differences')
    expect(scene.service.records(CONTACT)[0]!.properties).toMatchObject(theirs)
  })

  it('takes rows that have a key and no values', async () => {
    const scene = await update()
    await seed(scene, 1)
    scene.rows(HEAD, [['k0', '']])
    expect(await scene.run(fast)).toMatchObject({
      state: 'complete',
      books: { states: { updated: 1 } },
    })
    expect(heldNames(scene).get('k0')).toBe('old')
  })

  it('looks a key up once more whose record is gone', async () => {
    const scene = await update()
    await seed(scene, 4)
    scene.rows(HEAD, numbered(4, 'new'))
    await scene.run(fast)
    for (const key of ['k1', 'k2'])
      await scene.client.deleteRecord(CONTACT, (await scene.held(key))!.id)
    await createOne(scene, 'k2', 'another record')
    scene.rows(HEAD, numbered(4, 'newer'))
    const end = await scene.run(fast)
    expect(end).toMatchObject({
      state: 'complete',
      books: { states: { updated: 3, not_found: 1 }, replayed: 0 },
    })
    expect(heldNames(scene)).toEqual(
      new Map([
        ['k0', 'newer 0'],
        ['k2', 'newer 2'],
        ['k3', 'newer 3'],
      ]),
    )
  })

  it('refuses a key of two records', async () => {
    const scene = await importScene(
      { svc_last_name: { column: 'id' }, svc_first_name: { column: 'name' } },
      { mode: 'update', matching_property: 'svc_last_name' },
    )
    for (const name of ['one', 'two'])
      await scene.client.createRecord(CONTACT, { svc_last_name: 'k0', svc_first_name: name })
    await scene.client.createRecord(CONTACT, { svc_last_name: 'k1', svc_first_name: 'old' })
    scene.rows(HEAD, numbered(2, 'new'))
    const end = await scene.run(fast)
    expect(end.books.states).toMatchObject({ updated: 1, refused: 1 })
    const [row] = await scene.ledger.report(end.run, { states: ['refused'], after: 0, limit: 9 })
    expect(row).toMatchObject({ code: 'conflict', reason: 'ambiguous_match', key: 'k0' })
  })

  it.each([true, false])('sends a lost batch again as it was (carried out: %s)', async (isDone) => {
    const scene = await update()
    await seed(scene, 60)
    scene.rows(HEAD, numbered(60, 'new'))
    const end = await scene.run({ ...fast, through: losesFirst('batchUpdate', isDone) })
    expect(end).toMatchObject({
      state: 'complete',
      books: { states: { updated: 60 }, replayed: 50 },
    })
    expect([...heldNames(scene).values()].every((name) => String(name).startsWith('new'))).toBe(
      true,
    )
  })

  it('sends what was in flight when the worker ended to the same records', async () => {
    const scene = await update()
    await seed(scene, 60)
    scene.rows(HEAD, numbered(60, 'new'))
    const bodies: unknown[] = []
    const end = await scene.run({
      ...fast,
      tries: 2,
      through: (client) => {
        let calls = 0
        return clientWith(client, {
          batchUpdate: async (...given) => {
            bodies.push((given[1] as { body: string }).body)
            if (++calls === 1) throw new TypeError('the worker ended')
            return await client.batchUpdate(...given)
          },
        })
      },
    })
    expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 60 } } })
    expect(bodies.filter((body) => body === bodies[0]).length).toBeGreaterThan(1)
  })

  it('is reconciled by what it may write', async () => {
    const scene = await update()
    await seed(scene, 3)
    scene.rows(HEAD, numbered(5, 'new'))
    await scene.run(fast)
    await scene.client.updateRecord(CONTACT, (await scene.held('k1'))!.id, {
      svc_first_name: 'theirs',
    })
    scene.rows(HEAD, numbered(5, 'new').slice(1))
    const looked = await scene.reconcile({}, fast)
    // A record that the source has no row of is none of an update's.
    expect(looked.differences).toMatchObject([{ key: 'k1', kind: 'different' }])
    expect(looked.books.states).toMatchObject({ unchanged: 1, not_found: 2, not_sent: 1 })
    expect((await scene.reconcile({ repair: true }, fast)).state).toBe('complete')
    expect(heldNames(scene).get('k1')).toBe('new 1')
  })
})
