// The account of one stream's run: where it stands, what it did, what people should know. It is stored in two places: the position
// in the warehouse, with the rows; the figures in the ledger, for people.

import type { StreamBooks } from '../ledger/ledger.ts'
import type { MergeCounts, MirrorStream } from '../warehouses/mirror-tables.ts'
import type { MirrorDeps } from './ports.ts'
import { addMerge, type Position } from './position.ts'
import type { Reader } from './reader.ts'

export interface AccountParts {
  readonly run: number
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: Position
  readonly reader: Pick<Reader, 'requests'>
}

export class Account {
  readonly position: Position
  /** For a person's verdict. */
  isWaiting = false
  readonly #deps: Pick<MirrorDeps, 'tables' | 'ledger'>
  readonly #parts: AccountParts
  readonly #requestsBefore: number
  /** The position as it was stored last. */
  #stored = ''
  #books: Pick<StreamBooks, 'misfits' | 'serviceCount' | 'tableCount' | 'message'> = {
    misfits: null,
    serviceCount: null,
    tableCount: null,
    message: null,
  }

  constructor(deps: Pick<MirrorDeps, 'tables' | 'ledger'>, parts: AccountParts) {
    this.#deps = deps
    this.#parts = parts
    this.position = parts.position
    this.#requestsBefore = parts.position.run.tally.requests
  }

  say(message: string): void {
    this.#books = { ...this.#books, message }
  }

  /** Notes both counts. Returns by how many rows the table has more. */
  compare(
    serviceCount: number,
    table: { readonly rows: number; readonly misfits: number },
  ): number {
    this.position.counted = serviceCount
    const { rows: tableCount, misfits } = table
    this.#books = { ...this.#books, serviceCount, tableCount, misfits }
    return tableCount - serviceCount
  }

  /** The position now, as text; whoever stores it says so by asking. */
  snapshot(): string {
    this.#countRequests()
    return (this.#stored = JSON.stringify(this.position))
  }

  /** Stores the position where nothing else did. @throws FenceLost */
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
    // What was counted before says nothing of a part.
    const known = run.window ? null : counted
    await this.#deps.ledger.noteStream(this.#parts.run, {
      stream: this.#parts.stream.name,
      table: this.#parts.stream.table,
      state: this.#state(),
      mode: run.full ? 'full' : 'incremental',
      ...run.tally,
      ...this.#books,
      serviceCount: this.#books.serviceCount ?? known,
    })
  }

  #countRequests(): void {
    this.position.run.tally.requests = this.#requestsBefore + this.#parts.reader.requests
  }

  #state(): StreamBooks['state'] {
    if (this.isWaiting) return 'approval'
    const { phase } = this.position.run
    if (phase === 'done') return 'complete'
    return ['list', 'changes', 'window'].includes(phase) ? 'pulling' : 'sweeping'
  }
}
