// A history of two writers: the sync plans, runs, applies plans, undoes and retries, while another writer works on the same records at any
// moment, answers are lost, and workers and the service are killed. Every request and every state is compared with a model.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ImportSync } from '../../../config/index.ts'
import { ITEM_STATES } from '../../../src/core/domain/outcomes.ts'
import type { Task, UndoChoice } from '../../../src/core/domain/purpose.ts'
import { writeJson } from '../../../src/core/json.ts'
import { silentLogger } from '../../../src/core/ports.ts'
import {
  DEFAULT_IMPORT_TUNING,
  lookUpChanges,
  planDigest,
  plannedChanges,
  planUndo,
  stage,
  storePlan,
  textHash,
  undoneSync,
  undoProblem,
  type ImportDeps,
} from '../../../src/import/index.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { Json as ProductJson } from '../../../src/core/json.ts'
import {
  startOtherService,
  type FaultKind,
  type Faults,
  type OtherService,
  type Seen,
} from '../index.ts'
import { MODIFYING, watchRequests } from '../oracle/killer.ts'
import { Outages } from '../oracle/outages.ts'
import type { HistoryOptions } from '../oracle/play.ts'
import { Process, Terminated, type Workflow } from '../oracle/process.ts'
import { Rows, cellsOf, queried } from '../oracle/rows.ts'
import type { StagedRow } from '../oracle/sync-model.ts'
import { REFUSED, columnsOf, tuningOf, typeDefs, type Dice, type Tuning } from '../oracle/world.ts'
import { dice } from '../random-habits.ts'
import { Known } from './known.ts'
import { checkPlanned } from './planned.ts'
import { RunCheck, type RunRows } from './run-check.ts'
import type { PlannedRow } from './run-rows.ts'
import { SecondWriter } from './second-writer.ts'
import { Trace, type Look } from './trace.ts'
import { undoModel, type Choice, type RunRecord } from './undo-model.ts'
import { TYPE, settingOf, writerSync, type WriterSetting } from './world.ts'

/** What a series of histories did, by name. */
export type Tally = Map<string, number>

const PROMISES = {
  /** Every sending is preceded by a look-up, also the second one. */
  isFresh: true,
  /** Of an update nothing is sent but what changes. */
  isExact: true,
}
/** Of 1: how many histories lose answers. */
const LOSSY = Number(process.env['RECORDS_SYNC_LOSSY'] ?? 0.5)

/** Of 1: in how many histories the service is killed. */
const SERVICE_KILLED = Number(process.env['RECORDS_SYNC_SERVICE_KILLED'] ?? 0.4)

/** Of 1: in how many histories single rows of batches are answered 500 or 503. */
const ITEM_FAULTS = Number(process.env['RECORDS_SYNC_ITEM_FAULTS'] ?? 0.15)

const LOST: readonly FaultKind[] = ['drop_after', 'torn', '503', '429', 'drop_before']

interface PlannedSource {
  readonly rows: readonly StagedRow[]
  readonly removals: readonly string[]
}

interface Plan {
  readonly number: number
  /** Whether it came to its end. */
  readonly isWhole: boolean
  readonly staged: PlannedSource
  readonly rows: ReadonlyMap<string, PlannedRow>
  isApplied: boolean
}

interface Staged {
  readonly segments: readonly { readonly first: number; readonly last: number }[]
  readonly removals?: number
  readonly hasLimits: boolean
  readonly makesPlan?: true
}

interface Closed {
  readonly state: string
}

type Cut = 'cancelled' | 'terminated' | null

export class WriterHistory {
  readonly #options: HistoryOptions
  readonly #chance: Dice
  readonly #service: OtherService
  readonly #setting: WriterSetting
  readonly #sync: ImportSync
  readonly #trace: Trace
  readonly #known: Known
  readonly #rows: Rows
  readonly #others: SecondWriter
  readonly #process: Process
  readonly #outages: Outages
  readonly #faults: readonly Faults[]
  readonly #tuning: Tuning
  readonly #tally: Tally
  /** How often another writer works at a request. */
  #meanwhile = 0
  #isQuiet = false
  /** Events up to here are of runs that ended. */
  #noted = 0
  #at = 0
  readonly #runs: RunRecord[] = []
  readonly #plans: Plan[] = []
  readonly #untils = new Map<number, number>()

  private constructor(options: HistoryOptions, service: OtherService, chance: Dice, tally: Tally) {
    const { often } = chance
    this.#options = options
    this.#chance = chance
    this.#service = service
    this.#tally = tally
    this.#setting = settingOf(chance)
    const name = `${options.prefix}contacts`
    this.#sync = writerSync(this.#setting, name, join(options.folder, `${name}.csv`))
    this.#trace = new Trace(service, TYPE, REFUSED)
    this.#known = new Known(this.#setting)
    this.#rows = new Rows(chance, this.#setting, () => [])
    this.#others = new SecondWriter(chance, service.org, this.#trace)
    const isLossy = chance.often(LOSSY)
    // A client waits longer before it repeats a read.
    const isOfWrites = often(0.8)
    const rate = (isOfWrites ? 0.4 : 0.05) * chance.random()
    this.#faults = isLossy ? [{ rate, kinds: LOST, on: isOfWrites ? 'writes' : 'all' }] : []
    this.#tuning = tuningOf(chance)
    const meanwhile = (when: 'before' | 'after') =>
      service.hold(
        ({ operation }) => {
          if (this.#isQuiet || !/record|batch/i.test(operation) || !often(this.#meanwhile))
            return false
          for (const line of this.#others.work(1)) options.tell(`    ${when} ${operation}: ${line}`)
          return false
        },
        { when },
      )
    meanwhile('before')
    meanwhile('after')
    this.#outages = new Outages(service, chance, () => {
      this.#trace.died()
      options.tell('    the service is killed')
    })
    this.#process = new Process({
      chance,
      service,
      syncs: new Map([[name, this.#sync]]),
      openLedger: options.openLedger,
      faults: () => (this.#isQuiet ? [] : this.#faults),
      query: (_, above) => queried(this.#setting, this.#rows.file, above),
      died: () => {
        this.#trace.mark('killed')
        options.tell('    killed')
      },
      isUp: () => this.#outages.isUp(),
    })
  }

  /** Returns how many workers were killed. @throws AssertionError */
  static async play(options: HistoryOptions, tally: Tally): Promise<number> {
    const chance = dice(options.seed)
    const service = await startOtherService({
      seed: options.seed,
      types: typeDefs(),
      associations: [],
      orgId: options.seed,
      refusesText: REFUSED,
      paths: chance.one('plain', 'other'),
      retryAfter: '0',
      itemFaults: chance.often(ITEM_FAULTS)
        ? { rate: 0.15, applied: chance.random(), status: chance.one(500, 503) }
        : null,
    })
    watchRequests(service)
    const history = new WriterHistory(options, service, chance, tally)
    try {
      return await history.#play()
    } finally {
      history.#outages.rate = 0
      await history.#outages.isUp()
      await history.#process.stop()
      await service.close()
    }
  }

  #count(name: string, times = 1): void {
    this.#tally.set(name, (this.#tally.get(name) ?? 0) + times)
  }

  #work(times: number, at: readonly string[] = []): void {
    this.#others.work(times, at).forEach((line) => this.#options.tell(line))
  }

  async #play(): Promise<number> {
    const { often, one, below } = this.#chance
    this.#options.tell(`sync ${JSON.stringify(this.#setting)}`)
    await this.#process.start()
    this.#service.set({ faults: this.#faults })
    if (this.#options.kills) this.#process.kill({ rate: 0.25, within: one(30, 120, 300) })
    // Also between a write and its reading back: an edit is no form of the service's own.
    this.#meanwhile = often(0.5) ? one(0.05, 0.2) : 0
    this.#work(below(5))
    this.#change()
    if (often(SERVICE_KILLED)) this.#outages.rate = one(0.02, 0.05, 0.15)
    const moves = 4 + below(6)
    for (let move = 0; move < moves; move++) {
      if (this.#options.move !== undefined && move > 0) {
        await this.#process.stop()
        await this.#options.move()
        await this.#process.start()
      }
      await this.#move()
      if (often(0.6)) this.#work(1 + below(2))
    }
    await this.#settle()
    this.#count('kills of workers', this.#process.kills)
    this.#count('kills of the service', this.#outages.kills)
    return this.#process.kills
  }

  async #move(): Promise<void> {
    const { often, one } = this.#chance
    const last = this.#runs.at(-1)
    const plan = this.#plans.at(-1)
    const what = one(
      'run',
      'run',
      'plan',
      'plan',
      'apply',
      'apply',
      'apply',
      'undo',
      'undo',
      'undo',
      'retry',
    )
    // Of more interest than deletions.
    const restorable = this.#runs.filter(({ rows }) =>
      rows.some(({ state, image }) => state === 'updated' && image?.record != null),
    )
    if (what === 'undo' && last) {
      const of = restorable.length > 0 && often(0.5) ? restorable.at(-1)! : one(...this.#runs)
      return await this.#undo(often(0.4) ? last : of)
    }
    if (what === 'retry' && last && !last.isUndo) return await this.#retry(last)
    if (what === 'apply' && plan) {
      if (often(0.2)) this.#change()
      return await this.#apply(often(0.85) ? plan : one(...this.#plans))
    }
    if (often(0.8)) this.#change()
    if (what === 'plan' || what === 'apply') return await this.#plan()
    await this.#regular()
  }

  #change(): void {
    this.#rows.change()
    this.#write()
  }

  #write(): void {
    const { file } = this.#rows
    const cell = (text: string) => `"${text}"`
    const lines = [columnsOf(this.#setting), ...file.map((row) => cellsOf(this.#setting, row))]
    const text = lines.map((cells) => cells.map(cell).join(',')).join('\n')
    writeFileSync(join(this.#options.folder, `${this.#sync.name}.csv`), `${text}\n`)
    this.#options.tell('source')
    for (const row of file) this.#options.tell(`  ${JSON.stringify(row)}`)
  }

  /** Nothing fails any more, and the source is right: after some rounds nothing is left to be sent. */
  async #settle(): Promise<void> {
    this.#isQuiet = true
    this.#outages.rate = 0
    await this.#outages.isUp()
    this.#process.kill(null)
    this.#service.set({ faults: [], itemFaults: null })
    this.#rows.write(true)
    this.#write()
    // Others have given records the keys of others: each round finds one more of a chain of them.
    const rounds = 3 + this.#rows.file.length
    let written: readonly Seen[] = []
    for (let round = 0; round < rounds && (round < 3 || written.length > 0); round++) {
      this.#service.forgetRequests()
      await this.#regular()
      written = this.#service.seen.filter(({ operation }) => MODIFYING.test(operation))
    }
    assert.deepEqual(
      written.map(({ operation, path, status }) => [operation, path, status]),
      [],
    )
  }

  // Moves

  async #regular(): Promise<void> {
    this.#count('runs')
    const staged = this.#known.sync.stage(this.#rows.file)
    await this.#run({ task: null, plan: null, staged })
  }

  async #retry(of: RunRecord): Promise<void> {
    const left = of.left
    if (left.length === 0) return
    this.#count('retries')
    await this.#run({ task: { retry: { of: of.run, choice: {} } }, plan: null, staged: [], left })
  }

  async #plan(): Promise<void> {
    this.#count('plans')
    const staged = this.#known.sync.stage(this.#rows.file)
    const from = this.#trace.length
    let number = 0
    let isWhole = false
    const ended = await this.#command(async (signal) => {
      const { ledger } = this.#process
      const deps = this.#deps(signal)
      const opened = await ledger.openRun({
        sync: this.#sync.name,
        kind: 'import',
        mode: 'plan',
        workflowId: '',
        workflowRunId: '',
        config: this.#sync as unknown as ProductJson,
      })
      if (!('run' in opened)) throw new Error('no plan was opened')
      const run = opened.run.id
      number = -run
      await stage(
        deps,
        { run, sync: this.#sync, keyFingerprint: 'test', stageFence: 0 },
        (extent) => this.#process.openSource(this.#sync, signal, extent),
      )
      const { schema } = (await ledger.run(run))!
      const job = { run, config: this.#sync.import, schema }
      while (!(await lookUpChanges(deps, job)).done);
      const made = await planDigest(deps, run)
      await storePlan(ledger, run, {
        ...made,
        at: new Date(this.#process.clock.now()).toISOString(),
      })
      // If it is killed now, only its output is lost.
      isWhole = true
    })
    if (ended !== 'killed' && 'error' in ended) throw ended.error
    if (number === 0) return
    this.#options.tell(`plan ${number}${ended === 'killed' ? ' (killed)' : ''}`)
    if (isWhole) await this.#adopt(-number, staged)
    const rows = this.#plannedRows(staged, from)
    const removals = toRemove(this.#known.sync.removals(staged))
    this.#plans.push({
      number,
      isWhole,
      staged: { rows: staged, removals },
      rows,
      isApplied: false,
    })
    if (isWhole) await this.#checkPlan(-number, staged, rows)
  }

  async #checkPlan(
    run: number,
    staged: readonly StagedRow[],
    rows: ReadonlyMap<string, PlannedRow>,
  ): Promise<void> {
    const { ledger } = this.#process
    const { schema } = (await ledger.run(run))!
    const job = { run, config: this.#sync.import, schema }
    const shown: Parameters<typeof checkPlanned>[0]['shown'][number][] = []
    for await (const page of plannedChanges(ledger, job))
      for (const change of page)
        shown.push(JSON.parse(writeJson(change as unknown as ProductJson)) as never)
    const expected = staged
      .filter(({ state }) => state === 'pending')
      .map(({ key }) => rows.get(key!)!)
    checkPlanned({ setting: this.#setting, known: this.#known, shown, expected })
  }

  /** The planned rows, as they were looked up since. */
  #plannedRows(staged: readonly StagedRow[], from: number): ReadonlyMap<string, PlannedRow> {
    const looks = this.#trace.events
      .slice(from)
      .filter((event): event is Look => event.kind === 'look')
    return new Map(
      staged
        .filter(({ state }) => state === 'pending')
        .map(({ key, payload }) => {
          const look = looks.findLast(({ keys }) => keys.has(key!))
          return [key!, { key: key!, payload, record: look?.shown.get(key!) ?? null }]
        }),
    )
  }

  async #apply(plan: Plan): Promise<void> {
    const staged = this.#known.sync.stage(this.#rows.file)
    await this.#run({ task: null, plan, staged })
  }

  async #undo(of: RunRecord): Promise<void> {
    const choice = this.#choiceOf(of)
    const { property, value } = choice.where ?? { property: '', value: '' }
    const { where: _, ...others } = choice
    const asked: UndoChoice = {
      ...others,
      ...(choice.where && { where: { property, digest: textHash(String(value)) } }),
    }
    const task = { of: of.run, choice: asked }
    const { ledger } = this.#process
    const problem = await undoProblem(ledger, task, await ledger.run(of.run), this.#sync)
    this.#options.tell(`undo ${of.run} ${JSON.stringify(choice)}: ${problem ?? 'may be'}`)
    const isWritten = of.rows.some(({ state }) =>
      ['created', 'updated', 'outcome_unknown'].includes(state),
    )
    if (problem !== null) {
      const isPart = Object.keys(choice).length > 0
      assert.ok(!isWritten && (isPart || of.removed.length === 0), problem)
      return
    }
    if (this.#chance.often(0.3)) await this.#dryRun(of, choice, task)
    this.#count(of.isUndo ? 'undos of undos' : 'undos')
    await this.#run({ task: { undo: task }, plan: null, staged: [], undo: { of, choice } })
  }

  #choiceOf(of: RunRecord): Choice {
    const { often, one } = this.#chance
    const row = of.rows.length === 0 ? undefined : one(...of.rows)
    const part = often(0.35) ? one('rows', 'where', 'properties') : null
    if (part === 'properties') return { properties: [one('name', 'size')] }
    const name = row?.image?.sent['name']
    if (part === 'where' && typeof name === 'string')
      return { where: { property: 'name', value: name } }
    if (part === 'rows' && row) return { rows: [[row.ordinal, row.ordinal + 1]] }
    return {}
  }

  /** The plan of an undo says what it would do, and sends nothing. */
  async #dryRun(
    of: RunRecord,
    choice: Choice,
    task: { readonly of: number; readonly choice: UndoChoice },
  ): Promise<void> {
    const from = this.#trace.length
    const ended = await this.#command(async (signal) => {
      const { ledger } = this.#process
      const sync = await undoneSync(ledger, this.#sync, task)
      return await planUndo(this.#deps(signal), { sync, keyFingerprint: 'test', task })
    })
    if (ended === 'killed') return
    if ('error' in ended) throw ended.error
    const events = this.#trace.events.slice(from)
    assert.ok(!events.some(({ kind }) => kind === 'send'))
    // What others do in the middle is in some of its counts.
    if (events.some(({ kind }) => kind === 'edit')) return
    const { counts } = undoModel(of, choice, events)
    const { restored, kept, valuesKept, gone, deletions, made, unknown } = ended.result
    assert.deepEqual({ restored, kept, valuesKept, gone, deletions, made, unknown }, counts)
  }

  /** What a person starts; with a service that is killed meanwhile it may end with an error. */
  async #command<Result>(
    body: (signal: AbortSignal) => Promise<Result>,
  ): Promise<{ result: Result } | { error: unknown } | 'killed'> {
    const { kills } = this.#outages
    await this.#outages.isUp()
    const ended = await this.#process.command(body)
    const isLost = ended !== 'killed' && 'error' in ended && this.#outages.kills > kills
    return isLost ? 'killed' : ended
  }

  #deps(signal: AbortSignal): ImportDeps<Ledger> {
    const { ledger, client, clock } = this.#process
    return {
      ledger,
      client,
      clock,
      logger: silentLogger,
      tuning: { ...DEFAULT_IMPORT_TUNING, ...this.#tuning },
      priority: 'import',
      signal,
      beat: () => {},
    }
  }

  // Runs

  async #run(job: {
    readonly task: Task | null
    readonly plan: Plan | null
    readonly staged: readonly StagedRow[]
    readonly left?: RunRecord['left']
    readonly undo?: { readonly of: RunRecord; readonly choice: Choice }
  }): Promise<void> {
    const { tell } = this.#options
    const { task, plan, undo, left } = job
    const at = ++this.#at
    for (const event of this.#trace.events.slice(this.#noted))
      if (event.kind === 'edit' && event.by === 'others') this.#known.touched.add(event.id)
    const from = this.#trace.length
    this.#noted = from
    const workflow = this.#process.begin()
    tell(`run ${at}: ${JSON.stringify(task)}${plan ? `, plan ${plan.number}` : ''}`)
    const removals = task === null ? this.#known.sync.removals(job.staged) : new Map()
    const refusal =
      plan === null
        ? [null]
        : this.#refusalsOf(plan, { rows: job.staged, removals: toRemove(removals) })
    const opened = await workflow
      .open(this.#sync.name, task, plan?.number)
      .catch((error: unknown) => error)
    if (typeof opened !== 'number') {
      if (!refusal.includes('open')) throw opened
      this.#count('plans refused')
      tell(`  refused: ${String(opened)}`)
      return this.#sentNothing(from)
    }
    assert.ok(!refusal.includes('open'), 'a plan was not refused')
    const run = opened
    const step = { run, tuning: this.#tuning }
    const stagedRun = await workflow
      .call<Staged>('stageImport', step)
      .catch((error: unknown) => error)
    if (stagedRun instanceof Error) {
      if (!refusal.includes('stage')) throw stagedRun
      this.#count('plans refused')
      tell(`  refused: ${String(stagedRun)}`)
      const ending = { kind: 'failed', message: 'refused' }
      await workflow.call('closeImport', { ...step, ending })
      return this.#sentNothing(from)
    }
    assert.ok(refusal.includes(null), 'a plan was not refused once it was staged')
    const staged = left ? await this.#retried(run, left) : job.staged
    if (task === null) await this.#adopt(run, staged)
    if (plan) this.#count('plans applied')
    const rows: RunRows = {
      at,
      run,
      isRegular: task === null,
      staged,
      removals,
      planned: plan?.rows ?? null,
      undo: undo ? undoModel(undo.of, undo.choice, this.#trace.events.slice(from)) : null,
      undone: undo?.of ?? null,
    }
    const isCut = await this.#carryOut(workflow, { step, from, staged: stagedRun as Staged, rows })
    const isSent = this.#trace.events.slice(from).some(({ kind }) => kind === 'send')
    if (plan && (isSent || !isCut)) plan.isApplied = true
  }

  #sentNothing(from: number): void {
    const sent = this.#trace.events.slice(from).filter(({ kind }) => kind === 'send')
    assert.deepEqual(sent, [])
  }

  /** How a plan may be refused; null: not at all. */
  #refusalsOf(plan: Plan, staged: PlannedSource): readonly ('open' | 'stage' | null)[] {
    if (!plan.isWhole || plan.isApplied) return ['open']
    const all = digestOf(plan.staged) === digestOf(staged)
    const { unsure } = this.#known
    if (digestOf(plan.staged, unsure) !== digestOf(staged, unsure)) return ['stage']
    return all && unsure.size === 0 ? [null] : ['stage', null]
  }

  /** The rows of a retry. Of those that may have been read back different, the ones that the ledger has. */
  async #retried(run: number, left: RunRecord['left']): Promise<readonly StagedRow[]> {
    const states = ITEM_STATES
    const items = await this.#process.ledger.report(run, { states, after: 0, limit: 10_000 })
    const keys = new Set(items.map(({ key }) => key))
    const rows = left.filter(({ row, isSure }) => isSure || keys.has(row.code))
    return new Known(this.#setting).sync.stage(rows.map(({ row }) => row))
  }

  /** Where it is left open whether a row is sent, as the ledger has it. */
  async #adopt(run: number, staged: readonly StagedRow[]): Promise<void> {
    const states = ITEM_STATES
    const items = await this.#process.ledger.report(run, { states, after: 0, limit: 10_000 })
    const open = ['pending', 'unchanged']
    for (const [index, row] of staged.entries()) {
      const { state = '' } = items[index] ?? {}
      if (open.includes(row.state) && open.includes(state) && this.#known.unsure.has(row.key!))
        row.state = state
    }
  }

  async #carryOut(
    workflow: Workflow,
    given: {
      readonly step: { readonly run: number; readonly tuning: Tuning }
      readonly from: number
      readonly staged: Staged
      readonly rows: RunRows
    },
  ): Promise<boolean> {
    const { step, from, staged } = given
    let { rows } = given
    const { tell } = this.#options
    const cut: Cut = this.#isQuiet ? null : this.#cut()
    workflow.diesWithWorker = cut === 'terminated'
    const upTo = cut === 'cancelled' ? this.#chance.below(3) : 3
    const keys = (rows.undo?.rows ?? [...(rows.planned?.values() ?? [])]).map(({ key }) => key)
    if (!this.#isQuiet && this.#chance.often(keys.length > 0 ? 0.7 : 0.3))
      this.#work(1 + this.#chance.below(2), keys)
    try {
      if (staged.makesPlan) {
        const begin = this.#trace.length
        while (!(await workflow.call<{ done: boolean }>('planImport', step)).done);
        const planned = this.#plannedRows(rows.staged, begin)
        if (!this.#isQuiet) this.#work(this.#chance.below(2))
        await this.#checkPlan(step.run, rows.staged, planned)
        const review = await this.#review(workflow, step)
        // What nobody was asked about is no plan.
        if (review) rows = { ...rows, planned }
      } else if (staged.hasLimits) await this.#review(workflow, step)
      if (upTo > 0)
        for (const segment of staged.segments)
          await this.#slices(workflow, 'pushSegment', { ...step, segment })
      if (upTo > 1 && (staged.removals ?? 0) > 0) await this.#slices(workflow, 'removeImport', step)
      const ending = { kind: cut === null ? 'finished' : 'cancelled' }
      const closed = await workflow.call<Closed>('closeImport', { ...step, ending })
      tell(`  ${closed.state}`)
      await this.#check(rows, from, cut !== null)
    } catch (error) {
      if (!(error instanceof Terminated)) throw error
      tell('  terminated')
      // Whoever opens the next run of the sync closes its books.
      const next = this.#process.begin()
      const opened = await next.open(this.#sync.name, null)
      await this.#check(rows, from, true)
      const ending = { kind: 'cancelled' }
      await next.call('closeImport', { ...step, run: opened, ending })
    }
    return cut !== null
  }

  async #review(workflow: Workflow, step: { readonly run: number }): Promise<boolean> {
    const { excesses, plan } = await workflow.call<{
      excesses: readonly object[]
      plan?: object
    }>('reviewImport', step)
    if (!this.#isQuiet && this.#chance.often(0.5)) this.#work(1)
    if (excesses.length > 0)
      await workflow.call('noteImportVerdict', { run: step.run, approved: true })
    return plan !== undefined
  }

  #cut(): Cut {
    const { often, one } = this.#chance
    return often(0.12) ? one('cancelled', this.#options.kills ? 'terminated' : 'cancelled') : null
  }

  async #slices(
    workflow: Workflow,
    name: 'pushSegment' | 'removeImport',
    step: object,
  ): Promise<void> {
    let { segment_ms } = this.#tuning
    for (let done = false; !done; segment_ms *= 2) {
      const tuning = { ...this.#tuning, segment_ms }
      ;({ done } = await workflow.call<{ done: boolean }>(name, { ...step, tuning }))
    }
  }

  async #check(rows: RunRows, from: number, isCut: boolean): Promise<void> {
    const check = new RunCheck(
      {
        setting: this.#setting,
        known: this.#known,
        rules: PROMISES,
        untils: this.#untils,
        isUndo: (at) => this.#runs.some((run) => run.at === at && run.isUndo),
      },
      rows,
    )
    check.replay(this.#trace.events.slice(from))
    const record = await check.end(this.#process.ledger, isCut)
    this.#untils.set(rows.at, Math.max(0, ...this.#trace.records().map(({ updated }) => updated)))
    this.#runs.push(record)
    for (const [name, count] of check.tally)
      this.#tally.set(name, (this.#tally.get(name) ?? 0) + count)
    this.#options.tell(
      `  ${JSON.stringify(record.rows.map(({ key, state }) => `${key} ${state}`))}`,
    )
  }
}

/** Keys whose records would be removed: not those that a run leaves because of a row without a key. */
const toRemove = (removals: RunRows['removals']): readonly string[] =>
  [...removals].flatMap(([key, { state }]) => (state === 'pending' ? [key] : []))

/** What of a staged run has to be as it was planned. @param without keys that do not count */
const digestOf = (
  { rows, removals }: PlannedSource,
  without: ReadonlySet<string> = new Set(),
): string => {
  const counts = (key: string | null) => key !== null && !without.has(key)
  return JSON.stringify([
    rows
      .filter(({ state, key }) => state === 'pending' && counts(key))
      .map(({ ordinal, key, payload }) => [ordinal, key, payload]),
    removals.filter(counts).toSorted(),
  ])
}
