// Before every sending of a row its record is looked up, where the run keeps what records held or compares with it: also after a 429, a
// 503, an answer that was lost, the end of a worker, and a long wait for the quota. Somebody changes a record in each of these moments.

import { describe, expect, it, onTestFinished } from 'vitest'
import { RecordsClient, type RequestOptions } from '../../../src/client/index.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { QuotaWait } from '../../../src/core/errors.ts'
import { systemClock } from '../../../src/core/ports.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { MAYBE_WRITTEN } from '../../../src/import/judge/doubted-rows.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { startService } from '../../../src/service/index.ts'
import { startProxy, type Passing } from '../../faults/proxy.ts'
import { stagedPlan } from './plan-scene.ts'
import { clientWith, CONTACT, importSceneOn, type RunOptions } from './scene.ts'
import { part } from '../../runs.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'first' },
  svc_last_name: { column: 'last' },
}
const HEAD = ['id', 'first', 'last']
const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }
const three = (first: string, last = 'L') =>
  [0, 1, 2].map((at) => [`k${at}`, `${first} ${at}`, `${last} ${at}`])

const refused = (status: number, code: string): Passing => ({
  status,
  headers: { 'content-type': 'application/problem+json', 'retry-after': '1' },
  body: JSON.stringify({ type: 'about:blank', title: code, status, code, detail: code }),
})

/** What becomes of the first request of batches: what passes, or the answer; `ended`: the worker ends with it. */
const INTERRUPTIONS = {
  'a 429': { does: () => refused(429, 'rate_limited') },
  'a 503': { does: () => refused(503, 'service_unavailable') },
  'no answer, not carried out': {
    does: () => {
      throw new Error('lost on the way to the service')
    },
  },
  'no answer, carried out': { does: (body: string) => ({ pass: body, isLost: true }) },
  'the end of the worker, not carried out': { ends: 'before' },
  'the end of the worker, carried out': { ends: 'after' },
} as const satisfies Record<string, { does?: (body: string) => Passing; ends?: 'before' | 'after' }>
type Interruption = keyof typeof INTERRUPTIONS
const ALL = part(Object.keys(INTERRUPTIONS) as Interruption[], 3)
/** Those after which it is not known whether the rows were written. */
const isLost = (name: Interruption) => !name.startsWith('a ')
const isDone = (name: Interruption) => name.includes(', carried out')

const BATCH = /\/batch\/(?:upsert|update|delete)|batch-|:batch/
const OPERATIONS = ['batchUpsert', 'batchUpdate', 'batchDelete'] as const

/** A scene in which a request of batches is interrupted once it is armed. */
async function interruptible(more: Partial<ImportConfig>) {
  let armed: { name: Interruption; meanwhile: () => Promise<unknown> } | null = null
  const requests: string[] = []
  const scene = await importSceneOn(
    async () => {
      const service = await startService()
      const proxy = await startProxy(service.url, async (url, body) => {
        requests.push(url)
        if (armed === null || !BATCH.test(url)) return { pass: body }
        const { name, meanwhile } = armed
        const interruption = INTERRUPTIONS[name]
        if (!('does' in interruption)) return { pass: body }
        armed = null
        if (!isDone(name)) await meanwhile()
        else after = meanwhile
        return interruption.does(body)
      })
      return {
        url: proxy.url,
        key: service.key,
        direct: service.url,
        stats: () => service.stats(),
        records: () => service.records(CONTACT),
        close: async () => {
          proxy.close()
          await service.close()
        },
      }
    },
    NAMES,
    more,
  )
  let after: (() => Promise<unknown>) | null = null
  const others = new RecordsClient({ baseUrl: scene.service.direct, key: scene.service.key })
  onTestFinished(() => others.close())
  /** The second writer, who does not pass the proxy. */
  const edit = async (key: string, properties: Record<string, string>) => {
    const filter = { property: 'svc_external_id', op: 'eq', value: key } as const
    const { data } = await others.queryRecords(CONTACT, { filter })
    await others.updateRecord(CONTACT, data[0]!.id, properties)
  }
  /** The worker ends with the first request; or the answer is lost, and the second writer comes before it is known. */
  const through = (client: ImportClient): ImportClient =>
    clientWith(
      client,
      Object.fromEntries(
        OPERATIONS.map((operation) => [
          operation,
          async (...given: unknown[]) => {
            const write = client[operation].bind(client) as (...args: unknown[]) => Promise<unknown>
            const ends = armed === null ? null : INTERRUPTIONS[armed.name]
            if (armed === null || ends === null || !('ends' in ends)) {
              try {
                return await write(...given)
              } finally {
                const meanwhile = after
                after = null
                await meanwhile?.()
              }
            }
            const { meanwhile } = armed
            armed = null
            if (ends.ends === 'after') await write(...given)
            else (given.at(-1) as { permit?: { unused(): void } }).permit?.unused()
            await meanwhile()
            throw new TypeError('the worker ended')
          },
        ]),
      ),
    )
  return {
    scene,
    edit,
    others,
    requests,
    /** Options of a run whose first request of batches is interrupted. */
    interrupted(name: Interruption, meanwhile: () => Promise<unknown>): RunOptions {
      armed = { name, meanwhile }
      return { ...fast, through, tries: 2 }
    },
    wasInterrupted: () => armed === null,
    async names() {
      const held = scene.service.records().map(({ properties }) => properties)
      return Object.fromEntries(
        held.map((one) => [
          String(one['svc_external_id']),
          [one['svc_first_name'] ?? null, one['svc_last_name'] ?? null],
        ]),
      )
    },
    async left(run: number, state: 'conflict' | 'refused' | 'protected') {
      const items = await scene.ledger.report(run, { states: [state], after: 0, limit: 9 })
      return items.map(({ key, reason, detail }) => ({ key, reason, detail }))
    },
  }
}

const ours = (first: string, last = 'L') =>
  Object.fromEntries(three(first, last).map(([key, ...names]) => [key, names]))

const planned = async ({ scene }: Awaited<ReturnType<typeof interruptible>>) => {
  const plan = await stagedPlan(scene)
  await plan.lookUp()
  return await plan.store()
}

/** Rows that a run before has written. */
const seeded = async (config: Partial<ImportConfig>) => {
  const world = await interruptible({ verify: 'none', ...config })
  world.scene.rows(HEAD, three('old'))
  await world.scene.run(fast)
  return world
}

describe('a plan', () => {
  it.each(ALL)('leaves a record alone that is changed between two sendings: %s', async (name) => {
    const world = await seeded({})
    const { scene, edit, interrupted } = world
    scene.rows(HEAD, [...three('new'), ['k3', 'new 3', 'L 3']])
    const plan = await planned(world)
    const meanwhile = () => edit('k1', { svc_first_name: 'by hand' })
    const end = await scene.run({ ...interrupted(name, meanwhile), plan })
    expect(world.wasInterrupted()).toBe(true)
    expect(isBalanced(end.books)).toBe(true)
    expect(end).toMatchObject({
      state: 'complete_with_rejects',
      books: { states: { conflict: 1, not_sent: 0, outcome_unknown: 0 } },
    })
    const { created, updated } = end.books.states
    expect([created + updated, isDone(name) ? created : 0]).toEqual([3, 0])
    expect(await world.names()).toEqual({
      ...ours('new'),
      k1: ['by hand', 'L 1'],
      k3: ['new 3', 'L 3'],
    })
    const said = 'svc_first_name: "old 1" when the plan was made, "by hand" now'
    expect(await world.left(end.run, 'conflict')).toEqual([
      {
        key: 'k1',
        reason: 'changed_since_plan',
        detail: isLost(name) ? `${said}; ${MAYBE_WRITTEN}` : said,
      },
    ])
  })

  it.each(ALL)('sends what nobody changed between two sendings: %s', async (name) => {
    const world = await seeded({})
    const { scene, interrupted } = world
    scene.rows(HEAD, three('new'))
    const plan = await planned(world)
    const end = await scene.run({ ...interrupted(name, async () => {}), plan })
    expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 3 } } })
    expect(end.books.lookedUp ?? 0).toBe(isDone(name) ? 3 : 0)
    expect(await world.names()).toEqual(ours('new'))
    expect((await scene.run(fast)).books.states).toMatchObject({ unchanged: 3 })
  })

  it.each(['a 429', 'a 503'] as const)(
    'creates no record where another one was made between two sendings: %s',
    async (name) => {
      const world = await interruptible({ verify: 'none' })
      const { scene, others, interrupted } = world
      scene.rows(HEAD, three('new'))
      const plan = await planned(world)
      const theirs = { svc_external_id: 'k1', svc_first_name: 'theirs' }
      const meanwhile = () => others.createRecord(CONTACT, theirs)
      const end = await scene.run({ ...interrupted(name, meanwhile), plan })
      expect(end.books.states).toMatchObject({ created: 2, conflict: 1 })
      expect((await world.names())['k1']).toEqual(['theirs', null])
    },
  )

  it('leaves a record alone that is changed while the quota is waited for', async () => {
    const world = await seeded({})
    const { scene, edit } = world
    scene.rows(HEAD, three('new'))
    const plan = await planned(world)
    let ahead = 0
    const clock = { ...systemClock, now: () => Date.now() + ahead }
    let edited: Promise<unknown> | null = null
    const through = (client: ImportClient) =>
      clientWith(client, {
        quota: {
          limitPerMinute: () => client.quota.limitPerMinute(),
          async acquire(options) {
            if (edited === null) ahead += 20_000
            edited ??= edit('k1', { svc_first_name: 'by hand' })
            await edited
            return await client.quota.acquire(options)
          },
        },
      })
    const end = await scene.run({ ...fast, plan, through, clock })
    expect(end.books.states).toMatchObject({ updated: 2, conflict: 1 })
    expect((await world.names())['k1']).toEqual(['by hand', 'L 1'])
  })

  it('goes on where no look-up is ever young', async () => {
    const world = await seeded({})
    const { scene } = world
    scene.rows(HEAD, three('new'))
    const plan = await planned(world)
    let ahead = 0
    const clock = { ...systemClock, now: () => Date.now() + ahead }
    const through = (client: ImportClient) =>
      clientWith(client, {
        quota: {
          limitPerMinute: () => client.quota.limitPerMinute(),
          async acquire(options) {
            ahead += 6_000
            return await client.quota.acquire(options)
          },
        },
      })
    const tuning = { ...fast.tuning, segment_ms: 600_000 }
    const end = await scene.run({ tuning, plan, through, clock })
    expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 3 } } })
  })
})

/** A client whose answer to a look-up arrives 7 s after it was computed, or whose process stood still then; k1 is changed meanwhile. */
function slowLook(nth: number, meanwhile: () => Promise<unknown>) {
  let ahead = 0
  let looks = 0
  const limits: number[] = []
  const clock = { ...systemClock, now: () => Date.now() + ahead }
  const through = (client: ImportClient) =>
    clientWith(client, {
      async queryRecords(...given) {
        const answer = await client.queryRecords(...given)
        if (++looks !== nth) return answer
        await meanwhile()
        ahead += 7_000
        return answer
      },
      async batchUpsert(...given) {
        const { sendBefore } = given.at(-1) as RequestOptions
        limits.push(sendBefore!.leftMs())
        return await client.batchUpsert(...given)
      },
    } as Partial<ImportClient>)
  return { options: { ...fast, clock, through }, limits, looks: () => looks }
}

describe('a look-up is as old as its request', () => {
  it('where a plan is applied', async () => {
    const world = await seeded({})
    world.scene.rows(HEAD, three('new'))
    const plan = await planned(world)
    const slow = slowLook(1, () => world.edit('k1', { svc_first_name: 'by hand' }))
    const end = await world.scene.run({ ...slow.options, plan })
    expect(end.books.states).toMatchObject({ updated: 2, conflict: 1 })
    expect((await world.names())['k1']).toEqual(['by hand', 'L 1'])
    // A process that stands still on the way sends nothing either.
    expect(slow.limits).toHaveLength(1)
    expect(slow.limits[0]).toBeLessThanOrEqual(5_000)
  })

  it('where values are protected', async () => {
    const world = await seeded({ on_conflict: 'theirs' })
    world.scene.rows(HEAD, three('new'))
    const slow = slowLook(1, () => world.edit('k1', { svc_first_name: 'by hand' }))
    const end = await world.scene.run(slow.options)
    expect(end.books.states).toMatchObject({ updated: 2, protected: 1 })
    expect((await world.names())['k1']).toEqual(['by hand', 'L 1'])
  })

  it('where values are put back', async () => {
    const world = await seeded({ keep_before: true })
    world.scene.rows(HEAD, three('new'))
    const { run } = await world.scene.run(fast)
    // The first one is of the stage.
    const slow = slowLook(2, () => world.edit('k1', { svc_first_name: 'by hand' }))
    const end = await world.scene.undo(run, {}, slow.options)
    expect(end.books.states).toMatchObject({ updated: 2, protected: 1 })
    expect((await world.names())['k1']).toEqual(['by hand', 'L 1'])
  })

  it('where records are deleted', async () => {
    const world = await interruptible({ keep_before: true, verify: 'none' })
    world.scene.rows(HEAD, three('new'))
    const { run } = await world.scene.run(fast)
    const slow = slowLook(1, () => world.edit('k1', { svc_first_name: 'by hand' }))
    const end = await world.scene.undo(run, {}, slow.options)
    expect(end.books.removals).toMatchObject({ deleted: 2, changed_since: 1 })
    expect(await world.names()).toEqual({ k1: ['by hand', 'L 1'] })
  })
})

describe('an undo', () => {
  it.each(ALL)('leaves what is changed between two sendings: %s', async (name) => {
    const { scene, edit, interrupted, ...world } = await seeded({ keep_before: true })
    scene.rows(HEAD, three('new'))
    const { run } = await scene.run(fast)
    const meanwhile = () => edit('k1', { svc_first_name: 'by hand' })
    const end = await scene.undo(run, {}, interrupted(name, meanwhile))
    expect(end.books.states).toMatchObject({ updated: 2, protected: 1 })
    expect(await world.names()).toEqual({ ...ours('old'), k1: ['by hand', 'L 1'] })
    expect(await world.left(end.run, 'protected')).toEqual([
      { key: 'k1', reason: 'changed_since', detail: isLost(name) ? MAYBE_WRITTEN : null },
    ])
  })

  it.each(ALL)('deletes no record that is changed between two sendings: %s', async (name) => {
    const { scene, edit, interrupted, ...world } = await interruptible({
      keep_before: true,
      verify: 'none',
    })
    scene.rows(HEAD, three('new'))
    const { run } = await scene.run(fast)
    // What was deleted cannot be changed any more.
    const meanwhile = () =>
      edit('k1', { svc_first_name: 'by hand' }).catch((error: unknown) => {
        if (!isDone(name)) throw error
      })
    const end = await scene.undo(run, {}, { ...interrupted(name, meanwhile), approves: true })
    expect(world.wasInterrupted()).toBe(true)
    const done = isDone(name)
    expect(end.books.removals).toEqual(done ? { deleted: 3 } : { deleted: 2, changed_since: 1 })
    expect(await world.names()).toEqual(done ? {} : { k1: ['by hand', 'L 1'] })
  })
})

describe('on_conflict: theirs', () => {
  it.each(ALL)('keeps what is changed between two sendings: %s', async (name) => {
    const { scene, edit, interrupted, ...world } = await seeded({ on_conflict: 'theirs' })
    scene.rows(HEAD, three('new', 'New'))
    const meanwhile = () => edit('k1', { svc_first_name: 'by hand' })
    const end = await scene.run(interrupted(name, meanwhile))
    expect(isBalanced(end.books)).toBe(true)
    expect(await world.names()).toEqual({ ...ours('new', 'New'), k1: ['by hand', 'New 1'] })
    expect(end.books.states).toMatchObject({ updated: 3 })
    // What was carried out was changed after it, as the row read back shows.
    if (isDone(name)) expect(end).toMatchObject({ state: 'complete_with_differences' })
    else expect(end.books.kept).toEqual({ values: 1, rows: 1, reasons: { changed: 1 } })
    const image = (await scene.ledger.imagesOf(end.run, [2])).get(2)!
    expect(JSON.parse(image.before!)).toMatchObject({ svc_last_name: 'L 1' })
    // And it stays so.
    scene.rows(HEAD, three('newer', 'New'))
    await scene.run(fast)
    expect((await world.names())['k1']).toEqual(['by hand', 'New 1'])
  })

  it('is sent again as it was where a worker ends twice', async () => {
    const { scene, edit, interrupted, ...world } = await seeded({ on_conflict: 'theirs' })
    await edit('k2', { svc_first_name: 'person' })
    scene.rows(HEAD, three('new', 'New'))
    const meanwhile = () => edit('k1', { svc_first_name: 'by hand' })
    const first = interrupted('the end of the worker, not carried out', meanwhile)
    let sent = 0
    const through = (client: ImportClient) => {
      const inner = first.through!(client)
      return clientWith(inner, {
        batchUpsert: async (...given) => {
          if (++sent === 2) {
            given[3]?.permit?.unused()
            throw new TypeError('the worker ended')
          }
          return await inner.batchUpsert(...given)
        },
      })
    }
    const end = await scene.run({ ...first, through, tries: 3 })
    expect(sent).toBe(3)
    expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 3 } } })
    expect(await world.names()).toEqual({
      k0: ['new 0', 'New 0'],
      k1: ['by hand', 'New 1'],
      k2: ['person', 'New 2'],
    })
  })
})

describe('first_contact: ours', () => {
  it.each(ALL.filter(isDone))(
    'keeps what others change in a record that the run has just made: %s',
    async (name) => {
      const { scene, edit, interrupted, names } = await interruptible({
        verify: 'none',
        on_conflict: 'theirs',
        first_contact: 'ours',
      })
      scene.rows(HEAD, three('new', 'New'))
      const end = await scene.run(
        interrupted(name, () => edit('k1', { svc_first_name: 'by hand' })),
      )
      expect(isBalanced(end.books)).toBe(true)
      expect(await names()).toEqual({ ...ours('new', 'New'), k1: ['by hand', 'New 1'] })
      // The next run knows whose value that is.
      scene.rows(HEAD, three('newer', 'New'))
      await scene.run(fast)
      expect((await names())['k1']).toEqual(['by hand', 'New 1'])
    },
  )
})

describe('a run that is cancelled before it knows what it made', () => {
  it.each(['theirs', 'reject'] as const)(
    'leaves to the next one whose values they are, with on_conflict: %s',
    async (policy) => {
      const { scene, edit, interrupted, names } = await interruptible({
        verify: 'none',
        on_conflict: policy,
        first_contact: 'ours',
      })
      scene.rows(HEAD, three('new', 'New'))
      // Later nothing of the first run is on its way any more.
      let ahead = 0
      const clock = { ...systemClock, now: () => systemClock.now() + ahead }
      const byHand = () => edit('k1', { svc_first_name: 'by hand' })
      const lost = interrupted('the end of the worker, carried out', byHand)
      const first = await scene.run({
        ...lost,
        tries: 1,
        ending: 'cancelled',
        clock,
        beforeClose: async () => void (ahead = 60_000),
      })
      expect(first.state).toBe('cancelled')
      scene.rows(HEAD, three('newer', 'New'))
      await scene.run({ ...fast, clock })
      expect(await names()).toEqual({ ...ours('newer', 'New'), k1: ['by hand', 'New 1'] })
    },
  )
})

describe('on_conflict: reject', () => {
  it.each(ALL)('sets a row aside that is changed between two sendings: %s', async (name) => {
    const { scene, edit, interrupted, ...world } = await seeded({ on_conflict: 'reject' })
    scene.rows(HEAD, three('new', 'New'))
    const meanwhile = () => edit('k1', { svc_first_name: 'by hand' })
    const end = await scene.run(interrupted(name, meanwhile))
    expect(await world.names()).toEqual({
      ...ours('new', 'New'),
      k1: ['by hand', isDone(name) ? 'New 1' : 'L 1'],
    })
    if (isDone(name)) {
      // It was changed after the row had been carried out, as the row read back shows.
      expect(end).toMatchObject({ state: 'complete_with_differences' })
      expect(end.books.states).toMatchObject({ updated: 3 })
      return
    }
    expect(end.books.states).toMatchObject({ updated: 2, refused: 1 })
    const [row] = await world.left(end.run, 'refused')
    expect(row).toMatchObject({ key: 'k1', reason: 'changed_by_others' })
    expect(row!.detail!.endsWith(MAYBE_WRITTEN)).toBe(isLost(name))
  })
})

describe('keep_before', () => {
  it.each(ALL)('writes over what is changed between two sendings: %s', async (name) => {
    const { scene, edit, interrupted, ...world } = await seeded({ keep_before: true })
    scene.rows(HEAD, three('new'))
    const meanwhile = () => edit('k1', { svc_first_name: 'by hand' })
    const end = await scene.run(interrupted(name, meanwhile))
    expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 3 } } })
    expect(await world.names()).toEqual(ours('new'))
    // The image is that of before the first sending that may have written it.
    const image = (await scene.ledger.imagesOf(end.run, [2])).get(2)!
    const before = isLost(name) ? 'old 1' : 'by hand'
    expect(JSON.parse(image.before!)).toMatchObject({ svc_first_name: before })
  })

  it('has the image of what is there, also where it has the values by then', async () => {
    const { scene, edit, interrupted } = await seeded({ keep_before: true })
    scene.rows(HEAD, three('new'))
    const meanwhile = () => edit('k1', { svc_first_name: 'new 1' })
    const end = await scene.run(interrupted('a 503', meanwhile))
    expect(end.books.states).toMatchObject({ updated: 2, unchanged: 1 })
    expect((await scene.ledger.imagesOf(end.run, [2])).get(2)).toMatchObject({ verdict: 'equal' })
  })

  it('waits out a service that refuses its rate again and again', async () => {
    const { scene, ...world } = await seeded({ keep_before: true })
    scene.rows(HEAD, three('new'))
    let refusals = 0
    const through = (client: ImportClient) =>
      clientWith(client, {
        batchUpsert: async (...given) => {
          expect(given[3]?.waitsOut429).toBe(false)
          if (++refusals > 12) return await client.batchUpsert(...given)
          given[3]?.permit?.unused()
          throw new QuotaWait(1)
        },
      })
    const end = await scene.run({ ...fast, through })
    expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 3 } } })
    expect(await world.names()).toEqual(ours('new'))
  })
})

it('a run without images sends a batch again without looking', async () => {
  const { scene, interrupted, requests, ...world } = await seeded({})
  scene.rows(HEAD, three('new'))
  const before = requests.length
  const end = await scene.run(interrupted('a 429', async () => {}))
  expect(end).toMatchObject({ state: 'complete', books: { states: { updated: 3 } } })
  expect(requests.slice(before).filter((url) => url.includes('/query'))).toEqual([])
  expect(await world.names()).toEqual(ours('new'))
})

describe('reconcile --delete-extra', () => {
  it('deletes no record that is changed after a 429', async () => {
    const { scene, edit, interrupted, ...world } = await seeded({})
    scene.rows(HEAD, three('old').slice(0, 1))
    const meanwhile = () => edit('k1', { svc_first_name: 'by hand' })
    const options = { ...interrupted('a 429', meanwhile), approves: true }
    const end = await scene.reconcile({ repair: true, deleteExtra: true }, options)
    expect(world.wasInterrupted()).toBe(true)
    expect(await world.names()).toEqual({ k0: ['old 0', 'L 0'], k1: ['by hand', 'L 1'] })
    expect(end.state).toBe('complete_with_differences')
    expect(world.requests.filter((url) => BATCH.test(url)).length).toBe(3)
  })
})
