// The source of each sync, as a table of rows that changes from run to run: rows come, change, leave and come back, some twice in one
// file, some without a key, some that do not map or that the service refuses.

import type { SourceRow, Source } from '../../../src/sources/source.ts'
import { KEYS, REFUSED, columnsOf, keyOf } from './world.ts'
import type { Dice, LinkSetting, SyncSetting } from './world.ts'

export interface Row {
  readonly code: string
  readonly name: string
  readonly size: string
  readonly state: string
  /** By column. */
  readonly links: Readonly<Record<string, string>>
  readonly v: number
}

/** Ids that records of a type have, or had. */
export type IdsOf = (type: string) => readonly string[]

export class Rows {
  readonly #chance: Dice
  readonly #sync: SyncSetting
  readonly #ids: IdsOf
  #rows = new Map<string, Row>()
  #v = 0
  #file: readonly Row[] = []

  constructor(chance: Dice, sync: SyncSetting, ids: IdsOf) {
    this.#chance = chance
    this.#sync = sync
    this.#ids = ids
    for (let n = 1; n <= KEYS[sync.type]; n++) if (chance.often(0.7)) this.#put(this.#new(n))
  }

  /** The rows in the order of the source. Of a query all of them: it gives those above its watermark. */
  get file(): readonly Row[] {
    return this.#file
  }

  /** Changes some rows, and writes the file anew. `isClean`: without anything that is refused. */
  change(isClean = false): void {
    const { often, below } = this.#chance
    const before = [...this.#rows]
    for (const [code, row] of before) {
      if (often(0.12) && !this.#sync.isIncremental) this.#rows.delete(code)
      else if (often(0.3)) this.#put(this.#changed(row))
    }
    for (let count = below(3); count > 0; count--)
      this.#put(this.#new(1 + below(KEYS[this.#sync.type])))
    this.write(isClean)
  }

  write(isClean = false): void {
    const { often } = this.#chance
    if (this.#rows.size === 0) this.#put(this.#new(1))
    const isBad = ({ name, size, state }: Row) =>
      name === REFUSED || name === '' || size === 'x' || size === '' || state === 'deleted'
    if (isClean)
      for (const row of this.#rows.values())
        this.#put({
          ...row,
          ...(isBad(row) && { name: 'mended', size: '1', state: '' }),
          v: ++this.#v,
        })
    const file = [...this.#rows.values()]
    const more: Row[] = []
    if (!isClean) {
      // Older forms of some rows, before them or behind them; a row without a key.
      for (const row of file) if (often(0.08)) more.push(this.#changed(row))
      if (often(0.05)) more.push({ ...this.#new(1), code: '' })
    }
    const all = often(0.5) ? [...more, ...file] : [...file, ...more]
    // Behind the row that it has in the table, the other form counts until the file is written again.
    this.#file = this.#sync.isIncremental ? all.toSorted((a, b) => a.v - b.v) : all
  }

  #put(row: Row): void {
    this.#rows.set(row.code, row)
  }

  #new(n: number): Row {
    return {
      code: keyOf(this.#sync.type, n),
      name: this.#name(),
      size: this.#size(),
      state: this.#state(),
      links: Object.fromEntries(this.#sync.links.map((link) => [link.column, this.#cell(link)])),
      v: ++this.#v,
    }
  }

  #changed(row: Row): Row {
    const { one, often } = this.#chance
    const what = one('name', 'size', 'state', 'links', 'links')
    const links = Object.fromEntries(
      this.#sync.links.map((link) => [
        link.column,
        what === 'links' || often(0.1) ? this.#cell(link) : row.links[link.column]!,
      ]),
    )
    const v = ++this.#v
    if (what === 'name') return { ...row, name: this.#name(), v }
    if (what === 'size') return { ...row, size: this.#size(), v }
    if (what === 'state') return { ...row, state: this.#state(), v }
    return { ...row, links, v }
  }

  #name(): string {
    const { one, often } = this.#chance
    if (often(0.05)) return REFUSED
    if (often(0.07)) return ''
    return one('Ada', 'Ben', 'Cem', 'Dora', 'Eve')
  }

  #size(): string {
    const { below, often } = this.#chance
    if (often(0.04)) return 'x'
    return often(0.07) ? '' : String(below(9))
  }

  #state = (): string => (this.#chance.often(0.1) ? 'deleted' : '')

  #cell({ to, by, split }: LinkSetting): string {
    const { below, often, one } = this.#chance
    const part = () => {
      if (by === 'name') return one('Ada', 'Ben', 'Cem', 'Dora', 'Eve', 'nobody')
      const ids = this.#ids(to)
      if (by === null) return often(0.15) || ids.length === 0 ? 'rec_none' : one(...ids)
      // Some that never come.
      return keyOf(to, 1 + below(KEYS[to] + 1))
    }
    if (often(0.25)) return ''
    const count = split ? 1 + below(3) : 1
    return Array.from({ length: count }, part).join(';')
  }
}

export const cellsOf = (sync: SyncSetting, row: Row): readonly string[] => [
  row.code,
  row.name,
  row.size,
  row.state,
  ...sync.links.map(({ column }) => row.links[column]!),
  String(row.v),
]

/** The answer of a query with a watermark: the rows above it. */
export function queried(sync: SyncSetting, file: readonly Row[], above: number): Source {
  const rows = file.filter(({ v }) => v > above)
  const reached = Math.max(above, ...rows.map(({ v }) => v))
  return {
    columns: columnsOf(sync),
    async *chunks() {
      yield rows.map((row, index): SourceRow => {
        return { ordinal: index + 1, line: index + 1, cells: cellsOf(sync, row) }
      })
    },
    summary: () => ({
      rows: rows.length,
      digest: 'd'.repeat(64),
      ...(reached > 0 && { watermark: { column: 'v', order: 'number', value: String(reached) } }),
    }),
    close: async () => {},
  }
}
