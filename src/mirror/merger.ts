// Gathers the rows of pages, and merges them while the next pages are read. Promise kept here: the position that is stored with a
// merge is the one after the pages of that merge, and of no other.

import type {
  MergeCounts,
  MirrorBatch,
  MirrorRow,
  MirrorStream,
} from '../warehouses/mirror-tables.ts'
import type { MirrorDeps } from './ports.ts'

/** Rows that may wait for the current merge, in merges: a reader that is faster than the warehouse waits. */
const WAITING_MAX = 4

export interface MergerOptions {
  readonly run: number
  readonly fence: number
  readonly stream: MirrorStream
  /** The position now, as text. */
  snapshot(): string
  /** Called after each merge. */
  merged(counts: MergeCounts): Promise<void>
  /** Called for rows whose ids the warehouse cannot hold: they are left out. */
  unfit?(rows: number): void
}

interface Gathering {
  readonly batch: MirrorBatch
  readonly adding: Promise<void>[]
  readonly sinceMs: number
  rows: number
}

type MergerDeps = Pick<MirrorDeps, 'tables' | 'clock' | 'tuning' | 'beat'>

export class Merger {
  readonly #deps: MergerDeps
  readonly #options: MergerOptions
  #gathering: Promise<Gathering> | undefined
  #merging: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(deps: MergerDeps, options: MergerOptions) {
    this.#deps = deps
    this.#options = options
  }

  /**
   * Takes the rows of one answer; `moved` notes that in the position. Waits while the warehouse is far behind.
   * @throws the error of an earlier merge
   */
  async take(all: readonly MirrorRow[], askedAt: string, moved: () => void): Promise<void> {
    const { tuning, clock, tables } = this.#deps
    const rows = all.every(({ id }) => tables.holdsId(id))
      ? all
      : all.filter(({ id }) => tables.holdsId(id))
    const gathering = await this.#current()
    this.#rethrow()
    // No pause between these two: a merge that begins now has both, or neither.
    const added = gathering.batch.add(rows, askedAt)
    // The merge gets the failure, however much later it begins.
    added.catch(() => {})
    gathering.adding.push(added)
    if (rows.length < all.length) this.#options.unfit?.(all.length - rows.length)
    moved()
    gathering.rows += rows.length
    const isDue =
      gathering.rows >= tuning.rows_per_merge ||
      gathering.batch.isFull ||
      clock.now() - gathering.sinceMs >= tuning.merge_ms
    if (isDue && this.#merging === undefined) this.#start()
    const isFar = gathering.rows >= WAITING_MAX * tuning.rows_per_merge || gathering.batch.isFull
    if (isFar) await this.#merging
    this.#rethrow()
  }

  /** Merges what is left. */
  async flush(): Promise<void> {
    await this.#merging
    this.#rethrow()
    if (this.#gathering === undefined) return
    await this.#current()
    this.#start()
    await this.#merging
    this.#rethrow()
  }

  /** Discards what was not merged, after the current merge. */
  async drop(): Promise<void> {
    await this.#merging
    const gathering = await this.#gathering?.catch(() => undefined)
    this.#gathering = undefined
    if (!gathering) return
    await Promise.allSettled(gathering.adding)
    await gathering.batch.drop()
  }

  /** The current gathering: a merge may have taken the one from before the wait. */
  async #current(): Promise<Gathering> {
    for (;;) {
      const soon = (this.#gathering ??= this.#begin())
      const gathering = await soon
      if (this.#gathering === soon) return gathering
    }
  }

  async #begin(): Promise<Gathering> {
    const { tables, clock } = this.#deps
    const batch = await tables.batch(this.#options.stream)
    return { batch, adding: [], sinceMs: clock.now(), rows: 0 }
  }

  #start(): void {
    const gathering = this.#gathering!
    this.#gathering = undefined
    const position = this.#options.snapshot()
    this.#merging = this.#merge(gathering, position).then(
      () => {
        this.#merging = undefined
      },
      (error: unknown) => {
        this.#merging = undefined
        this.#failure ??= { error }
      },
    )
  }

  async #merge(gatheringSoon: Promise<Gathering>, position: string): Promise<void> {
    const { run, fence } = this.#options
    const { batch, adding } = await gatheringSoon
    try {
      await Promise.all(adding)
      const counts = await batch.merge({ run, fence, position })
      this.#deps.beat()
      await this.#options.merged(counts)
    } finally {
      await Promise.allSettled(adding)
      await batch.drop()
    }
  }

  #rethrow(): void {
    if (this.#failure) throw this.#failure.error
  }
}
