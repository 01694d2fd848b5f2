// One stream of a reconciliation: the records of an object type against the rows of their table. Its state is stored in the ledger
// partition by partition, so that another worker repeats only what was in progress.

import type { ObjectSchema } from '../../contract/index.ts'
import { SyncError } from '../../core/errors.ts'
import { formatNumber, joinTexts } from '../../core/format.ts'
import type { ReconcileScope } from '../../core/domain/purpose.ts'
import type { MirrorConfig } from '../../../config/index.ts'
import type { StreamBooks } from '../../ledger/ledger.ts'
import type { MirrorStream } from '../../warehouses/mirror-tables.ts'
import { evolveSchema } from '../schema-evolution.ts'
import { lostSinceLastRun, otherThanListed } from '../last-visibility.ts'
import { waitingStream } from '../streams.ts'
import { tableIds } from '../table-ids.ts'
import type { StreamJob, StreamResult } from '../ports.ts'
import { addMerge, parsePosition, type StreamPosition } from '../position.ts'
import { Reader } from '../reader.ts'
import { asideText } from '../stream-account.ts'
import { compileRow } from '../columns.ts'
import { readType } from '../stream.ts'
import { compareInstants, createRowComparer } from './compare.ts'
import { deleteExtras, settleUnrepaired } from './unrepaired.ts'
import { partitionKey, recordInstant } from './partition-key.ts'
import { RecordDiffer } from './record-differ.ts'
import { createSerialQueue } from './local-tables.ts'
import { initialState, parseState, type ReconcileState, type PartitionRange } from './state.ts'
import { Partitions } from './partitions.ts'
import type { ReconcileWork } from './work.ts'

/** Partitions that may be checked before the state is stored. */
const UNSTORED_MAX = 20

/** Its sight is compared with that of the mirror's last run. */
export interface ReconcileStreamJob extends Pick<
  StreamJob,
  'run' | 'stream' | 'sortable' | 'verdict' | 'sight'
> {
  readonly scope: ReconcileScope
  readonly config: MirrorConfig
}

/**
 * Compares a stream until it is done, its time is over, or a person has to decide about deletions.
 * @throws SyncError `reconcile_unread` if the mirror has to run first, `reconcile_extra` if too much is gone,
 *   `mirror_type`, `warehouse_altered`; Blocked, ServiceFailure, QuotaWait: a retry continues; FenceLost
 */
export async function reconcileStream(
  deps: ReconcileWork['deps'],
  job: ReconcileStreamJob,
): Promise<StreamResult> {
  const { tables, ledger } = deps
  const type = job.stream.name
  const reader = new Reader(deps)
  const schema = await readType(reader, deps, type, job.config)
  const [stream] = await tables.streams([type])
  // Without repair nothing is written, and a running mirror keeps the stream.
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
  const key = partitionKey(job, schema, stream)
  const writer = claim && {
    fence: claim.fence,
    position: () => positionAfter(job, position, reader),
  }
  const modified = key.kind === 'modified' ? key.property : null
  const work = {
    deps,
    run: job.run,
    schema,
    stream,
    key,
    reader,
    local: createSerialQueue(tables),
    compare: createRowComparer({ stream, modified }),
    writer,
    rowOf: compileRow(stream, { version: modified }),
  }
  const state = parseState(await ledger.loadStepState(job.run, type))
  return await new Reconciliation(job, work, { position, stored: state }).run()
}

/** The position for what is written now. */
function positionAfter(
  { sight }: ReconcileStreamJob,
  position: StreamPosition,
  { latest }: Reader,
): string {
  // What a key that sees other records repairs, only a full listing finds again.
  const isOther = otherThanListed(sight, position) !== null
  return JSON.stringify({
    ...position,
    ...(isOther && { wanting: true }),
    // A clock that is set back, or that of another worker, is behind the times of these rows: what is asked for later has later ones.
    ...(latest !== null && { askedAt: latest }),
  })
}

/** Rows with columns for other properties cannot be compared with the records. */
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

/** @param why what a mirror's run has said of the column */
const notComparedText = (why: string): string =>
  `${why}; its column has nothing, so its values are left out and not compared`

/** Ids of a table that are read together. */
const IDS_PAGE = 10_000

interface Begun {
  readonly position: StreamPosition
  /** As a worker of this run stored it; null if it is the first. */
  readonly stored: ReconcileState | null
}

class Reconciliation {
  readonly #job: ReconcileStreamJob
  readonly #work: ReconcileWork
  readonly #differ: RecordDiffer
  readonly #partitions: Partitions
  readonly #state: ReconcileState
  readonly #isFirst: boolean
  readonly #endsAtMs: number
  readonly #requestsBefore: number
  /** How the key sees less than that of the mirror's last run. */
  readonly #less: string | null
  /** Why the key may see other records than were listed. */
  readonly #other: string | null
  /** Columns that have nothing, because no value fits, a sentence each. */
  readonly #unfilled: readonly string[]
  #table: Pick<StreamBooks, 'tableCount' | 'misfits'> = { tableCount: null, misfits: null }
  #refused: string | null = null
  #asked: string | null = null

  constructor(
    job: ReconcileStreamJob,
    work: Omit<ReconcileWork, 'isUnread' | 'read' | 'merged'>,
    { position, stored }: Begun,
  ) {
    const { deps, key } = work
    this.#job = job
    this.#isFirst = stored === null
    this.#endsAtMs = deps.clock.now() + deps.tuning.stream_ms
    this.#less = lostSinceLastRun(job.sight, position)
    this.#other = otherThanListed(job.sight, position)
    this.#unfilled = Object.values(position.unfilled ?? {}).map(notComparedText)
    const mark = key.kind === 'modified' ? position.watermark : position.listedAt
    // Two keys may count the same number of records and see different ones.
    const isRead = job.scope.full || this.#other !== null
    const how = job.scope.sample !== null ? 'sample' : isRead ? 'read' : 'counted'
    const state = stored ?? initialState({ axis: key.kind, how, watermark: mark })
    this.#state = state
    this.#requestsBefore = state.tally.requests
    this.#work = {
      ...work,
      isUnread: (record) => {
        const value = recordInstant(key, record)
        return value !== null && (mark === null || compareInstants(value, mark) > 0)
      },
      read: (records) => {
        state.tally.read += records
      },
      merged: (counts) => addMerge(state.tally, counts),
    }
    this.#differ = new RecordDiffer(this.#work)
    const options = { sample: job.scope.sample, mark, state }
    this.#partitions = new Partitions(this.#work, this.#differ, options)
  }

  async run(): Promise<StreamResult> {
    const state = this.#state
    // The next worker learns from it that something may be repaired already.
    await this.#store()
    if (state.phase === 'look') {
      const isComplete = await this.#compare()
      await this.#store()
      if (!isComplete) return { state: 'again' }
      state.phase = 'mend'
    }
    if (state.phase === 'mend') {
      const wait = this.#job.scope.repair ? await this.#repair() : undefined
      if (wait) return wait
      state.phase = 'done'
    }
    const { rows, misfits } = await this.#work.deps.tables.count(this.#work.stream)
    this.#table = { tableCount: rows, misfits }
    await this.#store()
    await this.#checkUnique(rows)
    return { state: 'done' }
  }

  /** A row that is there twice is equal to its record, twice. No key of the table may prevent it. @throws SyncError `warehouse_altered` */
  async #checkUnique(rows: number): Promise<void> {
    const { deps, stream } = this.#work
    if (rows <= (this.#state.serviceCount ?? rows)) return
    let different = 0
    let last: string | null = null
    for await (const ids of tableIds(deps.tables, stream, { limit: IDS_PAGE })) {
      for (const id of ids) {
        if (id !== last) different++
        last = id
      }
      deps.beat()
    }
    if (rows <= different) return
    throw new SyncError(
      'warehouse_altered',
      `The warehouse ${deps.tables.place} was altered: ${stream.table} has ${formatNumber(rows)} rows of ${formatNumber(different)} records; expected each _id once: remove the others, which this lists: SELECT _id FROM ${stream.table} GROUP BY _id HAVING count(*) > 1`,
    )
  }

  /** Returns whether everything was compared. */
  async #compare(): Promise<boolean> {
    const { key, schema, reader } = this.#work
    const state = this.#state
    const differ = this.#differ
    const partitions = this.#partitions
    state.pending = 0
    if (state.serviceCount === null) {
      state.serviceCount = await reader.count(schema.name)
      if (state.how === 'counted' && !partitions.isWorthCounting(state.serviceCount))
        state.how = 'read'
      state.newest = await partitions.newest()
      state.spans = await partitions.cut()
    }
    // The newest records come first, always: what is known of them explains their old rows. Of these the mirror most easily
    // misses a version that follows shortly on another, which no count shows.
    if (key.kind !== 'none' && state.how !== 'sample') {
      await differ.examine({ from: state.newest, to: null })
      if (!state.isBeside) {
        await partitions.checkUnpartitioned()
        state.isBeside = true
      }
    }
    await differ.commit()
    await this.#checkPartitions(await partitions.checker())
    return state.spans.length === 0
  }

  /** Checks the partitions that are left, several at a time, until the activity's time is over. */
  async #checkPartitions(check: (range: PartitionRange) => Promise<void>): Promise<void> {
    const state = this.#state
    const finished = new Set<PartitionRange>()
    const queue = [...state.spans]
    const storeFinished = async () => {
      const done = new Set(finished)
      await this.#differ.commit()
      state.spans = state.spans.filter((range) => !done.has(range))
      await this.#store()
    }
    const stop = new AbortController()
    const lane = async () => {
      try {
        for (let range = queue.shift(); range !== undefined; range = queue.shift()) {
          await check(range)
          finished.add(range)
          const isDue = finished.size % UNSTORED_MAX === 0 || state.how === 'read'
          if (isDue) await storeFinished()
          if (this.#isLate() || stop.signal.aborted) return
        }
      } catch (error) {
        stop.abort()
        throw error
      }
    }
    const lanes = Array.from({ length: this.#work.deps.tuning.readers }, lane)
    for (const result of await Promise.allSettled(lanes))
      if (result.status === 'rejected') throw result.reason
    await storeFinished()
  }

  /** Deletes rows whose records are gone, and settles what was repaired before a kill. */
  async #repair(): Promise<StreamResult | undefined> {
    if (!this.#isFirst) await settleUnrepaired(this.#work, this.#differ)
    const { config, verdict } = this.#job
    const result = await deleteExtras(this.#work, config, { verdict, isLess: this.#less !== null })
    switch (result.state) {
      case 'ask':
        this.#asked = result.text
        await this.#store()
        return { state: 'approval', rows: result.rows, of: result.of }
      case 'refused':
        this.#refused = result.text
        return undefined
      case 'deleted':
        this.#state.tally.deleted += result.rows
        await this.#differ.commit()
        return undefined
    }
  }

  #isLate(): boolean {
    return this.#work.deps.clock.now() >= this.#endsAtMs
  }

  /** Stores the figures, and the state for the next worker. */
  async #store(): Promise<void> {
    const { deps, run, schema } = this.#work
    if (this.#state.phase === 'look') this.#state.pending = this.#differ.pending.size
    await this.#note()
    await deps.ledger.saveStepState(run, schema.name, JSON.stringify(this.#state))
  }

  async #note(): Promise<void> {
    const { deps, run, stream, schema, reader } = this.#work
    const { phase, how, serviceCount, tally } = this.#state
    tally.requests = this.#requestsBefore + reader.requests
    const unread = { ...this.#state.unread, ...Object.fromEntries(reader.unread) }
    this.#state.unread = unread
    const differs = Object.keys(unread).length > 0 || this.#unfilled.length > 0
    const working = phase === 'look' ? 'pulling' : phase === 'mend' ? 'sweeping' : 'complete'
    await deps.ledger.noteStream(run, {
      ...waitingStream(schema.name),
      table: stream.table,
      state: this.#asked === null ? working : 'approval',
      mode: how === 'read' ? 'full' : 'incremental',
      ...tally,
      ...this.#table,
      serviceCount,
      ...(differs && { differs }),
      message: this.#message(),
    })
  }

  #message(): string | null {
    const { pending, how, axis, unread = {} } = this.#state
    const [records, comes, was] =
      pending === 1 ? ['record', 'it comes', 'it was'] : ['records', 'they come', 'they were']
    const then = this.#job.scope.repair ? `${was} read too` : `${comes} with its next run`
    return joinTexts(
      this.#asked,
      asideText(unread),
      ...this.#unfilled,
      this.#less,
      this.#other,
      pending === 0
        ? null
        : `${formatNumber(pending)} ${records} changed since the mirror ran last; ${then}`,
      axis === 'created' && how === 'counted'
        ? 'counted by time of creation, which does not show changed values; full does'
        : null,
      this.#refused,
    )
  }
}
