// A row with a greater watermark is newer than another one of its key: nothing older is written over what was accepted, whichever run reads
// it, unless a person asks for that.

import { expect, it } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { EVENTS, eventsSource, windowOf, type Event } from './events.ts'
import { importScene, type RunOptions, type Scene } from './scene.ts'
import { rounds } from '../../runs.ts'

const MAPPING = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'first' },
  svc_score: { column: 'at' },
}
const LINKED = {
  links: [
    {
      association: 'svc_contact_company',
      to: 'svc_company',
      by: 'svc_domain',
      column: 'company',
      missing: 'park',
    },
  ],
}
const DELETIONS = { delete_when: { column: 'first', equals: ['gone'] } }

const scene = (more: object = {}) =>
  importScene(MAPPING, { from: EVENTS, verify: 'all', ...more } as Partial<ImportConfig>)

const event = (id: string, first: string, at: number, company?: string): Event => ({
  id,
  first,
  at,
  ...(company !== undefined && { company }),
})

/** The options of a run that reads the events. */
const reading = (
  events: readonly Event[],
  more: RunOptions = {},
  as: Parameters<typeof eventsSource>[2] = {},
): RunOptions => ({ answers: (extent) => eventsSource(events, extent, as), ...more })

/** The import before its mapping was mended: rows whose company is no boolean are invalid. */
const asStrict = {
  as: {
    name: 'contacts',
    import: { properties: { ...MAPPING, svc_subscribed: { column: 'company' } } },
  },
}

/** The time of the event that a record has; null: there is no record. */
const timeOf = async (s: Scene, id: string) =>
  ((await s.held(id))?.properties['svc_score'] as number | undefined) ?? null

const warningsOf = async (s: Scene, run: number) =>
  (await s.ledger.run(run))!.warnings.filter((text) => /newer|greater/.test(text))

const LEFT_OUT = /1 row left out: a row with the same key and a greater watermark was accepted/

function numbersOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 7
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 4_294_967_296) * below)
  }
}

const lastOfEach = (events: readonly Event[]): ReadonlyMap<string, Event> =>
  new Map(events.toSorted((a, b) => a.at - b.at).map((one) => [one.id, one]))

interface Known {
  /** Of the event that the key has come to. */
  readonly at: number
  /** Of that of its record; null: there is none. */
  readonly held: number | null
}

onSampledLedgers('events that are read in any order', () => {
  it.each(Array.from({ length: rounds(6, 24) }, (_, seed) => ({ seed, deletes: seed % 2 === 1 })))(
    'never bring an older one over a newer one: $seed (deletions $deletes)',
    async ({ seed, deletes }) => {
      const next = numbersOf(seed)
      const s = await scene({ verify: seed % 3 === 0 ? 'none' : 'all', ...(deletes && DELETIONS) })
      const events: Event[] = []
      const known = new Map<string, Known>()
      let [time, watermark] = [0, 0]
      for (let move = 0; move < 9; move++) {
        for (let count = 0; count < 4; count++) {
          const at = (time += 1 + next(3))
          const first = deletes && next(4) === 0 ? 'gone' : `name ${at}`
          // One in five is committed late: only a window reads it.
          if (next(5) > 0 || watermark === 0) events.push(event(`K${next(4)}`, first, at))
          else events.push(event(`K${next(4)}`, first, 1 + next(watermark)))
        }
        const isWindow = move > 0 && next(2) === 0
        const overwrites = isWindow && next(3) === 0
        const [from, to] = isWindow
          ? ([next(time), time + 1 - next(3)] as const)
          : ([watermark, Infinity] as const)
        const rows = events.filter(({ at }) => at >= from && at < to)
        const end = await s.run(
          reading(
            events,
            isWindow ? windowOf(from, to, overwrites ? true : undefined) : { approves: true },
          ),
        )
        if (!isWindow) watermark = Math.max(watermark, ...rows.map(({ at }) => at))
        let older = 0
        for (const [id, { at, first }] of lastOfEach(rows)) {
          const before = known.get(id) ?? { at: -1, held: null }
          if (at < before.at && !overwrites) older++
          else if (first !== 'gone') known.set(id, { at, held: at })
          // Only regular runs delete.
          else known.set(id, { at, held: isWindow ? before.held : null })
        }
        const distinct = new Set(rows.map(({ id }) => id)).size
        expect([move, end.books.states.superseded]).toEqual([move, rows.length - distinct + older])
        for (const [id, { held }] of known)
          expect([move, id, await timeOf(s, id)]).toEqual([move, id, held])
      }
    },
  )
})

onSampledLedgers('an older event', () => {
  const both = [event('1', 'older', 1), event('1', 'newer', 3)]

  it('of a window is left out, and the run says so', async () => {
    const s = await scene()
    await s.run(reading(both))
    const end = await s.run(reading(both, windowOf(1, 2)))
    expect(end).toMatchObject({ state: 'complete', books: { states: { superseded: 1 } } })
    expect(await timeOf(s, '1')).toBe(3)
    expect(await warningsOf(s, end.run)).toEqual([expect.stringMatching(LEFT_OUT)])
    const rows = await s.ledger.report(end.run, { states: ['superseded'], after: 0, limit: 9 })
    expect(rows).toMatchObject([{ key: '1', reason: 'accepted_newer' }])
  })

  it('is left out too where the newer one changed nothing', async () => {
    const { svc_external_id, svc_first_name } = MAPPING
    const s = await scene({ properties: { svc_external_id, svc_first_name } })
    const events = [event('1', 'same', 1)]
    await s.run(reading(events))
    events.push(event('1', 'other', 2), event('1', 'same', 3))
    expect(await s.run(reading(events))).toMatchObject({ books: { states: { unchanged: 1 } } })
    await s.run(reading(events, windowOf(2, 3)))
    expect((await s.held('1'))!.properties['svc_first_name']).toBe('same')
  })

  it('is written where a person asks for it, and by a retry of that run', async () => {
    const s = await scene()
    const events = [event('1', 'older', 1, 'true'), event('2', 'older', 1, 'maybe')]
    await s.run(reading([...both, event('2', 'newer', 3)]))
    const end = await s.run(reading(events, { ...windowOf(1, 2, true), ...asStrict }))
    expect(end.books.states).toMatchObject({ updated: 1, invalid: 1 })
    expect(await warningsOf(s, end.run)).toEqual([])
    const again = await s.retry(end.run, {}, reading(events))
    expect(again.books.states).toMatchObject({ updated: 1, superseded: 0 })
    expect([await timeOf(s, '1'), await timeOf(s, '2')]).toEqual([1, 1])
  })

  it('is left out of the retry of a window, once a newer one was accepted', async () => {
    const s = await scene()
    const events = [event('1', 'bad', 2, 'maybe')]
    await s.run(reading([event('1', 'first', 1)]))
    const end = await s.run(reading(events, { ...windowOf(2, 3), ...asStrict }))
    expect(end.books.states).toMatchObject({ invalid: 1 })
    await s.run(reading([event('1', 'newer', 3)]))
    expect(await s.retry(end.run, {}, reading(events))).toMatchObject({ books: { read: 0 } })
    expect(await timeOf(s, '1')).toBe(3)
  })

  it('is left out of the retry of a window that came after the newer one', async () => {
    const s = await scene()
    const events = [event('1', 'bad', 2, 'maybe')]
    await s.run(reading([event('1', 'newer', 3)]))
    const end = await s.run(reading(events, { ...windowOf(2, 3), ...asStrict }))
    expect(end.books.states).toMatchObject({ invalid: 1 })
    const again = await s.retry(end.run, {}, reading(events))
    expect(again.books.states).toMatchObject({ superseded: 1 })
    expect(await warningsOf(s, again.run)).toEqual([expect.stringMatching(LEFT_OUT)])
    expect(await timeOf(s, '1')).toBe(3)
  })

  it('does not stand for a newer one that was not accepted: that one comes again', async () => {
    const s = await scene()
    const first = event('1', 'first', 1)
    await s.run(reading([first]))
    const newer = event('1', 'newer', 5, 'maybe')
    const refused = await s.run(reading([first, newer], asStrict))
    expect(refused.books.states).toMatchObject({ invalid: 1 })
    await s.run(reading([first, event('1', 'late', 4), newer], windowOf(4, 5)))
    expect(await timeOf(s, '1')).toBe(4)
    const page = { states: ['invalid'], after: 0, limit: 9, isLeft: true } as const
    expect(await s.ledger.report(refused.run, page)).toHaveLength(1)
    // The query gives another row only.
    const again = await s.run(reading([event('2', 'next', 6)]))
    expect(again.books.states).toMatchObject({ created: 1, updated: 1 })
    expect(await timeOf(s, '1')).toBe(5)
  })

  it('does not keep a newer one from a retry', async () => {
    const s = await scene()
    const newer = event('1', 'newer', 5, 'maybe')
    const refused = await s.run(reading([newer], asStrict))
    await s.run(reading([event('1', 'late', 4), newer], windowOf(4, 5)))
    await s.retry(refused.run, {}, reading([newer]))
    expect(await timeOf(s, '1')).toBe(5)
  })

  it('is not made again after a newer one asked for the deletion', async () => {
    const s = await scene(DELETIONS)
    const events = [event('1', 'older', 1), event('1', 'gone', 3)]
    await s.run(reading(events.slice(0, 1)))
    await s.run(reading(events, { approves: true }))
    expect(await timeOf(s, '1')).toBeNull()
    const end = await s.run(reading(events, windowOf(1, 2)))
    expect(await timeOf(s, '1')).toBeNull()
    expect(end.books.states).toMatchObject({ superseded: 1, created: 0 })
  })

  it('has no links either', async () => {
    const s = await scene(LINKED)
    for (const svc_domain of ['old.example', 'new.example'])
      await s.client.createRecord('svc_company', { svc_domain })
    const events = [event('1', 'older', 1, 'old.example'), event('1', 'newer', 3, 'new.example')]
    await s.run(reading(events))
    const end = await s.run(reading(events, windowOf(1, 2)))
    expect(end.books.links?.read ?? 0).toBe(0)
  })

  it('of an unknown age is sent, and the run says so', async () => {
    const s = await scene()
    await s.run(reading(both, {}, { ranked: false }))
    const end = await s.run(reading(both, windowOf(1, 2)))
    expect(await timeOf(s, '1')).toBe(1)
    expect(await warningsOf(s, end.run)).toEqual([
      expect.stringContaining('1 row sent without knowing whether something newer was accepted'),
    ])
  })

  it('of another column is not compared', async () => {
    const s = await scene()
    await s.run(reading(both, {}, { column: 'on' }))
    await s.run(reading(both, windowOf(1, 2)))
    expect(await timeOf(s, '1')).toBe(1)
  })

  it('that a reconciliation finds alone is a difference, and is not written', async () => {
    const s = await scene()
    await s.run(reading(both))
    const left = both.slice(0, 1)
    const end = await s.reconcile({ repair: true }, reading(left))
    expect(end).toMatchObject({
      state: 'complete_with_rejects',
      books: { states: { not_sent: 1 } },
    })
    expect(end.differences).toMatchObject([{ key: '1', repaired: false }, { key: '1' }])
    expect(await timeOf(s, '1')).toBe(3)
    const look = await s.reconcile({}, reading(left))
    expect(look.state).toBe('complete_with_differences')
    await s.retry(look.run, {}, reading(left))
    expect(await timeOf(s, '1')).toBe(3)
  })

  it('is sent once the newer one was undone', async () => {
    const s = await scene({ keep_before: true })
    await s.run(reading(both.slice(0, 1)))
    const newer = await s.run(reading(both))
    await s.undo(newer.run, {}, reading(both))
    expect(await timeOf(s, '1')).toBe(1)
    await s.run(reading([event('1', 'late', 2), ...both], windowOf(2, 3)))
    expect(await timeOf(s, '1')).toBe(2)
  })
})
