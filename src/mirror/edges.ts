// The association edges of a type's records, which only their record can tell: one request each. Records that changed come first;
// the others in the order of their ids, as long as a run has time for them, and the next run goes on there. Promise kept here:
// what is kept of a record's edges is what one answer said.

import { SyncError } from '../core/errors.ts'
import { inLanes } from '../core/lanes.ts'
import type { MirrorConfig } from '../core/sync.ts'
import type { StreamBooks } from '../ledger/ledger.ts'
import type { MirrorRow, MirrorStream } from '../warehouses/mirror-tables.ts'
import { instantAt } from './instant.ts'
import { Merger } from './merger.ts'
import type { MirrorDeps, StreamJob, StreamResult } from './ports.ts'
import { addMerge, isSameRun, noTally, tallyOf, type Opened, type Tally } from './position.ts'
import { Reader } from './reader.ts'
import { edgesOf, openedRun } from './streams.ts'
import { textStream } from './text-table.ts'

/** Records whose edges are merged together. */
const OWNERS_MAX = 500

interface EdgesPosition {
  v: 1
  /** Records of this version and later ones are looked at first; null for none yet. */
  version: string | null
  /** Last id of those that were looked through. */
  after: string | null
  /** When the look through all of them began that is under way. */
  startedAt: string | null
  /** When the last look through all of them ended. */
  sweptAt: string | null
  /** When the service was asked last: the clock of another worker may be behind. */
  askedAt?: string
  /** `after`: last id of the changed ones that this run has looked at. */
  run: {
    id: number
    openedAt?: string
    full: boolean
    phase: 'changed' | 'all' | 'done'
    after: string | null
    tally: Tally
  }
}

const COLUMNS = ['association', 'source_id', 'target_id']

/** Works on the edges of a type until they are done, or the activity's time is over. @throws as `mirrorRecords` */
export async function mirrorEdges(
  deps: MirrorDeps,
  job: StreamJob & { readonly config: MirrorConfig },
): Promise<StreamResult> {
  const { tables, clock, tuning } = deps
  const type = job.stream.name
  const name = edgesOf(type)
  const [source] = await tables.streams([type])
  if (!source)
    throw new SyncError(
      'mirror_edges',
      `The edges of ${type} cannot be mirrored: its records are not; add it to object_types`,
    )
  const wanted = `${type}_edges`
  const stream = await textStream(tables, { name, wanted, columns: COLUMNS })
  const { fence, position: stored } = await tables.claim(name)
  const position = positionOf(stored, await openedRun(deps.ledger, job.run, name), job.full)
  const endsAtMs = clock.now() + (job.full ? tuning.stream_ms : tuning.edges_ms)
  const work = new Edges(deps, job, { source, stream, fence, position, endsAtMs })
  return await work.run()
}

function positionOf(stored: string | null, opened: Opened, full: boolean): EdgesPosition {
  const known = stored === null ? null : (JSON.parse(stored) as EdgesPosition)
  const position = known ?? {
    v: 1,
    version: null,
    after: null,
    startedAt: null,
    sweptAt: null,
    run: null!,
  }
  if (position.run && isSameRun(position.run, opened)) {
    position.run.tally = tallyOf(position.run.tally)
    return position
  }
  const { id, openedAt } = opened
  const run = { id, openedAt, full, phase: 'changed' as const, after: null, tally: noTally() }
  return { ...position, run }
}

class Edges {
  readonly #deps: MirrorDeps
  readonly #job: StreamJob & { readonly config: MirrorConfig }
  readonly #source: MirrorStream
  readonly #stream: MirrorStream
  readonly #fence: number
  readonly #position: EdgesPosition
  readonly #endsAtMs: number
  readonly #named: ReadonlySet<string>
  /** The position as it is stored. */
  #stored: string
  #message: string | null = null

  constructor(
    deps: MirrorDeps,
    job: StreamJob & { readonly config: MirrorConfig },
    parts: {
      readonly source: MirrorStream
      readonly stream: MirrorStream
      readonly fence: number
      readonly position: EdgesPosition
      readonly endsAtMs: number
    },
  ) {
    this.#deps = deps
    this.#job = job
    this.#source = parts.source
    this.#stream = parts.stream
    this.#fence = parts.fence
    this.#position = parts.position
    this.#endsAtMs = parts.endsAtMs
    this.#named = new Set(job.config.associations)
    this.#stored = JSON.stringify(parts.position)
  }

  async run(): Promise<StreamResult> {
    const { run } = this.#position
    await this.#note('pulling')
    if (run.phase === 'changed' && !(await this.#changed())) return { state: 'again' }
    if (run.phase === 'all' && !(await this.#all())) return { state: 'again' }
    await this.#note('complete')
    return { state: 'done' }
  }

  /** The records that changed since the last run. None before the first look through all of them. */
  async #changed(): Promise<boolean> {
    const { tables, clock, tuning } = this.#deps
    const position = this.#position
    const startedAt = instantAt(clock.now() - this.#job.config.overlap_seconds * 1_000)
    const endsAtMs = clock.now() + tuning.stream_ms
    if (position.version !== null)
      for (;;) {
        const { after } = position.run
        const choice = { after, limit: OWNERS_MAX, versionFrom: position.version }
        const ids = await tables.ids(this.#source, choice)
        position.run.after = ids.at(-1) ?? after
        await this.#read(ids, 'mirror')
        if (ids.length < OWNERS_MAX) break
        if (clock.now() >= endsAtMs) return false
      }
    position.version = startedAt
    position.run.phase = 'all'
    await this.#store()
    return true
  }

  /** Every record, from where the last run ended; not more often than listings are complete. */
  async #all(): Promise<boolean> {
    const { tables, clock } = this.#deps
    const position = this.#position
    const { full } = position.run
    const everyMs = this.#job.config.full_every_hours * 3_600_000
    const isDue =
      full ||
      position.after !== null ||
      position.sweptAt === null ||
      clock.now() - Date.parse(position.sweptAt) >= everyMs
    while (isDue) {
      const ids = await tables.ids(this.#source, { after: position.after, limit: OWNERS_MAX })
      const isLast = ids.length < OWNERS_MAX
      position.startedAt ??= this.#reader('mirror').now()
      position.after = isLast ? null : ids.at(-1)!
      await this.#read(ids, 'backfill')
      if (isLast) {
        await this.#forget(position.startedAt)
        break
      }
      if (clock.now() < this.#endsAtMs) continue
      if (full) return false
      const { rows } = await tables.count(this.#source)
      this.#message = `the look through all ${rows} records goes on with the next run`
      break
    }
    position.run.phase = 'done'
    await this.#store()
    return true
  }

  /** Edges that a look through all records did not show: those of records that are gone. */
  async #forget(startedAt: string): Promise<void> {
    const position = this.#position
    position.startedAt = null
    position.sweptAt = instantAt(this.#deps.clock.now())
    const deleted = await this.#deps.tables.delete(
      this.#stream,
      this.#fence,
      JSON.stringify(position),
      { before: startedAt, how: this.#job.config.deletions, at: position.sweptAt },
    )
    position.run.tally.deleted += deleted
  }

  /** No moment that it tells is before what another worker told. */
  #reader(priority: 'mirror' | 'backfill'): Reader {
    const reader = new Reader({ ...this.#deps, priority })
    reader.goOnFrom(this.#position.askedAt)
    reader.goOnFrom(this.#position.startedAt)
    return reader
  }

  /** The edges of these records, as the service says now. */
  async #read(ids: readonly string[], priority: 'mirror' | 'backfill'): Promise<void> {
    if (ids.length === 0) return await this.#store()
    const { tables, tuning, signal } = this.#deps
    const reader = this.#reader(priority)
    const before = reader.now()
    const merger = new Merger(this.#deps, {
      run: this.#job.run,
      fence: this.#fence,
      stream: this.#stream,
      // Where it stands is stored with the deletions: then all is known of these records.
      snapshot: () => this.#stored,
      merged: async (counts) => addMerge(this.#position.run.tally, counts),
    })
    try {
      await inLanes(ids, tuning.readers, async (id) => {
        signal.throwIfAborted()
        const askedAt = reader.now()
        const rows = await this.#rowsOf(reader, id)
        await merger.take(rows, askedAt, () => {})
      })
      await merger.flush()
    } finally {
      await merger.drop()
      this.#position.run.tally.requests += reader.requests
      this.#position.askedAt = reader.latest!
    }
    const stored = JSON.stringify(this.#position)
    const deleted = await tables.delete(this.#stream, this.#fence, stored, {
      before,
      owners: { column: 'source_id', values: ids },
      how: this.#job.config.deletions,
      at: reader.now(),
    })
    this.#stored = stored
    this.#position.run.tally.deleted += deleted
    await this.#note('pulling')
  }

  async #rowsOf(reader: Reader, id: string): Promise<MirrorRow[]> {
    const edges = await reader.edges(this.#source.name, id)
    const rows = edges
      .filter(({ association_type: association }) => this.#named.has(association))
      .map(({ association_type: association, target_id: target }) => ({
        id: JSON.stringify([association, id, target]),
        version: null,
        cells: [association, id, target],
        misfits: null,
      }))
    this.#position.run.tally.read += rows.length
    return rows
  }

  async #store(): Promise<void> {
    this.#stored = JSON.stringify(this.#position)
    await this.#deps.tables.move(this.#stream.name, this.#fence, this.#stored)
  }

  async #note(state: StreamBooks['state']): Promise<void> {
    const { tally, full } = this.#position.run
    const isOver = state === 'complete'
    const counted = isOver ? await this.#deps.tables.count(this.#stream) : null
    await this.#deps.ledger.noteStream(this.#job.run, {
      stream: this.#stream.name,
      table: this.#stream.table,
      state,
      mode: full ? 'full' : 'incremental',
      ...tally,
      misfits: counted?.misfits ?? null,
      serviceCount: null,
      tableCount: counted?.rows ?? null,
      differs: isOver ? false : null,
      message: this.#message,
    })
  }
}
