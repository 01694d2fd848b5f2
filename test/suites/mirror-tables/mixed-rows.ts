// Pages of any rows, of every type and with odd values, some of them of the same ids: the table is what a map in memory says,
// cell by cell. It finds a cell that ends in the row, or the column, beside its own.

import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/service/limits/faults.ts'
import type {
  ColumnType,
  MergeCounts,
  MirrorCell,
  MirrorRow,
  MirrorStream,
  MirrorValue,
} from '../../../src/warehouses/mirror-tables.ts'
import {
  at,
  column,
  listColumn,
  NOTHING,
  sceneOf,
  type OpenPlace,
  type StoredRow,
} from './scene.ts'
import { everything, expected, VALUES } from './values.ts'

const LATE = [column('late text', 'text'), listColumn('late decimals', 'decimal')]
const wider: MirrorStream = { ...everything, columns: [...everything.columns, ...LATE] }

/** What looks like another type, or like what one of the formats on the way means by it. */
const LOOKALIKES = [
  '007',
  '1e5',
  '12.50',
  'true',
  'false',
  't',
  '2026-01-31',
  '\\ud800',
  '\\t',
  '["a"]',
  '",',
]
const TEXTS = [...VALUES.text.filter((text) => String(text).length < 100), ...LOOKALIKES]
const SHORT: Readonly<Record<ColumnType['holds'], readonly MirrorValue[]>> = {
  ...VALUES,
  text: TEXTS,
  json: VALUES.json.filter((text) => String(text).length < 100),
}
const MISFITS = ['{"né😀":[1.5,"\\"\\\\"]}', '{"a":null}', '{"":{"b":"\\n"}}']

class Draw {
  readonly #next: () => number
  constructor(seed: number) {
    this.#next = seededRandom(seed)
  }
  below(count: number): number {
    return Math.floor(this.#next() * count)
  }
  of<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!
  }
  cell({ holds, list }: ColumnType): MirrorCell {
    if (this.below(4) === 0) return null
    const values = SHORT[holds]
    return list ? Array.from({ length: this.below(4) }, () => this.of(values)) : this.of(values)
  }
  row({ columns }: MirrorStream): MirrorRow {
    return {
      // Some ids are odd themselves; most pages have some of them twice.
      id: this.below(20) === 0 ? String(this.of(TEXTS)) : `id ${this.below(300)}`,
      version: this.below(5) === 0 ? null : at(this.below(6)),
      cells: columns.map(({ type }) => this.cell(type)),
      misfits: this.below(5) === 0 ? this.of(MISFITS) : null,
    }
  }
}

type Page = readonly [seenAt: string, rows: readonly MirrorRow[]]
type Held = MirrorRow & {
  readonly firstSeen: string
  readonly lastSeen: string
  readonly deleted: string | null
}

const newest = (a: string, b: string) => (a > b ? a : b)

/** The row that counts for each id of a batch, and when it was seen last. */
function bestOf(
  pages: readonly Page[],
): Map<string, { row: MirrorRow; seenAt: string; last: string }> {
  const best = new Map<string, { row: MirrorRow; seenAt: string; last: string }>()
  for (const [seenAt, rows] of pages)
    for (const row of rows) {
      const other = best.get(row.id)
      const last = other ? newest(other.last, seenAt) : seenAt
      const [mine, theirs] = [row.version ?? '', other?.row.version ?? '']
      const counts = !other || mine > theirs || (mine === theirs && seenAt >= other.seenAt)
      best.set(row.id, counts ? { row, seenAt, last } : { ...other, last })
    }
  return best
}

/** A row from before a column came has no value there. */
const contentOf = ({ cells, misfits }: MirrorRow, width: number): string =>
  JSON.stringify([Array.from({ length: width }, (_, index) => cells[index] ?? null), misfits])

/** The same rules as those of a merge, in memory. */
function mergeInto(table: Map<string, Held>, pages: readonly Page[]): MergeCounts {
  const counts = { ...NOTHING }
  for (const [id, { row, last }] of bestOf(pages)) {
    const held = table.get(id)
    const isNewer = held?.version != null && row.version !== null && row.version > held.version
    if (!held) counts.inserted++
    else if (last <= held.lastSeen && !isNewer) {
      counts.older++
      continue
    } else if (held.version !== null && row.version !== null && row.version < held.version) {
      counts.changed++
      counts.reverted++
    } else if (
      (held.deleted !== null && held.deleted < last) ||
      contentOf(held, row.cells.length) !== contentOf(row, row.cells.length)
    )
      counts.changed++
    else counts.unchanged++
    const isBack = held?.deleted != null && held.deleted < last
    table.set(id, {
      ...row,
      firstSeen: held?.firstSeen ?? last,
      lastSeen: held ? newest(held.lastSeen, last) : last,
      deleted: isBack ? null : (held?.deleted ?? null),
    })
  }
  return counts
}

const shown = ({ columns }: MirrorStream, row: StoredRow) => ({
  ...row,
  cells: Object.fromEntries(columns.map(({ name }, index) => [name, row.cells[index]])),
})

/** What the table must hold, as the database shows it. */
const wanted = ({ columns }: MirrorStream, table: ReadonlyMap<string, Held>) =>
  [...table.values()]
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ cells, ...held }) => ({
      ...held,
      run: 1,
      cells: Object.fromEntries(
        columns.map(({ name, type }, index) => [name, expected(cells[index] ?? null, type)]),
      ),
    }))

export function mixedRowTests(place: OpenPlace): void {
  describe('pages of any rows', () => {
    it('end cell by cell in the table that a map in memory makes', async () => {
      const draw = new Draw(18)
      const scene = await sceneOf(place, [everything])
      const table = new Map<string, Held>()
      /** A third of them are rows that the table has already. */
      const page = (stream: MirrorStream, minute: number, rows: number): Page => {
        const known = [...table.values()]
        const again = ({ id, version, cells, misfits }: MirrorRow): MirrorRow => ({
          id,
          version,
          cells: stream.columns.map((_, index) => cells[index] ?? null),
          misfits,
        })
        const one = () =>
          known.length > 0 && draw.below(3) === 0 ? again(draw.of(known)) : draw.row(stream)
        return [at(minute), Array.from({ length: rows }, one)]
      }
      let stream = everything
      for (const [turn, sizes] of [
        [1, 40, 100],
        [150, 1, 0],
        [100, 60],
        [1_200],
        [30, 30],
      ].entries()) {
        if (turn === 2) {
          // Columns come midway: rows from before have no value there.
          const { name, table: of } = everything
          await scene.tables.change([{ name, table: of, add: LATE, retire: [], revive: [] }])
          stream = wider
        }
        // Pages come in another order than they were asked for.
        const pages = sizes.map((rows) => page(stream, 10 * turn + draw.below(12), rows))
        expect(await scene.merge(stream, pages)).toEqual(mergeInto(table, pages))
        const stored = await scene.rows(stream)
        expect(stored.map((row) => shown(stream, row))).toEqual(wanted(stream, table))

        // What was added and not merged leaves nothing; nor does a page that is refused in its middle.
        const lost = await scene.tables.batch(stream)
        await lost.add(page(stream, 99, 20)[1], at(99))
        const spoilt = page(stream, 99, 20)[1].map((row, index) =>
          index === 10 ? { ...row, cells: row.cells.slice(1) } : row,
        )
        await expect(lost.add(spoilt, at(99))).rejects.toMatchObject({ code: 'row_unfit' })
        await lost.drop()

        const gone = [...table.keys()].filter((_, index) => index % 7 === turn).slice(0, 20)
        const [before, noted] = [at(10 * turn + 9), at(10 * turn + 15)]
        const { fence } = await scene.tables.claim(stream.name)
        const deletion = { before, ids: gone, how: 'soft' as const, at: noted }
        const chosen = gone.filter((id) => {
          const { deleted, lastSeen } = table.get(id)!
          return deleted === null && lastSeen < before
        })
        expect(await scene.tables.delete(stream, fence, 'p', deletion)).toBe(chosen.length)
        for (const id of chosen) table.set(id, { ...table.get(id)!, deleted: noted })
      }
      const { rows } = await scene.tables.count(stream)
      expect(rows).toBe([...table.values()].filter(({ deleted }) => deleted === null).length)
    })

    it('are merged without the page that was refused in its middle', async () => {
      const draw = new Draw(19)
      const scene = await sceneOf(place, [everything])
      const table = new Map<string, Held>()
      const good = [1, 2].map((minute): Page => [
        at(minute),
        Array.from({ length: 30 }, () => draw.row(everything)),
      ])
      const { fence } = await scene.tables.claim(everything.name)
      const batch = await scene.tables.batch(everything)
      await batch.add(good[0]![1], good[0]![0])
      const bad = {
        ...draw.row(everything),
        id: 'refused',
        cells: everything.columns.map(() => 1.5),
      }
      const spoilt = [...good[1]![1].slice(0, 5), bad as unknown as MirrorRow]
      await expect(batch.add(spoilt, at(5))).rejects.toMatchObject({ code: 'row_unfit' })
      await batch.add(good[1]![1], good[1]![0])
      const counts = await batch.merge({ run: 1, fence, position: 'after the refusal' })
      expect(counts).toEqual(mergeInto(table, good))
      expect((await scene.rows(everything)).map((row) => shown(everything, row))).toEqual(
        wanted(everything, table),
      )
      expect(await scene.position(everything)).toBe('after the refusal')
    })
  })
}
