// Carries out the actions of a plan: what the adversary does to the world, and what people do.

import { createHash } from 'node:crypto'
import type { Snapshot } from '../../other-service/index.ts'
import { shownPlan } from '../model/approved.ts'
import { plainValues } from '../model/service-log.ts'
import { isInvalid, REFUSED, rowsThatCount, VALUE_MARK } from '../model/sources.ts'
import type { Action } from '../search/actions.ts'
import { COPIES, FILTERED_PROPERTY } from '../search/copies.ts'
import { SLOW_PER_MINUTE } from '../search/plan.ts'
import { diceOf } from './dice.ts'
import { ELSEWHERE_ORG, KEYS, OTHER_ORG, faultsOf, typeDefs } from './service.ts'
import { tableDoers } from './table-operators.ts'
import { MIRROR } from './warehouse.ts'
import type { World } from './world.ts'

type Of<Kind extends Action['do']> = Extract<Action, { readonly do: Kind }>
type Doers = { readonly [Kind in Action['do']]: (action: Of<Kind>) => void }

const SNAPSHOT_EVERY_MS = 5_000
const SNAPSHOTS_MAX = 100
/** How often somebody looks for what waits, once a second. */
const ANSWER_LOOKS = 30

export class Operators {
  readonly #world: World
  readonly #dice
  readonly #seesAgain: (() => void)[] = []
  #snapshots: { readonly at: number; readonly snapshot: Snapshot }[] = []
  /** What is put back when its time is over, or when the adversary rests. */
  readonly #pending = new Set<() => void | Promise<void>>()
  /** The first key is no key any more. */
  #isRevoked = false
  #others = 0

  constructor(world: World) {
    this.#world = world
    this.#dice = diceOf(world.plan.seed, 'operators')
    this.#takeSnapshots()
  }

  #takeSnapshots(): void {
    const { loop, services } = this.#world
    if (this.#world.isAtRest) return
    this.#snapshots.push({ at: loop.now(), snapshot: services.crm.org.snapshot() })
    if (this.#snapshots.length > SNAPSHOTS_MAX) this.#snapshots.shift()
    loop.after(SNAPSHOT_EVERY_MS, 'a backup of the service', () => this.#takeSnapshots())
  }

  /** Does an action; what of it lasts ends after a while. */
  act(action: Action): void {
    const does = this.#doers[action.do] as (given: Action) => void
    does(action)
  }

  #tell = (line: string): void => this.#world.story.tell(line)

  #until(ms: number, what: string, end: () => void | Promise<void>): void {
    const over = () => {
      if (!this.#pending.delete(over)) return
      this.#tell(what)
      return end()
    }
    this.#pending.add(over)
    this.#world.loop.after(ms, what, over)
  }

  /** Everything is put right, and nothing goes wrong any more. */
  async rest(): Promise<void> {
    this.#tell('the adversary rests')
    this.#world.isAtRest = true
    const { weather, services, configuration, workers } = this.#world
    for (const over of this.#pending) await over()
    weather.rest()
    this.#world.timetable?.rest()
    const { perMinute } = this.#world.plan.scene.service
    services.crm.set({
      faults: [],
      itemFaults: null,
      refuseEach: null,
      perMinute: perMinute <= SLOW_PER_MINUTE ? perMinute : 6_000,
    })
    services.crm.addKey(KEYS.home)
    configuration.restore(KEYS.home)
    this.#world.database?.sessions.rest()
    for (const worker of workers) if (worker?.process.killedIn) worker.process.killedIn = null
  }

  #openRun = (sync: string) =>
    this.#world.runs.findLast((run) => run.sync === sync && run.ended === null)

  #withRun(sync: string, what: string, work: (id: string) => Promise<unknown>): void {
    const run = this.#openRun(sync)
    if (run === undefined) return
    this.#tell(`a person ${what} ${run.workflowId}`)
    work(run.workflowId).catch((error: unknown) =>
      this.#tell(`  it is refused: ${(error as Error).name}`),
    )
  }

  readonly #doers: Doers = {
    run: ({ sync, task, where }) => {
      const world = this.#world
      if (task === undefined) return void world.start(sync, 'importSync', { sync })
      if (task === 'reconcile') {
        const part = where === undefined ? {} : { where: this.#part(sync, where) }
        return void world.start(sync, 'reconcile', {
          sync,
          repair: this.#dice.often(0.7),
          ...part,
        })
      }
      if (task === 'backfill' || task === 'links') return void world.start(sync, task, { sync })
      const run = world.lastClosedRun(sync)
      if (run !== null) world.start(sync, task, { run })
    },
    mirror: ({ how }) => {
      const world = this.#world
      const sync = MIRROR
      const { tuning } = world.plan.scene.mirror!
      if (how === 'changes' || how === 'full')
        return void world.start(sync, 'mirrorSync', { sync, full: how === 'full', tuning })
      world.start(sync, 'reconcile', { sync, repair: how === 'repair', tuning })
    },
    copy: ({ how }) => {
      const sync = COPIES
      if (how === 'run') this.#world.start(sync, 'importSync', { sync })
      else this.#world.start(sync, 'reconcile', { sync, repair: how === 'repair' })
    },
    refilter: ({ what, count }) => {
      for (let times = count; times > 0; times--) this.#refilter(what)
    },
    edit: ({ sync, inPlace }) => {
      const source = this.#world.sources.get(sync)!
      source.edit(inPlace)
      this.#tell(`${sync}.csv changes${inPlace ? ' in place' : ''} (${source.last.generation})`)
    },
    orphan: ({ sync, isChanged }) => {
      const source = this.#world.sources.get(sync)!
      const code = source.drop()
      if (code === null) return
      this.#tell(`a row leaves ${sync}.csv (${source.last.generation})`)
      const { log, crm } = this.#world.services
      const record = crm.org
        .list(source.sync.type)
        .find(({ properties }) => properties['code'] === code)
      if (!isChanged || record === undefined) return
      this.#tell(`others change its record ${record.id}`)
      const text = `${VALUE_MARK}-other-${++this.#others}`
      log.others(() => crm.org.change(record.id, { [this.#dice.one('name', 'note')]: text }))
    },
    ...tableDoers(() => this.#world),
    plan: ({ sync }) => this.#world.makePlan(sync),
    apply: ({ sync, isOlder }) => {
      const [newest, older] = this.#world.plans.filter((one) => one.sync === sync).toReversed()
      const plan = isOlder ? (older ?? newest) : newest
      if (plan !== undefined) this.#world.apply(plan)
    },
    kill: ({ worker, backAfter }) => this.#world.kill(worker, backAfter),
    upgrade: ({ worker, backAfter }) => {
      this.#world.upgrade(worker)
      this.#world.kill(worker, backAfter)
    },
    powerCut: ({ backAfter }) => this.#world.cutPower(backAfter),
    killAtStatement: ({ worker, in: count, backAfter }) => {
      const process = this.#world.workers[worker]?.process
      if (process?.state !== 'running') return
      process.killedIn = count
      this.#world.backAfterMs = backAfter
    },
    stop: ({ worker: at, for: ms }) => {
      const worker = this.#world.workers[at]
      if (worker?.process.state !== 'running') return
      this.#tell(`${worker.process.name} stands still`)
      worker.stop()
      this.#until(ms, `${worker.process.name} goes on`, () => worker.goOn())
    },
    clock: ({ by }) => {
      const { name } = this.#world.setClock(by)
      this.#tell(`the clock of the ${name} jumps by ${by} ms`)
    },
    databaseDown: ({ for: ms, isCrash }) => {
      const { database } = this.#world
      if (database === null || database.sessions.isDown) return
      this.#tell(`the PostgreSQL server ${isCrash ? 'crashes' : 'ends'}`)
      if (isCrash) database.crash()
      else database.sessions.stop(true)
      this.#until(ms, 'the PostgreSQL server starts', () => database.start())
    },
    endSession: ({ in: count }) => {
      const { database } = this.#world
      if (database !== null) database.sessions.endedIn = count
    },
    stopInTransaction: ({ worker: at, in: count, for: ms }) => {
      const { database, workers } = this.#world
      const worker = workers[at]
      if (worker?.process.state !== 'running') return
      database?.sessions.stopIn(worker.process, count, () => {
        this.#tell(`${worker.process.name} stands still in a transaction`)
        worker.stop()
        this.#until(ms, `${worker.process.name} goes on`, () => worker.goOn())
      })
    },
    diskFull: ({ for: ms }) => {
      this.#tell('the disk is full')
      this.#world.isDiskFull = true
      this.#until(ms, 'the disk has room', () => void (this.#world.isDiskFull = false))
    },
    outage: ({ for: ms }) => {
      const { crm, process } = this.#world.services
      if (this.#world.isServiceDown) return
      this.#world.isServiceDown = true
      this.#tell('the service ends')
      process.run(() => crm.kill())
      this.#until(ms, 'the service starts', async () => {
        await process.run(() => crm.restart())
        this.#world.isServiceDown = false
      })
    },
    maintenance: ({ for: ms }) => {
      const { crm } = this.#world.services
      this.#tell('the service is in maintenance')
      crm.set({
        faults: [{ rate: 1, kinds: ['503'] }],
        retryAfter: this.#dice.one('1', '30', '120'),
      })
      this.#until(ms, 'the maintenance is over', () =>
        crm.set({
          faults: faultsOf(this.#world.plan),
          retryAfter: '1',
        }),
      )
    },
    restore: ({ back }) => this.#restore(back),
    partition: ({ worker: at, for: ms }) => {
      const process = this.#world.workers[at]?.process
      if (process === undefined) return
      this.#tell(`${process.name} is cut off from the service`)
      this.#world.weather.cutOff(process, ms)
    },
    limit: ({ perMinute, refuseEach }) => {
      this.#tell(
        `the limit is ${perMinute} a minute${refuseEach === null ? '' : ', and another one refuses some'}`,
      )
      this.#world.services.crm.set({ perMinute, refuseEach })
    },
    others: ({ what, count }) => {
      for (let times = count; times > 0; times--) this.#other(what)
    },
    overwrite: ({ sync, with: value, count }) => {
      for (let times = count; times > 0; times--) this.#overwrite(sync, value)
    },
    schedule: (action) => this.#world.timetable?.act(action),
    links: (action) => this.#world.linkers?.act(action),
    swapKeys: (action) => this.#world.linkers?.swapKeys(action),
    every: ({ sync, seconds }) => {
      this.#tell(`the configuration of ${sync} says every ${seconds} seconds`)
      this.#world.configuration.setEvery(sync, seconds)
    },
    answer: (action) => this.#answer(action, ANSWER_LOOKS),
    cancel: ({ sync }) =>
      this.#withRun(sync, 'cancels', (id) => this.#world.client.workflow.getHandle(id).cancel()),
    terminate: ({ sync }) =>
      this.#withRun(sync, 'terminates', (id) =>
        this.#world.client.workflow.getHandle(id).terminate(),
      ),
    pause: ({ sync, for: ms }) => {
      const run = this.#openRun(sync)
      if (run === undefined) return
      const update = (name: string) => (id: string) =>
        this.#world.client.workflow
          .getHandle(id)
          .executeUpdate(name, { args: (name === 'pause' ? [{ reason: 'lunch' }] : []) as [] })
      this.#withRun(sync, 'pauses', update('pause'))
      this.#until(
        ms,
        `a person resumes ${run.workflowId}`,
        () => void update('resume')(run.workflowId).catch(() => {}),
      )
    },
    wipe: () => {
      this.#tell('the Temporal server has lost its database')
      this.#world.temporal.wipe()
      for (const run of this.#world.runs) run.ended ??= { at: this.#world.loop.now(), how: 'wiped' }
    },
    ledger: ({ for: ms }) => {
      this.#tell("the ledger's file is replaced by a copy of it")
      this.#world.replaceLedger()
      this.#until(ms, 'the workers are started again', () => {
        for (const at of this.#world.workers.keys()) this.#world.kill(at, 100)
      })
    },
    temporalDown: ({ for: ms }) => {
      this.#tell('the Temporal server is away')
      this.#world.temporal.down()
      this.#until(ms, 'the Temporal server is back', () => this.#world.temporal.up())
    },
    key: ({ to, for: ms }) => this.#key(to, ms),
    rotate: ({ after }) => {
      const { services, configuration, loop } = this.#world
      if (configuration.key !== KEYS.home || this.#isRevoked) return
      this.#tell('a new key takes the place of the first one')
      services.crm.addKey(KEYS.next)
      configuration.setKey(KEYS.next)
      this.#hasNewKey()
      loop.after(after, 'the first key is revoked', () => {
        if (this.#world.isAtRest) return
        services.crm.revoke(KEYS.home)
        this.#isRevoked = true
      })
    },
    hide: ({ for: ms }) => {
      const { crm } = this.#world.services
      const key = this.#world.configuration.key
      if (key !== KEYS.home || this.#isRevoked) return
      this.#tell('the key does not see contacts any more')
      crm.hideType(key, 'contact')
      const refused = this.#refusing('contact')
      this.#seesAgain.push(refused)
      this.#until(ms, 'the key sees contacts again', () => {
        crm.showType(key, 'contact')
        refused()
      })
    },
    schema: ({ for: ms }) => {
      const { crm } = this.#world.services
      const [contact] = typeDefs(this.#world.plan.scene.isUnique)
      this.#tell('contacts have no size any more')
      crm.org.defineType({
        ...contact!,
        properties: contact!.properties.filter(({ name }) => name !== 'size'),
      })
      const refused = this.#refusing()
      this.#until(ms, 'contacts have a size again', () => {
        crm.org.defineType(contact!)
        refused()
      })
    },
    address: ({ for: ms, isSame = false }) => {
      const { configuration } = this.#world
      // The key is that of the other service.
      if (isSame && configuration.key === KEYS.elsewhere) return
      this.#tell(
        isSame
          ? 'the configuration names another address of the service'
          : 'the configuration names another service',
      )
      if (isSame) configuration.setService('https://crm-2.example', configuration.key)
      else configuration.setService('https://elsewhere.example', KEYS.elsewhere)
      this.#until(ms, 'the configuration names the first service again', () =>
        configuration.restore(KEYS.home),
      )
    },
    config: ({ sync, drops }) => {
      this.#tell(`the configuration of ${sync} changes`)
      this.#world.configuration.edit(sync, drops)
    },
  }

  /** The rows of a file that have one value, in the form that the command writes: that of a row whose key a later one has, or of any. */
  #part(sync: string, where: 'any' | 'older') {
    const source = this.#world.sources.get(sync)!
    const { rows } = source.last
    const dice = diceOf(this.#world.plan.seed, `part ${this.#world.loop.now()}`)
    const counts = rowsThatCount(rows)
    const older = rows.filter((row) => !isInvalid(row) && counts.get(row.code) !== row)
    const row = dice.one(...(where === 'older' && older.length > 0 ? older : rows))
    const column = dice.one(...source.sync.properties)
    this.#tell(`  of the rows of ${sync}.csv that have the ${column} of ${row.code}`)
    const digest = createHash('sha256').update(row.cells[column]!).digest('hex').slice(0, 32)
    return { column, digest }
  }

  /** What the first key did not see, the next one does. */
  #hasNewKey(): void {
    for (const ends of this.#seesAgain.splice(0)) ends()
  }

  #refusing(hides?: string): () => void {
    const { loop, refusing } = this.#world
    const time = { from: loop.now(), until: Infinity, ...(hides !== undefined && { hides }) }
    refusing.push(time)
    return () => void (time.until = Math.min(time.until, loop.now()))
  }

  #key(to: 'new' | 'other', ms: number): void {
    const { services, configuration } = this.#world
    const { crm } = services
    if (configuration.key !== KEYS.home) return
    if (to === 'new') {
      this.#tell('the key is revoked')
      crm.revoke(KEYS.home)
      this.#isRevoked = true
      this.#until(ms, 'there is a new key', () => {
        crm.addKey(KEYS.next)
        configuration.setKeyOfCrm(KEYS.next)
        this.#hasNewKey()
      })
    } else {
      this.#tell('the key is one of another org')
      configuration.setKey(KEYS.other)
      this.#until(ms, 'the key is the first one again', () => configuration.setKeyOfCrm(KEYS.home))
    }
  }

  /** The service is put back to an older state: all that has changed since is as it was. */
  #restore(backMs: number): void {
    const { services, loop } = this.#world
    const { org } = services.crm
    const found = this.#snapshots.findLast(({ at }) => at <= loop.now() - backMs)
    if (found === undefined) return
    const before = new Map(org.snapshot()[0].map((record) => [record.id, record]))
    org.restore(found.snapshot)
    const after = new Map(org.snapshot()[0].map((record) => [record.id, record]))
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const [was, is] = [before.get(id), after.get(id)]
      if (was !== is)
        services.log.restored(org.id, id, was && plainValues(was), is && plainValues(is))
    }
    this.#tell(
      `the service is put back to how it was ${Math.round((loop.now() - found.at) / 1_000)} s ago`,
    )
  }

  /** Somebody who waits for what waits. */
  #answer(action: Of<'answer'>, looks: number): void {
    const world = this.#world
    const [run] = world.query<{ id: number; workflow_id: string; message: string | null }>(
      `SELECT id, workflow_id, message FROM runs WHERE sync = ? AND state = 'blocked' AND reason = 'approval'`,
      action.sync,
    )
    if (world.isAtRest || looks === 0) return
    if (run === undefined)
      return void world.loop.after(1_000, 'a look at what waits', () =>
        this.#answer(action, looks - 1),
      )
    const { isApproved, names } = action
    const plan = {
      digest: shownPlan({ state: 'blocked', reason: 'approval', message: run.message }),
      number: run.id,
      nothing: null,
      another: '0123456789ab',
    }[names]
    world.loop.after(action.after, 'an answer', () => {
      if (world.isAtRest) return
      this.#tell(`a person ${isApproved ? 'approves' : 'rejects'} ${run.workflow_id} (${names})`)
      world
        .answer(run.workflow_id, plan, isApproved)
        .catch((error: unknown) => this.#tell(`  it is refused: ${(error as Error).name}`))
    })
  }

  #overwrite(name: string, value: Of<'overwrite'>['with']): void {
    const { sources, services } = this.#world
    const { sync, last } = sources.get(name)!
    const { log, crm } = services
    const { one, below } = this.#dice
    const row = last.rows[below(last.rows.length)]!
    const record = crm.org.list(sync.type).find(({ properties }) => properties['code'] === row.code)
    if (record === undefined) return
    const property = one(...sync.properties)
    const text =
      property === 'size' ? String(++this.#others) : `${VALUE_MARK}-other-${++this.#others}`
    const given = { text, nothing: null, row: row.cells[property]! }[value]
    if (given === REFUSED || (property === 'size' && given !== null && !/^\d+$/.test(given))) return
    this.#tell(
      `others give ${record.id} ${value === 'row' ? 'the' : 'another'} ${property}${given === null ? ', none' : ''}`,
    )
    const written = property === 'size' && given !== null ? Number(given) : given
    log.others(() => crm.org.change(record.id, { [property]: written }))
  }

  #refilter(what: Of<'refilter'>['what']): void {
    const { log, crm } = this.#world.services
    const records = crm.org
      .list('contact')
      .filter(({ properties }) => (properties[FILTERED_PROPERTY] == null) === (what === 'out'))
    const record = records[this.#dice.below(records.length)]
    if (record === undefined) return
    this.#tell(
      `others change ${record.id}, which ${what === 'out' ? 'leaves' : 'passes'} the filter`,
    )
    const value = what === 'out' ? `${VALUE_MARK}-other-${++this.#others}` : null
    log.others(() => crm.org.change(record.id, { [FILTERED_PROPERTY]: value }))
  }

  #other(what: 'edit' | 'add' | 'remove'): void {
    const { log, crm } = this.#world.services
    const { org } = crm
    const { one, below } = this.#dice
    const type = one(...this.#world.plan.scene.syncs).type
    const records = org.list(type)
    const record = records[below(records.length)]
    log.others(() => {
      const text = `${VALUE_MARK}-other-${++this.#others}`
      if (what === 'add' || record === undefined) {
        const { id } = org.put(type, { code: `other-${this.#others}`, name: text })
        this.#tell(`others add ${id}`)
      } else if (what === 'edit') {
        org.change(record.id, { [one('name', 'note')]: text })
        this.#tell(`others change ${record.id}`)
      } else {
        org.remove(record.id)
        this.#tell(`others remove ${record.id}`)
      }
    })
  }
}

/** Orgs that nothing of a run may reach that belongs to another one. */
export const FOREIGN_ORGS = [OTHER_ORG, ELSEWHERE_ORG]
