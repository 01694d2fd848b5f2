// What the table of a mirror must be. It is looked at whenever a run of the mirror has ended, and compared with what happened at the service.

import { ELSEWHERE_ORG, HOME_ORG, OTHER_ORG } from '../world/service.ts'
import type { Started, World } from '../world/world.ts'
import { asSent, type Change } from './service-log.ts'

type Values = Readonly<Record<string, string>>

interface Row {
  readonly values: Values
  readonly isDeleted: boolean
}

const COLUMNS = ['code', 'name', 'size', 'note'] as const

const isSame = (one: Values | null, other: Values | null): boolean =>
  one === null || other === null
    ? one === other
    : COLUMNS.every((name) => sizeOf(name, one[name]) === sizeOf(name, other[name]))

/** A number has many texts, and every digit of it counts. */
const sizeOf = (name: string, text: string | undefined): string | undefined =>
  name === 'size' ? text?.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : text

/** Deletions of a run that need nobody's approval, however few rows the table has. */
const UNASKED_ROWS = 10

export class MirrorJudge {
  readonly #world: World
  readonly #violate: (what: string) => void
  /** The state of each record, as its number in the history of the service, that a row has shown last. */
  readonly #shown = new Map<string, number>()
  /** When the latest run began that has brought the tables up to date; a comparison says nothing of later changes. */
  #readFrom = -1
  /** Rows that were there when a run had ended last, by type. */
  readonly #there = new Map<string, ReadonlySet<string>>()

  constructor(world: World, violate: (what: string) => void) {
    this.#world = world
    this.#violate = violate
  }

  /** Whether the tables belong to what the configuration names at the end. */
  async isHome(): Promise<boolean> {
    return [null, `https://crm.example org ${HOME_ORG}`].includes(await this.#owner())
  }

  /** Called when a run of the mirror has ended. `isLast`: nothing has happened since it began. */
  async look(run: Started, { isLast = false } = {}): Promise<void> {
    const org = await this.#org()
    if (org === null) return
    const isRun = run.type === 'mirrorSync'
    if (isRun && run.ended!.how === 'complete') this.#readFrom = run.beganAt
    const from = isRun ? run.beganAt : Math.min(run.beganAt, this.#readFrom)
    for (const type of this.#world.plan.scene.mirror!.types) {
      const rows = await this.#rows(type)
      if (rows === null) continue
      this.#judge(run, { org, type, rows, isLast, from })
      this.#judgeShare(run, type, rows)
      this.#judgeHidden(run, type, rows)
    }
  }

  /** (iv) Until the adversary rests nobody approves anything: a run deletes no more rows than it may unasked. */
  #judgeShare({ workflowId }: Started, type: string, rows: ReadonlyMap<string, Row>): void {
    const there = new Set([...rows].filter(([, row]) => !row.isDeleted).map(([id]) => id))
    const before = this.#there.get(type) ?? new Set()
    this.#there.set(type, there)
    if (this.#world.isAtRest) return
    const gone = [...before].filter((id) => !there.has(id)).length
    const { deletionsMaxPercent: percent } = this.#world.plan.scene.mirror!
    const unasked = percent === 0 ? 0 : UNASKED_ROWS
    if (gone > Math.max(unasked, (before.size * percent) / 100 + 1))
      this.#violate(
        `(iv) ${workflowId} deletes ${gone} of ${before.size} rows of ${type} unasked, and ${percent} % may go`,
      )
  }

  /** (i) A run is not complete whose key has not seen the type of a table at any time of it. */
  #judgeHidden(
    { workflowId, beganAt, ended }: Started,
    type: string,
    rows: ReadonlyMap<string, Row>,
  ): void {
    const isHidden = this.#world.refusing.some(
      ({ hides, from, until }) => hides === type && from < beganAt && until > ended!.at,
    )
    if (isHidden && rows.size > 0 && ended!.how === 'complete')
      this.#violate(`(i) ${workflowId} is complete, and its key did not see ${type}`)
  }

  /** Whose records the tables hold; null: nobody's yet. */
  async #owner(): Promise<string | null> {
    const found = await this.#world.mirrorTable('_records_sync_mirror', ['owner'])
    return found?.[0]?.[0] ?? null
  }

  async #org(): Promise<number | null> {
    const org = Number(/ org (\d+)$/.exec((await this.#owner()) ?? '')?.[1])
    return [HOME_ORG, OTHER_ORG, ELSEWHERE_ORG].includes(org) ? org : null
  }

  async #rows(type: string): Promise<ReadonlyMap<string, Row> | null> {
    const rows = await this.#world.mirrorTable(type, ['_id', '_deleted_at', ...COLUMNS])
    if (rows === null) return null
    const found = new Map<string, Row>()
    for (const [id, deletedAt, ...cells] of rows) {
      if (found.has(String(id))) this.#violate(`(i) the table of ${type} has two rows of ${id}`)
      const values = COLUMNS.flatMap((name, at) =>
        cells[at] == null ? [] : [[name, asSent(String(cells[at]))] as const],
      )
      found.set(String(id), { values: Object.fromEntries(values), isDeleted: deletedAt !== null })
    }
    return found
  }

  #judge(
    run: Started,
    given: {
      readonly org: number
      readonly type: string
      readonly rows: ReadonlyMap<string, Row>
      readonly isLast: boolean
      /** What has changed since is not judged. */
      readonly from: number
    },
  ): void {
    const { org, type, rows, isLast, from } = given
    const { services, refusing } = this.#world
    const { changes } = services.log
    const prefix = type === 'contact' ? 'con' : 'com'
    const histories = new Map<string, { readonly change: Change; readonly number: number }[]>()
    for (const [number, change] of changes.entries()) {
      if (change.org !== org || !change.id.startsWith(prefix)) continue
      const known = histories.get(change.id)
      if (known) known.push({ change, number })
      else histories.set(change.id, [{ change, number }])
    }
    // A schema or a key that showed less, at any time of the run.
    const sawLess = refusing.some(({ until }) => until >= run.beganAt)
    const isComplete = run.ended!.how === 'complete' && !sawLess
    for (const [id, row] of rows) if (!histories.has(id)) this.#unknown(id, row)
    for (const [id, history] of histories) {
      const row = rows.get(id)
      const held = row === undefined || row.isDeleted ? null : row.values
      const now = history.at(-1)!
      // What is put back has an older time, so a comparison counts it with what was read long ago.
      const quietFrom = now.change.isRestored === true ? run.beganAt : from
      const isQuiet = isLast || now.change.at < quietFrom
      if (isComplete && isQuiet && !isSame(held, now.change.values))
        this.#violate(
          `(i) ${run.workflowId} is complete, and the row of ${id} is ${textOf(held)}, not ${textOf(now.change.values)}`,
        )
      // (iv) A row whose record was there all the time is not marked as deleted.
      if (row?.isDeleted && !this.#world.isAtRest && !sawLess)
        if (history.every(({ change }) => change.values !== null && !change.isRestored))
          this.#violate(`(iv) the row of ${id} is marked as deleted, and its record was never gone`)
      // After that a row lacks what was not shown, until a run has read it again.
      if (held !== null && (isComplete || refusing.length === 0)) this.#judgeAge(id, held, history)
    }
  }

  #unknown(id: string, { isDeleted }: Row): void {
    if (!isDeleted)
      this.#violate(`(i) the table has a row of ${id}, which never was at the service`)
  }

  /** (ii) A row shows a state that its record had, and none that is older than what it has shown before. */
  #judgeAge(
    id: string,
    held: Values,
    history: readonly { readonly change: Change; readonly number: number }[],
  ): void {
    const before = this.#shown.get(id) ?? -1
    const states = history.filter(({ change }) => isSame(change.values, held))
    const found = states.find(({ number }) => number >= before)
    if (found !== undefined) return void this.#shown.set(id, found.number)
    this.#violate(
      states.length === 0
        ? `(i) the row of ${id} is ${textOf(held)}, which its record never was`
        : `(ii) the row of ${id} goes back to an older state: ${textOf(held)}`,
    )
  }
}

const textOf = (values: Values | null): string =>
  values === null ? 'not there' : JSON.stringify(values)
