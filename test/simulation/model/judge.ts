// What must never be. Nothing here comes from the code that is judged: rows, files and what happened at the service are known from the
// world, and the ledger is read with SQL, as its documents describe it.

import type { World } from '../world/world.ts'
import { KEYS, HOME_ORG, OTHER_ORG, ELSEWHERE_ORG } from '../world/service.ts'
import { ApprovalJudge } from './approved.ts'
import { judgeClosedRun } from './closed-run.ts'
import { isRekeyedLately, judgeWrittenOver } from './protected.ts'
import type { EdgeChange } from './edge-log.ts'
import { isCopy, judgeCopied } from './copied.ts'
import { isDeletionAsked, judgeCounted } from './counted.ts'
import { HeldBack } from './held-back.ts'
import { LinkJudge } from './linked.ts'
import { IncrementalJudge } from './incremental.ts'
import { isRekeyed, type Change } from './service-log.ts'
import type { FileState } from './sources.ts'
import { COPIES } from '../search/copies.ts'
import type { SyncScene } from '../search/plan.ts'

export interface RunRow {
  readonly id: number
  readonly sync: string
  readonly state: string
  readonly reason: string | null
  readonly message: string | null
  readonly purpose: string
  readonly config: string
  readonly source_digest: string | null
  readonly rows_read: number | null
  readonly rows_staged: number
  readonly counts: string | null
  readonly opened_at: string
  readonly workflow_id: string
  readonly org_id: number | null
  readonly origin: string | null
}

export const LIVE: readonly string[] = ['running', 'paused', 'blocked']
const OPEN_ITEMS: readonly string[] = ['pending', 'in_flight']
const RUNS = `SELECT runs.id, runs.sync, state, reason, message, purpose, config, source_digest, rows_read, rows_staged, counts, opened_at, workflow_id,
  destinations.org_id, destinations.origin
  FROM runs LEFT JOIN destinations ON destinations.id = runs.destination WHERE mode = 'run' AND kind = 'import'`
/** Keys that a service may be shown. */
const KEYS_OF: Readonly<Record<number, readonly string[]>> = {
  [HOME_ORG]: ['', KEYS.home, KEYS.next, KEYS.other],
  [ELSEWHERE_ORG]: ['', KEYS.elsewhere],
}
/** A change right before a deletion may go unseen; so may one in the minute after the run that wrote the record. */
const UNSEEN_MS = 60_000
/** A request that removes is sent so long after the file was looked at, and is under way, at most. */
const ON_ITS_WAY_MS = 30_000
const VIOLATIONS_MAX = 20

const isSame = (one: Change['values'], other: Change['values']): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** The place of the change that a record is as it was left by: what is put back is as an earlier one left it. */
function lastChange(changes: readonly Change[]): number {
  let at = changes.length - 1
  while (changes[at]?.isRestored === true) {
    const { values } = changes[at]!
    at = changes.slice(0, at).findLastIndex((one) => isSame(one.values, values))
  }
  return at
}

export class Judge {
  readonly violations: string[] = []
  /** What the code has come to. */
  readonly marks = new Set<string>()
  #world: World | null = null
  #approvals: ApprovalJudge | null = null
  #incremental: IncrementalJudge | null = null
  #heldBack: HeldBack | null = null
  #links: LinkJudge | null = null
  /** The newest version that we have written, by org, sync, key and property. */
  readonly #newest = new Map<string, number>()
  /** When each run was seen closed first. */
  readonly #closed = new Map<number, number>()
  /** The run that has written a record last, by the record's id. */
  readonly #writers = new Map<string, number>()
  /** When each run was seen first. */
  readonly #seenAt = new Map<number, number>()
  #dataVersion = -1
  #closedThrough = 0

  watch(world: World): void {
    this.#world = world
    this.#approvals = new ApprovalJudge(world, (what) => this.violate(what))
    this.#incremental = new IncrementalJudge(world, (what) => this.violate(what))
    this.#heldBack = new HeldBack(() => world.loop.now())
    this.#links = new LinkJudge(world, (what) => this.violate(what))
    world.loop.atRest = () => this.#look()
  }

  violate(what: string): void {
    if (this.violations.length >= VIOLATIONS_MAX || this.violations.includes(what)) return
    this.violations.push(what)
    this.#world?.story.tell(`VIOLATION ${what}`)
  }

  /** (v) A key goes to its own service only. */
  readonly onKey = (org: number, key: string): void => {
    if (!KEYS_OF[org]!.includes(key))
      this.violate(`(v) a key of another service reaches that of org ${org}`)
    this.#heldBack?.onRequest(key)
  }

  readonly onRefusal = (key: string, seconds: number): void =>
    this.#heldBack?.onRefusal(key, seconds)

  /** (vi) What the quota has asked for is kept to. */
  judgeWaits(): void {
    const problem = this.#heldBack?.problem(this.#world!) ?? null
    if (problem !== null) this.violate(problem)
  }

  readonly onChange = (change: Change): void => {
    if (change.by === 'others' || this.#world === null) return
    if (isCopy(change))
      return judgeCopied(this.#world, change, this.#liveRun(COPIES), (what) => this.violate(what))
    if (change.values === null) this.#judgeRemoval(change)
    else this.#judgeWrite(change)
  }

  /** (i) (ii) (v) What is linked is what the rows ask for. */
  readonly onEdge = (change: EdgeChange): void => this.#links?.judgeMade(change, this.#newestRun)

  get links(): LinkJudge {
    return this.#links!
  }

  #newestRun = (sync: string): RunRow | undefined =>
    this.#world!.query<RunRow>(`${RUNS} AND runs.sync = ? ORDER BY runs.id DESC LIMIT 1`, sync)[0]

  #liveRun = (sync: string): RunRow | undefined =>
    this.#world!.query<RunRow>(
      `${RUNS} AND runs.sync = ? AND state IN ('running', 'paused', 'blocked')`,
      sync,
    )[0]

  /** (ix) (x) What others changed is left as it is by who has to, and what a plan shows is what is written. */
  #judgeChanged(change: Change): void {
    const world = this.#world!
    const { id, values, before } = change
    const type = id.startsWith('con') ? 'contact' : 'company'
    for (const sync of world.plan.scene.syncs) {
      if (sync.type !== type) continue
      const changed = sync.properties.filter((name) => values?.[name] !== before?.[name])
      if (changed.length === 0) continue
      const newest = this.#newestRun(sync.name)
      if (newest !== undefined) this.#approvals!.judgeWrite(newest, change, changed)
      const purpose = newest?.purpose ?? ''
      for (const property of changed)
        judgeWrittenOver(world, sync, { change, property, purpose }, (what) => this.violate(what))
    }
  }

  #judgeWrite(change: Change): void {
    const { org, code, values, before, id } = change
    const { versions, plan } = this.#world!
    const isAddressed = plan.actions.some((action) => action.do === 'address')
    if (org === ELSEWHERE_ORG && plan.scene.neighbour && !isAddressed)
      this.violate(`(v) the worker of another project does a run of ours: it writes ${id}`)
    this.#judgeChanged(change)
    for (const [property, value] of Object.entries(values!)) {
      const origin = versions.originOf(value)
      if (property === 'code' || origin === null) continue
      const writer = this.#liveRun(origin.sync)?.id
      if (writer !== undefined) this.#writers.set(id, writer)
      if (before?.[property] === value) continue
      const isOfRow = origin.code === code.trim() && origin.property === property
      if (!isOfRow && !isRekeyedLately(this.#world!, change))
        this.violate(`(i) ${id} gets a value of another row or property`)
      const run = this.#liveRun(origin.sync)
      if (run?.purpose === 'undo') continue
      // (v) Nothing of a run goes to another org than its own.
      if (run !== undefined && run.org_id !== null && run.org_id !== org)
        this.violate(
          `(v) run ${run.id} belongs to org ${run.org_id}, and a row of ${origin.sync} is written in org ${org}`,
        )
      // (ii) Nothing older overwrites something newer.
      if (run !== undefined)
        judgeCounted(this.#world!, run, change, origin, value, (what) => this.violate(what))
      const place = `${org} ${origin.sync} ${origin.code} ${property}`
      const newest = this.#newest.get(place) ?? 0
      if (origin.version < newest)
        this.violate(
          `(ii) ${id}: version ${origin.version} of ${property} is written after version ${newest}`,
        )
      else this.#newest.set(place, origin.version)
    }
  }

  /** (iv) Nothing is deleted without proof. */
  #judgeRemoval(change: Change): void {
    const { org, code, before, id, at } = change
    const { plan, sources, services, versions } = this.#world!
    const type = id.startsWith('con') ? 'contact' : 'company'
    const syncs = plan.scene.syncs.filter((sync) => sync.type === type)
    const own = syncs
      .map(({ name }) => ({ name, run: this.#liveRun(name) }))
      .filter(({ run }) => run !== undefined)
    const isUndone = own.some(({ run }) => run!.purpose === 'undo')
    if (isUndone) return
    const deleting = own.find(({ name }) => {
      const { missingRows, asksDeletion } = syncs.find((sync) => sync.name === name)!
      return missingRows === 'delete' || asksDeletion
    })
    if (deleting === undefined)
      return this.violate(`(iv) ${id} is deleted, and no run of a sync that deletes is live`)
    const { name, run } = deleting
    this.#approvals!.judgeRemoval(run!, change)
    const { sync, states } = sources.get(name)!
    const file = states.findLast(({ digest }) => digest === run!.source_digest)
    if (file === undefined)
      return this.violate(`(iv) ${id} is deleted by a run that has read no whole file`)
    if (!isDeletionAsked(sync, states, file, code.trim()))
      this.#judgeMissing(change, { run: run!, sync, file })
    const changes = services.log.changes.filter(
      (one) => one.org === org && one.id === id && one.values !== null,
    )
    if (!changes.some((one) => one.by === 'us'))
      this.violate(`(iv) ${id} is deleted, and we have never written it`)
    const last = changes[lastChange(changes)]
    // What others change before the run that wrote the record ends has an earlier time than that end, and shows in its values alone.
    const unseenUntil = (this.#closed.get(this.#writers.get(id) ?? 0) ?? Infinity) + UNSEEN_MS
    const ours = changes.findLast(({ by }) => by === 'us')?.values
    const isOther = syncs
      .find((sync) => sync.name === name)!
      .properties.some((property) => last?.values?.[property] !== ours?.[property])
    if (last?.by === 'others' && at - last.at > UNSEEN_MS && (isOther || last.at > unseenUntil))
      this.violate(
        `(iv) ${id} is deleted, and others have changed it ${Math.round((at - last.at) / 1_000)} s before`,
      )
    const isMoved = changes.some(isRekeyed)
    for (const [property, value] of Object.entries(before ?? {})) {
      const origin = versions.originOf(value)
      if (origin !== null && origin.code !== code.trim() && !isMoved)
        this.violate(`(iv) ${id}: ${property} was of another row`)
    }
  }

  /** A record whose row does not ask for its deletion is gone from the whole file, as it still is. */
  #judgeMissing(
    { id, code, at }: Change,
    {
      run,
      sync,
      file,
    }: { readonly run: RunRow; readonly sync: SyncScene; readonly file: FileState },
  ): void {
    if (sync.missingRows !== 'delete')
      this.violate(`(iv) ${id} is deleted, and no row has asked for it`)
    if (file.rows.some((row) => row.code === code.trim()))
      this.violate(`(iv) ${id} is deleted, and its row is in the file that run ${run.id} has read`)
    if (file.rows.some((row) => row.code === ''))
      this.violate(`(iv) ${id} is deleted, and run ${run.id} has read a row without a key`)
    const { states } = this.#world!.sources.get(sync.name)!
    const changed = states.find(({ generation }) => generation > file.generation)
    if (changed !== undefined && at - changed.at > ON_ITS_WAY_MS)
      this.violate(
        `(iv) ${id} is deleted, and the file that run ${run.id} has read had changed ${Math.round((at - changed.at) / 1_000)} s before`,
      )
  }

  /** Whether there is a time without a key that the service of the configuration takes. */
  get #isKeyTaken(): boolean {
    return this.#world!.plan.actions.some((action) => ['key', 'address'].includes(action.do))
  }

  /** Whenever nothing moves, anybody may look. */
  #look(): void {
    const world = this.#world!
    const version = world.books.version()
    if (version === this.#dataVersion) return
    this.#dataVersion = version
    const counts = new Map<number, { all: number; open: number }>()
    for (const { run, state, count } of world.query<{ run: number; state: string; count: number }>(
      'SELECT run, state, count(*) AS count FROM items WHERE run > ? GROUP BY run, state',
      this.#closedThrough,
    )) {
      const known = counts.get(run) ?? { all: 0, open: 0 }
      known.all += count
      if (OPEN_ITEMS.includes(state)) known.open += count
      counts.set(run, known)
    }
    const live = new Set<string>()
    for (const run of world.query<RunRow>(`${RUNS} AND runs.id > ?`, this.#closedThrough)) {
      const { all, open } = counts.get(run.id) ?? { all: 0, open: 0 }
      const isLive = LIVE.includes(run.state)
      if (!this.#seenAt.has(run.id)) this.#seenAt.set(run.id, world.loop.now())
      // (viii) Books balance at every instant.
      if (run.rows_read !== null && run.rows_read !== all)
        this.violate(
          `(viii) run ${run.id} (${run.state}) has read ${run.rows_read} rows, and its items are ${all}`,
        )
      this.#approvals!.see(run)
      if (isLive && live.has(run.sync)) this.violate(`(viii) ${run.sync} has two live runs`)
      if (isLive) live.add(run.sync)
      if (run.state === 'blocked' && run.reason === 'auth' && !this.#isKeyTaken)
        this.violate(`(vi) run ${run.id} is blocked by its key, and there was a valid one always`)
      if (isLive || this.#closed.has(run.id)) continue
      this.#closed.set(run.id, world.loop.now())
      // Also those that had the values of their rows already.
      for (const { record_id: id } of world.query<{ record_id: string }>(
        "SELECT record_id FROM items WHERE run = ? AND state = 'updated' AND record_id IS NOT NULL",
        run.id,
      ))
        this.#writers.set(id, run.id)
      if (open > 0)
        this.violate(`(viii) run ${run.id} is ${run.state}, and ${open} of its items are open`)
      judgeClosedRun(
        world,
        run,
        {
          since: this.#seenAt.get(run.id) ?? Infinity,
          approvals: this.#approvals!,
          links: this.#links!,
          incremental: this.#incremental!,
        },
        (what) => this.violate(what),
      )
    }
    // Runs that are closed stay so; those behind the oldest live one are looked at again.
    while (this.#closed.has(this.#closedThrough + 1)) this.#closedThrough++
  }
}

export const ORGS = { HOME_ORG, OTHER_ORG, ELSEWHERE_ORG }
