// One run of a sync, phase by phase: what the documents say becomes of its rows, its links and the records without a row, compared with
// what the ledger says, and what the service holds after each phase.

import assert from 'node:assert/strict'
import { type Books } from '../../../src/core/domain/books.ts'
import { ITEM_STATES, LINK_STATES, DELETION_STATES } from '../../../src/core/domain/outcomes.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { Row } from './rows.ts'
import type { ServiceModel } from './service-model.ts'
import {
  edgeOf,
  isSamePlace,
  recordsOf,
  type SyncModel,
  type Link,
  type StagedRow,
  type Writer,
} from './sync-model.ts'

const ALL = 10_000

export interface RunScene {
  readonly service: ServiceModel
  readonly syncs: readonly SyncModel[]
  readonly sync: SyncModel
  /** Counts runs. */
  readonly at: number
  /** Whether requests or workers were lost: then an update may have been a creation, and a deletion may be found done. */
  readonly isLossy: boolean
}

/** Of a run that ended before its time: what is not settled is `unsent`, or `failed` where its outcome is not known. */
type Ending = 'finished' | 'cut'

export class RunModel {
  readonly #scene: RunScene
  readonly #writer: Writer = { until: 0 }
  readonly #isOfLinks: boolean
  rows: readonly StagedRow[] = []
  #links: readonly Link[] = []
  /** Those that a later link of the file takes the place of. */
  #skippedAtOnce: ReadonlySet<Link> = new Set()
  readonly #linkStates = new Map<string, string>()
  #removals: ReadonlyMap<string, { cause: 'missing' | 'asked'; state: string }> = new Map()
  readonly #removed = new Map<string, string>()

  /** @param isOfLinks whether it takes up links alone */
  constructor(scene: RunScene, isOfLinks = false) {
    this.#scene = scene
    this.#isOfLinks = isOfLinks
  }

  stage(file: readonly Row[]): void {
    const { sync } = this.#scene
    if (!this.#isOfLinks) this.rows = sync.stage(file)
    const own = sync.linksOf(this.rows)
    const keys = new Set(this.rows.map(({ key }) => key))
    const isCarrying = this.#isOfLinks || (sync.setting.isIncremental && sync.reading !== null)
    this.#links = [...own, ...(isCarrying ? sync.carried(keys) : [])]
    this.#skippedAtOnce = sync.skipped(own)
    for (const link of this.#skippedAtOnce) this.#linkStates.set(edgeOf(link), 'not_wanted')
    if (!this.#isOfLinks) this.#removals = sync.removals(this.rows)
  }

  get hasRemovals(): boolean {
    return this.#removals.size > 0
  }

  /** Rows are sent. */
  async pushed(ledger: Ledger, run: number, ending: Ending): Promise<void> {
    const { sync, syncs, service, at, isLossy } = this.#scene
    const records = recordsOf(syncs)
    const actual = new Map(
      (await ledger.report(run, { states: ITEM_STATES, after: 0, limit: ALL })).map((item) => [
        item.ordinal,
        item.state as string,
      ]),
    )
    assert.deepEqual(
      [...actual.keys()],
      this.rows.map(({ ordinal }) => ordinal),
    )
    for (const row of this.rows) {
      const shown = actual.get(row.ordinal)!
      if (row.state !== 'pending') {
        assert.deepEqual([row.ordinal, row.key, shown], [row.ordinal, row.key, row.state])
        continue
      }
      const states = [...sync.sentStates(row, service, records)]
      if (isLossy && states.includes('created')) {
        states.push('updated')
      }
      if (ending === 'cut') states.push('not_sent', 'outcome_unknown')
      assert.deepEqual(
        { key: row.key, may: states.includes(shown) ? shown : states },
        {
          key: row.key,
          may: shown,
        },
      )
      row.state = shown
      sync.applyRow(row, service, this.#writer, at)
    }
  }

  /** Links are sent. */
  async linked(ledger: Ledger, run: number, ending: Ending, isBegun = true): Promise<void> {
    const { sync, syncs, service, at } = this.#scene
    const records = recordsOf(syncs)
    const { links: shown } = await ledger.reportLinks(run, {
      states: LINK_STATES,
      after: { ordinal: 0, number: 0 },
      limit: ALL,
    })
    const actual = new Map(
      shown.map(({ association, key, target, state }) => [
        JSON.stringify([association, key, target]),
        state as string,
      ]),
    )
    assert.deepEqual([...actual.keys()].toSorted(), this.#links.map(edgeOf).toSorted())
    const decided = this.#links.map((link) => ({ link, ...this.#outcome(link, records) }))
    for (const { link, states, ends, gone = [] } of decided) {
      const edge = edgeOf(link)
      const isDecided = this.#linkStates.has(edge)
      const may =
        ending === 'cut' && !isDecided ? [...states, 'not_sent', 'outcome_unknown'] : [...states]
      const state = actual.get(edge)!
      if (link.row === null && this.#isOvertaken(link, actual)) may.push('not_wanted')
      assert.deepEqual({ edge, may: may.includes(state) ? state : may }, { edge, may: state })
      this.#linkStates.set(edge, state)
      if (state === 'unchanged' || isDecided) continue
      if (state === 'linked') service.link(link.setting.association, ends.source!, ends.target!)
      if (state === 'outcome_unknown') this.#adoptEdge(link, ends)
      // What the service does not find is gone for all.
      if (states.includes(state))
        for (const id of gone) for (const one of syncs) one.forgetGone(id, one === sync)
      sync.note(link, state, ends, at, syncs)
    }
    if (!isBegun || this.#isOfLinks || sync.setting.links.length === 0) return
    const read = this.rows.flatMap(({ key, state }) =>
      key === null || state === 'invalid' || state === 'superseded' ? [] : [key],
    )
    const named = this.#links.filter((link) => !this.#skippedAtOnce.has(link))
    const invalid = this.rows.flatMap(({ key, state }) =>
      key !== null && state === 'invalid' ? [key] : [],
    )
    sync.forget(named, sync.setting.isIncremental ? new Set(read) : 'all', new Set(invalid))
  }

  /** A link that was carried over gives way to another one of the run: no row says which of them is the later one. */
  #isOvertaken(link: Link, actual: ReadonlyMap<string, string>): boolean {
    return this.#links.some(
      (other) =>
        other !== link && isSamePlace(other, link) && actual.get(edgeOf(other)) !== 'not_wanted',
    )
  }

  #adoptEdge({ setting }: Link, { source, target }: Ends): void {
    const { service } = this.#scene
    if (source !== null && target !== null && service.isLinked(setting.association, source, target))
      service.link(setting.association, source, target)
  }

  #outcome(
    link: Link,
    records: ReturnType<typeof recordsOf>,
  ): { states: string[]; ends: Ends; gone?: readonly string[] } {
    const { sync, service } = this.#scene
    const none: Ends = { source: null, target: null }
    const { setting, row, key } = link
    if (this.#linkStates.get(edgeOf(link)) === 'not_wanted')
      return { states: ['not_wanted'], ends: none }
    if (sync.isKnown(link, records)) return { states: ['unchanged'], ends: none }
    const missing = { park: 'target_missing', reject: 'refused', skip: 'not_wanted' }[
      setting.missing
    ]
    const isLinkMode = sync.setting.mode === 'link'
    if (row !== null) {
      if (row.state === 'exists' && !isLinkMode) return { states: ['not_wanted'], ends: none }
      if (row.state === 'not_found')
        return { states: [isLinkMode ? missing : 'not_wanted'], ends: none }
      if (['refused', 'outcome_unknown', 'not_sent', 'pending'].includes(row.state))
        return { states: ['not_sent'], ends: none }
    }
    const { type } = sync.setting
    const own = isLinkMode ? null : (row?.id ?? sync.accepted.get(key)?.id ?? null)
    if (own === null && !isLinkMode) return { states: ['not_sent'], ends: none }
    // What is remembered shows only which records are gone.
    const gone: string[] = []
    const noteGone = (id: string | null | undefined) => {
      if (typeof id === 'string' && !service.has(id)) gone.push(id)
    }
    noteGone(own ?? records(type, key)?.id)
    const source = service.ofKey(type, key)?.id ?? null
    if (source === null)
      return { states: [isLinkMode ? missing : 'refused'], ends: { source, target: null }, gone }
    if (setting.by === 'code') noteGone(records(setting.to, link.target)?.id)
    const found = setting.by === null ? [{ id: link.target }] : this.#search(link)
    if (setting.by === null) noteGone(link.target)
    const [first] = found
    const target = first !== undefined && service.has(first.id) ? first.id : null
    if (found.length > 1) return { states: ['refused'], ends: { source, target: null }, gone }
    return target === null
      ? { states: [missing], ends: { source, target }, gone }
      : { states: ['linked'], ends: { source, target }, gone }
  }

  #search({ setting: { to, by }, target }: Link) {
    return by === null ? [] : this.#scene.service.withValue(to, by, target)
  }

  /** Records without a row are removed. */
  async removed(ledger: Ledger, run: number, ending: Ending): Promise<void> {
    const { sync, syncs, service, isLossy } = this.#scene
    const { rows } = await ledger.removals(run, { states: DELETION_STATES, after: 0, limit: ALL })
    const actual = new Map(rows.map(({ key, state }) => [key, state as string]))
    assert.deepEqual([...actual.keys()].toSorted(), [...this.#removals.keys()].toSorted())
    const others = syncs.filter(
      ({ setting }) => setting !== sync.setting && setting.type === sync.setting.type,
    )
    const judged = [...this.#removals].map(([key, { cause, state }]) => ({
      key,
      state: state === 'pending' ? sync.judge(key, cause, service, others) : state,
    }))
    for (const { key, state } of judged) {
      const shown = actual.get(key)!
      const may = [state]
      if (isLossy && state === 'deleted') may.push('already_gone')
      if (ending === 'cut') may.push('not_sent', 'outcome_unknown')
      assert.deepEqual({ key, may: may.includes(shown) ? shown : may }, { key, may: shown })
      this.#removed.set(key, shown)
      sync.applyRemoval(key, shown, service, syncs)
    }
  }

  /** The run is closed. Fails unless its state is what its rows, links and removals make it. */
  closed(state: string, books: Books, ending: Ending): void {
    const { sync, service, at } = this.#scene
    const rows = this.rows.map((row) => row.state)
    const links = [...this.#linkStates.values()]
    const removals = [...this.#removed.values()]
    const count = (states: readonly string[], ...of: string[]) =>
      states.filter((one) => of.includes(one)).length
    assert.equal(books.read, rows.length)
    for (const name of ITEM_STATES)
      assert.deepEqual([name, books.states[name]], [name, count(rows, name)])
    assert.equal(books.links?.read ?? 0, links.length)
    for (const name of LINK_STATES)
      assert.deepEqual([name, books.links?.states[name] ?? 0], [name, count(links, name)])
    for (const name of DELETION_STATES)
      assert.deepEqual([name, books.removals?.[name] ?? 0], [name, count(removals, name)])
    if (ending === 'cut') {
      this.#writer.until = Date.now()
      sync.noteUnread(this.rows)
      return
    }
    const rejects =
      count(rows, 'invalid', 'refused', 'outcome_unknown', 'not_sent') +
      count(links, 'refused', 'outcome_unknown', 'not_sent') +
      count(removals, 'refused', 'outcome_unknown', 'not_sent')
    const changed = this.#isOfLinks ? [] : sync.readUnread(this.rows, service)
    const differences =
      count(links, 'target_missing') + count(removals, 'changed_since', 'unproven') + changed.length
    assert.equal(
      state,
      rejects > 0
        ? 'complete_with_rejects'
        : differences > 0
          ? 'complete_with_differences'
          : 'complete',
    )
    this.#writer.until = service.newestChange(sync.setting.type)
    if (this.#isOfLinks) return
    // The last row of a key that could be read says what it asks for.
    const readable = (row: StagedRow) => row.state !== 'invalid'
    const inOrder = [...this.rows.filter((row) => !readable(row)), ...this.rows.filter(readable)]
    sync.reading = new Map(
      inOrder.flatMap((row) =>
        row.key === null ? [] : [[row.key, row.state === 'deletion_requested']],
      ),
    )
    sync.readingAt = at
    sync.removedSince.clear()
    for (const [key, one] of this.#removed) if (isDone(one)) sync.removedSince.add(key)
    sync.open = new Map(
      [...this.#removals].flatMap(([key, { cause }]) =>
        ['unproven', 'refused', 'outcome_unknown', 'not_sent'].includes(this.#removed.get(key)!)
          ? [[key, cause]]
          : [],
      ),
    )
    // A row without a key would be carried for ever: nothing says that a later one mends it.
    const isLeft = (row: StagedRow) =>
      row.key !== null &&
      (['invalid', 'refused', 'outcome_unknown', 'not_sent'].includes(row.state) ||
        changed.includes(row))
    sync.left = this.rows.filter(isLeft).map(({ row }) => row)
    sync.leftAt = at
    sync.watermark = Math.max(sync.watermark, ...this.rows.map(({ row }) => row.v))
  }
}

interface Ends {
  readonly source: string | null
  readonly target: string | null
}

const isDone = (state: string): boolean => ['deleted', 'cleared', 'already_gone'].includes(state)
