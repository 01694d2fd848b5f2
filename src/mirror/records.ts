// The records of one object type, from where their stream stands. What comes next is in the position, so that any worker goes on
// after any end; see position.ts for the phases.

import {
  creationProperty,
  modificationProperty,
  type ObjectSchema,
  type PropertyWire,
  type RecordRepresentation,
} from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import { LISTED_ALWAYS_MAX } from '../core/mirror.ts'
import type { MirrorConfig } from '../core/sync.ts'
import type { MirrorRow, MirrorStream } from '../warehouses/mirror-tables.ts'
import { Account } from './account.ts'
import { readChanges } from './changes.ts'
import { ASKED_MAX, confirm, isPlausible, permission } from './deletions.ts'
import { earlier, instantOf } from './instant.ts'
import { again, beginListing, beginWindow, goOnListing } from './listing.ts'
import { Merger } from './merger.ts'
import { narrow } from './narrow.ts'
import type { MirrorDeps, StreamJob, StreamResult } from './ports.ts'
import {
  beginning,
  beginningIn,
  isOf,
  type Listing,
  type Phase,
  type Position,
} from './position.ts'
import type { Reader } from './reader.ts'
import { compileRow } from './shapes.ts'

export interface RecordsJob extends StreamJob {
  readonly config: MirrorConfig
}

/** The property, where the service sorts by it. */
export const sorted = (
  { sortable }: Pick<RecordsJob, 'sortable'>,
  property: PropertyWire | null,
): PropertyWire | null =>
  property !== null && sortable.includes(property.field_type) ? property : null

/** The property that tells when a record was changed last; null where there is none that the service sorts by. */
export function modifiedOf(
  job: Pick<RecordsJob, 'sortable' | 'config'>,
  schema: ObjectSchema,
): PropertyWire | null {
  return sorted(job, modificationProperty(schema, job.config.modification_property[schema.name]))
}

/** What a stream's work begins with. */
export interface RecordsParts {
  readonly schema: ObjectSchema
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: Position
  readonly reader: Reader
}

/** The records of an object type on their way into their table. */
export class Records {
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
  readonly #account: Account

  constructor(deps: MirrorDeps, job: RecordsJob, parts: RecordsParts) {
    this.#deps = deps
    this.#job = job
    this.#schema = parts.schema
    this.#stream = parts.stream
    this.#fence = parts.fence
    this.#reader = parts.reader
    this.#modified = modifiedOf(job, parts.schema)
    this.#by = sorted(job, creationProperty(parts.schema)) ?? this.#modified
    this.#rowOf = compileRow(parts.stream, { version: this.#modified?.name ?? null })
    this.#endsAtMs = deps.clock.now() + deps.tuning.stream_ms
    this.#position = parts.position
    const { window = null } = job
    if (!isOf(this.#position.run, job.run, window))
      this.#position.run = window
        ? beginningIn(window, job.run)
        : beginning(job.run, job.full || this.#isListingDue())
    this.#account = new Account(deps, { run: job.run, ...parts })
    this.#merger = new Merger(deps, {
      run: job.run,
      fence: parts.fence,
      stream: parts.stream,
      snapshot: () => this.#account.snapshot(),
      merged: (counts) => this.#account.merged(counts),
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
      await this.#account.note()
      // Bounded: every pass goes on to a later phase, or returns.
      for (;;) {
        const result = await this.#step(this.#position.run.phase)
        // What was read is in the table before the table is asked.
        await this.#merger.flush()
        await this.#account.note()
        if (!result) continue
        await this.#account.store()
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
          .then(() => this.#account.store())
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
      case 'window':
        return await this.#window()
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
    if (!(await this.#goOn(listing))) return { state: 'again' }
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

  /** What was changed last in a window. Nothing else of the position moves. */
  async #window(): Promise<StreamResult | undefined> {
    const { run } = this.#position
    const place = run.window!
    place.listing ??= beginWindow(place, this.#modified!.name, this.#reader)
    if (!(await this.#goOn(place.listing))) return { state: 'again' }
    place.listing = null
    run.phase = 'done'
    return undefined
  }

  #goOn(listing: Listing): Promise<boolean> {
    const { readers, rows_per_range: rowsPerRange } = this.#deps.tuning
    return goOnListing(
      listing,
      { readers, rowsPerRange },
      { ...this.#parts(), signal: this.#deps.signal, isLate: () => this.#isLate() },
    )
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
        this.#account.say(
          `two listings lacked ${share}, but the service counts ${counted} records: nothing was deleted`,
        )
        return undefined
      }
    }
    const may = permission(rows, of, config, verdict)
    if (may === 'ask') {
      this.#account.isWaiting = true
      this.#account.say(
        `${share} would be deleted, more than ${config.deletions_max_percent} %; approve or reject it`,
      )
      return { state: 'approval', rows, of }
    }
    if (may === 'refused') {
      this.#position.kept = rows
      this.#account.say(`the deletion of ${share} was rejected`)
      return undefined
    }
    this.#position.run.tally.deleted += rows
    const deleted = await tables.delete(this.#stream, this.#fence, this.#account.snapshot(), {
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
      return this.#account.compare(counted, await tables.count(this.#stream))
    }
    let surplus = await count()
    if (surplus !== 0 && !position.run.full) {
      const before = this.#reader.now()
      const isKnown = surplus > 0 && surplus <= position.kept
      const ids = isKnown ? null : await this.#narrow(Math.abs(surplus))
      if (isKnown) this.#account.say(`${surplus} rows stay whose deletion was rejected`)
      else if (ids !== null) {
        const parts = { ...this.#parts(), readers: this.#deps.tuning.readers }
        const gone = await confirm(this.#schema.name, ids, parts)
        const wait = await this.#delete(gone.length, { before, ids: gone })
        if (wait) return wait
        await this.#merger.flush()
        surplus = await count()
        if (surplus !== 0)
          this.#account.say(
            `the counts differ by ${Math.abs(surplus)}: what changed meanwhile comes with the next run`,
          )
      } else if (surplus > 0) {
        position.wanting = true
        this.#account.say(
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

  #isLate(): boolean {
    return this.#deps.clock.now() >= this.#endsAtMs
  }
}
