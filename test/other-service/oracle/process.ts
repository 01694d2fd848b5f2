// A worker that may be killed, and the workflow that outlives it: what an activity returned is kept, and one that was killed is begun
// again by another worker, with a ledger and a client of its own.

import { ApplicationFailure } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { importActivities, type ImportActivities } from '../../../activities/import.ts'
import type { ImportSync } from '../../../config/index.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import type { Task } from '../../../src/core/domain/purpose.ts'
import { silentLogger, systemClock, type Clock } from '../../../src/core/ports.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSource } from '../../../src/sources/index.ts'
import type { Extent, Source } from '../../../src/sources/source.ts'
import type { Faults, OtherService } from '../index.ts'
import { killAfter, revive, watchLedger } from './killer.ts'
import { quickClock } from '../../quick-clock.ts'
import type { Dice } from './world.ts'
import { isOwnWorkflow } from '../../own-workflow.ts'

/** How often an activity is begun, at most. */
const TRIES_MAX = 200
const HOUR = 3_600_000
/** Steps with few requests among many statements: there most kills are at a request that writes, as it arrives or before its answer. */
const WRITES_SINGLY: ReadonlySet<string> = new Set(['linkRows', 'removeImport'])
const WRITES_MAX = 4

export interface Killing {
  /** Of 1: how probable it is that an activity is killed; and how far it gets, in steps. */
  readonly rate: number
  readonly within: number
}

export interface ProcessParts {
  readonly chance: Dice
  readonly service: OtherService
  /** The syncs of the configuration, by name. */
  readonly syncs: ReadonlyMap<string, ImportSync>
  /** Opens the ledger as a new process does. */
  openLedger(): Promise<Ledger>
  /** What goes wrong with requests while the worker lives. */
  faults(): readonly Faults[]
  /** The answer of the query of an incremental sync. */
  query(sync: string, above: number): Source
  /** Told when a worker is killed, as it happens. */
  died?(): void
  /** Resolves once the service is up: Temporal waits before it begins an activity again. */
  isUp?(): Promise<void>
}

type Ended<Result> = { result: Result } | { error: unknown } | 'killed'

export class Process {
  readonly #parts: ProcessParts
  #ledger: Ledger | null = null
  #client: RecordsClient | null = null
  #killing: Killing | null = null
  /** Clocks go on after a kill: what a dead process has sent has arrived by then. */
  #ahead = 0
  #executions = 0
  #activities: ImportActivities | null = null
  kills = 0

  constructor(parts: ProcessParts) {
    this.#parts = parts
  }

  get ledger(): Ledger {
    return this.#ledger!
  }

  get client(): RecordsClient {
    return this.#client!
  }

  /** As the activities have it. */
  readonly clock: Clock = { ...systemClock, now: () => Date.now() + this.#ahead }

  async start(): Promise<void> {
    const { service, syncs } = this.#parts
    const ledger = watchLedger(await this.#parts.openLedger())
    const client = new RecordsClient({
      baseUrl: service.url,
      key: service.key,
      clock: quickClock(),
    })
    this.#ledger = ledger
    this.#client = client
    this.#activities = importActivities({
      ledger,
      clock: this.clock,
      logger: silentLogger,
      watch: { changed: async () => {} },
      isLive: isOwnWorkflow,
      loadSync: async (name) => syncs.get(name)!,
      loadSyncs: async () => [...syncs.values()],
      connect: async () => ({ client, keyFingerprint: 'test' }),
      openSource: (sync, signal, extent) => this.openSource(sync, signal, extent),
    })
  }

  async openSource(sync: ImportSync, signal: AbortSignal, extent: Extent): Promise<Source> {
    if ('query' in sync.import.from)
      return this.#parts.query(sync.name, Number(extent.watermark?.value ?? 0))
    const openers = {
      connect: async () => ({ client: this.client }),
      openWarehouse: () => Promise.reject(new Error('not asked')),
      openTextTables: () => Promise.reject(new Error('not asked')),
    }
    return await openSource(sync, openers, signal, extent)
  }

  async stop(): Promise<void> {
    await this.#client?.close()
    await this.#ledger?.close()
  }

  /** Workers are killed from now on; null: no more. */
  kill(killing: Killing | null): void {
    this.#killing = killing
  }

  /** A workflow of its own for each run: its activities, one after the other. */
  begin(): Workflow {
    return new Workflow(this, `run-${this.#executions++}`)
  }

  /** Whether the worker was killed before the activity ended. */
  async attempt<Input, Result>(
    name: keyof ImportActivities,
    input: Input,
    runId: string,
  ): Promise<Ended<Result>> {
    const environment = new MockActivityEnvironment(
      { workflowExecution: { workflowId: 'import', runId } },
      { logger: new DefaultLogger('ERROR') },
    )
    const ofWrites = WRITES_SINGLY.has(name) && this.#parts.chance.often(0.7)
    const activity = this.#activities![name] as unknown as (...args: unknown[]) => Promise<Result>
    await this.#parts.isUp?.()
    return await this.#untilKilled(
      () => environment.run(activity, input) as Promise<Result>,
      () => environment.cancel('CANCELLED'),
      ofWrites,
    )
  }

  /** The same of a command, which nobody begins again. */
  async command<Result>(body: (signal: AbortSignal) => Promise<Result>): Promise<Ended<Result>> {
    const killed = new AbortController()
    return await this.#untilKilled(
      () => body(killed.signal),
      () => killed.abort(new Error('the command was killed')),
    )
  }

  async #untilKilled<Result>(
    begin: () => Promise<Result>,
    cancel: () => void,
    ofWrites = false,
  ): Promise<Ended<Result>> {
    const { chance, service, died = () => {} } = this.#parts
    const rate = (this.#killing?.rate ?? 0) * (ofWrites ? 3 : 1)
    const isAimed = this.#killing !== null && chance.often(rate)
    if (isAimed)
      killAfter(
        1 + chance.below(ofWrites ? WRITES_MAX : this.#killing!.within),
        () => {
          died()
          service.set({ faults: [{ rate: 1, kinds: ['drop_before'] }] })
          cancel()
        },
        { ofWrites },
      )
    const ended = await begin().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    )
    // What an activity returned is lost with the worker that dies before it says so.
    const isKilled = revive() || (isAimed && 'result' in ended && chance.often(0.3))
    if (!isKilled) return ended
    this.kills++
    this.#ahead += HOUR
    await this.stop()
    service.set({ faults: this.#parts.faults() })
    await this.start()
    return 'killed'
  }
}

/** The workflow was ended by a person in the middle, with its worker: nothing closes its books. */
export class Terminated extends Error {
  override readonly name = 'Terminated'
}

/** Temporal begins an activity that failed so no more. */
const isFinal = (error: unknown): boolean =>
  error instanceof ApplicationFailure && error.nonRetryable === true

export class Workflow {
  readonly #process: Process
  readonly #runId: string
  /** Whether it ends for good when its worker is killed. */
  diesWithWorker = false
  #run = 0

  constructor(process: Process, runId: string) {
    this.#process = process
    this.#runId = runId
  }

  get run(): number {
    return this.#run
  }

  async call<Result>(name: keyof ImportActivities, input: object): Promise<Result> {
    for (let tries = 1; ; tries++) {
      const ended = await this.#process.attempt<object, Result>(name, input, this.#runId)
      if (ended === 'killed') {
        if (this.diesWithWorker) throw new Terminated()
        if (tries > TRIES_MAX / 2) this.#process.kill(null)
      } else if ('result' in ended) return ended.result
      else if (tries >= TRIES_MAX || isFinal(ended.error)) throw ended.error
    }
  }

  async open(sync: string, task: Task | null, plan?: number): Promise<number> {
    const input = { sync, task, ...(plan !== undefined && { plan }) }
    this.#run = await this.call<number>('openImport', input)
    return this.#run
  }
}
