// The sources: tables of rows, written to a CSV file whenever they change. Every value has a version of its own, which no other value ever
// has: who sees it knows of which sync, key and property it is, and how new.

import { createHash } from 'node:crypto'
import { writeFileSync, renameSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Dice } from '../scheduler.ts'
import { GONE, GONE_COLUMN } from '../search/parts.ts'
import type { SyncScene } from '../search/plan.ts'
import { LINK_COLUMN } from '../search/links.ts'
import type { Targets } from './targets.ts'

/** Texts of values and keys contain these, and nothing else does: they must not be where rows do not belong. */
export const VALUE_MARK = 'zq'
export const KEY_MARK = 'zk'
/** The service refuses it. */
export const REFUSED = `${VALUE_MARK}-refused`
const NUMBER_BASE = 7_000_000

export interface Row {
  /** The key as it is to be understood: without space around it. */
  readonly code: string
  /** The key as the cell has it; a row without a key has none in both. */
  readonly raw: string
  /** By property, as the cell has it. */
  readonly cells: Readonly<Record<string, string>>
  /** The keys of the records that its own is linked to, as the cell has them; null: the sync has no links. */
  readonly target: string | null
  /** Whether it asks for the deletion of its record. */
  readonly asksDeletion?: boolean
}

/** What a file held at a time. */
export interface FileState {
  readonly sync: string
  readonly at: number
  readonly generation: number
  readonly digest: string
  readonly rows: readonly Row[]
}

export interface Origin {
  readonly sync: string
  readonly code: string
  readonly property: string
  readonly version: number
}

/** Gives each value its version. */
export class Versions {
  #next = 1
  readonly #origins = new Map<string, Origin>()

  text(sync: string, code: string, property: string): string {
    const version = this.#next++
    const value = property === 'size' ? String(NUMBER_BASE + version) : `${VALUE_MARK}${version}x`
    this.#origins.set(value, { sync, code, property, version })
    return value
  }

  /** A value that a row has had before is what it has now: it is as new as any. */
  again(value: string): void {
    const origin = this.#origins.get(value)
    if (origin !== undefined) this.#origins.set(value, { ...origin, version: this.#next++ })
  }

  /** Where a value of the service comes from; null: from no source. */
  originOf(value: unknown): Origin | null {
    return value === null || value === undefined ? null : (this.#origins.get(String(value)) ?? null)
  }
}

/** Whether a row has no key, or a value that does not map. Of one that asks for a deletion only the key is read. */
export const isInvalid = ({ code, cells, asksDeletion }: Row): boolean =>
  code === '' ||
  (asksDeletion !== true && cells['size'] !== undefined && !/^\d*$/.test(cells['size']))

/** Of each key the row that is sent. */
export const rowsThatCount = (rows: readonly Row[]): ReadonlyMap<string, Row> =>
  new Map(rows.filter((row) => !isInvalid(row)).map((row) => [row.code, row]))

/** New values for a row of the key, some of which do not map, or are refused. */
export function drawCells(
  { name, properties, badPercent }: SyncScene,
  { dice, versions }: { readonly dice: Dice; readonly versions: Versions },
  code: string,
): Row['cells'] {
  const cellOf = (property: string): string => {
    if (badPercent > 0 && dice.below(100) < badPercent)
      return property === 'size' ? `${VALUE_MARK}-no-number` : REFUSED
    return versions.text(name, code, property)
  }
  return Object.fromEntries(properties.map((property) => [property, cellOf(property)]))
}

export const keyOf = (type: SyncScene['type'], n: number): string =>
  `${KEY_MARK}-${type.slice(0, 3)}-${n}`

/** A file. */
export class Source {
  readonly sync: SyncScene
  readonly path: string
  readonly states: FileState[] = []
  readonly #dice: Dice
  readonly #versions: Versions
  readonly #now: () => number
  readonly #later: (work: () => void) => void
  readonly #targets: Targets | null
  #rows: Row[] = []
  /** Of each key the row that counted last; half of a file may have none. */
  readonly #counted = new Map<string, Row>()
  #keys = 0

  constructor(
    sync: SyncScene,
    folder: string,
    versions: Versions,
    dice: Dice,
    parts: { now(): number; later(work: () => void): void; readonly targets: Targets | null },
  ) {
    this.sync = sync
    this.path = join(folder, `${sync.name}.csv`)
    this.#versions = versions
    this.#dice = dice
    this.#now = parts.now
    this.#later = parts.later
    this.#targets = parts.targets
    for (let count = 0; count < sync.rows; count++) this.#rows.push(this.#row(this.#newKey()))
    this.write(false)
  }

  get last(): FileState {
    return this.states.at(-1)!
  }

  #newKey = (): string => keyOf(this.sync.type, ++this.#keys)

  #row(code: string): Row {
    // A program that writes such files may pad its keys.
    const raw =
      code !== '' && this.sync.padsKeys && this.#dice.often(0.3)
        ? `${this.#dice.one(' ', '')}${code} `
        : code
    const drawn = { dice: this.#dice, versions: this.#versions }
    const target = this.#targets?.cell() ?? null
    return { code, raw, cells: drawCells(this.sync, drawn, code), target }
  }

  /** Some rows change, come and go. @param inPlace while it is written, who reads sees half of it */
  edit(inPlace: boolean): void {
    const { often, below } = this.#dice
    const kept = this.#rows.filter(() => !often(0.06))
    this.#rows = kept.map((row) =>
      often(0.3)
        ? this.#row(row.code)
        : often(0.12)
          ? this.#asBefore(row)
          : this.#linkedOtherwise(row),
    )
    for (let count = below(3); count > 0; count--) this.#rows.push(this.#row(this.#newKey()))
    if (this.sync.keyless > 0 && often(this.sync.keyless))
      this.#rows.splice(below(this.#rows.length), 0, this.#row(''))
    if (this.#rows.length === 0) this.#rows.push(this.#row(this.#newKey()))
    // The same key twice: the last one counts.
    if (often(0.2)) {
      const last = this.#rows.at(-1)!
      this.#rows.splice(below(this.#rows.length), 0, this.#row(last.code))
      for (const value of Object.values(last.cells)) this.#versions.again(value)
    }
    if (this.sync.asksDeletion) this.#askDeletions()
    this.write(inPlace)
  }

  /** Some rows ask for the deletion of their records, in their own place or behind the row that they take the place of. */
  #askDeletions(): void {
    const { often } = this.#dice
    const asking = this.#rows.filter(({ code }) => code !== '' && often(0.12))
    for (const row of asking) {
      const asked = { ...this.#row(row.code), asksDeletion: true }
      if (often(0.5)) this.#rows.push(asked)
      else this.#rows = this.#rows.map((one) => (one === row ? asked : one))
    }
  }

  /** Some rows change in nothing but what they are linked to. */
  #linkedOtherwise(row: Row): Row {
    if (this.#targets === null || !this.#targets.often(0.15)) return row
    return { ...row, target: this.#targets.cell() }
  }

  /** A row as it was in an earlier file. */
  #asBefore(row: Row): Row {
    const earlier = this.states.flatMap(({ rows }) => rows.filter(({ code }) => code === row.code))
    const before = earlier[this.#dice.below(earlier.length)] ?? row
    for (const value of Object.values(before.cells)) this.#versions.again(value)
    return before
  }

  /** A row leaves. Returns its key; null if it is the only one. */
  drop(): string | null {
    if (this.#rows.length < 2) return null
    const { code } = this.#rows[this.#dice.below(this.#rows.length)]!
    this.#rows = this.#rows.filter((row) => row.code !== code)
    this.write(false)
    return code
  }

  /** Every row is right and new, and has a key. @param targets keys of records that exist, or will */
  clean(targets: readonly string[]): void {
    const codes = [...new Set(this.#rows.map(({ code }) => code))].filter((code) => code !== '')
    this.#rows = codes.map((code) => {
      const cells = this.sync.properties.map((property) => [
        property,
        this.#versions.text(this.sync.name, code, property),
      ])
      const target = this.#targets?.cellOf(targets) ?? null
      return { code, raw: code, cells: Object.fromEntries(cells) as Row['cells'], target }
    })
    this.write(false)
  }

  write(inPlace: boolean): void {
    const lines = [
      [
        'code',
        ...this.sync.properties,
        ...(this.#targets === null ? [] : [LINK_COLUMN]),
        ...(this.sync.asksDeletion ? [GONE_COLUMN] : []),
      ],
      ...this.#rows.map(({ raw, cells, target, asksDeletion }) => [
        raw,
        ...this.sync.properties.map((property) => cells[property]!),
        ...(target === null ? [] : [target]),
        ...(this.sync.asksDeletion ? [asksDeletion ? GONE : ''] : []),
      ]),
    ]
    const text = `${lines.map((cells) => cells.join(',')).join('\n')}\n`
    const rows = [...this.#rows]
    if (inPlace) {
      // Who reads it now reads half of it. What was read before is not to be told from a whole file, if it ends with a row.
      const half = text.slice(0, text.length >> 1)
      writeFileSync(this.path, half)
      this.#note(half, this.#rowsIn(half))
      this.#later(() => {
        writeFileSync(this.path, text)
        this.#note(text, rows)
      })
    } else {
      writeFileSync(`${this.path}.new`, text)
      renameSync(`${this.path}.new`, this.path)
      this.#note(text, rows)
    }
  }

  #note(text: string, rows: readonly Row[]): void {
    // The times of files are those of the world, and no two forms of a file have the same.
    const seconds = (this.#now() + this.states.length / 1_000) / 1_000
    utimesSync(this.path, seconds, seconds)
    for (const [code, row] of rowsThatCount(rows)) {
      const { cells } = row
      const was = this.#counted.get(code)?.cells
      this.#counted.set(code, row)
      // Of two rows with a key the last one has left: what the other one has is as new as any.
      if (was !== undefined && JSON.stringify(was) !== JSON.stringify(cells))
        for (const value of Object.values(cells)) this.#versions.again(value)
    }
    this.states.push({
      sync: this.sync.name,
      at: this.#now(),
      generation: this.states.length + 1,
      digest: createHash('sha256').update(text).digest('hex'),
      rows,
    })
  }

  /** The rows of a text that ends anywhere: the last one may have a part of its last cell only. */
  #rowsIn(text: string): Row[] {
    const { properties, asksDeletion } = this.sync
    const more = (this.#targets === null ? 0 : 1) + (asksDeletion ? 1 : 0)
    return text
      .split('\n')
      .slice(1)
      .map((line) => line.split(','))
      .filter((cells) => cells.length > properties.length + more)
      .map(([raw, ...cells]) => ({
        code: raw!.trim(),
        raw: raw!,
        cells: Object.fromEntries(properties.map((name, at) => [name, cells[at]!])),
        target: this.#targets === null ? null : cells[properties.length]!,
        ...(asksDeletion && { asksDeletion: cells.at(-1) === GONE }),
      }))
  }
}
