// Imports that only create, or only update, under habits and faults that a seed chooses: the records of the service are compared with
// what they have to be, whatever is told. RECORDS_SYNC_SEED=17 begins at another one.

import { expect, it } from 'vitest'
import { isBalanced, type Books } from '../../src/core/domain/books.ts'
import { COLUMNS, cells, contactDifferences, rowOf } from './contacts.ts'
import type { Row } from './contacts.ts'
import { dice, habitsOf } from './random-habits.ts'
import { randomScene } from './random-scene.ts'
import { rounds } from '../runs.ts'

const count = rounds(1, 50)
const first = Number(process.env['RECORDS_SYNC_SEED'] ?? 4)
const seeds = Array.from({ length: count }, (_, index) => first + index)
const BATCHES = ['batchCreate', 'batchUpdate', 'batchUpsert']

const written = ({ states }: Books) => states.created + states.updated

it.each(seeds.flatMap((seed) => [['create', seed] as const, ['update', seed] as const]))(
  'mode %s, seed %i',
  { timeout: 600_000 },
  async (mode, seed) => {
    const chance = dice(seed + 17)
    const { below, often, one } = chance
    const lacks = often(0.2) ? BATCHES : []
    // A single update is answered with its record (specification section 4).
    const singles = lacks.length > 0 ? ({ singleWrites: 'record' } as const) : {}
    const options = { ...habitsOf(chance, seed), ...singles, lacks }
    const scene = await randomScene(chance, options, one('none', 'sample', 'all'))
    const { made, service, contact, prefix, fold, how } = scene
    const size = options.lacks.length > 0 ? 60 : 100 + below(200)
    const all = Array.from({ length: size }, (_, index) => rowOf(index + 1))
    const theirs = all.filter(() => often(0.4))
    // Another sync has filled the service, before anything fails.
    const { faults, itemFaults } = options
    service.set({ faults: [], itemFaults: null })
    made.rows(COLUMNS, cells(theirs))
    await made.run({ ...how, as: { name: 'theirs', import: { mode: 'create' } } })
    service.set({ faults: faults!, itemFaults: itemFaults! })
    /** By key, what the service must hold; a row in doubt may be there all the same. */
    const model = new Map(theirs.map((row) => [row.id, row]))
    const held = () =>
      new Map(
        service
          .records(contact)
          .map((record) => [String(record.properties[`${prefix}external_id`]), record]),
      )
    for (let step = 0; step < 3; step++) {
      const file: Row[] = all.map((row, index) => (often(0.3) ? rowOf(index + 1, step + 2) : row))
      made.rows(COLUMNS, cells(file))
      const before = service.count(contact)
      const run = await made.run({ ...how, as: { name: 'ours', import: { mode } } })
      const { books, state } = run
      expect(isBalanced(books)).toBe(true)
      expect(books.read).toBe(size)
      expect(state).toMatch(/^complete/)
      // One record a key, always.
      expect(held().size).toBe(service.count(contact))
      const grown = service.count(contact) - before
      if (mode === 'update') expect(grown).toBe(0)
      else {
        expect(grown).toBeGreaterThanOrEqual(books.states.created)
        expect(grown).toBeLessThanOrEqual(books.states.created + books.inDoubt)
        for (const row of file) if (!model.has(row.id) && held().has(row.id)) model.set(row.id, row)
      }
      if (mode === 'update') for (const row of file) if (model.has(row.id)) model.set(row.id, row)
      const wrong = contactDifferences(service, [...model.values()], fold)
      if (state === 'complete' || mode === 'create') expect(wrong.slice(0, 5)).toEqual([])
      if (state === 'complete') {
        const { exists, not_found: absent, unchanged } = books.states
        expect(written(books) + unchanged + exists + absent).toBe(size)
        if (mode === 'create') expect(service.count(contact)).toBe(size)
        else expect(absent).toBe(size - theirs.length)
      }
    }
  },
)
