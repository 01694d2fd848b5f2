// One stream of a reconciliation: the records of an object type against the rows of their table. Where it stands is kept in the
// ledger share by share, so that whoever goes on looks again only at what was under way.

import type { ObjectSchema, RecordRepresentation } from '../../contract/index.ts'
import type { Difference, DifferenceKind } from '../../core/differences.ts'
import { SyncError } from '../../core/errors.ts'
import { formatNumber } from '../../core/format.ts'
import type { ReconcileScope } from '../../core/purpose.ts'
import type { KeyVisibility } from '../../core/visibility.ts'
import type { MirrorConfig } from '../../../config/index.ts'
import type { Differences, StepStates, StreamBooks, Streams } from '../../ledger/ledger.ts'
import type { MirrorStream } from '../../warehouses/mirror-tables.ts'
import { deletionPermission, whyAsked } from '../deletions.ts'
import { evolveSchema } from '../schema-evolution.ts'
import { lostSinceLastRun, otherThanListed } from '../last-visibility.ts'
import { waitingStream } from '../streams.ts'
import type { MirrorDeps, StreamRef, StreamResult, DeletionVerdict } from '../ports.ts'
import { addMerge, parsePosition, type StreamPosition } from '../position.ts'
import { Reader } from '../reader.ts'
import { compileRow } from '../columns.ts'
import { readType } from '../stream.ts'
import { partitionKey, recordInstant, type PartitionKey } from './partition-key.ts'
import { compareInstants, createRowComparer, extraRow } from './compare.ts'
import { UNSETTLED_MAX, RecordDiffer, type RepairWriter } from './record-differ.ts'
import { createSerialQueue } from './local-tables.ts'
import { initialState, parseState, type ReconcileState, type PartitionRange } from './state.ts'
import { Partitions } from './partitions.ts'

/** Shares that may be looked at before what was found in them is told, and their place kept. */
const UNKEPT_MAX = 20
/** Differences that are read together from the ledger. */
const DIFFERENCES_PAGE = 1_000

export interface ReconcileStreamJob {
  readonly run: number
  readonly stream: StreamRef
  readonly sortable: readonly string[]
  readonly scope: ReconcileScope
  readonly config: MirrorConfig
  readonly verdict: DeletionVerdict | null
  /** What the key saw when the run began. Default: not known, so it is not compared with that of the mirror's last run. */
  readonly sight?: KeyVisibility | null
}

type ReconcileLedger = Differences & StepStates & Streams

/**
 * Compares a stream until it is done, its time is over, or a person has to decide about deletions.
 * @throws SyncError `reconcile_unread` where the mirror has to run first, `reconcile_extra` where too much is gone,
 *   `mirror_type`, `warehouse_altered`; Blocked, ServiceFailure, QuotaWait: it goes on from there; FenceLost
 */
export async function reconcileStream(
  deps: MirrorDeps<ReconcileLedger>,
  job: ReconcileStreamJob,
): Promise<StreamResult> {
  const { tables, ledger } = deps
  const type = job.stream.name
  const reader = new Reader(deps)
  const schema = await readType(reader, deps, type)
  const [stream] = await tables.streams([type])
  // Whoever mirrors the stream is overtaken only where something is to be written.
  const claim = stream && job.scope.repair ? await tables.claim(type) : null
  const text = claim ? claim.position : stream ? await tables.position(type) : null
  const position = text === null ? null : parsePosition(text, tables.place, type)
  if (stream === undefined || position === null || position.listedAt === null)
    throw new SyncError(
      'reconcile_unread',
      `${type} was not read to its end yet, so there is nothing to compare; run the mirror first`,
    )
  checkSchema(schema, stream, job.config)
  reader.goOnFrom(position.askedAt)
  const axis = partitionKey(job, schema, stream)
  // What another view mends, only a full listing finds again.
  const isOther = otherThanListed(job.sight, position) !== null
  const stored = isOther ? JSON.stringify({ ...position, wanting: true }) : text!
  const writer = claim && { fence: claim.fence, position: stored }
  const kept = parseState(await ledger.loadStepState(job.run, type))
  const work = new Reconciliation(deps, job, {
    schema,
    stream,
    position,
    axis,
    writer,
    reader,
    kept,
  })
  return await work.run()
}

/** Rows that were made for other properties say nothing of the records. */
function checkSchema(schema: ObjectSchema, stream: MirrorStream, config: MirrorConfig): void {
  const { change, frozen } = evolveSchema(schema.name, stream, schema, config.schema_changes, [])
  if (change === null && frozen.length === 0) return
  const what =
    change === null
      ? frozen
      : [...change.add.map(({ name }) => name), ...change.retire, ...change.revive]
  throw new SyncError(
    'reconcile_unread',
    `${schema.name}: the properties changed since the mirror ran last (${what.join(', ')}); run it first`,
  )
}

interface Parts {
  readonly schema: ObjectSchema
  readonly stream: MirrorStream
  readonly position: StreamPosition
  readonly axis: PartitionKey
  readonly writer: RepairWriter | null
  readonly reader: Reader
  readonly kept: ReconcileState | null
}

class Reconciliation {
  readonly #deps: MirrorDeps<ReconcileLedger>
  readonly #job: ReconcileStreamJob
  readonly #parts: Parts
  readonly #looker: RecordDiffer
  readonly #shares: Partitions
  readonly #place: ReconcileState
  readonly #endsAtMs: number
  readonly #requestsBefore: number
  /** What is later was not read by the mirror. */
  readonly #mark: string | null
  /** In what the key sees less than that of the mirror's last run. */
  readonly #less: string | null
  /** Why the key may see others than were listed. */
  readonly #other: string | null
  #table: Pick<StreamBooks, 'tableCount' | 'misfits'> = { tableCount: null, misfits: null }
  #refused: string | null = null
  #asked: string | null = null

  constructor(deps: MirrorDeps<ReconcileLedger>, job: ReconcileStreamJob, parts: Parts) {
    const { axis, position, schema, stream, reader, writer } = parts
    this.#deps = deps
    this.#job = job
    this.#parts = parts
    this.#endsAtMs = deps.clock.now() + deps.tuning.stream_ms
    this.#less = lostSinceLastRun(job.sight, position)
    this.#other = otherThanListed(job.sight, position)
    this.#mark = axis.kind === 'modified' ? position.watermark : position.listedAt
    // Two views may count as many records and have others.
    const isRead = job.scope.full || this.#other !== null
    const how = job.scope.sample !== null ? 'sample' : isRead ? 'read' : 'counted'
    this.#place = parts.kept ?? initialState({ axis: axis.kind, how, watermark: this.#mark })
    this.#requestsBefore = this.#place.tally.requests
    const modified = axis.kind === 'modified' ? axis.property : null
    const local = createSerialQueue(deps.tables)
    this.#looker = new RecordDiffer(deps, {
      local,
      run: job.run,
      type: schema.name,
      stream,
      reader,
      axis,
      writer,
      compare: createRowComparer({ stream, modified }),
      rowOf: compileRow(stream, { version: modified }),
      isUnread: (record) => this.#isUnread(record),
      read: (records) => {
        this.#place.tally.read += records
      },
      merged: (counts) => addMerge(this.#place.tally, counts),
    })
    this.#shares = new Partitions(deps, {
      schema,
      stream,
      partitionKey: axis,
      reader,
      local,
      differ: this.#looker,
      sample: job.scope.sample,
      mark: this.#mark,
      place: this.#place,
    })
  }

  #isUnread(record: RecordRepresentation): boolean {
    const value = recordInstant(this.#parts.axis, record)
    return value !== null && (this.#mark === null || compareInstants(value, this.#mark) > 0)
  }

  async run(): Promise<StreamResult> {
    const place = this.#place
    // Whoever goes on learns from it that something may be mended already.
    await this.#keep()
    if (place.phase === 'look') {
      if (!(await this.#look())) {
        await this.#keep()
        return { state: 'again' }
      }
      await this.#keep()
      place.phase = 'mend'
    }
    if (place.phase === 'mend') {
      const wait = this.#job.scope.repair ? await this.#mend() : undefined
      if (wait) return wait
      place.phase = 'done'
    }
    const { rows, misfits } = await this.#deps.tables.count(this.#parts.stream)
    this.#table = { tableCount: rows, misfits }
    await this.#keep()
    return { state: 'done' }
  }

  /** Returns whether everything was looked at. */
  async #look(): Promise<boolean> {
    const { axis, schema, reader } = this.#parts
    const place = this.#place
    const looker = this.#looker
    const shares = this.#shares
    // What changed last comes first, always: what is known of it explains its old rows. There a version may well have been
    // missed shortly after another, which no count tells.
    place.pending = 0
    if (place.serviceCount === null) {
      place.serviceCount = await reader.count(schema.name)
      if (place.how === 'counted' && !shares.isWorthCounting(place.serviceCount)) place.how = 'read'
      place.newest = await shares.newest()
      place.spans = await shares.cut()
    }
    const isSample = place.how === 'sample'
    if (axis.kind !== 'none' && !isSample) {
      await looker.examine({ from: place.newest, to: null })
      if (!place.isBeside) {
        await shares.recheckUnsettled()
        place.isBeside = true
      }
    }
    await looker.commit()
    const look = await shares.look()
    const finished = new Set<PartitionRange>()
    const queue = [...place.spans]
    const keep = async () => {
      const done = new Set(finished)
      await looker.commit()
      place.spans = place.spans.filter((span) => !done.has(span))
      await this.#keep()
    }
    const stop = new AbortController()
    const lane = async () => {
      try {
        for (let span = queue.shift(); span !== undefined; span = queue.shift()) {
          await look(span)
          finished.add(span)
          const isDue = finished.size % UNKEPT_MAX === 0 || place.how === 'read'
          if (isDue) await keep()
          if (this.#isLate() || stop.signal.aborted) return
        }
      } catch (error) {
        stop.abort()
        throw error
      }
    }
    const lanes = Array.from({ length: this.#deps.tuning.readers }, lane)
    for (const result of await Promise.allSettled(lanes))
      if (result.status === 'rejected') throw result.reason
    await keep()
    return place.spans.length === 0
  }

  /** Deletes rows whose records are gone, as far as that is permitted, and settles what was mended before a kill. */
  async #mend(): Promise<StreamResult | undefined> {
    const { writer } = this.#parts
    const looker = this.#looker
    if (this.#parts.kept !== null) await this.#settle()
    const gone = await this.#left((kind) => kind === 'extra')
    if (gone.length === 0 || writer === null) return undefined
    const { tables, ledger } = this.#deps
    const { run, config, verdict } = this.#job
    const { stream, schema, reader } = this.#parts
    const { rows: of } = await tables.count(stream)
    const share = `${gone.length} of ${of} rows`
    const isLess = this.#less !== null
    const may = deletionPermission(gone.length, of, config, verdict, { isLess })
    if (may === 'ask') {
      this.#asked = `${share} would be deleted, ${whyAsked(config, isLess)}; approve or reject it`
      await this.#keep()
      return { state: 'approval', rows: gone.length, of }
    }
    if (may === 'refused') {
      this.#refused = `the deletion of ${share} was rejected`
      return undefined
    }
    const at = reader.now()
    this.#place.tally.deleted += await tables.delete(stream, writer.fence, writer.position, {
      before: at,
      ids: gone,
      how: config.deletions,
      at,
    })
    for (let from = 0; from < gone.length; from += DIFFERENCES_PAGE) {
      const some = gone.slice(from, from + DIFFERENCES_PAGE)
      await ledger.noteDifferences(
        run,
        some.map((id) => extraRow(schema.name, id)),
        { repaired: true },
      )
    }
    await looker.commit()
    return undefined
  }

  /** What was noted as not mended before somebody else went on: it may be mended, or may have changed while a person was asked. */
  async #settle(): Promise<void> {
    const { ledger } = this.#deps
    const left = await this.#left(() => true)
    const equal = new Set(await this.#looker.compare(left))
    if (equal.size === 0) return
    for await (const rows of this.#differences()) {
      const mended = rows.filter(({ recordId }) => equal.has(recordId!))
      if (mended.length > 0) await ledger.noteDifferences(this.#job.run, mended, { repaired: true })
    }
  }

  /** Ids of the records with differences that are not mended. */
  async #left(of: (kind: DifferenceKind) => boolean): Promise<string[]> {
    const ids = new Set<string>()
    for await (const rows of this.#differences())
      for (const { kind, recordId } of rows)
        if (of(kind) && ids.size < UNSETTLED_MAX) ids.add(recordId!)
    return [...ids]
  }

  /** The stream's differences that are not mended, in pages; those of a record are in the same one. */
  async *#differences(): AsyncGenerator<readonly Difference[]> {
    const { ledger, beat, signal } = this.#deps
    let left: Difference[] = []
    for (let after: number | null = 0; after !== null;) {
      const choice = { after, limit: DIFFERENCES_PAGE, isRepaired: false }
      const { rows, next } = await ledger.differences(this.#job.run, choice)
      signal.throwIfAborted()
      beat()
      left.push(...rows.filter(({ stream }) => stream === this.#parts.schema.name))
      const last = next === null ? undefined : left.at(-1)?.recordId
      yield left.filter(({ recordId }) => recordId !== last)
      left = left.filter(({ recordId }) => recordId === last)
      after = next
    }
  }

  #isLate(): boolean {
    return this.#deps.clock.now() >= this.#endsAtMs
  }

  /** Notes the figures, and where it stands. */
  async #keep(): Promise<void> {
    if (this.#place.phase === 'look') this.#place.pending = this.#looker.pending.size
    await this.#note()
    const text = JSON.stringify(this.#place)
    await this.#deps.ledger.saveStepState(this.#job.run, this.#parts.schema.name, text)
  }

  async #note(): Promise<void> {
    const { stream, schema, reader } = this.#parts
    const { phase, how, serviceCount, tally } = this.#place
    tally.requests = this.#requestsBefore + reader.requests
    const working = phase === 'look' ? 'pulling' : phase === 'mend' ? 'sweeping' : 'complete'
    await this.#deps.ledger.noteStream(this.#job.run, {
      ...waitingStream(schema.name),
      table: stream.table,
      state: this.#asked === null ? working : 'approval',
      mode: how === 'read' ? 'full' : 'incremental',
      ...tally,
      ...this.#table,
      serviceCount,
      message: this.#message(),
    })
  }

  #message(): string | null {
    const { pending, how, axis } = this.#place
    const [records, comes, was] =
      pending === 1 ? ['record', 'it comes', 'it was'] : ['records', 'they come', 'they were']
    const then = this.#job.scope.repair ? `${was} read too` : `${comes} with its next run`
    const parts = [
      ...[this.#asked, this.#less, this.#other].filter((text) => text !== null),
      ...(pending === 0
        ? []
        : [`${formatNumber(pending)} ${records} changed since the mirror ran last; ${then}`]),
      ...(axis === 'created' && how === 'counted'
        ? ['counted by time of creation, which does not tell of values that changed; full does']
        : []),
      ...(this.#refused === null ? [] : [this.#refused]),
    ]
    return parts.length === 0 ? null : parts.join('; ')
  }
}
