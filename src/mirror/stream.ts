// One stream of a run, from where it stands: the records of an object type. What comes next is in the position, so that any
// worker goes on after any end; see position.ts for the phases.

import type { ObjectSchema, PropertyWire, RecordRepresentation } from '../contract/index.ts'
import { Blocked, ServiceFailure, SyncError } from '../core/errors.ts'
import { LISTED_ALWAYS_MAX } from '../core/mirror.ts'
import type { MirrorConfig } from '../core/sync.ts'
import type { StreamBooks } from '../ledger/ledger.ts'
import type { MergeCounts, MirrorRow, MirrorStream } from '../warehouses/mirror-tables.ts'
import { readChanges } from './changes.ts'
import { creationProperty, modificationProperty } from './clocks.ts'
import { ASKED_MAX, confirm, isPlausible, permission } from './deletions.ts'
import { mirrorEdges } from './edges.ts'
import { evolve } from './evolve.ts'
import { instantOf } from './instant.ts'
import { again, beginListing, goOnListing } from './listing.ts'
import { Merger } from './merger.ts'
import { narrow } from './narrow.ts'
import type { MirrorDeps, StreamJob, StreamResult } from './ports.ts'
import { beginning, firstPosition, readPosition, type Phase, type Position } from './position.ts'
import { Reader } from './reader.ts'
import { compileRow } from './shapes.ts'

/** Times that a table is looked at again because somebody else took a name for it. */
const NAMINGS_MAX = 3

export interface RecordsJob extends StreamJob {
  readonly config: MirrorConfig
}

/** Works on a stream of either kind, as `mirrorRecords` does. */
export function mirrorStream(deps: MirrorDeps, job: RecordsJob): Promise<StreamResult> {
  return job.stream.kind === 'edges' ? mirrorEdges(deps, job) : mirrorRecords(deps, job)
}

/**
 * Works on a stream until it is done, its time is over, or a person has to decide.
 * @throws Blocked, ServiceFailure, QuotaWait: it goes on from there; FenceLost where another worker has it; SyncError
 */
async function mirrorRecords(deps: MirrorDeps, job: RecordsJob): Promise<StreamResult> {
  const { tables } = deps
  const type = job.stream.name
  const reader = new Reader(deps)
  const schema = await readType(reader, deps, type)
  const prepared = await prepare(deps, job.config, schema)
  const { fence, position: stored } = await tables.claim(type)
  const position =
    stored === null ? firstPosition(job.run, true) : readPosition(stored, deps.tables.place, type)
  const work = new Records(deps, job, { schema, stream: prepared, fence, position, reader })
  return await work.run()
}

async function readType(reader: Reader, deps: MirrorDeps, type: string): Promise<ObjectSchema> {
  try {
    return await reader.ask((options) => deps.client.readObjectType(type, options))
  } catch (error) {
    if (!(error instanceof ServiceFailure) || error.status !== 404) throw error
    throw new SyncError(
      'mirror_type',
      `Object type ${type} is not there any more, or the key cannot read it; its table stays as it is`,
    )
  }
}

/** The table as the schema asks for it; changes it where that is wanted. */
async function prepare(
  deps: MirrorDeps,
  config: MirrorConfig,
  schema: ObjectSchema,
): Promise<MirrorStream> {
  const { tables, tuning } = deps
  for (let naming = 1; ; naming++) {
    const streams = await tables.streams()
    const known = streams.find(({ name }) => name === schema.name)
    const evolved = evolve(
      schema.name,
      known,
      schema,
      config.schema_changes,
      streams.map(({ table }) => table),
    )
    if (evolved.frozen.length > 0)
      throw new Blocked(
        'contract',
        `${schema.name}: ${evolved.frozen.join(', ')}; schema_changes is freeze. To take them over, cancel this run, set it to evolve (or ignore) and run again`,
        tuning.blocked_probe_ms,
      )
    if (evolved.change === null) return evolved.stream
    try {
      await tables.change([evolved.change])
      return evolved.stream
    } catch (error) {
      const isTaken = error instanceof SyncError && error.code === 'warehouse_altered'
      if (!isTaken || known !== undefined || naming === NAMINGS_MAX) throw error
    }
  }
}

interface Parts {
  readonly schema: ObjectSchema
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: Position
  readonly reader: Reader
}

class Records {
  readonly #deps: MirrorDeps
  readonly #job: RecordsJob
  readonly #schema: ObjectSchema
  readonly #stream: MirrorStream
  readonly #fence: number
  readonly #position: Position
  readonly #reader: Reader
  readonly #merger: Merger
  readonly #modified: PropertyWire | null
  /** Orders and cuts listings. */
  readonly #by: PropertyWire | null
  readonly #rowOf: (record: RecordRepresentation) => MirrorRow
  readonly #endsAtMs: number
  readonly #requestsBefore: number
  /** The position as it was stored last. */
  #stored = ''
  /** For a person's verdict. */
  #isWaiting = false
  #books: Pick<StreamBooks, 'misfits' | 'serviceCount' | 'tableCount' | 'message'> = {
    misfits: null,
    serviceCount: null,
    tableCount: null,
    message: null,
  }

  constructor(deps: MirrorDeps, job: RecordsJob, parts: Parts) {
    this.#deps = deps
    this.#job = job
    this.#schema = parts.schema
    this.#stream = parts.stream
    this.#fence = parts.fence
    this.#reader = parts.reader
    const isSorted = (property: PropertyWire | null) =>
      property !== null && job.sortable.includes(property.field_type) ? property : null
    const configured = job.config.modification_property[parts.schema.name]
    this.#modified = isSorted(modificationProperty(parts.schema, configured))
    this.#by = isSorted(creationProperty(parts.schema)) ?? this.#modified
    this.#rowOf = compileRow(parts.stream, { version: this.#modified?.name ?? null })
    this.#endsAtMs = deps.clock.now() + deps.tuning.stream_ms
    this.#position = parts.position
    if (this.#position.run.id !== job.run)
      this.#position.run = beginning(job.run, job.full || this.#isListingDue())
    this.#requestsBefore = this.#position.run.tally.requests
    this.#merger = new Merger(deps, {
      run: job.run,
      fence: parts.fence,
      stream: parts.stream,
      snapshot: () => this.#snapshot(),
      merged: (counts) => this.#merged(counts),
    })
  }

  /** Whether changes alone would not do. */
  #isListingDue(): boolean {
    const { listing, listedAt, columns, wanting, counted } = this.#position
    if (listedAt === null || listing !== null || wanting) return true
    const filled = new Set(columns)
    if (this.#liveColumns().some((name) => !filled.has(name))) return true
    if (this.#modified === null && (counted ?? 0) <= LISTED_ALWAYS_MAX) return true
    const ageMs = this.#deps.clock.now() - Date.parse(listedAt)
    return ageMs >= this.#job.config.full_every_hours * 3_600_000
  }

  #liveColumns(): string[] {
    return this.#stream.columns
      .filter(({ live }) => live)
      .map(({ name }) => name)
      .toSorted()
  }

  async run(): Promise<StreamResult> {
    try {
      await this.#note()
      // Bounded: every pass goes on to a later phase, or returns.
      for (;;) {
        const result = await this.#step(this.#position.run.phase)
        // What was read is in the table before the table is asked.
        await this.#merger.flush()
        await this.#note()
        if (!result) continue
        await this.#store()
        return result
      }
    } catch (error) {
      // What was read is worth keeping where the work only waits; after a cancel nobody waits for it.
      if (
        !this.#deps.signal.aborted &&
        !(error instanceof SyncError && error.code === 'fence_lost')
      )
        await this.#merger
          .flush()
          .then(() => this.#store())
          .catch(() => {})
      throw error
    } finally {
      await this.#merger.drop()
    }
  }

  /** Does a phase, or some of it. Undefined where the next one may begin. */
  async #step(phase: Phase): Promise<StreamResult | undefined> {
    switch (phase) {
      case 'list':
      case 'relist':
        return await this.#list(phase)
      case 'changes':
        return await this.#changes()
      case 'sweep':
      case 'resweep':
        return await this.#sweep(phase)
      case 'compare':
        return await this.#compare()
      case 'done':
        return { state: 'done' }
    }
  }

  async #list(phase: 'list' | 'relist'): Promise<StreamResult | undefined> {
    const position = this.#position
    const { tuning } = this.#deps
    const columns = this.#liveColumns()
    const isOther = columns.join('\n') !== position.columns.join('\n')
    if (phase === 'list' && (position.listing === null || isOther)) {
      position.counted = await this.#reader.count(this.#schema.name)
      position.listing = await beginListing(this.#reader, this.#schema, {
        records: position.counted,
        by: this.#by?.name ?? null,
        modified: this.#modified?.name ?? null,
        rowsPerRange: tuning.rows_per_range,
        readers: tuning.readers,
        instantOf,
      })
      position.columns = columns
      position.listedAt = null
    }
    const listing = position.listing!
    const isComplete = await goOnListing(listing, tuning.readers, {
      ...this.#parts(),
      signal: this.#deps.signal,
      isLate: () => this.#isLate(),
    })
    if (!isComplete) return { state: 'again' }
    if (phase === 'relist') {
      position.run.phase = 'resweep'
      return undefined
    }
    position.listedAt = listing.startedAt
    position.watermark =
      listing.watermark === null ? null : earlier(listing.watermark, listing.startedAt)
    position.wanting = false
    position.kept = 0
    position.run.phase = 'changes'
    return undefined
  }

  async #changes(): Promise<StreamResult | undefined> {
    const position = this.#position
    const modified = this.#modified
    if (modified !== null) {
      const isComplete = await readChanges({
        ...this.#parts(),
        modified: modified.name,
        overlapMs: this.#job.config.overlap_seconds * 1_000,
        signal: this.#deps.signal,
        isLate: () => this.#isLate(),
        known: () => ({ watermark: position.watermark, reached: position.run.reached }),
        moveTo: (watermark, reached) => {
          position.watermark = watermark
          position.run.reached = reached
        },
      })
      if (!isComplete) return { state: 'again' }
    }
    position.run.phase = position.run.full ? 'sweep' : 'compare'
    return undefined
  }

  /** Rows that a complete listing, and the changes after it, did not show. */
  async #sweep(phase: 'sweep' | 'resweep'): Promise<StreamResult | undefined> {
    const { tables } = this.#deps
    const position = this.#position
    const before = position.listing!.startedAt
    const unseen = { column: '_last_seen_at', from: null, to: before }
    const { rows: missing } = await tables.count(this.#stream, unseen)
    if (missing > ASKED_MAX && phase === 'sweep') {
      position.listing = again(position.listing!)
      position.run.phase = 'relist'
      return undefined
    }
    if (missing > 0) {
      let ids: readonly string[] | undefined
      if (missing <= ASKED_MAX) {
        const asked = await tables.ids(this.#stream, {
          after: null,
          limit: ASKED_MAX,
          seenBefore: before,
        })
        ids = await confirm(this.#schema.name, asked, {
          ...this.#parts(),
          readers: this.#deps.tuning.readers,
        })
      }
      const wait = await this.#delete(ids?.length ?? missing, { before, ...(ids && { ids }) })
      if (wait) return wait
    }
    position.listing = null
    position.run.phase = 'compare'
    return undefined
  }

  /** Deletes, where that is permitted, or asks a person. */
  async #delete(
    rows: number,
    which: { readonly before: string; readonly ids?: readonly string[] },
  ): Promise<StreamResult | undefined> {
    if (rows === 0) return undefined
    const { tables } = this.#deps
    const { config, verdict } = this.#job
    const { rows: of } = await tables.count(this.#stream)
    const share = `${rows} of ${of} rows`
    if (which.ids === undefined) {
      const counted = await this.#reader.count(this.#schema.name)
      if (!isPlausible(of - rows, counted)) {
        this.#say(
          `two listings lacked ${share}, but the service counts ${counted} records: nothing was deleted`,
        )
        return undefined
      }
    }
    const may = permission(rows, of, config, verdict)
    if (may === 'ask') {
      this.#isWaiting = true
      this.#say(
        `${share} would be deleted, more than ${config.deletions_max_percent} %; approve or reject it`,
      )
      return { state: 'approval', rows, of }
    }
    if (may === 'refused') {
      this.#position.kept = rows
      this.#say(`the deletion of ${share} was rejected`)
      return undefined
    }
    this.#position.run.tally.deleted += rows
    const deleted = await tables.delete(this.#stream, this.#fence, this.#snapshot(), {
      ...which,
      how: config.deletions,
      at: this.#reader.now(),
    })
    this.#position.run.tally.deleted += deleted - rows
    return undefined
  }

  /** Compares the counts; where they differ, looks for the rows that make it. */
  async #compare(): Promise<StreamResult | undefined> {
    const { tables } = this.#deps
    const position = this.#position
    const count = async () => {
      const counted = await this.#reader.count(this.#schema.name)
      const { rows, misfits } = await tables.count(this.#stream)
      position.counted = counted
      this.#books = { ...this.#books, serviceCount: counted, tableCount: rows, misfits }
      return rows - counted
    }
    let surplus = await count()
    if (surplus !== 0 && !position.run.full) {
      const before = this.#reader.now()
      const isKnown = surplus > 0 && surplus <= position.kept
      const ids = isKnown ? null : await this.#narrow(Math.abs(surplus))
      if (isKnown) this.#say(`${surplus} rows stay whose deletion was rejected`)
      else if (ids !== null) {
        const parts = { ...this.#parts(), readers: this.#deps.tuning.readers }
        const gone = await confirm(this.#schema.name, ids, parts)
        const wait = await this.#delete(gone.length, { before, ids: gone })
        if (wait) return wait
        await this.#merger.flush()
        surplus = await count()
      } else if (surplus > 0) {
        position.wanting = true
        this.#say(
          `${surplus} rows more than the service has records: the next run reads everything and finds them`,
        )
      }
    }
    position.run.phase = 'done'
    return undefined
  }

  async #narrow(surplus: number): Promise<readonly string[] | null> {
    const by = this.#by
    const column = this.#stream.columns.find(
      ({ property, live, type }) => property === by?.name && live && type.holds === 'instant',
    )
    if (by === null || column === undefined || surplus > ASKED_MAX) return null
    // Half of what a listing would cost, within reason.
    const requestsMax = Math.min(300, Math.max(20, Math.ceil((this.#position.counted ?? 0) / 200)))
    return await narrow({
      ...this.#parts(),
      by: by.name,
      column: column.name,
      tables: this.#deps.tables,
      stream: this.#stream,
      requestsMax,
      idsMax: ASKED_MAX,
    })
  }

  #parts() {
    return {
      type: this.#schema.name,
      reader: this.#reader,
      merger: this.#merger,
      rowOf: this.#rowOf,
      instantOf: (value: unknown) => instantOf(value),
      count: (rows: number) => {
        this.#position.run.tally.read += rows
      },
    }
  }

  #say(message: string): void {
    this.#books = { ...this.#books, message }
  }

  #isLate(): boolean {
    return this.#deps.clock.now() >= this.#endsAtMs
  }

  /** The position now; what is stored with it is what it says. */
  #snapshot(): string {
    this.#position.run.tally.requests = this.#requestsBefore + this.#reader.requests
    return (this.#stored = JSON.stringify(this.#position))
  }

  async #store(): Promise<void> {
    const before = this.#stored
    const position = this.#snapshot()
    if (position !== before) await this.#deps.tables.move(this.#stream.name, this.#fence, position)
  }

  async #merged({ inserted, changed, unchanged }: MergeCounts): Promise<void> {
    const { tally } = this.#position.run
    tally.inserted += inserted
    tally.changed += changed
    tally.unchanged += unchanged
    await this.#note()
  }

  #state(): StreamBooks['state'] {
    if (this.#isWaiting) return 'approval'
    const { phase } = this.#position.run
    if (phase === 'done') return 'complete'
    return phase === 'list' || phase === 'changes' ? 'pulling' : 'sweeping'
  }

  async #note(): Promise<void> {
    const { run, counted } = this.#position
    run.tally.requests = this.#requestsBefore + this.#reader.requests
    await this.#deps.ledger.noteStream(this.#job.run, {
      stream: this.#schema.name,
      table: this.#stream.table,
      state: this.#state(),
      mode: run.full ? 'full' : 'incremental',
      ...run.tally,
      ...this.#books,
      serviceCount: this.#books.serviceCount ?? counted,
    })
  }
}

const earlier = (a: string, b: string): string => (Date.parse(a) <= Date.parse(b) ? a : b)
