// The association edges of a type's records: one request for each record. Records that changed come first; the others follow in
// the order of their ids, as long as the run has time, and the next run continues there. Promise kept here: the table's edges of
// a record are those of one answer. edges-removal.ts deletes the others.

import { SyncError } from '../core/errors.ts'
import { forEachConcurrent } from '../core/concurrency.ts'
import { joinTexts } from '../core/format.ts'
import { listNames } from '../core/domain/visibility.ts'
import type { Runs, StreamBooks, Streams } from '../ledger/ledger.ts'
import type { MirrorRow } from '../warehouses/mirror-tables.ts'
import { ageText, restartPassIfNeeded, restartPassOnOtherTable } from './edges-pass.ts'
import { changedAmong, changedOwners, linkEnds } from './edges-owners.ts'
import { edgesPosition, OWNERS_MAX, type EdgesPosition } from './edges-position.ts'
import { EdgesRemoval } from './edges-removal.ts'
import type { EdgesParts } from './edges-work.ts'
import { lostSinceLastRun } from './last-visibility.ts'
import { Merger } from './merger.ts'
import type { MirrorDeps, StreamResult } from './ports.ts'
import { addMerge } from './position.ts'
import { Reader } from './reader.ts'
import { asideText } from './stream-account.ts'
import { edgesStream, openedRun } from './streams.ts'
import { noteTable } from './table-identity.ts'
import { tableIds } from './table-ids.ts'
import { textStream } from './text-table.ts'
import type { RecordsJob } from './records-work.ts'

/** Edges of a record that are read from the table together. */
const ROWS_PAGE = 1_000
const COLUMNS = ['association', 'source_id', 'target_id']

/** Works on the edges of a type until they are done, or the activity's time is over. @throws as `mirrorRecords` */
export async function mirrorEdges(
  deps: MirrorDeps<Runs & Streams>,
  job: RecordsJob,
): Promise<StreamResult> {
  const { tables, client, clock, tuning } = deps
  const type = job.stream.name
  const name = edgesStream(type)
  const [source] = await tables.streams([type])
  if (!source)
    throw new SyncError(
      'mirror_edges',
      `The edges of ${type} cannot be mirrored: its records are not; add it to object_types`,
    )
  const wanted = `${type}_edges`
  const stream = await textStream(tables, { name, wanted, columns: COLUMNS })
  const { fence, position: stored } = await tables.claim(name)
  const opened = await openedRun(deps.ledger, job.run)
  const reader = new Reader(deps)
  // Asked again: a definition may have gone since the run began. The answer also shows the service's clock.
  const definitions = await reader.ask((options) => client.listAssociations(options))
  const position = edgesPosition(stored, opened, {
    full: job.full,
    overlapMs: job.config.overlap_seconds * 1_000,
    aheadMs: client.clockAheadMs(),
    now: ({ askedAt, startedAt }) => {
      reader.goOnFrom(askedAt)
      reader.goOnFrom(startedAt)
      return reader.now()
    },
  })
  restartPassOnOtherTable(position, noteTable(position, stream, await tables.identity(stream)))
  position.run.tally.requests += reader.requests
  const endsAtMs = clock.now() + (job.full ? tuning.stream_ms : tuning.edges_ms)
  const unlisted = job.config.associations.filter(
    (association) => !definitions.some((one) => one.name === association),
  )
  const listed = definitions.filter(
    (one) => one.source === type && job.config.associations.includes(one.name),
  )
  const needed = [type, ...listed.map(({ target }) => target)]
  restartPassIfNeeded(position, job.sight, { needed, associations: listed.map((one) => one.name) })
  const sight = job.sight && {
    ...job.sight,
    types: job.sight.types?.filter((one) => needed.includes(one)) ?? null,
  }
  const ends = await linkEnds(tables, source, listed)
  const isHard = job.config.deletions === 'hard'
  const parts = { source, stream, fence, position, opened, endsAtMs, ends, isHard }
  return await new Edges(deps, job, { ...parts, unlisted: new Set(unlisted), sight }).run()
}

class Edges {
  readonly #deps: MirrorDeps
  readonly #job: RecordsJob
  readonly #parts: EdgesParts
  readonly #position: EdgesPosition
  readonly #named: ReadonlySet<string>
  readonly #ownersMax: number
  readonly #removal: EdgesRemoval
  /** The position as it is stored. */
  #stored: string

  constructor(deps: MirrorDeps, job: RecordsJob, parts: EdgesParts) {
    this.#deps = deps
    this.#job = job
    this.#parts = parts
    this.#position = parts.position
    this.#named = new Set(job.config.associations)
    this.#ownersMax = deps.ownersMax ?? OWNERS_MAX
    this.#stored = JSON.stringify(parts.position)
    const less = lostSinceLastRun(job.sight, parts.position)
    if (less !== null) this.#say(less)
    for (const association of parts.unlisted) this.#differ(unlistedText(association))
    this.#removal = new EdgesRemoval({
      ...parts,
      deps,
      job,
      less,
      readOwners: (ids, priority) => this.#readOwners(ids, priority),
      now: () => (this.#position.askedAt = this.#reader('mirror').now()),
      snapshot: () => (this.#stored = JSON.stringify(this.#position)),
      say: (sentence) => this.#say(sentence),
      differ: (sentence) => this.#differ(sentence),
      note: (state, asked) => this.#note(state, asked),
    })
  }

  #say(sentence: string): void {
    const said = (this.#position.run.said ??= [])
    if (!said.includes(sentence)) said.push(sentence)
  }

  #differ(sentence: string): void {
    this.#position.run.differs = true
    this.#say(sentence)
  }

  async run(): Promise<StreamResult> {
    const { run } = this.#position
    await this.#note('pulling')
    if (run.phase === 'changed' && !(await this.#changed())) return { state: 'again' }
    if (run.phase === 'all' && !(await this.#all())) return { state: 'again' }
    if (run.phase === 'remove') {
      const wait = await this.#removal.run()
      if (wait) return wait
    }
    await this.#note('complete')
    return { state: 'done' }
  }

  /** Reads the records that changed since the last run, and those of edges whose end is gone. None before the first pass. */
  async #changed(): Promise<boolean> {
    const { tables, clock, tuning } = this.#deps
    const { run } = this.#position
    const endsAtMs = clock.now() + tuning.stream_ms
    if (run.from !== null)
      for (;;) {
        const choice = { after: run.after, limit: this.#ownersMax }
        const ids = await changedOwners(tables, this.#parts, choice)
        await this.#check(ids, 'mirror')
        run.after = ids.at(-1) ?? run.after
        await this.#store()
        if (ids.length < this.#ownersMax) break
        if (clock.now() >= endsAtMs) return false
      }
    run.phase = 'all'
    await this.#store()
    return true
  }

  /** Reads every record, from where the last run ended; each at most once in a run. */
  async #all(): Promise<boolean> {
    const { tables, clock } = this.#deps
    const position = this.#position
    const { run } = position
    while (run.isLast !== true) {
      const after = run.reached ?? position.after
      // No id is stored, so this pass is a new one.
      if (after === null) position.startedAt = run.began
      const ids = await tables.ids(this.#parts.source, { after, limit: this.#ownersMax })
      // Those were read already.
      const isSeen = await changedAmong(tables, this.#parts, { after, ids })
      await this.#check(
        ids.filter((id) => !isSeen.has(id)),
        'backfill',
      )
      const last = ids.at(-1)
      if (last !== undefined) run.reached = last
      run.isLast = ids.length < this.#ownersMax
      // With edges to delete, the next run must read these records again if this one does not come to its end.
      if (!run.isLast && run.gone === 0) position.after = run.reached!
      await this.#store()
      if (run.isLast || clock.now() < this.#parts.endsAtMs) continue
      if (run.full) return false
      break
    }
    const age = ageText(position, (await tables.count(this.#parts.source)).rows)
    if (position.other !== undefined)
      if (run.isLast === true) this.#say(position.other)
      else this.#differ(position.other)
    if (age !== null) this.#say(age)
    run.phase = 'remove'
    await this.#store()
    return true
  }

  /** Its times are later than those of other workers. */
  #reader(priority: 'mirror' | 'backfill'): Reader {
    const reader = new Reader({ ...this.#deps, priority })
    reader.goOnFrom(this.#position.askedAt)
    reader.goOnFrom(this.#position.startedAt)
    reader.goOnFrom(this.#position.run.began)
    return reader
  }

  /** Reads the edges of these records, and counts those that are gone. */
  async #check(ids: readonly string[], priority: 'mirror' | 'backfill'): Promise<void> {
    if (ids.length === 0) return
    await this.#readOwners(await this.#removal.thereOf(ids), priority)
    const { gone, old } = await this.#removal.goneOf(ids)
    this.#position.run.gone += gone.length
    this.#position.run.old += old
  }

  /** Reads the edges of these records, and merges them. */
  async #readOwners(ids: readonly string[], priority: 'mirror' | 'backfill'): Promise<void> {
    const { tuning, signal } = this.#deps
    const reader = this.#reader(priority)
    const merger = new Merger(this.#deps, {
      run: this.#job.run,
      fence: this.#parts.fence,
      stream: this.#parts.stream,
      // The state moves on afterwards, when all edges of these records are known; the times of those that are merged count at once.
      snapshot: () => storedAt(this.#stored, reader.latest),
      merged: async (counts) => addMerge(this.#position.run.tally, counts),
    })
    try {
      await forEachConcurrent(ids, tuning.readers, async (id) => {
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
    await this.#note('pulling')
  }

  async #rowsOf(reader: Reader, id: string): Promise<MirrorRow[]> {
    const edges = await reader.edges(this.#parts.source.name, id)
    if (edges === undefined) return await this.#rowsAsBefore(reader, id)
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

  /** Those of a record whose edges cannot be read: merged again, they count as seen and stay. */
  async #rowsAsBefore({ unread }: Reader, id: string): Promise<MirrorRow[]> {
    const { tables } = this.#deps
    const { stream } = this.#parts
    this.#differ(asideText({ [id]: unread.get(id)! }))
    const rows: MirrorRow[] = []
    const owners = { column: 'source_id', values: [id] }
    for await (const ids of tableIds(tables, stream, { limit: ROWS_PAGE, owners }))
      for (const { id: edge, version, cells, misfits } of await tables.rows(stream, ids))
        rows.push({ id: edge, version, cells, misfits })
    return rows
  }

  async #store(): Promise<void> {
    this.#stored = JSON.stringify(this.#position)
    await this.#deps.tables.move(this.#parts.stream.name, this.#parts.fence, this.#stored)
  }

  async #note(state: StreamBooks['state'], asked?: string): Promise<void> {
    const { tally, full, said = [], differs = false } = this.#position.run
    const isOver = state === 'complete'
    const { stream } = this.#parts
    const counted = isOver ? await this.#deps.tables.count(stream) : null
    await this.#deps.ledger.noteStream(this.#job.run, {
      stream: stream.name,
      table: stream.table,
      state,
      mode: full ? 'full' : 'incremental',
      ...tally,
      misfits: counted?.misfits ?? null,
      serviceCount: null,
      tableCount: counted?.rows ?? null,
      differs: isOver || differs ? differs : null,
      message: joinTexts(asked, ...said),
    })
  }
}

/** A position that is stored, with the last time that was used since. */
const storedAt = (position: string, askedAt: string | null): string =>
  JSON.stringify({
    ...(JSON.parse(position) as EdgesPosition),
    ...(askedAt !== null && { askedAt }),
  })

const unlistedText = (association: string): string =>
  `the association ${listNames([association])} is not listed any more, so the key cannot read it, or it is gone; its edges stay as they were`
