// Links of rows: what each of them has to be at the service, what each has become, and what nobody has asked for. The rules are those of
// docs/imports.md, "Links", in the words of the model: which links a file asks for, and what happened to them at the service.

import { associationOf, type LinksScene } from '../search/links.ts'
import type { SyncScene } from '../search/plan.ts'
import type { World } from '../world/world.ts'
import type { EdgeChange } from './edge-log.ts'
import type { RunRow } from './judge.ts'
import { unseenMs } from './protected.ts'
import { isOfKey, isRekeyed } from './service-log.ts'
import { isInvalid, type FileState, type Row } from './sources.ts'
import { targetsOf } from './targets.ts'

type Violate = (what: string) => void

/** A link that a file asks for. */
interface Asked {
  readonly ordinal: number
  readonly code: string
  readonly target: string
  /** A later link of the file has its place; `maybe`: one that has itself to give way. */
  readonly isOvertaken: boolean | 'maybe'
}

interface LinkItem {
  readonly ordinal: number
  readonly key: string
  readonly target: string
  readonly state: string
  readonly reason: string | null
  readonly attempts: number
}

interface RowItem {
  readonly ordinal: number
  readonly state: string
}

const CLOSED =
  'linked unchanged not_wanted target_missing vanished refused outcome_unknown not_sent'.split(' ')
/** States of a run that has come to its end. */
const COMPLETE: readonly string[] = [
  'complete',
  'complete_with_rejects',
  'complete_with_differences',
]
/** Those that a run has to name in its own state. */
const LEFT_OVER: Readonly<Record<string, readonly string[]>> = {
  complete: ['refused', 'outcome_unknown', 'not_sent', 'target_missing', 'vanished'],
  complete_with_differences: ['refused', 'outcome_unknown', 'not_sent'],
}
const LINKED_ROWS: readonly string[] = ['created', 'updated', 'unchanged', 'protected']
const SPARED_ROWS: readonly string[] = ['exists', 'not_found']
/** A link at which the service fails is sent so often. */
const SENDINGS = 5

/** All links of the rows that count, in their order. */
export function askedIn(rows: readonly Row[], { cardinality }: LinksScene): readonly Asked[] {
  const last = new Map<string, number>()
  for (const [at, row] of rows.entries()) if (!isInvalid(row)) last.set(row.code, at)
  const all = [...last.values()]
    .toSorted((a, b) => a - b)
    .flatMap((at) =>
      targetsOf(rows[at]!.target ?? '').map((target) => ({
        ordinal: at + 1,
        code: rows[at]!.code,
        target,
      })),
    )
  const isOneTarget = cardinality.endsWith('_to_one')
  const isOneSource = cardinality.startsWith('one_')
  const [codes, targets] = [new Set<string>(), new Set<string>()]
  const [namedCodes, namedTargets] = [new Set<string>(), new Set<string>()]
  const asked: Asked[] = []
  for (const one of all.toReversed()) {
    const { code, target } = one
    const isTaken = (isOneTarget && codes.has(code)) || (isOneSource && targets.has(target))
    const isNamed =
      (isOneTarget && namedCodes.has(code)) || (isOneSource && namedTargets.has(target))
    if (!isTaken) {
      codes.add(code)
      targets.add(target)
    }
    namedCodes.add(code)
    namedTargets.add(target)
    asked.unshift({ ...one, isOvertaken: isTaken === isNamed ? isTaken : 'maybe' })
  }
  return asked
}

export class LinkJudge {
  readonly #world: World
  readonly #violate: Violate
  readonly #asked = new WeakMap<FileState, readonly Asked[]>()

  constructor(world: World, violate: Violate) {
    this.#world = world
    this.#violate = violate
  }

  #in(file: FileState, links: LinksScene): readonly Asked[] {
    const known = this.#asked.get(file)
    if (known !== undefined) return known
    const asked = askedIn(file.rows, links)
    this.#asked.set(file, asked)
    return asked
  }

  /** A link that was made: the rows that the run has read ask for it. @param newest the newest run of the sync */
  judgeMade(change: EdgeChange, newest: (sync: string) => RunRow | undefined): void {
    const { at, by, what, org, name, source, target, from, to } = change
    if (by !== 'us' || what === 'gone') return
    const sync = this.#world.plan.scene.syncs.find(
      (one) => one.links !== null && associationOf(one) === name,
    )!
    const where = `${source} is linked to ${target}`
    const run = newest(sync.name)
    if (run === undefined) return this.#violate(`(i) ${where}, and there is no run`)
    if (run.org_id !== null && run.org_id !== org)
      this.#violate(`(v) run ${run.id} belongs to org ${run.org_id}, and ${where} in org ${org}`)
    const { states } = this.#world.sources.get(sync.name)!
    const isAsked = (file: FileState) =>
      this.#in(file, sync.links!).some(
        ({ code, target: asked, isOvertaken }) =>
          code === from && asked === to && isOvertaken !== true,
      )
    const files = this.#filesBehind(run, states)
    if (files === null) {
      if (!states.some(isAsked) && !this.#isMoved(org, [from, to], at))
        this.#violate(`(i) ${where}, and no row has ever asked for it`)
      return
    }
    if (files.some(isAsked)) return
    const file = files[0]!
    // What such a row asks for is not known: what an earlier one has asked for is still to be done.
    const isUnread =
      file.rows.some((row) => row.code === from) &&
      file.rows.every((row) => row.code !== from || isInvalid(row))
    if (isUnread && states.some(isAsked)) return
    if (this.#isMoved(org, [from, to], at)) return
    this.#violate(`(ii) ${where}, which the file that run ${run.id} goes by does not ask for`)
  }

  /**
   * The files that a run goes by: its own; of one that reads none, that of the last complete run before it, and those of the runs since.
   * Null: rows of any file may be behind its links.
   */
  #filesBehind(run: RunRow, states: readonly FileState[]): readonly FileState[] | null {
    const fileOf = (wanted: string | null) =>
      states.findLast(({ digest }) => digest === wanted) ?? null
    if (run.purpose === 'retry') return null
    const own = fileOf(run.source_digest)
    if (own !== null) return [own]
    if (run.purpose !== 'links') return null
    const before = this.#world.query<Pick<RunRow, 'purpose' | 'state' | 'source_digest'>>(
      `SELECT purpose, state, source_digest FROM runs WHERE sync = ? AND mode = 'run' AND id < ?
       AND destination = (SELECT destination FROM runs WHERE id = ?) ORDER BY id DESC`,
      run.sync,
      run.id,
      run.id,
    )
    const at = before.findIndex(
      ({ purpose, state }) => ['sync', 'backfill'].includes(purpose) && COMPLETE.includes(state),
    )
    const since = before.slice(0, at + 1)
    const files = since.flatMap(({ source_digest: digest }) => fileOf(digest) ?? []).toReversed()
    return at < 0 || files.length === 0 || since.some(({ purpose }) => purpose === 'retry')
      ? null
      : files
  }

  /** @param since when the run was seen first */
  judgeClosed(run: RunRow, items: readonly RowItem[] | null, since: number): void {
    const sync = this.#world.plan.scene.syncs.find(({ name }) => name === run.sync)!
    if (sync.links === null) return
    const found = this.#world.query<LinkItem>(
      'SELECT ordinal, key, target, state, reason, attempts FROM links WHERE run = ? ORDER BY ordinal, number',
      run.id,
    )
    for (const link of found) {
      const where = `run ${run.id} is ${run.state}: the link of row ${link.ordinal} to ${link.target} is ${link.state}`
      if (!CLOSED.includes(link.state)) this.#violate(`(viii) ${where}`)
      if (LEFT_OVER[run.state]?.includes(link.state) === true && run.purpose !== 'reconcile')
        this.#violate(`(i) ${where}`)
      if (link.state === 'linked') this.#judgeLinked(run, link, since, where)
    }
    const file = this.#world.sources
      .get(run.sync)!
      .states.findLast(({ digest }) => digest === run.source_digest)
    if (items === null || file === undefined || !COMPLETE.includes(run.state)) return
    const asked = this.#in(file, sync.links)
    const nameOf = (ordinal: number, code: string, target: string) =>
      JSON.stringify([ordinal, code, target])
    const byName = new Map(
      found.map((link) => [nameOf(link.ordinal, link.key, link.target), link] as const),
    )
    for (const { ordinal, key, target } of found)
      if (ordinal > 0 && !asked.some((one) => one.ordinal === ordinal && one.target === target))
        this.#violate(`(iii) run ${run.id}: row ${ordinal} (${key}) does not ask for ${target}`)
    for (const one of asked) {
      const link = byName.get(nameOf(one.ordinal, one.code, one.target))
      const where = `run ${run.id} is ${run.state}: the link of row ${one.ordinal} to ${one.target}`
      if (link === undefined) {
        this.#violate(`(iii) ${where} is not in the books`)
        continue
      }
      // The service itself has changed what it takes, or what a key sees.
      if (this.#world.refusesMore(run.opened_at)) continue
      const row = items.find(({ ordinal }) => ordinal === one.ordinal)!
      const right = this.#rightStates(run, sync, one, { row, link, since })
      if (!right.includes(link.state))
        this.#violate(
          `(iii) ${where} is ${link.state} (${link.reason}), expected ${right.join(' or ')}; the row is ${row.state}`,
        )
      if (link.state === 'unchanged') this.#judgeUnchanged(run, link, since, where)
    }
  }

  #rightStates(
    run: RunRow,
    sync: SyncScene,
    { isOvertaken }: Asked,
    {
      row,
      link,
      since,
    }: { readonly row: RowItem; readonly link: LinkItem; readonly since: number },
  ): readonly string[] {
    if (isOvertaken === true) return ['not_wanted']
    const maybe = isOvertaken === 'maybe' ? ['not_wanted'] : []
    // What was made before is known, whatever becomes of the row.
    if (SPARED_ROWS.includes(row.state)) return ['not_wanted', 'unchanged']
    if (!LINKED_ROWS.includes(row.state)) return ['not_sent', 'unchanged', ...maybe]
    const { links } = sync
    const org = run.org_id!
    const of = (type: SyncScene['type'], code: string) => this.#recordsOf(org, type, code, since)
    const [sources, targets] = [of(sync.type, link.key), of(links!.to, link.target)]
    const missing = { park: 'target_missing', reject: 'refused', skip: 'not_wanted' }[
      links!.missing
    ]
    // A create whose answer was lost is looked up once more as the run is closed: its links are left for the next run.
    const isDoubtful = sync.mode === 'create' && row.state === 'created'
    const isGone = this.#sameEdges(org, link).some(({ what, at }) => what === 'gone' && at >= since)
    return [
      'linked',
      'unchanged',
      ...maybe,
      ...(targets.least === 0 ? [missing] : []),
      ...(targets.most > 1 || sources.least === 0 ? ['refused'] : []),
      ...(this.#world.plan.weather.failed > 0 && link.attempts >= SENDINGS
        ? ['outcome_unknown']
        : []),
      ...(isGone ? ['vanished'] : []),
      ...(isDoubtful ? ['not_sent'] : []),
    ]
  }

  /** How many records had a key, since a time: the least and the most at once. */
  #recordsOf(org: number, type: string, code: string, since: number) {
    const there = new Set<string>()
    let [least, most] = [Infinity, 0]
    let isLooking = false
    const look = () => {
      least = Math.min(least, there.size)
      most = Math.max(most, there.size)
    }
    for (const change of this.#world.services.log.changes) {
      const { org: its, id, code: key, values, at } = change
      if (its !== org || !isOfKey(change, code) || !id.startsWith(type.slice(0, 3))) continue
      if (at >= since && !isLooking) {
        isLooking = true
        look()
      }
      if (values === null || key.trim() !== code) there.delete(id)
      else there.add(id)
      if (isLooking) look()
    }
    look()
    return { least, most }
  }

  #edge(org: number, { key, target }: Pick<LinkItem, 'key' | 'target'>): readonly EdgeChange[] {
    return this.#world.services.edges.changes.filter(
      (one) => one.org === org && one.from === key && one.to === target,
    )
  }

  /** Those between records that had the keys when one of them was noted. */
  #sameEdges(org: number, link: Pick<LinkItem, 'key' | 'target'>): readonly EdgeChange[] {
    const idOf = ({ source, target }: EdgeChange) => `${source} ${target}`
    const ids = new Set(this.#edge(org, link).map(idOf))
    return this.#world.services.edges.changes.filter((one) => one.org === org && ids.has(idOf(one)))
  }

  /** Whether another user has given one of the keys to another record since a time, or right before. */
  #isMoved(org: number, keys: readonly string[], since: number): boolean {
    const from = since - unseenMs(this.#world)
    return this.#world.services.log.changes.some(
      (one) =>
        one.org === org &&
        one.at >= from &&
        isRekeyed(one) &&
        keys.some((key) => isOfKey(one, key)),
    )
  }

  /** The change that has ended a link that is not there; null: it is there. */
  #endOf(changes: readonly EdgeChange[]): EdgeChange | null {
    const there = new Set<string>()
    let end: EdgeChange | null = null
    for (const change of changes) {
      const id = `${change.source} ${change.target}`
      if (change.what !== 'gone') there.add(id)
      else if (there.delete(id)) end = change
    }
    return there.size > 0 ? null : end
  }

  /** (i) A link that a run has made was made, and has not given way to another one of ours. */
  #judgeLinked(run: RunRow, link: LinkItem, since: number, where: string): void {
    const changes = this.#edge(run.org_id!, link)
    const isMade = changes.some(({ by, what, at }) => by === 'us' && what !== 'gone' && at >= since)
    if (!isMade && !this.#isMoved(run.org_id!, [link.key, link.target], since))
      return this.#violate(`(i) ${where}, and the run has not made it`)
    const end = this.#endOf(changes)
    if (end !== null && end.by === 'us' && !end.withRecord)
      this.#violate(`(i) ${where}, and another link of ours has taken its place`)
  }

  /** (i) A link that is taken for made was made, and has not gone by our own doing before the run. */
  #judgeUnchanged(run: RunRow, link: LinkItem, since: number, where: string): void {
    const changes = this.#edge(run.org_id!, link)
    // A comparison has seen the links that others have made.
    const [compared] = this.#world.query(
      "SELECT 1 FROM runs WHERE sync = ? AND purpose = 'reconcile'",
      run.sync,
    )
    if (!changes.some(({ by, what }) => what !== 'gone' && (by === 'us' || compared !== undefined)))
      return this.#violate(`(i) ${where} is unchanged, and was never made by us`)
    const end = this.#endOf(changes)
    if (end !== null && end.by === 'us' && (end.at < since || !end.withRecord))
      this.#violate(
        `(i) ${where} is unchanged, and had gone by our doing ${end.withRecord ? 'with a record' : 'for another link'}`,
      )
  }

  /** At the end everything that the rows ask for is there. @param run the last one that has read them */
  judgeEnd(run: number, { name, type, links }: SyncScene): void {
    const { services, sources } = this.#world
    const { org } = services.crm
    const accepted = new Set(
      this.#world
        .query<RowItem>('SELECT ordinal, state FROM items WHERE run = ?', run)
        .filter(({ state }) => LINKED_ROWS.includes(state))
        .map(({ ordinal }) => ordinal),
    )
    const idsOf = (of: string, code: string) =>
      org
        .list(of)
        .filter(({ properties }) => String(properties['code'] as string).trim() === code)
        .map(({ id }) => id)
    for (const { ordinal, code, target, isOvertaken } of this.#in(
      sources.get(name)!.last,
      links!,
    )) {
      if (isOvertaken !== false || !accepted.has(ordinal)) continue
      const [from, to] = [idsOf(type, code), idsOf(links!.to, target)]
      const isThere = org.edges.some((one) => from.includes(one.source) && to.includes(one.target))
      if (!isThere)
        this.#violate(`(i) at the end row ${ordinal} of ${name} is not linked to ${target}`)
    }
  }
}
