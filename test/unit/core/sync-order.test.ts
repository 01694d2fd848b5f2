// The order of syncs that run together: circles, orders of a part, and that no sync begins before those that it is after have ended.

import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countedStates, groupStateOf } from '../../../src/core/domain/group-state.ts'
import { RUN_STATES, type RunState } from '../../../src/core/domain/run-states.ts'
import {
  findCircle,
  groupLabel,
  syncOrderOf,
  runInOrder,
  type Ordered,
} from '../../../src/core/domain/sync-order.ts'
import { runs } from '../../runs.ts'

const order = (text: string): Ordered[] =>
  text.split(';').map((one) => {
    const [sync, after = ''] = one.split('<')
    return { sync: sync!.trim(), after: after.split(/[\s,]+/).filter((name) => name !== '') }
  })

test.each([
  ['a; b < a; c < b, a', null],
  ['a < nowhere', null],
  ['a < a', ['a', 'a']],
  ['a < b; b < a', ['a', 'b', 'a']],
  ['x < a; a < b; b < c; c < a; y < x', ['a', 'b', 'c', 'a']],
])('the circle of %s', (text, path) => {
  expect(findCircle(order(text))).toEqual(path)
})

test('a part keeps the order that it has by way of syncs that are not of it', () => {
  const all = order('companies; contacts < companies; deals < contacts; notes')
  expect(syncOrderOf(['deals', 'notes', 'companies'], all)).toEqual([
    { sync: 'notes', after: [] },
    { sync: 'companies', after: [] },
    { sync: 'deals', after: ['companies'] },
  ])
})

test('a group is called by its name, or by the first of its syncs', () => {
  expect(groupLabel({ group: 'nightly' })).toBe('nightly')
  expect(groupLabel({ syncs: 'all' })).toBe('all')
  expect(groupLabel({ syncs: ['a', 'b'] })).toBe('a, b')
  expect(groupLabel({ syncs: ['a', 'b', 'c', 'd', 'e'] })).toBe('a, b, c and 2 more')
})

test('the worst of its syncs is the state of a group; one that did not end well is never complete', () => {
  expect(groupStateOf(['complete', 'complete'])).toBe('complete')
  expect(groupStateOf(['complete', 'complete_with_differences'])).toBe('complete_with_differences')
  expect(groupStateOf(['complete_with_differences', 'complete_with_rejects'])).toBe(
    'complete_with_rejects',
  )
  for (const state of RUN_STATES.filter((one) => !one.startsWith('complete')))
    expect(groupStateOf(['complete', state])).toBe('failed')
})

test('a run that tries waiting links answers for them, and for nothing else', () => {
  const run = { run: 1, workflow: 'w', reason: null }
  const stateOf = (state: RunState, onceLinked: RunState, links: RunState) =>
    groupStateOf(
      countedStates([
        {
          sync: 'a',
          kind: 'import',
          after: [],
          ...run,
          state,
          onceLinked,
          links: { ...run, state: links },
        },
      ]),
    )
  const [waiting, rejects] = ['complete_with_differences', 'complete_with_rejects'] as const
  expect(stateOf(waiting, 'complete', 'complete')).toBe('complete')
  expect(stateOf(waiting, 'complete', waiting)).toBe(waiting)
  expect(stateOf(waiting, waiting, 'complete')).toBe(waiting)
  expect(stateOf(rejects, rejects, 'complete')).toBe(rejects)
  expect(stateOf(waiting, 'complete', 'failed')).toBe('failed')
})

/** Syncs that are after some of those before them, in any order; which fail; and how many may run at a time. */
const scenes = fc
  .record({
    size: fc.integer({ min: 1, max: 12 }),
    edges: fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 30 }),
    failing: fc.array(fc.nat(11), { maxLength: 4 }),
    limit: fc.integer({ min: 1, max: 6 }),
    mix: fc.infiniteStream(fc.nat(1_000)),
  })
  .map(({ size, edges, failing, limit, mix }) => {
    const names = Array.from({ length: size }, (_, index) => `s${index}`)
    const after = (index: number) => [
      ...new Set(
        edges.flatMap(([from, to]) => (from === index && to < from && to < size ? [`s${to}`] : [])),
      ),
    ]
    const syncs = names.map((sync, index) => ({ sync, after: after(index) }))
    const next = () => mix.next().value as number
    const mixed = syncs
      .map((one) => ({ one, at: next() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ one }) => one)
    return { syncs: mixed, failing: new Set(failing.map((index) => `s${index}`)), limit, next }
  })

/** Runs them; `end` chooses which of those at work ends next. Returns what happened, in order. */
async function played({
  syncs,
  failing,
  limit,
  next,
}: {
  syncs: readonly Ordered[]
  failing: ReadonlySet<string>
  limit: number
  next(): number
}) {
  const events: { what: 'begin' | 'end' | 'skip'; sync: string; failed?: readonly string[] }[] = []
  const atWork = new Map<string, () => void>()
  let most = 0
  const all = syncOrderOf(
    syncs.map(({ sync }) => sync),
    syncs,
  )
  let isOver = false
  const done = runInOrder(all, {
    limit,
    async work({ sync }) {
      events.push({ what: 'begin', sync })
      await new Promise<void>((end) => {
        atWork.set(sync, end)
        most = Math.max(most, atWork.size)
      })
      events.push({ what: 'end', sync })
      return !failing.has(sync)
    },
    async skip({ sync }, failed) {
      events.push({ what: 'skip', sync, failed })
    },
  }).then(() => (isOver = true))
  // Bounded: each round ends one sync.
  for (let round = 0; round <= syncs.length && !isOver; round++) {
    await setImmediate()
    const names = [...atWork.keys()]
    const name = names[next() % Math.max(1, names.length)]
    if (name === undefined) continue
    atWork.get(name)!()
    atWork.delete(name)
  }
  await done
  return { events, most }
}

test('no sync begins before those that it is after have ended well; the others run; what fails stops only what is after it', async () => {
  await fc.assert(
    fc.asyncProperty(scenes, async (scene) => {
      const { events, most } = await played(scene)
      expect(most).toBeLessThanOrEqual(scene.limit)
      const at = (what: string, sync: string) =>
        events.findIndex((event) => event.what === what && event.sync === sync)
      const isWell = (sync: string): boolean => at('end', sync) !== -1 && !scene.failing.has(sync)
      for (const { sync, after } of scene.syncs) {
        const failed = after.filter((name) => !isWell(name))
        if (failed.length > 0) {
          expect(at('begin', sync)).toBe(-1)
          expect(events[at('skip', sync)]!.failed!.toSorted()).toEqual(failed.toSorted())
          continue
        }
        expect(at('end', sync)).toBeGreaterThan(-1)
        for (const name of after) expect(at('end', name)).toBeLessThan(at('begin', sync))
      }
      expect(events.filter(({ what }) => what !== 'end')).toHaveLength(scene.syncs.length)
    }),
    { numRuns: runs(400) },
  )
})

test('those that do not wait for each other are at work at the same time, as many as there are places', async () => {
  const { most } = await played({
    syncs: order('a; b; c; d < a; e'),
    failing: new Set(),
    limit: 3,
    next: () => 0,
  })
  expect(most).toBe(3)
})

test('a circle is found wherever there is one, and its path is one', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20 }), (edges) => {
      const syncs = Array.from({ length: 8 }, (_, index) => ({
        sync: `s${index}`,
        after: edges.flatMap(([from, to]) => (from === index ? [`s${to}`] : [])),
      }))
      const path = findCircle(syncs)
      const reach = (from: string, seen = new Set<string>()): Set<string> => {
        for (const name of syncs.find(({ sync }) => sync === from)!.after)
          if (!seen.has(name)) reach(name, seen.add(name))
        return seen
      }
      const hasCircle = syncs.some(({ sync }) => reach(sync).has(sync))
      expect(path !== null).toBe(hasCircle)
      if (path === null) return
      expect(path.at(-1)).toBe(path[0])
      for (const [index, name] of path.slice(0, -1).entries())
        expect(syncs.find(({ sync }) => sync === name)!.after).toContain(path[index + 1])
    }),
    { numRuns: runs(400) },
  )
})
