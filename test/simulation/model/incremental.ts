// Runs that read only what changed (docs/warehouses.md): each begins where the last complete one ended, and what that one could not bring in
// comes again, as it was read last.

import type { QueryScene } from '../search/plan.ts'
import type { QueryReading } from '../world/queries.ts'
import type { World } from '../world/world.ts'
import type { RunRow } from './judge.ts'
import type { Row } from './sources.ts'
import { cursorOf, INITIAL, isGreater, type TableRow } from './tables.ts'

type Violate = (what: string) => void

interface Item {
  readonly ordinal: number
  readonly line: number
  readonly key: string | null
  readonly state: string
  readonly verified: string | null
}

/** A complete run, and how far it has come. */
interface Reached {
  readonly run: RunRow
  readonly column: QueryScene['column']
  readonly watermark: string
  /** As they were read. */
  readonly rows: readonly Row[]
  /** Keys that have to come again. */
  readonly left: ReadonlySet<string>
  /** Keys that may come again. */
  readonly mayCome: ReadonlySet<string>
}

/** States of rows that were not brought in. */
const LEFT = ['refused', 'outcome_unknown', 'not_sent', 'invalid']
const MAY_BE_LEFT = [...LEFT, 'conflict']
/** States of rows of which nothing is left. */
const DONE = `('created', 'updated', 'unchanged', 'exists', 'not_found', 'protected', 'deletion_requested', 'corrected')`

const mayBeLeft = ({ state, verified }: Pick<Item, 'state' | 'verified'>): boolean =>
  MAY_BE_LEFT.includes(state) || (verified !== null && verified !== 'equal')

/** A row that a run wrote, and had not read back when it ended. */
interface Unread {
  readonly run: RunRow
  readonly raw: string | null
}

/** A row as a run since the last complete one has read it. */
interface Newer extends Pick<Item, 'state' | 'verified'> {
  readonly source_digest: string | null
  readonly raw: string | null
}

const isSameDestination = (one: RunRow, other: RunRow): boolean =>
  one.org_id === other.org_id && one.origin === other.origin

export class IncrementalJudge {
  readonly #world: World
  readonly #violate: Violate
  readonly #reached = new Map<string, Reached[]>()
  /** By destination and key: what a complete run has brought in last. */
  readonly #accepted = new Map<
    string,
    { readonly run: RunRow; readonly column: QueryScene['column']; readonly cursor: string }
  >()
  /** By sync and key, the newest of each. */
  readonly #unread = new Map<string, Unread>()

  constructor(world: World, violate: Violate) {
    this.#world = world
    this.#violate = violate
  }

  /** Notes what a run that ended before its time has not read back, though it was to. */
  noteEnded(run: RunRow): void {
    if (run.purpose === 'undo' || !run.config.includes('"verify":"all"')) return
    const written = this.#world.query<{ key: string; raw: string | null }>(
      `SELECT items.key, payloads.raw FROM items
         LEFT JOIN payloads ON payloads.run = items.run AND payloads.ordinal = items.ordinal
       WHERE items.run = ? AND items.state IN ('created', 'updated') AND items.verified IS NULL`,
      run.id,
    )
    for (const { key, raw } of written) this.#unread.set(`${run.sync} ${key.trim()}`, { run, raw })
  }

  /** The rows of a run that was complete, in the order of its items; null where what it has read was never an answer. */
  rowsOf(run: RunRow): readonly Row[] | null {
    const read = this.#world.readings.filter(
      (one) => one.sync === run.sync && one.digest === run.source_digest,
    )
    if (read.length === 0) return null
    const reading = read.at(-1)!
    // A window begins with `initial`, and moves nothing.
    const isWindow = reading.from !== null || reading.to !== null
    const last = isWindow ? null : this.#lastOf(run)
    this.#judgeBegin(run, last, read)
    const items = this.#world.query<Item>(
      'SELECT ordinal, line, key, state, verified FROM items WHERE run = ? ORDER BY ordinal',
      run.id,
    )
    const carried = this.#carried(run, last, { reading, items })
    const rows = [...reading.rows, ...carried]
    if (!isWindow) this.#note(run, last, { reading, items, rows })
    return rows
  }

  /** (i) No row goes over one of its key that is known as accepted with a greater cursor. */
  judgeAges(
    run: RunRow,
    rows: readonly Row[],
    items: readonly Pick<Item, 'ordinal' | 'state'>[],
  ): void {
    const reading = this.#world.readings.findLast(
      (one) => one.sync === run.sync && one.digest === run.source_digest,
    )!
    for (const [at, { ordinal, state }] of items.entries()) {
      const row = rows[at] as TableRow
      const place = `${run.sync} ${run.org_id} ${run.origin} ${row.code}`
      const cursor = cursorOf(reading.column, row)
      const known = this.#accepted.get(place)
      const isKnown = known?.column === reading.column && !this.#isTouched(row.code, known.run, run)
      const isOlder = isKnown && isGreater(reading.column, known.cursor, cursor)
      if (isOlder && ['created', 'updated'].includes(state))
        this.#violate(
          `(i) run ${run.id} is ${run.state}: row ${ordinal} went over a newer one, which run ${known.run.id} has brought in`,
        )
      if (['created', 'updated', 'unchanged'].includes(state))
        this.#accepted.set(place, { run, column: reading.column, cursor })
    }
  }

  /** Whether a run between two others, of which this judge does not know what it read, may have changed what is accepted for a key. */
  #isTouched = (code: string, from: RunRow, to: RunRow): boolean =>
    this.#world.query(
      `SELECT 1 FROM items JOIN runs ON runs.id = items.run WHERE runs.sync = ? AND runs.id > ? AND runs.id < ?
       AND trim(items.key) = ? LIMIT 1`,
      from.sync,
      from.id,
      to.id,
      code,
    ).length > 0

  /** The complete run that a run goes on from; null: it begins with `initial`. */
  #lastOf(run: RunRow): Reached | null {
    const own = (this.#reached.get(run.sync) ?? []).filter(
      (one) => one.run.id < run.id && isSameDestination(one.run, run),
    )
    const last = own.at(-1)
    if (last === undefined) return null
    // What was accepted in one destination counts only if no later run has written in another.
    const elsewhere = this.#world.query(
      `SELECT 1 FROM runs JOIN destinations ON destinations.id = runs.destination
       WHERE runs.sync = ? AND runs.id > ? AND runs.id < ? AND mode = 'run' AND org_id = ? AND origin <> ?
         AND (purpose = 'reconcile' OR EXISTS (SELECT 1 FROM requests WHERE requests.run = runs.id)) LIMIT 1`,
      run.sync,
      last.run.id,
      run.id,
      run.org_id!,
      run.origin!,
    )
    return elsewhere.length > 0 ? null : last
  }

  /** (i) A run begins neither behind what the last complete one has read, nor ahead of it, where nobody would read the rows in between. */
  #judgeBegin(run: RunRow, last: Reached | null, read: readonly QueryReading[]): void {
    const problems = read.map(({ column, begin, isExact }) => {
      const expected = last?.column === column ? last.watermark : INITIAL[column]
      if (!isExact) return 'an answer lacks rows that its query asks for'
      return begin === expected ? null : `it reads from ${column} ${begin} on, expected ${expected}`
    })
    if (!problems.includes(null)) this.#violate(`(i) run ${run.id} is ${run.state}: ${problems[0]}`)
  }

  /** (iii) Behind the rows of the answer: those of the last complete run that were not brought in. */
  #carried(
    run: RunRow,
    last: Reached | null,
    { reading, items }: { readonly reading: QueryReading; readonly items: readonly Item[] },
  ): readonly Row[] {
    const returned = new Set(reading.rows.map(({ code }) => code))
    const again = items.filter(({ line }) => line === 0)
    const rows = again.map(({ key, ordinal, state }) => {
      const code = key?.trim() ?? ''
      const unread = state === 'unchanged' ? this.#unread.get(`${run.sync} ${code}`) : undefined
      if (unread !== undefined && unread.run.id < run.id && isSameDestination(unread.run, run)) {
        if (returned.has(code)) this.#violate(`(iii) run ${run.id}: row ${ordinal} comes twice`)
        return this.#readAs(run.sync, code, unread)
      }
      const found = last === null ? undefined : this.#newer(code, last.run, run)
      const newer = found !== undefined && this.#isOlder(found, code, last!) ? undefined : found
      const isLeft = last?.mayCome.has(code) === true && (newer === undefined || mayBeLeft(newer))
      if (!isLeft || returned.has(code))
        this.#violate(`(iii) run ${run.id}: row ${ordinal} comes again, and was not left over`)
      if (newer !== undefined) return this.#readAs(run.sync, code, newer)
      return last?.rows.find((row) => row.code === code)
    })
    const come = new Set(rows.map((row) => row?.code))
    for (const code of last?.left ?? [])
      if (!returned.has(code) && !come.has(code) && !this.#isDone(code, last!.run, run))
        this.#violate(
          `(i) run ${run.id} is ${run.state}: row ${code} was left over by run ${last!.run.id}, and does not come again`,
        )
    return rows.filter((row) => row !== undefined)
  }

  /** How a run between two others has read a row last; not what it has carried over, or tried again, itself. */
  #newer = (code: string, from: RunRow, to: RunRow): Newer | undefined =>
    this.#world.query<Newer>(
      `SELECT items.state, items.verified, payloads.raw, runs.source_digest FROM items JOIN runs ON runs.id = items.run
         LEFT JOIN destinations ON destinations.id = runs.destination
         LEFT JOIN payloads ON payloads.run = items.run AND payloads.ordinal = items.ordinal
       WHERE runs.sync = ? AND runs.id > ? AND runs.id < ? AND mode = 'run' AND purpose IN ('sync', 'backfill', 'reconcile')
         AND org_id = ? AND origin = ? AND trim(items.key) = ? AND items.line > 0 AND items.state <> 'superseded'
       ORDER BY runs.id DESC, items.ordinal DESC LIMIT 1`,
      from.sync,
      from.id,
      to.id,
      to.org_id!,
      to.origin!,
      code,
    )[0]

  /** Whether a later reading of a key has a smaller cursor than the row that was left over: it does not stand for that. */
  #isOlder({ source_digest: digest }: Newer, code: string, last: Reached): boolean {
    const rowIn = (rows: readonly Row[]) =>
      rows.findLast((row) => row.code === code) as TableRow | undefined
    const left = rowIn(last.rows)
    const reading = this.#world.readings.findLast(
      (one) => one.sync === last.run.sync && one.digest === digest,
    )
    const read = reading && rowIn(reading.rows)
    return (
      left !== undefined &&
      read !== undefined &&
      reading?.column === last.column &&
      isGreater(last.column, cursorOf(last.column, left), cursorOf(last.column, read))
    )
  }

  /** The row of a table that has these cells. */
  #readAs(sync: string, code: string, { raw }: Pick<Newer, 'raw'>): Row | undefined {
    const read = JSON.parse(raw ?? '[]') as readonly unknown[]
    return this.#world.sources
      .get(sync)!
      .states.flatMap(({ rows }) => rows)
      .findLast(
        (row) => row.code === code && Object.values(row.cells).every((cell) => read.includes(cell)),
      )
  }

  #isDone = (code: string, from: RunRow, to: RunRow): boolean =>
    this.#world.query(
      `SELECT 1 FROM items JOIN runs ON runs.id = items.run WHERE runs.sync = ? AND runs.id > ? AND runs.id < ?
       AND items.key = ? AND items.state IN ${DONE} LIMIT 1`,
      from.sync,
      from.id,
      to.id,
      code,
    ).length > 0

  #note(
    run: RunRow,
    last: Reached | null,
    {
      reading: { column, begin, rows: read },
      items,
      rows,
    }: {
      readonly reading: QueryReading
      readonly items: readonly Item[]
      readonly rows: readonly Row[]
    },
  ): void {
    let watermark = last?.column === column ? last.watermark : begin
    for (const row of read) {
      const cell = cursorOf(column, row)
      if (isGreater(column, cell, watermark)) watermark = cell
    }
    const keysOf = (isLeft: (item: Item) => boolean) =>
      new Set(items.flatMap((item) => (isLeft(item) && item.key !== null ? [item.key.trim()] : [])))
    const reached: Reached = {
      run,
      column,
      watermark,
      rows,
      left: keysOf(({ state, verified }) => LEFT.includes(state) || verified === 'different'),
      mayCome: keysOf(mayBeLeft),
    }
    const known = this.#reached.get(run.sync) ?? []
    this.#reached.set(run.sync, [...known, reached])
  }
}
