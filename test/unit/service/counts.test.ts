// No id tells how many records or requests others have: those of records, of requests, and the cursors of listings.

import { afterEach, describe, expect, it } from 'vitest'
import { REQUEST_ID_HEADER } from '../../../src/contract/index.ts'
import { RecordIds } from '../../../src/service/store/record-ids.ts'
import { startApi, type Api, type Caller } from './api.ts'

const contact = 'svc_contact'
const person = (id: string) => ({ id, displayName: id, admin: false, permissions: 'all' as const })

let api: Api | undefined
let carol: Caller
let bob: Caller
const start = async (secret = new Uint8Array(32).fill(7)) => {
  api = await startApi({ users: [person('bob'), person('carol')], orgId: 4_711, secret })
  const { as, service } = api
  ;[bob, carol] = ['bob', 'carol'].map((userId) => as(service.mintKey({ userId }))) as [
    Caller,
    Caller,
  ]
}
afterEach(async () => {
  await api?.service.close()
  api = undefined
})

const idOf = async (caller: Caller, properties: object = {}): Promise<string> =>
  (await caller.create(contact, properties)).body.data.id
/** Another user creates private records. */
async function hide(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 50)
    await bob.batch(
      contact,
      'svc_external_id',
      Array.from({ length: Math.min(50, left) }, (_, at) => ({
        svc_external_id: `b-${left}-${at}`,
        svc_private: true,
      })),
    )
}
const numberIn = (id: string) => parseInt(id.split('_').at(-1)!, 36)

describe('ids of records', () => {
  const ids = (org = 1, secret = Buffer.alloc(16, 1)) => new RecordIds(org, secret)

  it('are all different, of one length, and in no order', () => {
    const made = ids()
    const all = Array.from({ length: 20_000 }, (_, seq) => made.of(seq))
    expect(new Set(all).size).toBe(all.length)
    expect(new Set(all.map(({ length }) => length)).size).toBe(1)
    const rising = all.filter((id, at) => at > 0 && id > all[at - 1]!).length
    expect(rising / all.length).toBeGreaterThan(0.45)
    expect(rising / all.length).toBeLessThan(0.55)
    const steps = new Set(all.slice(1).map((id, at) => numberIn(id) - numberIn(all[at]!)))
    expect(steps.size).toBeGreaterThan(19_900)
  })

  it.each([0, 1, 63, 64, 65, 2 ** 20 - 1, 2 ** 20, 2 ** 32, 2 ** 40 - 1])(
    'are the same for the same secret, whatever was asked for before: %d',
    (seq) => {
      const one = ids()
      for (const other of [5, seq + 64, 0, seq]) one.of(other)
      expect(one.of(seq)).toBe(ids().of(seq))
      expect(one.of(seq)).toMatch(/^rec_1_[0-9a-z]{8}$/)
      expect(ids(1, Buffer.alloc(16, 2)).of(seq)).not.toBe(one.of(seq))
    },
  )

  it.each([0, 1, 2, 7, 40, 300])('do not show %d private records between two', async (hidden) => {
    await start()
    const gaps: number[] = []
    let before = numberIn(await idOf(carol))
    for (let round = 0; round < 4; round += 1) {
      await hide(hidden)
      const now = numberIn(await idOf(carol))
      gaps.push(Math.abs(now - before))
      before = now
    }
    // As a sequence would have them: the number of private records, and one.
    for (const gap of gaps) expect(gap).toBeGreaterThan(10_000)
  })
})

describe('a cursor', () => {
  it('cannot be read, and is as long whatever others have', async () => {
    await start()
    const lengths = new Set<number>()
    for (const hidden of [0, 1, 10, 100, 1_000]) {
      await hide(hidden)
      await idOf(carol, { svc_last_name: 'Ada' })
      for (const body of [
        { limit: 1 },
        { limit: 1, sorts: [{ property: 'svc_last_name', direction: 'desc' }] },
      ]) {
        await idOf(carol, { svc_last_name: 'Ada' })
        const { pagination } = (await carol.query(contact, body)).body
        lengths.add(pagination.next_cursor.length - JSON.stringify(body).length * 1e-9)
        const text = Buffer.from(pagination.next_cursor, 'base64url').toString('latin1')
        expect(text).not.toMatch(/seq|after|query|scope|limit|Ada|4711/)
        expect((await carol.query(contact, { cursor: pagination.next_cursor })).status).toBe(200)
      }
    }
    // One for each of the two queries.
    expect(lengths.size).toBe(2)
  })

  it('is another one each time', async () => {
    await start()
    await idOf(carol)
    await idOf(carol)
    const cursors = new Set<string>()
    for (let at = 0; at < 20; at += 1)
      cursors.add((await carol.query(contact, { limit: 1 })).body.pagination.next_cursor)
    expect(cursors.size).toBe(20)
  })
})

it('ids of requests have no order and no common part', async () => {
  await start()
  const all: string[] = []
  for (let at = 0; at < 40; at += 1) {
    const answer = await (at % 2 ? carol : bob).send('GET', '/self/')
    all.push(answer.headers.get(REQUEST_ID_HEADER)!)
  }
  expect(new Set(all).size).toBe(40)
  for (const id of all) expect(id).toMatch(/^req_[0-9a-f]{32}$/)
  const parts = new Set(all.map((id) => id.slice(4, 12)))
  expect(parts.size).toBe(40)
  expect(all).not.toEqual(all.toSorted())
})
