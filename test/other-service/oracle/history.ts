// A history: syncs over several types run in turns, while their sources change, others work on the service, requests fail, and workers
// are killed. After each run the ledger and the service are compared with a model; at the end nothing is left to be sent.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import assert from 'node:assert/strict'
import { isBalanced, type Books } from '../../../src/core/domain/books.ts'
import type { Task } from '../../../src/core/domain/purpose.ts'
import { dice } from '../random-habits.ts'
import {
  startOtherService,
  type FaultKind,
  type Faults,
  type OtherService,
  type Seen,
} from '../index.ts'
import { MODIFYING, watchRequests } from './killer.ts'
import { Others } from './others.ts'
import type { HistoryOptions } from './play.ts'
import { Process, Terminated, type Workflow } from './process.ts'
import { Rows, cellsOf, queried, type Row } from './rows.ts'
import { RunModel } from './run-model.ts'
import { ServiceModel } from './service-model.ts'
import { SyncModel } from './sync-model.ts'
import {
  REFUSED,
  TYPES,
  associationDefs,
  columnsOf,
  configured,
  syncsOf,
  tuningOf,
  typeDefs,
  type Dice,
  type Tuning,
} from './world.ts'

type Closed = {
  readonly state: string
  readonly books: Books
  readonly resolves?: readonly string[]
}
type Staged = {
  readonly segments: readonly { readonly first: number; readonly last: number }[]
  readonly hasLinks?: true
  readonly removals?: number
  readonly hasLimits: boolean
}

const LOST: readonly FaultKind[] = ['drop_after', 'torn', '503', '429', 'drop_before']
/** What may be sent again: a create that was answered 503 counts as not carried out. */
const REPLAYED = ['batchUpdate', 'batchUpsert', 'batchDelete', 'associateRecords']
/** Rounds until nothing is left to be sent. */
const ROUNDS_MAX = 3

interface Step {
  readonly run: number
  readonly tuning: Tuning
  readonly segment?: Staged['segments'][number]
}

const lossy = (rate: number, on: 'writes' | 'all'): readonly Faults[] => [
  { rate, kinds: LOST, on },
  { rate: rate / LOST.length, kinds: ['503_after'], operations: REPLAYED },
]

/** Whether a request may have changed something. */
const isTaken = ({ operation, status }: Seen): boolean =>
  MODIFYING.test(operation) && (status === null || status < 300)

interface Sync {
  readonly name: string
  readonly model: SyncModel
  readonly rows: Rows
}

export class History {
  readonly #options: HistoryOptions
  readonly #chance: Dice
  readonly #service: OtherService
  readonly #model: ServiceModel
  readonly #syncs: readonly Sync[]
  readonly #process: Process
  readonly #others: Others
  readonly #faults: readonly Faults[]
  readonly #tuning: Tuning
  readonly #hasMidWrites: boolean
  readonly #isLossy: boolean
  /** Ids of records of each type that were ever there. */
  readonly #ids = new Map<string, Set<string>>(TYPES.map((type) => [type, new Set()]))
  #at = 0
  #isQuiet = false

  private constructor(
    options: HistoryOptions,
    service: OtherService,
    chance: Dice,
    hasItemFaults: boolean,
  ) {
    const { often, one } = chance
    this.#options = options
    this.#chance = chance
    this.#service = service
    this.#model = new ServiceModel(service.org)
    const settings = syncsOf(chance)
    this.#syncs = settings.map((setting) => ({
      name: `${options.prefix}${setting.name}`,
      model: new SyncModel(setting),
      rows: new Rows(chance, setting, (type) => [...this.#ids.get(type)!]),
    }))
    this.#faults = often(0.5) ? lossy(0.1 * chance.random(), one('writes', 'all')) : []
    this.#isLossy = this.#faults.length > 0 || hasItemFaults || options.kills
    this.#hasMidWrites = settings.every(({ verify }) => verify === 'none') && often(0.5)
    this.#others = new Others(chance, service.org, this.#model)
    this.#tuning = tuningOf(chance)
    const configs = new Map(
      this.#syncs.map(({ name, model }) => [
        name,
        configured(model.setting, name, join(options.folder, `${name}.csv`)),
      ]),
    )
    this.#process = new Process({
      chance,
      service,
      syncs: configs,
      openLedger: options.openLedger,
      faults: () => (this.#isQuiet ? [] : this.#faults),
      query: (name, above) => {
        const { model, rows } = this.#sync(name)
        return queried(model.setting, rows.file, above)
      },
    })
  }

  /** Returns how many workers were killed. @throws AssertionError */
  static async play(options: HistoryOptions): Promise<number> {
    const chance = dice(options.seed)
    const hasItemFaults = chance.often(0.2)
    const service = await startOtherService({
      seed: options.seed,
      types: typeDefs(),
      associations: associationDefs,
      orgId: options.seed,
      refusesText: REFUSED,
      paths: chance.one('plain', 'other'),
      retryAfter: '0',
      itemFaults: hasItemFaults
        ? { rate: 0.05, applied: chance.random(), status: chance.one(500, 503) }
        : null,
    })
    watchRequests(service)
    const history = new History(options, service, chance, hasItemFaults)
    try {
      return await history.#play()
    } finally {
      await history.#process.stop()
      await service.close()
    }
  }

  async #play(): Promise<number> {
    const { often, one, below } = this.#chance
    const { tell } = this.#options
    tell(`syncs ${JSON.stringify(this.#syncs.map(({ model }) => model.setting))}`)
    await this.#process.start()
    this.#service.set({ faults: this.#faults })
    if (this.#options.kills) this.#process.kill({ rate: 0.25, within: one(30, 120, 300) })
    this.#others.work(below(4)).forEach(tell)
    const steps = 3 + below(5)
    for (let step = 0; step < steps; step++) {
      const sync =
        step < this.#syncs.length && often(0.6) ? this.#syncs[step]! : one(...this.#syncs)
      if (this.#options.move !== undefined && step > 0) {
        await this.#process.stop()
        await this.#options.move()
        await this.#process.start()
      }
      if (often(0.8)) sync.rows.change()
      await this.#run(sync)
      if (often(0.5)) this.#others.work(1 + below(3)).forEach(tell)
      this.#noteIds()
    }
    await this.#settle()
    return this.#process.kills
  }

  /** Nothing fails any more, and the sources are right: after some rounds nothing is left to be sent. */
  async #settle(): Promise<void> {
    this.#isQuiet = true
    this.#process.kill(null)
    this.#service.set({ faults: [], itemFaults: null })
    for (const { rows } of this.#syncs) rows.write(true)
    let last: readonly Seen[] = []
    for (let round = 0; round === 0 || (round <= ROUNDS_MAX && last.some(isTaken)); round++) {
      this.#service.forgetRequests()
      for (const sync of this.#syncs) await this.#run(sync)
      last = this.#service.seen
    }
    const written = last.filter(({ operation }) => MODIFYING.test(operation))
    // A link of a record that is gone, or to one, is asked for in each run, and refused: only the service knows its ids.
    const others = written.filter(
      ({ status, path, body }) =>
        !((status === 404 || status === 422) && this.#hasGone(`${path} ${JSON.stringify(body)}`)),
    )
    assert.deepEqual(
      others.map(({ operation, path, status }) => [operation, path, status]),
      [],
    )
  }

  #hasGone = (text: string): boolean =>
    (text.match(/\b(?:com|con|dea|rec)_\w+/g) ?? []).some((id) => !this.#model.has(id))

  #noteIds(): void {
    for (const { id, type } of this.#model.records.values()) this.#ids.get(type)!.add(id)
  }

  #sync = (name: string): Sync => this.#syncs.find((one) => one.name === name)!

  #write({ name, model, rows }: Sync): readonly Row[] {
    const cell = (text: string) => `"${text}"`
    const lines = [columnsOf(model.setting), ...rows.file.map((row) => cellsOf(model.setting, row))]
    const text = lines.map((cells) => cells.map(cell).join(',')).join('\n')
    writeFileSync(join(this.#options.folder, `${name}.csv`), `${text}\n`)
    return rows.file
  }

  async #run(sync: Sync, isOfLinks = false): Promise<void> {
    const { tell } = this.#options
    const at = ++this.#at
    const models = this.#syncs.map(({ model }) => model)
    const model = new RunModel(
      { service: this.#model, syncs: models, sync: sync.model, at, isLossy: this.#isLossy },
      isOfLinks,
    )
    const file = this.#write(sync)
    tell(`run ${at} of ${sync.name}${isOfLinks ? ' (links)' : ''}`)
    if (!isOfLinks) file.forEach((row) => tell(`  ${JSON.stringify(row)}`))
    const workflow = this.#process.begin()
    const task: Task | null = isOfLinks ? { links: {} } : null
    const run = await workflow.open(sync.name, task)
    model.stage(file)
    const step = { run, tuning: this.#tuning }
    const staged = await workflow.call<Staged>('stageImport', step)
    const cut = this.#isQuiet ? null : this.#cut()
    workflow.diesWithWorker = cut === 'terminated'
    try {
      const closed = await this.#work(workflow, { step, staged, model, sync, cut })
      tell(`  ${JSON.stringify(closed.state)} ${JSON.stringify(shown(closed.books))}`)
      this.#check(closed, model, cut === null ? 'finished' : 'cut', at)
      for (const name of closed.resolves ?? []) await this.#run(this.#sync(name), true)
    } catch (error) {
      if (!(error instanceof Terminated)) throw error
      tell('  terminated')
      // Whoever opens the next run of the sync closes its books.
      const next = this.#process.begin()
      const opened = await next.open(sync.name, null)
      await this.#read(model, run, 'cut')
      const { state, counts } = (await this.#process.ledger.run(run))!
      this.#check({ state, books: counts! }, model, 'cut', at)
      const ending = { kind: 'cancelled' }
      await next.call('closeImport', { ...step, run: opened, ending })
    }
  }

  #cut(): 'cancelled' | 'terminated' | null {
    const { often, one } = this.#chance
    return often(0.15) ? one('cancelled', this.#options.kills ? 'terminated' : 'cancelled') : null
  }

  /** The steps of a run in the order of the workflow, each followed by a look at what it did. */
  async #work(
    workflow: Workflow,
    given: {
      readonly step: Step
      readonly staged: Staged
      readonly model: RunModel
      readonly sync: Sync
      readonly cut: 'cancelled' | 'terminated' | null
    },
  ): Promise<Closed> {
    const { step, staged, model, cut } = given
    const upTo = cut === 'cancelled' ? this.#chance.below(4) : 4
    const isWhole = cut === null
    if (staged.hasLimits) {
      const { excesses } = await workflow.call<{ excesses: readonly object[] }>(
        'reviewImport',
        step,
      )
      if (excesses.length > 0)
        await workflow.call('noteImportVerdict', { run: step.run, approved: true })
    }
    if (upTo > 0)
      for (const segment of staged.segments)
        await this.#slices(workflow, 'pushSegment', { ...step, segment })
    if (isWhole) await model.pushed(this.#process.ledger, step.run, 'finished')
    this.#meanwhile(isWhole)
    if (upTo > 1 && staged.hasLinks) await this.#slices(workflow, 'linkRows', step)
    if (isWhole) await model.linked(this.#process.ledger, step.run, 'finished')
    this.#meanwhile(isWhole)
    if (upTo > 2 && (staged.removals ?? 0) > 0) await this.#slices(workflow, 'removeImport', step)
    if (isWhole) await model.removed(this.#process.ledger, step.run, 'finished')
    const ending = { kind: isWhole ? 'finished' : 'cancelled' }
    const closed = await workflow.call<Closed>('closeImport', { ...step, ending })
    if (!isWhole) await this.#read(model, step.run, 'cut', upTo > 1)
    return closed
  }

  /** Calls an activity until nothing is left. The first slices are short; each is longer than the one before, however slow the machine is. */
  async #slices(
    workflow: Workflow,
    name: 'pushSegment' | 'linkRows' | 'removeImport',
    step: Step,
  ): Promise<void> {
    let { segment_ms } = this.#tuning
    for (let done = false; !done; segment_ms *= 2) {
      const tuning = { ...this.#tuning, segment_ms }
      ;({ done } = await workflow.call<{ done: boolean }>(name, { ...step, tuning }))
    }
  }

  async #read(model: RunModel, run: number, ending: 'cut', isLinkBegun = true): Promise<void> {
    const { ledger } = this.#process
    await model.pushed(ledger, run, ending)
    await model.linked(ledger, run, ending, isLinkBegun)
    await model.removed(ledger, run, ending)
  }

  /** Others work on the service in the middle of a run. */
  #meanwhile(isWhole: boolean): void {
    if (this.#isQuiet || !isWhole || !this.#hasMidWrites || !this.#chance.often(0.3)) return
    this.#others.work(1).forEach((line) => this.#options.tell(`  ${line}`))
  }

  #check({ state, books }: Closed, model: RunModel, ending: 'finished' | 'cut', at: number): void {
    assert.equal(isBalanced(books), true)
    model.closed(state, books, ending)
    this.#model.check(`after run ${at}`)
  }
}

const shown = ({ read, states, links, removals }: Books): object => {
  const some = (counts: object = {}) =>
    Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))
  return { read, ...some(states), links: some(links?.states), removals }
}
