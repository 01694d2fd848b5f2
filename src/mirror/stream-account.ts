// The account of one stream's run: its state, its figures, and what it reports. It is stored in two places: the position in the
// warehouse, with the rows; the figures in the ledger, for people. A sentence that was reported stays until the run ends, whichever
// worker continues.

import { formatNumber, joinTexts } from '../core/format.ts'
import type { StreamBooks } from '../ledger/ledger.ts'
import type { MergeCounts, MirrorStream } from '../warehouses/mirror-tables.ts'
import type { MirrorDeps } from './ports.ts'
import { addMerge, type StreamPosition } from './position.ts'
import type { Reader } from './reader.ts'

/** Sentences of a run, at most. */
const SAID_MAX = 10

export interface AccountParts {
  readonly run: number
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: StreamPosition
  readonly reader: Pick<Reader, 'requests' | 'latest'>
}

export class StreamAccount {
  readonly position: StreamPosition
  readonly #deps: Pick<MirrorDeps, 'tables' | 'ledger'>
  readonly #parts: AccountParts
  readonly #requestsBefore: number
  /** The position as it was stored last. */
  #stored = ''
  /** The question to a person; null if there is none. */
  #asked: string | null = null
  #books: Pick<StreamBooks, 'misfits' | 'serviceCount' | 'tableCount'> = {
    misfits: null,
    serviceCount: null,
    tableCount: null,
  }

  constructor(deps: Pick<MirrorDeps, 'tables' | 'ledger'>, parts: AccountParts) {
    this.#deps = deps
    this.#parts = parts
    this.position = parts.position
    this.#requestsBefore = parts.position.run.tally.requests
  }

  /** Adds a sentence that is reported until the run ends. */
  say(sentence: string): void {
    const said = (this.position.run.said ??= [])
    if (!said.includes(sentence) && said.length < SAID_MAX) said.push(sentence)
  }

  /** Reports a difference from the service that the run could not repair. */
  differ(sentence: string): void {
    this.position.run.differs = true
    this.say(sentence)
  }

  /** Lets the stream wait for a person's decision. */
  ask(question: string): void {
    this.#asked = question
  }

  /** Notes both counts. Returns by how many rows the table has more. */
  compare(
    serviceCount: number,
    table: { readonly rows: number; readonly misfits: number },
  ): number {
    this.position.counted = serviceCount
    const { rows: tableCount, misfits } = table
    this.#books = { serviceCount, tableCount, misfits }
    return tableCount - serviceCount
  }

  /** The position now, as text; the caller stores it. */
  snapshot(): string {
    this.#countRequests()
    const { latest } = this.#parts.reader
    if (latest !== null) this.position.askedAt = latest
    return (this.#stored = JSON.stringify(this.position))
  }

  /** Stores the position if no merge did. @throws FenceLost */
  async store(): Promise<void> {
    const before = this.#stored
    const position = this.snapshot()
    const { stream, fence } = this.#parts
    if (position !== before) await this.#deps.tables.move(stream.name, fence, position)
  }

  async merged(counts: MergeCounts): Promise<void> {
    addMerge(this.position.run.tally, counts)
    await this.note()
  }

  /** Writes the figures into the ledger. */
  async note(): Promise<void> {
    this.#countRequests()
    const { run, counted } = this.position
    // The count of all records does not apply to a window.
    const known = run.window ? null : counted
    const state = this.#state()
    await this.#deps.ledger.noteStream(this.#parts.run, {
      stream: this.#parts.stream.name,
      table: this.#parts.stream.table,
      state,
      mode: run.full ? 'full' : 'incremental',
      ...run.tally,
      ...this.#books,
      serviceCount: this.#books.serviceCount ?? known,
      differs: run.differs ?? (state === 'complete' && !run.window ? false : null),
      message: this.#message(),
    })
  }

  #message(): string | null {
    const { tally, said = [] } = this.position.run
    const reverted = tally.reverted === 0 ? null : revertedText(tally.reverted)
    return joinTexts(this.#asked, reverted, ...said)
  }

  #countRequests(): void {
    this.position.run.tally.requests = this.#requestsBefore + this.#parts.reader.requests
  }

  #state(): StreamBooks['state'] {
    if (this.#asked !== null) return 'approval'
    const { phase } = this.position.run
    if (phase === 'done') return 'complete'
    return ['list', 'changes', 'window'].includes(phase) ? 'pulling' : 'sweeping'
  }
}

const revertedText = (rows: number): string =>
  rows === 1
    ? '1 row was newer than its record at the service, which may have been put back from a backup; it holds what the service holds now'
    : `${formatNumber(rows)} rows were newer than their records at the service, which may have been put back from a backup; they hold what the service holds now`
