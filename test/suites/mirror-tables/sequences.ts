// Whatever the order of merges and deletions, the table is what a few lines in memory say it is.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MergeCounts } from '../../../src/warehouses/mirror-tables.ts'
import {
  at,
  contact,
  contacts,
  NOTHING,
  sceneOf,
  SEQUENCES,
  type OpenPlace,
  type Scene,
} from './scene.ts'

/** What one answer of the service tells: these records, as they were at that minute. */
interface Page {
  readonly minute: number
  readonly ids: readonly string[]
}

type Step =
  | { readonly kind: 'merge'; readonly pages: readonly Page[] }
  | {
      readonly kind: 'delete'
      readonly before: number
      /** When it is noted, in minutes after `before`. */
      readonly delay: number
      readonly ids: readonly string[] | null
      readonly how: 'soft' | 'hard'
    }

/** Those of `x` and `y` never have a version. */
const IDS = ['a', 'b', 'c', 'x', 'y']
const MINUTES = 40

const ids = fc.subarray(IDS, { minLength: 1 })
const page: fc.Arbitrary<Page> = fc.record({ minute: fc.nat(MINUTES - 1), ids })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('merge' as const),
      pages: fc.array(page, { maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      before: fc.nat(MINUTES),
      delay: fc.nat(5),
      ids: fc.option(ids),
      how: fc.constantFrom('soft' as const, 'hard' as const),
    }),
  },
)

/** Records change every four minutes: that is their version, and their content. */
const content = (minute: number) => `as of ${at(minute - (minute % 4))}`
const version = (id: string, minute: number) => (id < 'x' ? at(minute - (minute % 4)) : null)

/** The same, in memory: for each id, the minute at which it was seen last, and that of its deletion. */
class Model {
  readonly rows = new Map<string, { minute: number; deleted: number | null }>()

  merge(pages: readonly Page[]): MergeCounts {
    const counts = { ...NOTHING }
    const latest = new Map<string, number>()
    for (const { minute, ids } of pages)
      for (const id of ids) latest.set(id, Math.max(minute, latest.get(id) ?? -1))
    for (const [id, minute] of latest) {
      const row = this.rows.get(id)
      if (row && row.minute >= minute) counts.older++
      else {
        // A page that was asked for before the deletion does not take it back.
        const deleted = row && row.deleted !== null && row.deleted >= minute ? row.deleted : null
        if (!row) counts.inserted++
        else if (row.deleted !== deleted || content(row.minute) !== content(minute))
          counts.changed++
        else counts.unchanged++
        this.rows.set(id, { minute, deleted })
      }
    }
    return counts
  }

  delete({ before, delay, ids, how }: Step & { kind: 'delete' }): number {
    const chosen = [...this.rows].filter(
      ([id, row]) =>
        row.deleted === null && row.minute < before && (ids === null || ids.includes(id)),
    )
    for (const [id, row] of chosen)
      if (how === 'hard') this.rows.delete(id)
      else this.rows.set(id, { ...row, deleted: before + delay })
    return chosen.length
  }
}

async function take(
  scene: Scene,
  stream: typeof contacts,
  model: Model,
  drawn: Step,
  number: number,
) {
  const position = `step ${number}`
  if (drawn.kind === 'merge') {
    const pages = drawn.pages.map(({ minute, ids: of }) => {
      const rows = of.map((id) => contact(id, content(minute), { version: version(id, minute) }))
      return [at(minute), rows] as const
    })
    const counts = await scene.merge(stream, pages, { position })
    const expected = model.merge(drawn.pages)
    // What is seen a second time may be the one or the other.
    const seen = (one: MergeCounts) => [one.inserted, one.changed, one.unchanged + one.older]
    expect(seen(counts)).toEqual(seen(expected))
  } else {
    const { fence } = await scene.tables.claim(stream.name)
    const { before, delay, ids: of, how } = drawn
    const deletion = {
      before: at(before),
      how,
      at: at(before + delay),
      ...(of === null ? {} : { ids: of }),
    }
    const rows = await scene.tables.delete(stream, fence, position, deletion)
    expect(rows).toBe(model.delete(drawn))
  }
  const stored = await scene.rows(stream)
  const expected = [...model.rows].map(([id, { minute, deleted }]) => ({
    id,
    version: version(id, minute),
    lastSeen: at(minute),
    deleted: deleted === null ? null : at(deleted),
    cells: [content(minute), null, null],
  }))
  expect(stored).toMatchObject(expected.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
  expect(stored).toHaveLength(expected.length)
  const { rows } = await scene.tables.count(stream)
  expect(rows).toBe(expected.filter(({ deleted }) => deleted === null).length)
  expect(await scene.position(stream)).toBe(position)
}

export function sequenceTests(place: OpenPlace): void {
  describe('any sequence of merges and deletions', () => {
    it('makes the table that a small model makes', async () => {
      const scene = await sceneOf(place, [])
      let runs = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 7 }), async (steps) => {
          const stream = { ...contacts, name: `run ${++runs}`, table: `run_${runs}` }
          await scene.make(stream)
          const model = new Model()
          for (const [index, drawn] of steps.entries())
            await take(scene, stream, model, drawn, index)
        }),
        { numRuns: SEQUENCES, endOnFailure: true },
      )
    })

    it('ends in the same table for any order of the same pages', async () => {
      const scene = await sceneOf(place, [])
      const orders = fc
        .uniqueArray(page, { selector: ({ minute }) => minute, minLength: 2, maxLength: 6 })
        .chain((pages) =>
          fc.tuple(fc.constant(pages), fc.shuffledSubarray(pages, { minLength: pages.length })),
        )
      let runs = 0
      await fc.assert(
        fc.asyncProperty(orders, async (both) => {
          const found = []
          for (const pages of both) {
            const stream = { ...contacts, name: `run ${++runs}`, table: `run_${runs}` }
            await scene.make(stream)
            for (const { minute, ids: of } of pages) {
              const rows = of.map((id) =>
                contact(id, content(minute), { version: version(id, minute) }),
              )
              await scene.merge(stream, [[at(minute), rows]])
            }
            const rows = await scene.rows(stream)
            // When a record was seen first is when it was merged first.
            found.push(rows.map((row) => ({ ...row, firstSeen: null })))
          }
          expect(found[0]).toEqual(found[1])
        }),
        { numRuns: SEQUENCES, endOnFailure: true },
      )
    })
  })
}
