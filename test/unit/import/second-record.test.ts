// A key that sees less than the one that wrote before finds no record of a row that has one, and writes a second: the run says
// so, a repair does not do it, and two records of one key are a difference.

import { expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { ADMINISTRATOR } from '../../../src/service/auth/keys.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, connectedAs, CONTACT, importScene, type Scene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const HEAD = ['id', 'name']
const ADA = { ...ADMINISTRATOR, id: 'usr_ada' }

/** A client whose key sees no private records but those of its user. */
function clientOf(scene: Scene, userId: string): RecordsClient {
  const key = scene.service.mintKey({ userId, reach: 'user' })
  const client = new RecordsClient({ baseUrl: scene.service.url, key })
  onTestFinished(() => client.close())
  return client
}

/** The first row that a run has created, as its report has it. */
async function createdRow(scene: Scene, run: number) {
  const choice = { states: ['created'] as const, after: 0, limit: 9, readBack: true }
  return (await scene.ledger.report(run, choice))[0]
}

/** A run has written k0 to k2; the record of k0 is private now, and `lesser` is a key that does not see it. */
async function privateScene(more: Parameters<typeof importScene>[1] = {}) {
  const scene = await importScene(NAMES, more, { users: [ADA] })
  const rows = (first: string) =>
    scene.rows(HEAD, [
      ['k0', first],
      ['k1', 'Bea'],
      ['k2', 'Cleo'],
    ])
  rows('Ann')
  await scene.run()
  const { id } = (await scene.held('k0'))!
  await scene.client.updateRecord(CONTACT, id, { svc_private: true } as never)
  const key = scene.service.mintKey({ userId: 'usr_ada', reach: 'user' })
  const client = new RecordsClient({ baseUrl: scene.service.url, key })
  const lesser = connectedAs(client, 'lesser')
  return { scene, rows, id, client, lesser }
}

test('a row that a lesser key writes to a second record is told, and so are the two records', async () => {
  const { scene, rows, client, lesser } = await privateScene()
  try {
    rows('Anna')
    const end = await scene.run(lesser)
    expect(end.books.states).toMatchObject({ created: 1, unchanged: 2 })
    expect(end.state).toBe('complete_with_differences')
    const item = await createdRow(scene, end.run)
    expect(item).toMatchObject({ reason: 'second_record' })
    expect(item!.detail).toMatch(/key#lesser.* has reach user.*run 1.*key#test/)
    const { warnings } = (await scene.ledger.run(end.run))!
    expect(warnings.join()).toContain('second record')
    expect(await scene.ledger.retryRows(end.run, {}, { after: 0, limit: 9 })).toEqual([])
    // A key that sees both of them calls that a difference, and sends nothing.
    const looked = await scene.reconcile({ repair: true })
    expect(looked.differences).toMatchObject([{ key: 'k0', kind: 'different', repaired: false }])
    expect(looked.books.states).toMatchObject({ unchanged: 2, not_sent: 1 })
    expect(looked.state).toBe('complete_with_rejects')
  } finally {
    await client.close()
  }
})

test('a row with two records is named by each run, also where its record need not be sent', async () => {
  const { scene, rows, client, lesser } = await privateScene({ keep_before: true })
  try {
    rows('Anna')
    expect((await scene.run(lesser)).state).toBe('complete_with_differences')
    expect((await scene.run(lesser)).state).toBe('complete_with_differences')
    expect((await scene.run(lesser)).state).toBe('complete_with_differences')
  } finally {
    await client.close()
  }
})

test('a repair leaves what a lesser key does not find, and says why', async () => {
  const { scene, client, lesser } = await privateScene()
  try {
    const end = await scene.reconcile({ repair: true }, lesser)
    expect(end.books.states).toMatchObject({ created: 0, unchanged: 2, not_sent: 1 })
    expect(end.differences).toMatchObject([{ key: 'k0', kind: 'missing', repaired: false }])
    expect(end.state).toBe('complete_with_rejects')
    expect(scene.service.records(CONTACT)).toHaveLength(3)
    expect(await scene.ledger.retryRows(end.run, {}, { after: 0, limit: 9 })).toEqual([])
  } finally {
    await client.close()
  }
})

test('a key that another sync has written, and the key in use does not see, is a second record', async () => {
  const { scene, rows, client, lesser } = await privateScene()
  onTestFinished(() => client.close())
  rows('Anna')
  const renamed = { as: { name: 'people' } }
  const looked = await scene.reconcile({ repair: true }, { ...lesser, ...renamed })
  expect(looked.books.states).toMatchObject({ created: 0, unchanged: 2, not_sent: 1 })
  const end = await scene.run({ ...lesser, ...renamed })
  expect(end.books.states).toMatchObject({ created: 1, unchanged: 2 })
  expect(end.state).toBe('complete_with_differences')
  // It stays known; to a key that sees both, the service refuses the row as ambiguous.
  expect((await scene.run({ ...lesser, ...renamed })).state).toBe('complete_with_differences')
  expect(await scene.run(renamed)).toMatchObject({ books: { states: { refused: 1 } } })
})

test('a key that another sync has written, and somebody deleted, is created by a key that sees all', async () => {
  const { scene, rows, id, client } = await privateScene()
  await client.close()
  await scene.client.deleteRecord(CONTACT, id)
  rows('Anna')
  const end = await scene.run({ as: { name: 'people' } })
  expect(end).toMatchObject({ state: 'complete', books: { states: { created: 1, updated: 2 } } })
})

test('a record that is deleted, and made anew, is no second one', async () => {
  const { scene, rows, id, client } = await privateScene()
  await client.close()
  await scene.client.deleteRecord(CONTACT, id)
  rows('Anna')
  expect(await scene.run()).toMatchObject({ state: 'complete', books: { states: { created: 1 } } })
})

test('a look at the record of before that could not end is made again before the run is called different', async () => {
  const { scene, rows, id, client } = await privateScene()
  await client.close()
  await scene.client.deleteRecord(CONTACT, id)
  rows('Anna')
  let reads = 0
  const through = (whole: ImportClient) =>
    clientWith(whole, {
      readRecord: async (...given) => {
        if (reads++ === 0) throw new DOMException('stopped', 'AbortError')
        return await whole.readRecord(...given)
      },
    })
  expect(await scene.run({ through })).toMatchObject({
    state: 'complete',
    books: { states: { created: 1 } },
  })
  expect(reads).toBe(2)
  expect((await scene.run()).state).toBe('complete')
})

test.each(['an answer that was lost', 'a row that was answered with 500'] as const)(
  'a run whose key becomes one that sees less after %s says that it may have made a second record',
  async (what) => {
    const scene = await importScene(NAMES, {}, { users: [ADA] })
    scene.rows(HEAD, [['k0', 'Ann']])
    const lesser = clientOf(scene, 'usr_ada')
    let sendings = 0
    const failure = (text: string, more: object) => new ServiceFailure(text, more as never)
    /** The first sending is carried out; the second one is refused, since the key is revoked by then. */
    const first = clientWith(scene.client, {
      batchUpsert: async (...given) => {
        if (sendings++ > 0) {
          given[3]?.permit?.unused()
          throw failure('401', { disposition: 'halt', block: 'auth', outcomeUnknown: false })
        }
        const answer = await scene.client.batchUpsert(...given)
        const { id } = (await scene.held('k0'))!
        await scene.client.updateRecord(CONTACT, id, { svc_private: true } as never)
        if (what === 'an answer that was lost')
          throw failure('no answer', {
            disposition: 'retry',
            block: 'service',
            outcomeUnknown: true,
          })
        return { ...answer, data: [{ index: 0, status: 500 }] } as never
      },
    })
    const end = await scene.run({
      connect: () =>
        (sendings < 2 ? connectedAs(first, 'ada') : connectedAs(lesser, 'ben')).connect(),
      tries: 2,
      tuning: { in_flight: 1, resend_backoff_ms: [1], item_backoff_ms: [1] },
    })
    expect(scene.service.records(CONTACT)).toHaveLength(2)
    expect(end.state).toBe('complete_with_differences')
    const item = await createdRow(scene, end.run)
    expect(item).toMatchObject({ reason: 'second_record' })
  },
)

test('a run whose client changes its key between two sendings of a row says that it may have made a second record', async () => {
  const scene = await importScene(NAMES, {}, { users: [ADA] })
  scene.rows(HEAD, [['k0', 'Ann']])
  const lesserKey = scene.service.mintKey({ userId: 'usr_ada', reach: 'user' })
  let key = scene.service.key
  const changing = new RecordsClient({ baseUrl: scene.service.url, key: async () => key })
  onTestFinished(() => changing.close())
  let sendings = 0
  const losing = clientWith(changing, {
    batchUpsert: async (...given) => {
      const answer = await changing.batchUpsert(...given)
      if (sendings++ > 0) return answer
      const { id } = (await scene.held('k0'))!
      await scene.client.updateRecord(CONTACT, id, { svc_private: true } as never)
      key = lesserKey
      scene.service.revokeKey(scene.service.key)
      throw new ServiceFailure('no answer', {
        kind: 'no_answer',
        disposition: 'retry',
        block: 'service',
        outcomeUnknown: true,
      })
    },
  })
  const keyFingerprint = await changing.keyFingerprint()
  const end = await scene.run({
    connect: async () => ({ client: losing, keyFingerprint }),
    tuning: { in_flight: 1, resend_backoff_ms: [1] },
  })
  expect(sendings).toBe(2)
  expect(scene.service.records(CONTACT)).toHaveLength(2)
  expect(end.state).toBe('complete_with_differences')
})

test('a row whose record has another key now, and that makes a second one, is told', async () => {
  const { scene, rows, id, client } = await privateScene()
  await client.close()
  await scene.client.updateRecord(CONTACT, id, { svc_external_id: 'renamed' } as never)
  rows('Anna')
  expect((await scene.run()).state).toBe('complete_with_differences')
})

/** All runs have one key, of reach user; a colleague has taken over the record of k0. */
async function handedOverScene(what: 'handed over' | 'deleted') {
  const { scene, rows, id, client } = await privateScene()
  if (what === 'deleted') await scene.client.deleteRecord(CONTACT, id)
  // The key text is that of run 1; only its reach is another one now.
  const same = connectedAs(client, 'test')
  onTestFinished(() => client.close())
  return { scene, rows, same }
}

test('a repair with the key that wrote, of reach user, makes no second record, and no retry does', async () => {
  const { scene, same } = await handedOverScene('handed over')
  const look = await scene.reconcile({}, same)
  expect(look.books.states).toMatchObject({ unchanged: 2, not_sent: 1 })
  expect(await scene.ledger.retryRows(look.run, {}, { after: 0, limit: 9 })).toEqual([])
  const end = await scene.reconcile({ repair: true }, same)
  expect(end.books.states).toMatchObject({ created: 0, unchanged: 2, not_sent: 1 })
  expect(end.state).not.toBe('complete')
  const [item] = await scene.ledger.report(end.run, { states: ['not_sent'], after: 0, limit: 9 })
  expect(item).toMatchObject({ reason: 'not_visible' })
  expect(item!.detail).toMatch(/key#test.* has reach user.*run 1.* key of reach org/)
  expect(scene.service.records(CONTACT)).toHaveLength(3)
})

test('a run with the key that wrote, of reach user, says that it may have made a second record', async () => {
  const { scene, rows, same } = await handedOverScene('handed over')
  rows('Anna')
  const end = await scene.run(same)
  expect(end.books.states).toMatchObject({ created: 1, unchanged: 2 })
  expect(end.state).toBe('complete_with_differences')
})

test('a record that was deleted is created again by a key of reach org', async () => {
  const { scene, same } = await handedOverScene('deleted')
  const held = await scene.reconcile({ repair: true }, same)
  expect(held.books.states).toMatchObject({ created: 0, not_sent: 1 })
  const end = await scene.reconcile({ repair: true })
  expect(end).toMatchObject({ state: 'complete', books: { states: { created: 1 } } })
  expect(await scene.reconcile({}, same)).toMatchObject({ state: 'complete' })
})

/** A run with a key that does not see the record of k0 has written its row to a second one. */
async function namedScene() {
  const scene = await privateScene()
  onTestFinished(() => scene.client.close())
  scene.rows('Anna')
  expect((await scene.scene.run(scene.lesser)).state).toBe('complete_with_differences')
  return scene
}

test('a second record that was named stays a difference until the first one is seen to be gone', async () => {
  const { scene, id, lesser } = await namedScene()
  // Nothing changes, and the same key reads both: it proves nothing about the first record.
  for (const _ of [1, 2]) {
    const again = await scene.run(lesser)
    expect(again).toMatchObject({ state: 'complete_with_differences' })
    expect((await scene.ledger.run(again.run))!.warnings.join()).toContain('second record')
  }
  const looked = await scene.reconcile({}, lesser)
  expect(looked.differences).toMatchObject([{ key: 'k0', kind: 'different' }])
  expect(looked.state).not.toBe('complete')
  const [item] = await scene.ledger.report(looked.run, { states: ['not_sent'], after: 0, limit: 9 })
  expect(item!.detail).toContain(`${id} may still be there`)
  // A key that sees both finds both, and this service refuses the row.
  expect((await scene.run()).state).toBe('complete_with_rejects')
  await scene.client.deleteRecord(CONTACT, id)
  // The one that sees less cannot know it yet.
  expect((await scene.run(lesser)).state).toBe('complete_with_differences')
  expect((await scene.run()).state).toBe('complete')
  expect((await scene.run(lesser)).state).toBe('complete')
  expect((await scene.reconcile({}, lesser)).state).toBe('complete')
})

test('the record that is left counts, whichever of them it is', async () => {
  const { scene } = await namedScene()
  const written = scene.service.records(CONTACT).at(-1)!
  await scene.client.deleteRecord(CONTACT, written.id)
  // The first one takes the values of the row again.
  expect(await scene.run()).toMatchObject({ state: 'complete', books: { states: { updated: 1 } } })
  expect((await scene.reconcile()).state).toBe('complete')
})

test('two records of a key that a look-up found are known to the next run', async () => {
  const { scene, client } = await privateScene()
  onTestFinished(() => client.close())
  const other = await client.createRecord(CONTACT, { svc_external_id: 'k0' })
  expect((await scene.reconcile()).differences).toMatchObject([{ key: 'k0', kind: 'different' }])
  // The row is no longer `unchanged`; this service refuses a key that two records have.
  const next = await scene.run()
  expect(next.books.states).toMatchObject({ unchanged: 2, refused: 1 })
  await scene.client.deleteRecord(CONTACT, other.id)
  expect((await scene.run()).state).toBe('complete')
})

test('a run names keys with a second record that it has no row of', async () => {
  const { scene, lesser } = await namedScene()
  scene.rows(HEAD, [['k1', 'Bea']])
  const { run } = await scene.run(lesser)
  expect((await scene.ledger.run(run))!.warnings.join()).toMatch(/1 key .*second record/)
})

test('a row without an answer that a look-up finds at a second record is not accepted', async () => {
  const { scene, rows, client } = await privateScene()
  onTestFinished(() => client.close())
  rows('Anna')
  // The service writes the row, and answers 503 for it each time.
  const losing = clientWith(client, {
    batchUpsert: async (...given) => {
      const answer = await client.batchUpsert(...given)
      return { ...answer, data: answer.data.map(() => ({ status: 503 }) as never) }
    },
  })
  const end = await scene.run({
    ...connectedAs(losing, 'lesser'),
    tuning: { item_backoff_ms: [0] },
  })
  expect(end.books.states).toMatchObject({ updated: 0, outcome_unknown: 1 })
  expect((await scene.ledger.run(end.run))!.warnings.join()).toContain('second record')
  const same = connectedAs(client, 'lesser')
  expect((await scene.run(same)).state).toBe('complete_with_differences')
})

test('a second record of a key that the source has no row of any more is named', async () => {
  const { scene, id, lesser } = await namedScene()
  scene.rows(HEAD, [
    ['k1', 'Bea'],
    ['k2', 'Cleo'],
  ])
  const looked = await scene.reconcile({}, lesser)
  expect(looked.differences).toMatchObject([{ key: 'k0', kind: 'extra' }])
  const kept = await scene.reconcile({ repair: true, deleteExtra: true })
  expect(kept.state).toBe('complete_with_differences')
  expect(scene.service.records(CONTACT)).toHaveLength(4)
  await scene.client.deleteRecord(CONTACT, id)
  const end = await scene.reconcile({ repair: true, deleteExtra: true })
  expect(end.state).toBe('complete')
  expect(scene.service.records(CONTACT)).toHaveLength(2)
})

test.each(['does not see what it wrote', 'lags', 'lags, as does the reading by id'] as const)(
  'a read-back that finds another record than the row was written to does not call it equal: the query %s',
  async (what) => {
    const scene = await importScene(NAMES, { verify: 'all' }, { users: [ADA] })
    scene.rows(HEAD, [['k0', 'Ann']])
    const lesser = clientOf(scene, 'usr_ada')
    // The record that another process makes, or has made: the key sees nothing of the run's own one.
    const others = clientWith(scene.client, {
      batchUpsert: async (...given) => {
        const answer = await scene.client.batchUpsert(...given)
        const { id } = (await scene.held('k0'))!
        await scene.client.updateRecord(CONTACT, id, { svc_private: true } as never)
        const properties = { svc_external_id: 'k0', svc_first_name: 'Ann' }
        await lesser.upsertRecord(CONTACT, 'svc_external_id', properties)
        return answer
      },
      queryRecords: (...given) => lesser.queryRecords(...given),
      ...(what === 'lags, as does the reading by id' && {
        readRecord: (...given) => lesser.readRecord(...given),
      }),
      ...(what === 'does not see what it wrote' && {
        readRecord: (...given) => lesser.readRecord(...given),
        readSelf: (...given) => lesser.readSelf(...given),
      }),
    })
    const end = await scene.run(connectedAs(others, 'test'))
    expect(scene.service.records(CONTACT)).toHaveLength(2)
    expect(end.state).toBe('complete_with_differences')
    expect((await scene.ledger.run(end.run))!.warnings.join()).toContain('second record')
    // Both stay known, until one of them is seen to be gone.
    expect((await scene.run()).state).not.toBe('complete')
    const [other] = scene.service
      .records(CONTACT)
      .filter((one) => one.properties['svc_private'] !== true)
    await scene.client.deleteRecord(CONTACT, other!.id)
    expect((await scene.run()).state).toBe('complete')
  },
)

/** A run of ada's key has written rows whose answers were lost; to its end nothing finds them. What ada writes is private. */
async function doubtfulScene({ changesKey = false } = {}) {
  const scene = await importScene(NAMES, {}, { users: [ADA, { ...ADA, id: 'usr_ben' }] })
  scene.rows(HEAD, [
    ['k0', 'Ann'],
    ['k1', 'Bea'],
  ])
  const ada = clientOf(scene, 'usr_ada')
  const ben = clientOf(scene, 'usr_ben')
  const losing = clientWith(ada, {
    batchUpsert: async (...given) => {
      await ada.batchUpsert(...given)
      throw new ServiceFailure('no answer', {
        kind: 'no_answer',
        disposition: 'retry',
        block: 'service',
        outcomeUnknown: true,
      })
    },
    queryRecords: (...given) => ben.queryRecords(...given),
    keyFingerprint: async () => (changesKey ? 'ben' : 'ada'),
  })
  const lost = await scene.run({
    connect: async () => ({ client: losing, keyFingerprint: 'ada' }),
    ending: 'cancelled',
    tuning: { resend_backoff_ms: [0] },
    beforeClose: async () => {
      for (const { id } of scene.service.records(CONTACT))
        await ada.updateRecord(CONTACT, id, { svc_private: true } as never)
    },
  })
  expect(lost.books.inDoubt).toBe(2)
  expect(scene.service.records(CONTACT)).toHaveLength(2)
  return { scene, lost, ada: connectedAs(ada, 'ada'), ben: connectedAs(ben, 'ben') }
}

test.each(['retry', 'run'] as const)(
  'rows in doubt that a %s with the key of another user makes again are told, until a key sees them',
  async (how) => {
    const { scene, lost, ben } = await doubtfulScene()
    const end = how === 'retry' ? await scene.retry(lost.run, {}, ben) : await scene.run(ben)
    expect(end.books.states).toMatchObject({ created: 2 })
    expect(end.state).toBe('complete_with_differences')
    expect((await scene.ledger.run(end.run))!.warnings.join()).toContain('second record')
    // Nothing changes, so it stays known.
    expect((await scene.run(ben)).state).toBe('complete_with_differences')
    expect((await scene.run()).state).not.toBe('complete')
    for (const { id, properties } of scene.service.records(CONTACT))
      if (properties['svc_private'] === true) await scene.client.deleteRecord(CONTACT, id)
    expect((await scene.run()).state).toBe('complete')
    expect((await scene.run(ben)).state).toBe('complete')
  },
)

test('rows in doubt are no second records to the key that wrote them', async () => {
  const { scene, lost, ada } = await doubtfulScene()
  expect(await scene.retry(lost.run, {}, ada)).toMatchObject({
    state: 'complete',
    books: { states: { created: 0, updated: 2 } },
  })
})

test('rows in doubt of a run whose key was changed on the way may have a record of each key', async () => {
  const { scene, lost, ada } = await doubtfulScene({ changesKey: true })
  const end = await scene.retry(lost.run, {}, ada)
  expect(end).toMatchObject({
    state: 'complete_with_differences',
    books: { states: { created: 0, updated: 2 } },
  })
})

test('a record that a row in doubt has made, and that the source has no row of any more, is extra', async () => {
  const { scene } = await doubtfulScene()
  scene.rows(HEAD, [['k0', 'Ann']])
  await scene.run()
  const looked = await scene.reconcile()
  expect(looked.differences).toMatchObject([{ key: 'k1', kind: 'extra' }])
  const end = await scene.reconcile({ repair: true, deleteExtra: true })
  expect(end.state).toBe('complete_with_differences')
  expect((await scene.ledger.run(end.run))!.warnings.join()).toMatch(/rows in doubt .* made.*: 1/)
  const [made] = scene.service
    .records(CONTACT)
    .filter((one) => one.properties['svc_external_id'] === 'k1')
  await scene.client.deleteRecord(CONTACT, made!.id)
  expect((await scene.reconcile()).differences).toEqual([])
})

test('a record that a cancel finds for a row that two keys have sent does not settle it', async () => {
  const scene = await importScene(NAMES, {}, { users: [ADA, { ...ADA, id: 'usr_ben' }] })
  scene.rows(HEAD, [['k0', 'Ann']])
  const [ada, ben] = [clientOf(scene, 'usr_ada'), clientOf(scene, 'usr_ben')]
  let sendings = 0
  const failing = clientWith(ben, {
    // Each key makes a record of its own, and neither learns of it.
    batchUpsert: async (...given) => {
      const by = sendings++ === 0 ? ada : ben
      await by.batchUpsert(...given)
      for (const { id } of scene.service.records(CONTACT))
        if (by === ada) await ada.updateRecord(CONTACT, id, { svc_private: true } as never)
      throw new ServiceFailure('no answer', {
        kind: 'no_answer',
        disposition: 'retry',
        block: 'service',
        outcomeUnknown: true,
      })
    },
    keyFingerprint: async () => (sendings < 2 ? 'ada' : 'ben'),
  })
  const lost = await scene.run({
    connect: async () => ({ client: failing, keyFingerprint: 'ada' }),
    ending: 'cancelled',
    tuning: { resend_backoff_ms: [0] },
  })
  expect(scene.service.records(CONTACT)).toHaveLength(2)
  expect(lost.books).toMatchObject({ inDoubt: 1, states: { outcome_unknown: 1, updated: 0 } })
  expect((await scene.run(connectedAs(ben, 'ben'))).state).toBe('complete_with_differences')
})
