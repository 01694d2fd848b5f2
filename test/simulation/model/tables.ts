// The tables that queries read: rows with a time, or a number, that grows with most of their changes. Some changes are committed late, and have
// an older one.

import { createHash } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Dice } from '../scheduler.ts'
import type { QueryScene, SyncScene } from '../search/plan.ts'
import { drawCells, keyOf, type FileState, type Row, type Versions } from './sources.ts'

export interface TableRow extends Row {
  readonly changedAt: number
  readonly version: number
}

/** What a table held at a time. */
export interface TableState extends FileState {
  readonly rows: readonly TableRow[]
}

const SECOND = 1_000
const second = (ms: number): number => Math.floor(ms / SECOND) * SECOND

/** As a timestamp becomes a cell. */
const timeText = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

/** What the query's column has in a row, as it becomes a cell. */
export const cursorOf = (column: QueryScene['column'], row: TableRow): string =>
  column === 'version' ? String(row.version) : timeText(row.changedAt)

export const isGreater = (column: QueryScene['column'], one: string, other: string): boolean =>
  column === 'version' ? Number(one) > Number(other) : one > other

export const INITIAL: Readonly<Record<QueryScene['column'], string>> = {
  updated_at: '1970-01-01T00:00:00Z',
  version: '0',
}

export class Table {
  readonly sync: SyncScene
  readonly path: string
  readonly states: TableState[] = []
  readonly #dice: Dice
  readonly #versions: Versions
  readonly #now: () => number
  #rows: readonly TableRow[]
  #keys = 0
  #version = 0

  constructor(sync: SyncScene, folder: string, versions: Versions, dice: Dice, now: () => number) {
    this.sync = sync
    this.path = join(folder, `${sync.name}.csv`)
    this.#versions = versions
    this.#dice = dice
    this.#now = now
    this.#rows = Array.from({ length: sync.rows }, () =>
      this.#row(this.#newKey(), now() - dice.below(600) * SECOND),
    )
    this.#write()
  }

  get last(): TableState {
    return this.states.at(-1)!
  }

  #newKey = (): string => keyOf(this.sync.type, ++this.#keys)

  #row(code: string, changedAt: number, version = ++this.#version): TableRow {
    const raw = this.sync.padsKeys && this.#dice.often(0.3) ? `${code} ` : code
    const cells = drawCells(this.sync, { dice: this.#dice, versions: this.#versions }, code)
    return { code, raw, cells, target: null, changedAt: second(changedAt), version }
  }

  /** Some rows change, come and go, all at one time. */
  edit(): void {
    const { often, below } = this.#dice
    const now = this.#now()
    const kept = this.#rows.filter(() => !often(0.06))
    this.#rows = [
      ...kept.map((row) => (often(0.3) ? this.#row(row.code, now) : row)),
      ...Array.from({ length: below(3) }, () => this.#row(this.#newKey(), now)),
    ]
    if (this.#rows.length === 0) this.#rows = [this.#row(this.#newKey(), now)]
    this.#write()
  }

  /** Rows that changed, and came, so long ago are committed now. Those that were changed meanwhile stay. */
  late(by: number, count: number): void {
    const { often, below } = this.#dice
    const at = this.#now() - by
    const version = () => Math.max(1, this.#version - below(8))
    for (let times = count; times > 0; times--) {
      const row = this.#rows[below(this.#rows.length)]!
      if (often(0.4)) this.#rows = [...this.#rows, this.#row(this.#newKey(), at, version())]
      else
        this.#rows = this.#rows.map((one) =>
          one === row ? this.#row(row.code, at, version()) : one,
        )
    }
    this.#write()
  }

  /** The table is put back, with the times that its rows had. Returns whether there is such a state. */
  restore(back: number): boolean {
    const state = this.states.findLast(({ at }) => at <= this.#now() - back)
    if (state === undefined || state === this.last) return false
    const cellsOf = new Map(this.#rows.map(({ code, cells }) => [code, cells]))
    for (const { code, cells } of state.rows)
      if (JSON.stringify(cellsOf.get(code)) !== JSON.stringify(cells))
        for (const value of Object.values(cells)) this.#versions.again(value)
    this.#rows = state.rows
    this.#write()
    return true
  }

  /** A row leaves. Returns its key; null if it is the only one. */
  drop(): string | null {
    if (this.#rows.length < 2) return null
    const { code } = this.#rows[this.#dice.below(this.#rows.length)]!
    this.#rows = this.#rows.filter((row) => row.code !== code)
    this.#write()
    return code
  }

  /** Every row that there ever was is there, and right and new. */
  clean(): void {
    const { name, type, properties } = this.sync
    this.#rows = Array.from({ length: this.#keys }, (_, at) => {
      const code = keyOf(type, at + 1)
      const cells = Object.fromEntries(
        properties.map((property) => [property, this.#versions.text(name, code, property)]),
      )
      const changedAt = second(this.#now())
      return { code, raw: code, cells, target: null, changedAt, version: ++this.#version }
    })
    this.#write()
  }

  #write(): void {
    const { name, properties } = this.sync
    const lines = [
      ['code', ...properties, 'updated_at', 'version'],
      ...this.#rows.map(({ raw, cells, changedAt, version }) => [
        raw,
        ...properties.map((property) => cells[property]!),
        timeText(changedAt).replace('T', ' ').replace('Z', ''),
        String(version),
      ]),
    ]
    const text = `${lines.map((cells) => cells.join(',')).join('\n')}\n`
    writeFileSync(`${this.path}.new`, text)
    renameSync(`${this.path}.new`, this.path)
    this.states.push({
      sync: name,
      at: this.#now(),
      generation: this.states.length + 1,
      digest: createHash('sha256').update(text).digest('hex'),
      rows: this.#rows,
    })
  }
}
