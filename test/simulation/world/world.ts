// The world of a history: time, network, services, a machine with its disk, workers, configuration, sources, and a server that runs imports.

import type { Client } from '@temporalio/client'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../../../src/core/ports.ts'
import { numberOf, type Org } from '../../other-service/index.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { readPlan, type MadePlan, type Verdict } from '../model/approved.ts'
import { MirrorJudge } from '../model/mirrored.ts'
import type { EdgeChange } from '../model/edge-log.ts'
import { KEY_MARK, Source, Versions } from '../model/sources.ts'
import { Table } from '../model/tables.ts'
import type { Change } from '../model/service-log.ts'
import { Targets } from '../model/targets.ts'
import { SimulatedTemporal, type Bundle } from '../temporal/index.ts'
import { Network } from '../network/network.ts'
import { NetworkWeather } from '../network/weather.ts'
import { DATABASE_URL, LEDGER_SCHEMA } from '../postgres/names.ts'
import { Database } from '../postgres/database.ts'
import { mirrorReader } from '../postgres/mirror.ts'
import type { RealServer } from '../postgres/thread.ts'
import { isOnPostgres } from '../search/database.ts'
import type { Plan, SyncScene } from '../search/plan.ts'
import { diceOf } from './dice.ts'
import { FileBooks, FOLDER, ledgerTemplate, type Books } from './books.ts'
import { Configuration } from './configuration.ts'
import { install } from './fakes.ts'
import { Linkers } from './linkers.ts'
import { Loop } from './loop.ts'
import { prepareNeighbour } from './neighbour.ts'
import { planWithDiff } from './planning.ts'
import { asWorld, currentProcess, Machine, Process } from './process.ts'
import { ELSEWHERE_ORG, HOME_ORG, OTHER_ORG, startServices, type Services } from './service.ts'
import { closeFilesOf, watchStatements } from './statements.ts'
import { AnswerNotes, type QueryReading } from './queries.ts'
import { Story } from './story.ts'
import { Timetable } from './timetable.ts'
import { MIRROR, Warehouse, type TableReader } from './warehouse.ts'
import { Worker, type WorkerParts } from './worker.ts'

/** The innermost words of a failure, which are ours. */
function causeOf(error: unknown): string {
  let cause = error as Error & { type?: string }
  while (cause.cause instanceof Error) cause = cause.cause
  return cause.type ?? cause.name
}

/** With the digits after it, no double holds such a number. */
const LONG = 9_007_199_254_740_993n

const NEIGHBOUR = 'neighbour'

const { setImmediate: realImmediate } = globalThis

/** When all histories begin. */
export const BEGIN_MS = Date.UTC(2031, 4, 6, 7, 0, 0)

export interface Watchers {
  onChange(change: Change): void
  onEdge(change: EdgeChange): void
  onKey(org: number, key: string): void
  onRefusal(key: string, seconds: number): void
  violate(what: string): void
}

export interface Started {
  readonly sync: string
  readonly type: string
  readonly workflowId: string
  readonly beganAt: number
  /** Null while it is under way. */
  ended: { readonly at: number; readonly how: string } | null
}

/** The workflows of the version that is there, and of the one that workers are upgraded to. */
export interface Bundles {
  readonly now: Bundle
  readonly next: Bundle
}

export class World {
  readonly plan: Plan
  readonly folder: string
  readonly loop = new Loop(BEGIN_MS)
  readonly story: Story
  /** Of all workers; with PostgreSQL, that of its server. */
  readonly machine = new Machine('machine')
  /** Of each worker, with PostgreSQL. */
  readonly machines: readonly Machine[]
  /** Null: there is no PostgreSQL. */
  readonly database: Database | null
  readonly books: Books
  /** Null: the ledger is in PostgreSQL. */
  readonly #file: FileBooks | null
  readonly weather: NetworkWeather
  readonly network: Network
  readonly versions = new Versions()
  readonly sources = new Map<string, Source | Table>()
  /** What queries were answered. */
  readonly readings: QueryReading[] = []
  readonly configuration: Configuration
  readonly temporal: SimulatedTemporal
  readonly client: Client
  readonly runs: Started[] = []
  /** Lines of the logs of all processes. */
  readonly logged: string[] = []
  services!: Services
  /** Those that have not started yet are missing. */
  workers: (Worker | null)[] = []
  /** By their places among the workers. */
  readonly #starting = new Map<number, Process>()
  isDiskFull = false
  isServiceDown = false
  /** The adversary rests. */
  isAtRest = false
  /** Null: nothing is mirrored into a file, and no query is asked. */
  readonly warehouse: Warehouse | null
  readonly #isMirroredInFile: boolean
  readonly mirrorTable: TableReader
  readonly mirrorJudge: MirrorJudge | null
  project = ''
  /** Null: nothing begins by itself. */
  timetable: Timetable | null = null
  /** Null: no rows have links. */
  linkers: Linkers | null = null
  #processes = 0
  #endings: (() => void)[] = []

  /** @param server real, if the plan needs one */
  constructor(plan: Plan, bundles: Bundles, watchers: Watchers, server: RealServer | null) {
    this.plan = plan
    this.folder = mkdtempSync(join(FOLDER, 'records-sync-world-'))
    const now = () => this.loop.now()
    this.story = new Story(now)
    const { tell } = this.story
    const { seed, scene } = plan
    this.weather = new NetworkWeather({
      dice: diceOf(seed, 'network'),
      scene,
      rates: plan.weather,
      now,
      tell,
    })
    this.network = new Network(this.loop, this.weather)
    const { machine } = this
    this.database = null
    if (isOnPostgres(scene))
      this.database = new Database({ loop: this.loop, seed, scene, server: server!, machine, tell })
    this.#file = scene.ledger === 'postgres' ? null : new FileBooks(this.folder)
    this.books = this.#file ?? this.database!
    this.machines = (scene.database?.drifts ?? []).map((drift, at) =>
      Object.assign(new Machine(`machine of worker ${at + 1}`, BEGIN_MS), { drift }),
    )
    machine.aheadMs = scene.database?.clockAhead ?? 0
    this.#isMirroredInFile = scene.mirror !== null && scene.mirror.warehouse !== 'postgres'
    const isAsked = scene.syncs.some(({ query }) => query !== null)
    this.warehouse =
      this.#isMirroredInFile || isAsked ? new Warehouse(this.loop, this.folder) : null
    this.mirrorTable = this.#isMirroredInFile ? this.warehouse!.table : mirrorReader(this.database)
    this.mirrorJudge = scene.mirror ? new MirrorJudge(this, (what) => watchers.violate(what)) : null
    this.configuration = new Configuration(this.folder, scene)
    for (const sync of scene.syncs) {
      const dice = diceOf(seed, `rows of ${sync.name}`)
      const later = (work: () => void) =>
        void this.loop.after(1 + dice.below(30), 'the rest of a file', work)
      const targets = this.#targetsOf(sync)
      const source =
        sync.query === null
          ? new Source(sync, this.folder, this.versions, dice, { now, later, targets })
          : new Table(sync, this.folder, this.versions, dice, now)
      this.sources.set(sync.name, source)
    }
    const wireDice = diceOf(seed, 'wire')
    this.#bundles = bundles
    this.temporal = new SimulatedTemporal({
      scheduler: this.loop,
      dice: diceOf(seed, 'temporal'),
      bundle: bundles.now,
      searchAttributes: new Map(),
      wire: { delay: () => this.weather.wire(wireDice) },
    })
    this.client = this.temporal.client('people')
    this.#watchers = watchers
  }

  readonly #watchers: Watchers
  readonly #bundles: Bundles

  /** What the rows of a sync are linked to. */
  #targetsOf({ name, links }: SyncScene): Targets | null {
    if (links === null) return null
    const { seed, scene } = this.plan
    const rows = scene.syncs.find(({ type }) => type === links.to)?.rows ?? 0
    return new Targets(links, { mark: KEY_MARK, rows }, diceOf(seed, `targets of ${name}`))
  }

  async begin(): Promise<void> {
    const { seed, scene } = this.plan
    this.database?.begin()
    this.#file?.begin()
    if (this.#isMirroredInFile) await this.warehouse!.begin()
    this.#endings.push(
      install({
        loop: this.loop,
        dice: diceOf(seed, 'machine'),
        disk: { reading: () => this.#reading() },
        sockets: this.database?.sockets ?? null,
      }),
      watchStatements({
        hasRoom: () => !this.isDiskFull,
        killed: (process) => {
          this.story.tell(`${process.name} is killed at a statement`)
          asWorld(() => closeFilesOf(process))
          this.restartDead(process)
        },
      }),
    )
    this.services = await startServices({
      loop: this.loop,
      network: this.network,
      plan: this.plan,
      ...this.#watchers,
    })
    this.project = this.query<{ id: string }>('SELECT id FROM project')[0]!.id
    this.#putRecords()
    for (let at = 0; at < scene.workers; at++) void this.startWorker(at)
    if (scene.neighbour) void this.#startNeighbour()
    if (scene.syncs.some(({ links }) => links !== null)) this.linkers = new Linkers(this)
    if (scene.syncs.some(({ everySeconds }) => everySeconds !== null))
      this.timetable = new Timetable(this, (what) => this.#watchers.violate(what))
  }

  /** Contacts that others have made. */
  #putRecords(): void {
    const { log, crm } = this.services
    const { records = 0, longNumbers = false } = this.plan.scene.mirror ?? {}
    for (let n = records; n > 0; n--) {
      const size = longNumbers ? { size: numberOf(`${LONG + BigInt(n)}.5`) } : {}
      log.others(() => crm.org.put('contact', { code: `first-${n}`, name: `First ${n}`, ...size }))
    }
  }

  /** A disk needs a moment, in which others work. */
  #reading(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.plan.scene.diskMs))
  }

  #logger(process: Process): Logger {
    const line = (level: string) => (fields: object, event: string) =>
      void this.logged.push(`${process.name} ${level} ${event} ${JSON.stringify(fields)}`)
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }

  /** Workers that have the next version of the workflows from their next start on. */
  readonly #upgraded = new Set<number>()

  upgrade(at: number): void {
    this.#upgraded.add(at)
    this.story.tell(`worker ${at + 1} of ${this.plan.scene.workers} is to have the next version`)
  }

  /** All processes that there were: none does anything when the history is over. */
  readonly #begun: Process[] = []

  #process(name: string, machine: Machine): Process {
    const process = new Process(name, machine)
    this.#begun.push(process)
    return process
  }

  async startWorker(at: number): Promise<void> {
    const machine = this.machines[at] ?? this.machine
    const process = this.#process(`worker-${++this.#processes}`, machine)
    const isAway = this.#file === null
    const worker = this.#worker(process, {
      bundle: this.#upgraded.has(at) ? this.#bundles.next : null,
      folder: this.folder,
      configFile: this.configuration.file,
      database: isAway ? { url: DATABASE_URL, schema: LEDGER_SCHEMA } : null,
    })
    this.#starting.set(at, process)
    // The power may fail meanwhile, and another one starts in its place.
    const isOver = () => this.#starting.get(at) !== process
    try {
      await worker.start()
      if (isOver()) return
      this.#starting.delete(at)
      this.workers[at] = worker
      this.story.tell(`${process.name} starts`)
    } catch (error) {
      if (isOver()) return
      this.#starting.delete(at)
      process.die()
      closeFilesOf(process)
      this.story.tell(`${process.name} cannot start: ${(error as Error).message.slice(0, 60)}`)
      this.restartLater(at, 5_000)
    }
  }

  /** The worker of another project, with the same syncs, into another service. */
  async #startNeighbour(): Promise<void> {
    const place = asWorld(() => prepareNeighbour(this.folder, this.plan.scene, ledgerTemplate()))
    const start = async (): Promise<void> => {
      const process = this.#process(NEIGHBOUR, this.machine)
      try {
        await this.#worker(process, { ...place, bundle: null, database: null }).start()
        this.story.tell('the worker of a neighbour starts')
      } catch {
        process.die()
        closeFilesOf(process)
        this.loop.after(5_000, 'the neighbour tries again', () => void start())
      }
    }
    await start()
  }

  #worker(
    process: Process,
    place: Pick<WorkerParts, 'bundle' | 'folder' | 'configFile' | 'database'>,
  ): Worker {
    const dice = diceOf(this.plan.seed, process.name)
    const warehouseDice = diceOf(this.plan.seed, `${process.name} warehouse`)
    const { ledgerMs } = this.plan.scene
    return new Worker({
      loop: this.loop,
      network: this.network,
      temporal: this.temporal,
      process,
      ...place,
      env: { RECORDS_SYNC_SMALL_TUNING: '1' },
      logger: this.#logger(process),
      forgets: this.plan.scene.forgets,
      ledgerMs: () => ledgerMs * 2 * dice.random(),
      warehouse: this.warehouse,
      isMirroredInFile: this.#isMirroredInFile,
      warehouseMs: () => 1 + 40 * warehouseDice.random(),
      watchAnswer: this.#watchAnswer,
      violate: (what) => this.#watchers.violate(what),
    })
  }

  readonly #watchAnswer = (query: string, columns: readonly string[]) => {
    // A neighbour has tables of its own.
    if (currentProcess()?.name === NEIGHBOUR)
      return { looked: () => {}, rows: () => {}, end: () => {} }
    const notes = new AnswerNotes(query, columns, this.sources)
    return {
      looked: () => notes.looked(),
      rows: (chunk: readonly (readonly unknown[])[]) => notes.add(chunk),
      end: () => void this.readings.push(notes.end()),
    }
  }

  restartLater(at: number, afterMs: number): void {
    this.workers[at] = null
    this.loop.after(afterMs, 'a worker starts', () => this.startWorker(at))
  }

  /** After so long, ms, a worker that was killed at a statement is back. */
  backAfterMs = 5_000

  restartDead(process: Process): void {
    const at = this.workers.findIndex((worker) => worker?.process === process)
    if (at >= 0) this.restartLater(at, this.backAfterMs)
  }

  kill(at: number, backAfterMs: number): void {
    const worker = this.workers[at]
    if (!worker || worker.process.state === 'dead') return
    worker.process.die()
    closeFilesOf(worker.process)
    this.story.tell(`${worker.process.name} is killed`)
    this.restartLater(at, backAfterMs)
  }

  /** The machine of the workers has no power for a while. A PostgreSQL server is on another one. */
  cutPower(backAfterMs: number): void {
    const dice = diceOf(this.plan.seed, `power ${this.loop.now()}`)
    this.story.tell('the power fails')
    const end = () => {
      for (let at = 0; at < this.plan.scene.workers; at++) {
        const process = this.#starting.get(at) ?? this.workers[at]?.process
        if (process === undefined || process.state === 'dead') continue
        process.die()
        this.#starting.delete(at)
        this.restartLater(at, backAfterMs)
      }
    }
    if (this.#file === null) return end()
    if (!this.#file.outlivesPowerCut(dice, end))
      this.#watchers.violate('(viii) the ledger has lost what it had stored, as the power failed')
  }

  /** Somebody starts a run. */
  start(sync: string, type: string, input: object): Started {
    const { tuning } = this.plan.scene
    const workflowId = `${type}-${sync}-${this.runs.length + 1}`
    const started: Started = { sync, type, workflowId, beganAt: this.loop.now(), ended: null }
    this.runs.push(started)
    this.story.tell(`${workflowId} begins`)
    void this.#follow(type, workflowId, [{ tuning, ...input }], started)
    return started
  }

  /** Plans that were made, the oldest first. */
  readonly plans: MadePlan[] = []

  /** Somebody makes a plan. */
  makePlan(sync: string): void {
    // One at a time is enough.
    if (this.#planning.has(sync)) return
    this.#planning.add(sync)
    void this.#plan(sync)
      .catch((error: unknown) => this.story.tell(`there is no plan of ${sync}: ${causeOf(error)}`))
      .finally(() => void this.#planning.delete(sync))
  }

  readonly #planning = new Set<string>()

  async #plan(sync: string): Promise<void> {
    const process = this.#process(`planner-${++this.#planners}`, this.machine)
    const isAway = this.#file === null
    this.story.tell(`somebody makes a plan of ${sync}`)
    const since = this.loop.now()
    try {
      await planWithDiff(sync, {
        process,
        network: this.network,
        folder: this.folder,
        configFile: this.configuration.file,
        env: { RECORDS_SYNC_SMALL_TUNING: '1' },
        database: isAway ? { url: DATABASE_URL, schema: LEDGER_SCHEMA } : null,
        logger: this.#logger(process),
      })
    } finally {
      process.die()
      closeFilesOf(process)
    }
    const [made] = this.query<{ id: number }>(
      `SELECT min(id) AS id FROM runs WHERE mode = 'plan' AND sync = ?`,
      sync,
    )
    const number = -made!.id
    this.story.tell(`plan ${number} of ${sync} is made`)
    const shown = readPlan(this, -number, '')
    this.plans.push({ sync, number, since, shown, appliedBy: new Set(), writer: null })
  }

  #planners = 0

  /** Somebody applies a plan. */
  apply({ sync, number, appliedBy }: MadePlan): void {
    this.story.tell(`somebody applies plan ${number}`)
    appliedBy.add(this.start(sync, 'importSync', { sync, plan: number }).workflowId)
  }

  /** A run that somebody else has begun. */
  follow(sync: string, type: string, workflowId: string): void {
    if (this.runs.some((run) => run.workflowId === workflowId)) return
    const started: Started = { sync, type, workflowId, beganAt: this.loop.now(), ended: null }
    this.runs.push(started)
    this.story.tell(`${workflowId} has begun`)
    void this.#follow(type, workflowId, null, started)
  }

  #end(started: Started, how: string): void {
    if (started.ended !== null) return
    const { sync, workflowId } = started
    started.ended = { at: this.loop.now(), how }
    this.story.tell(`${workflowId} ends: ${how}`)
    if (sync === MIRROR)
      this.loop.at(this.loop.now(), 'the table is looked at', () => this.mirrorJudge!.look(started))
  }

  /** The number of the newest run of a sync that is over; null: none is. */
  lastClosedRun(sync: string): number | null {
    const [found] = this.query<{ id: number }>(
      `SELECT id FROM runs WHERE sync = ? AND mode = 'run' AND closed_at IS NOT NULL ORDER BY id DESC LIMIT 1`,
      sync,
    )
    return found?.id ?? null
  }

  readonly verdicts: Verdict[] = []

  /** A person answers to what waits. @param plan what is approved, or rejected; null: whatever it is */
  async answer(
    workflowId: string,
    plan: string | number | null,
    isApproved: boolean,
  ): Promise<void> {
    this.verdicts.push({ workflowId, plan: plan === null ? null : String(plan), isApproved })
    await this.client.workflow
      .getHandle(workflowId)
      .executeUpdate(isApproved ? 'approve' : 'reject', {
        args: (plan === null ? [] : [{ plan }]) as [],
      })
  }

  /** Times in which the service did not take what it takes otherwise: its schema, or the rights of a key, had changed. */
  readonly refusing: { readonly from: number; until: number; readonly hides?: string }[] = []

  /** Whether it did so in a run that was opened then, by the machine's clock. */
  refusesMore(openedAt: string): boolean {
    // Clocks of machines may be wrong by hours.
    const from = Date.parse(openedAt) - 24 * 3_600_000
    return this.refusing.some(({ until }) => until >= from)
  }

  /** Begins a workflow, and waits for its end, as long as the server is away. @param args null: it was begun */
  async #follow(
    type: string,
    workflowId: string,
    args: object[] | null,
    started: Started,
  ): Promise<void> {
    const { workflow } = this.client
    for (let isBegun = args === null; started.ended === null;) {
      try {
        if (!isBegun)
          await workflow.start(type, {
            taskQueue: taskQueueOf(this.project),
            workflowId,
            args: args!,
          })
        isBegun = true
        const { state } = (await workflow.getHandle(workflowId).result()) as { state?: string }
        return this.#end(started, state ?? 'not needed')
      } catch (error) {
        const { name } = error as Error
        if (name === 'WorkflowFailedError' || name === 'WorkflowNotFoundError')
          return this.#end(started, causeOf(error))
        // The server may have begun it all the same.
        isBegun ||= name === 'WorkflowExecutionAlreadyStartedError'
        await this.loop.wait(5_000)
      }
    }
  }

  orgOf(id: number | null): Org | null {
    const { crm, elsewhere } = this.services
    if (id === ELSEWHERE_ORG) return elsewhere.org
    return id === HOME_ORG ? crm.org : id === OTHER_ORG ? this.services.other : null
  }

  /** Another clock, of one of the machines that matter, jumps. */
  setClock(by: number): Machine {
    const machines = [...this.machines.slice(0, this.plan.scene.workers), this.machine]
    // A time that nobody has chosen: plans stay as they are.
    const machine = machines[Math.abs(by) % machines.length]!
    machine.aheadMs += by
    return machine
  }

  /** A copy takes the place of the ledger's file, if it is one. */
  replaceLedger(): void {
    this.#file?.replace()
  }

  /** What the ledger holds, as anybody may read it. */
  query<Row>(sql: string, ...values: (string | number)[]): readonly Row[] {
    return this.books.query<Row>(sql, ...values)
  }

  async end(): Promise<void> {
    this.#file?.end()
    for (const process of this.#begun) process.die()
    this.temporal.dispose()
    this.network.destroy()
    // Dead processes hear of it at once, as long as they have the sockets of the world: the machine's own would answer them in a later history.
    for (let turns = 0; turns < 2; turns++) await new Promise((over) => realImmediate(over))
    for (const end of this.#endings.toReversed()) end()
    await this.warehouse?.end()
    this.database?.end()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
