// The records of one object type, from where their stream stands. What comes next is in the position, so that any worker goes on
// after any end; see position.ts for the phases.

import {
  creationProperty,
  modificationProperty,
  type ObjectSchema,
  type PropertyWire,
} from '../contract/index.ts'
import { Blocked, SyncError } from '../core/errors.ts'
import { LISTED_ALWAYS_MAX } from '../core/mirror.ts'
import type { MirrorStream } from '../warehouses/mirror-tables.ts'
import { StreamAccount } from './stream-account.ts'
import { readChanges, changesFrom } from './changes.ts'
import { compareCounts } from './compare-counts.ts'
import { earlierInstant, formatInstant, parseInstant, isLater } from './instant.ts'
import {
  lostSinceLastRun,
  noteLostColumns,
  noteOtherVisibility,
  otherThanListed,
  recordsVisibility,
} from './last-visibility.ts'
import { beginListing, beginWindow, continueListing } from './listing.ts'
import { Merger } from './merger.ts'
import type { MirrorDeps, StreamResult } from './ports.ts'
import {
  newRunState,
  newWindowRunState,
  isPositionOfRun,
  type Listing,
  type StreamPhase,
  type StreamPosition,
  type Opened,
} from './position.ts'
import type { Reader } from './reader.ts'
import { compileRow } from './columns.ts'
import { earliestChange, clockWentBackText } from './service-clock.ts'
import { sweepDeletions } from './sweep.ts'
import { checkWentBack } from './went-back.ts'
import type { RecordsJob, RecordsWork } from './records-work.ts'

/** The property, where the service sorts by it. */
export const sortableProperty = (
  { sortable }: Pick<RecordsJob, 'sortable'>,
  property: PropertyWire | null,
): PropertyWire | null =>
  property !== null && sortable.includes(property.field_type) ? property : null

/** The property that tells when a record was changed last; null where there is none that the service sorts by. */
export function modifiedProperty(
  job: Pick<RecordsJob, 'sortable' | 'config'>,
  schema: ObjectSchema,
): PropertyWire | null {
  return sortableProperty(
    job,
    modificationProperty(schema, job.config.modification_property[schema.name]),
  )
}

/** What a stream's work begins with. */
export interface RecordsParts {
  readonly schema: ObjectSchema
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: StreamPosition
  readonly opened: Opened
  readonly reader: Reader
  /** Properties that have no column, because no database can write their names. */
  readonly omitted: readonly string[]
}

/** Times that changes are read from an earlier time, because the service's clock went back meanwhile. */
const ROUNDS_MAX = 2

/** Names are shown, at most. */
const OMITTED_MAX = 5

function omittedText(names: readonly string[]): string {
  const shown = names.slice(0, OMITTED_MAX).map((name) => JSON.stringify(name))
  const more = names.length > OMITTED_MAX ? ` and ${names.length - OMITTED_MAX} more` : ''
  return `left out, because no database can write the name: ${shown.join(', ')}${more}`
}

/** The records of an object type on their way into their table. */
export class RecordsStream {
  readonly #deps: MirrorDeps
  readonly #job: RecordsJob
  readonly #schema: ObjectSchema
  readonly #stream: MirrorStream
  readonly #position: StreamPosition
  readonly #reader: Reader
  readonly #merger: Merger
  readonly #modified: PropertyWire | null
  /** Orders and cuts listings. */
  readonly #by: PropertyWire | null
  readonly #account: StreamAccount
  readonly #work: RecordsWork

  constructor(deps: MirrorDeps, job: RecordsJob, parts: RecordsParts) {
    this.#deps = deps
    this.#job = job
    this.#schema = parts.schema
    this.#stream = parts.stream
    this.#reader = parts.reader
    this.#modified = modifiedProperty(job, parts.schema)
    this.#by = sortableProperty(job, creationProperty(parts.schema)) ?? this.#modified
    const endsAtMs = deps.clock.now() + deps.tuning.stream_ms
    this.#position = parts.position
    const { window = null } = job
    if (window === null) noteLostColumns(this.#position, parts.stream)
    const other = noteOtherVisibility(this.#position, job.sight, window !== null)
    if (!isPositionOfRun(this.#position.run, parts.opened, window))
      this.#position.run = window
        ? newWindowRunState(window, parts.opened)
        : newRunState(parts.opened, job.full || this.#isListingDue())
    const { askedAt } = this.#position
    // A position of an older version tells when the service was asked last; the overlap is there for the rest.
    if (askedAt) this.#position.clock ??= { at: Date.parse(askedAt), aheadMs: null }
    this.#account = new StreamAccount(deps, { run: job.run, ...parts })
    if (parts.omitted.length > 0) this.#account.say(omittedText(parts.omitted))
    const less = window === null ? lostSinceLastRun(job.sight, this.#position) : null
    if (less !== null) this.#account.say(less)
    if (other !== null) this.#account.say(other)
    parts.reader.goOnFrom(this.#position.askedAt)
    parts.reader.goOnFrom(this.#position.listing?.startedAt)
    this.#merger = new Merger(deps, {
      run: job.run,
      fence: parts.fence,
      stream: parts.stream,
      snapshot: () => this.#account.snapshot(),
      merged: (counts) => this.#account.merged(counts),
      unfit: (rows) => {
        const { run } = this.#position
        if (run.phase === 'list') this.#position.unfit = (this.#position.unfit ?? 0) + rows
        this.#account.differ(
          'records were left out whose ids have U+0000 or half a character: the warehouse cannot hold such ids',
        )
      },
    })
    this.#work = {
      ...parts,
      deps,
      job,
      merger: this.#merger,
      account: this.#account,
      modified: this.#modified,
      by: this.#by,
      parts: {
        type: parts.schema.name,
        reader: parts.reader,
        merger: this.#merger,
        readers: deps.tuning.readers,
        probeMs: deps.tuning.blocked_probe_ms,
        signal: deps.signal,
        rowOf: compileRow(parts.stream, { version: this.#modified?.name ?? null }),
        instantOf: (value) => parseInstant(value),
        count: (rows) => {
          this.#position.run.tally.read += rows
        },
        isLate: () => deps.clock.now() >= endsAtMs,
      },
    }
  }

  /** Whether changes alone would not do. */
  #isListingDue(): boolean {
    const { listing, listedAt, columns, wanting, counted } = this.#position
    if (listedAt === null || listing !== null || wanting) return true
    // Two views may count as many records and have others.
    if (otherThanListed(this.#job.sight, this.#position) !== null) return true
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
      // A listing that does not end is begun anew, once the service is asked again.
      if (error instanceof Blocked && error.reason === 'contract') this.#forgetListing()
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
  async #step(phase: StreamPhase): Promise<StreamResult | undefined> {
    switch (phase) {
      case 'list':
      case 'relist':
        return await this.#list(phase)
      case 'changes':
        return await this.#changes()
      case 'sweep':
      case 'resweep':
        return await sweepDeletions(this.#work, phase)
      case 'compare':
        return await this.#compare()
      case 'window':
        return await this.#window()
      case 'done':
        return { state: 'done' }
    }
  }

  #forgetListing(): void {
    const { run } = this.#position
    run.reached = null
    if (run.window) run.window.listing = null
    if (run.full && this.#position.listing !== null) run.phase = 'list'
    this.#position.listing = null
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
        instantOf: parseInstant,
      })
      const seen = recordsVisibility(this.#job.sight)
      if (seen) position.listing.sight = seen
      const at = Date.parse(position.listing.startedAt)
      position.clock = { at, aheadMs: this.#deps.client.clockAheadMs() }
      position.columns = columns
      position.unfit = 0
      position.listedAt = null
    }
    const listing = position.listing!
    if (!(await this.#goOn(listing))) return { state: 'again' }
    if (phase === 'relist') {
      position.run.phase = 'resweep'
      return undefined
    }
    // By the clock of now where it was put forward for a while.
    position.listedAt = earlierInstant(listing.startedAt, formatInstant(this.#deps.clock.now()))
    position.watermark =
      listing.watermark === null ? null : earlierInstant(listing.watermark, listing.startedAt)
    if (listing.sight) position.listedWith = listing.sight
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

  async #goOn(listing: Listing): Promise<boolean> {
    const { readers, rows_per_range: rowsPerRange } = this.#deps.tuning
    const { counted } = this.#position
    return await continueListing(
      listing,
      { readers, rowsPerRange },
      { ...this.#work.parts, counted },
    )
  }

  /** What was listed just now need not be read twice: the next run goes back far enough. */
  #overlapMs(): number {
    const overlapMs = this.#job.config.overlap_seconds * 1_000
    const { run, listing } = this.#position
    if (!run.full || listing === null) return overlapMs
    const tookMs = this.#deps.clock.now() - Date.parse(listing.startedAt)
    return tookMs >= 0 && tookMs * 2 < overlapMs ? 0 : overlapMs
  }

  async #changes(): Promise<StreamResult | undefined> {
    const position = this.#position
    const modified = this.#modified
    if (modified !== null) {
      const isWhole = position.run.reached === null
      const beganAt = this.#reader.now()
      const from = await this.#readChanges(modified.name)
      if (from === undefined) return { state: 'again' }
      if (!position.run.full && isWhole && from !== null)
        await checkWentBack(this.#work, from, beganAt)
    } else if ((position.counted ?? 0) > LISTED_ALWAYS_MAX) {
      const { full_every_hours: hours } = this.#job.config
      this.#account.say(
        `nothing tells when a record of ${this.#schema.name} was changed last, so changes are found only by the full listing every ${hours} h; modification_property can name what tells it`,
      )
    }
    position.run.phase = position.run.full ? 'sweep' : 'compare'
    return undefined
  }

  /** Returns where the changes were read from, once they are read to their end. */
  async #readChanges(modified: string): Promise<string | null | undefined> {
    const position = this.#position
    const { run, clock } = position
    const { client } = this.#deps
    const overlapMs = this.#overlapMs()
    const mark = position.watermark
    const startBy = (aheadMs: number | null) =>
      changesFrom(earliestChange(mark, clock, aheadMs), overlapMs)
    const began = (run.began ??= { at: this.#deps.clock.now(), from: startBy(null) })
    for (let round = 0; ; round++) {
      const isComplete = await readChanges({
        ...this.#work.parts,
        modified,
        overlapMs,
        from: began.from,
        counted: position.counted,
        known: () => ({ watermark: position.watermark, reached: run.reached }),
        moveTo: (watermark, reached) => {
          position.watermark = watermark
          run.reached = reached
        },
      })
      if (!isComplete) return undefined
      // Asked after the read: its answers tell the service's clock of now.
      const aheadMs = client.clockAheadMs()
      const wentBack = clockWentBackText(clock, aheadMs)
      if (wentBack !== null) this.#account.say(wentBack)
      const from = startBy(aheadMs)
      const isBelow = began.from !== null && from !== null && isLater(began.from, from)
      if (!isBelow || round === ROUNDS_MAX) {
        position.clock = { at: began.at, aheadMs }
        return began.from
      }
      began.from = from
      run.reached = null
    }
  }

  async #compare(): Promise<StreamResult | undefined> {
    const wait = await compareCounts(this.#work)
    if (wait) return wait
    this.#position.run.phase = 'done'
    return undefined
  }
}
