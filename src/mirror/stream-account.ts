// The account of one stream's run: its state, its figures, and what it reports. It is stored in two places: the position in the
// warehouse, with the rows; the figures in the ledger, for people. A sentence that was reported stays until the run ends, whichever
// worker continues.

import { countText, formatNumber, joinSome, joinTexts } from '../core/format.ts'
import type { StreamBooks } from '../ledger/ledger.ts'
import type { MergeCounts, MirrorStream } from '../warehouses/mirror-tables.ts'
import type { MirrorDeps } from './ports.ts'
import { addMerge, type StreamPosition } from './position.ts'
import type { Reader } from './reader.ts'
import { misfitText } from './value-forms.ts'

/** Sentences of a run, at most. */
const SAID_MAX = 10

export interface AccountParts {
  readonly run: number
  readonly stream: MirrorStream
  readonly fence: number
  readonly position: StreamPosition
  readonly reader: Pick<Reader, 'requests' | 'latest' | 'unread' | 'merged'>
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
    this.#noteAside()
    this.#noteUnfilled()
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
    this.#noteAside()
    this.#noteUnfilled()
    const { run, counted } = this.position
    // The count of all records does not apply to a window.
    const known = run.window ? null : counted
    const state = this.#state()
    const { aside = {}, unfilled = {} } = this.position
    const hasMissed = Object.keys({ ...aside, ...unfilled }).length > 0
    await this.#deps.ledger.noteStream(this.#parts.run, {
      stream: this.#parts.stream.name,
      table: this.#parts.stream.table,
      state,
      mode: run.full ? 'full' : 'incremental',
      ...run.tally,
      ...this.#books,
      serviceCount: this.#books.serviceCount ?? known,
      differs: hasMissed || (run.differs ?? (state === 'complete' && !run.window ? false : null)),
      message: this.#message(),
    })
  }

  #message(): string | null {
    const { run, aside = {} } = this.position
    const { tally, said = [], merged = {} } = run
    const reverted = tally.reverted === 0 ? null : revertedText(tally.reverted)
    return joinTexts(
      this.#asked,
      reverted,
      mergedText(merged),
      asideText(aside),
      joinSome(this.#misfits(), NAMED_MAX, '; '),
      ...said,
    )
  }

  /** Which properties have values that do not fit. */
  #misfits(): string[] {
    const { run, unfilled = {} } = this.position
    const { values = {} } = run
    const { name } = this.#parts.stream
    const texts = new Map(
      Object.entries(unfilled).map(([property, text]) => [
        property,
        `${text}; to leave it out: except: [${name}.${property}]`,
      ]),
    )
    for (const column of this.#parts.stream.columns) {
      const { property, live } = column
      const isRead = live && Object.hasOwn(values, property) && !texts.has(property)
      const text = isRead ? misfitText(column, values[property]!) : null
      if (text !== null) texts.set(property, text)
    }
    return [...texts.values()]
  }

  /** A complete listing shows which columns get nothing at all; one value that fits ends that. */
  #noteUnfilled(): void {
    const { position } = this
    const { run } = position
    if (run.window) return
    if (run.full) position.unfilled = {}
    for (const [property, counts] of Object.entries(run.values ?? {})) {
      if (counts.fit > 0) delete position.unfilled?.[property]
      if (!run.full || counts.fit > 0) continue
      const column = this.#parts.stream.columns.find((one) => one.live && one.property === property)
      const text = column && misfitText(column, counts)
      if (text) position.unfilled![property] = text
    }
  }

  /** Takes over what the reader found of single records. */
  #noteAside(): void {
    const { position } = this
    const { unread, merged } = this.#parts.reader
    if (unread.size > 0) position.aside = { ...position.aside, ...Object.fromEntries(unread) }
    if (merged.size > 0)
      position.run.merged = { ...position.run.merged, ...Object.fromEntries(merged) }
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

/** Records that are named, at most. */
const NAMED_MAX = 5

function mergedText(merged: Readonly<Record<string, string>>): string | null {
  const pairs = Object.entries(merged).map(([id, other]) => `${id} (now ${other})`)
  return pairs.length === 0
    ? null
    : `${countText(pairs.length, 'record')} gone, because the service answers with another one: ${joinSome(pairs, NAMED_MAX)}`
}

export function asideText(aside: NonNullable<StreamPosition['aside']>): string {
  const each = Object.entries(aside).map(([id, { why }]) => `${id} (${why})`)
  if (each.length === 0) return ''
  const records = Object.values(aside).reduce((sum, one) => sum + (one.records ?? 1), 0)
  const [are, rows] = records === 1 ? ['was', 'its row stays'] : ['were', 'their rows stay']
  return `${countText(records, 'record')} could not be read and ${are} set aside, ${rows} as before; the next run asks again: ${joinSome(each, NAMED_MAX)}`
}

const revertedText = (rows: number): string =>
  rows === 1
    ? '1 row was newer than its record at the service, which may have been put back from a backup; it holds what the service holds now'
    : `${formatNumber(rows)} rows were newer than their records at the service, which may have been put back from a backup; they hold what the service holds now`
