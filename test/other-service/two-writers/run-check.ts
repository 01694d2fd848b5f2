// One run against the model: its events one after the other, then the states and the books of the ledger.

import assert from 'node:assert/strict'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { ITEM_STATES, DELETION_STATES } from '../../../src/core/domain/outcomes.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { StagedRow } from '../oracle/sync-model.ts'
import { differing, holds, isSameValues } from './decide.ts'
import type { Known } from './known.ts'
import { RemovalCheck, type RemovalRow } from './removals.ts'
import { RowCheck, type PlannedRow, type RowRules } from './run-rows.ts'
import type { SentItem, TraceEvent } from './trace.ts'
import type { RecordedRow, RunRecord, UndoModel } from './undo-model.ts'
import type { WriterSetting } from './world.ts'

const ALL = 10_000
/** A service may note the time of a write a little later. */
const GRACE_MS = 60_000

export interface RunRows {
  /** Counts runs. */
  readonly at: number
  readonly run: number
  /** It is no retry, and no undo. */
  readonly isRegular: boolean
  readonly staged: readonly StagedRow[]
  readonly removals: ReadonlyMap<
    string,
    { readonly cause: 'missing' | 'asked'; readonly state: string }
  >
  /** Of a run that keeps to a plan. */
  readonly planned: ReadonlyMap<string, PlannedRow> | null
  readonly undo: UndoModel | null
  /** The run that it undoes. */
  readonly undone: RunRecord | null
}

interface Scene {
  readonly setting: WriterSetting
  readonly known: Known
  readonly rules: Omit<RowRules, 'setting'>
  /** Until when the records of a run may have changed, by its count. */
  readonly untils: ReadonlyMap<number, number>
  isUndo(at: number): boolean
}

export class RunCheck {
  readonly #scene: Scene
  readonly #rows: RunRows
  readonly #checks: readonly RowCheck[]
  readonly #removals: readonly RemovalCheck[]
  readonly tally = new Map<string, number>()

  constructor(scene: Scene, rows: RunRows) {
    this.#scene = scene
    this.#rows = rows
    const { known, rules } = scene
    const isMaking = rows.undo?.rows.some(({ restored }) => restored.expected === null)
    const mode = isMaking ? ('upsert' as const) : ('update' as const)
    const setting = rows.undo === null ? scene.setting : { ...scene.setting, mode }
    this.#checks = rows.undo
      ? rows.undo.rows.map(({ key, payload, restored }, index) => {
          const row = { ordinal: index + 1, key, payload, planned: null }
          return new RowCheck(
            { ...row, baseOf: (record) => known.baseOf(key, record) },
            { ...rules, setting },
            restored,
          )
        })
      : rows.staged
          .filter(({ state }) => state === 'pending')
          .map(({ ordinal, key, payload }) => {
            const planned = rows.planned?.get(key!) ?? null
            const row = { ordinal, key: key!, payload, planned, isUnsure: known.unsure.has(key!) }
            return new RowCheck(
              { ...row, baseOf: (record) => known.baseOf(key!, record) },
              { ...rules, setting },
            )
          })
    this.#removals = (rows.undo ? this.#undoneRemovals(rows.undo) : this.#missing()).map(
      (row) => new RemovalCheck(row, rules.isFresh),
    )
  }

  #undoneRemovals({ removals }: UndoModel): readonly RemovalRow[] {
    const { known, untils } = this.#scene
    const { undone } = this.#rows
    return removals.map(({ number, key, recordId, sent }) => {
      const accepted = known.sync.accepted.get(key)
      const isLater =
        accepted !== undefined && accepted.at !== undone!.at && !this.#scene.isUndo(accepted.at)
      const until = untils.get(accepted?.at ?? undone!.at) ?? Infinity
      return {
        number,
        key,
        recordId,
        isAsSent: (record) => sent !== null && holds(record, sent),
        settled: [],
        isUnsure: known.unsure.has(key),
        isChanged: (record) => {
          const left = known.left.get(record.id)
          const isSame = left === undefined || isSameValues(left.values, record.values)
          return isLater || (!isSame && left.updated !== record.updated)
        },
        mayBeChanged: ({ id, updated }) => known.touched.has(id) || updated > until + GRACE_MS,
        isMadeAgain: ({ id }) => accepted?.id === id && accepted.at > undone!.at,
      }
    })
  }

  #missing(): readonly RemovalRow[] {
    const { known, untils } = this.#scene
    return [...this.#rows.removals].map(([key, { state }], index) => {
      const accepted = known.sync.accepted.get(key)
      const until = untils.get(accepted?.at ?? 0) ?? Infinity
      const settled =
        accepted === undefined ? ['not_owned'] : accepted.isDoubtful ? ['unproven'] : []
      return {
        number: index + 1,
        key,
        recordId: accepted?.id ?? null,
        isAsSent: (record) => known.isAsWritten(record, { ofRow: true }),
        settled: state === 'pending' ? settled : [state],
        isUnsure: known.unsure.has(key),
        isChanged: ({ updated }) => updated > until + GRACE_MS,
        // The documents leave open whether a value counts that the row has left out since, or that was kept.
        mayBeChanged: (record) =>
          !known.isAsWritten(record, { ofRow: false }) ||
          (accepted !== undefined && differing(accepted.payload, record).length > 0),
        isMadeAgain: () => false,
      }
    })
  }

  #tell(name: string): void {
    this.tally.set(name, (this.tally.get(name) ?? 0) + 1)
  }

  /** @throws AssertionError for a request that may not be */
  replay(events: readonly TraceEvent[]): void {
    for (const event of events) {
      if (event.kind === 'look') {
        for (const check of this.#checks) check.looked(event)
        for (const check of this.#removals) check.looked(event)
      } else if (event.kind === 'edit') {
        if (event.by === 'us' && event.after !== null)
          this.#scene.known.left.set(event.id, event.after)
        if (event.by === 'others') this.#scene.known.touched.add(event.id)
        // What is read back, or answered, then is not what was sent: the row may be sent again.
        if (event.by === 'others')
          for (const { row, recordId, sends } of this.#checks)
            if (sends.length > 0 && recordId === event.id) this.#scene.known.unsure.add(row.key)
      } else if (event.kind === 'mark') {
        for (const check of this.#checks)
          if (event.name === 'killed') check.killed()
          else if (event.name === 'service killed') check.serviceKilled()
        if (event.name === 'service killed')
          for (const check of this.#removals) check.serviceKilled()
      } else if (event.kind === 'send') {
        this.#tell(
          `requests ${event.action}${event.seen.fault === null ? '' : ` ${event.seen.fault}`}`,
        )
        for (const item of event.items) {
          if (item.isFailed) this.#tell('items answered 500 or 503')
          if (event.action === 'delete') {
            const check =
              this.#removals.find((one) => one.isOf(item, true)) ??
              this.#removals.find((one) => one.isOf(item, false))
            assert.ok(check, `nothing asks for the deletion of ${item.id}`)
            check.sent(item)
            continue
          }
          const check = this.#checkOf(item)
          assert.ok(check, `no row sends ${JSON.stringify(item)}`)
          check.sent(event, item)
          if (event.isCarriedOut && item.recordId !== null)
            this.#scene.known.sentNow(item.recordId, item.properties)
        }
      }
    }
    this.#scene.known.endRun()
  }

  #checkOf({ id, properties }: SentItem): RowCheck | undefined {
    const code = properties['code']
    return typeof code === 'string'
      ? this.#checks.find(({ row }) => row.key === code)
      : this.#checks.find((check) => check.seenId === id)
  }

  /** Compares the ledger. Returns what an undo of the run may ask for. */
  async end(ledger: Ledger, isCut: boolean): Promise<RunRecord> {
    const { run, at, staged, undo } = this.#rows
    const items = await ledger.report(run, { states: ITEM_STATES, after: 0, limit: ALL })
    const checks = new Map(this.#checks.map((check) => [check.row.ordinal, check]))
    const expected = undo
      ? this.#checks.map(({ row }) => ({ ordinal: row.ordinal, key: row.key, state: 'pending' }))
      : staged
    assert.deepEqual(
      items.map(({ ordinal, key }) => [ordinal, key]),
      expected.map(({ ordinal, key }) => [ordinal, key]),
    )
    const recorded: RecordedRow[] = []
    for (const [index, { ordinal, key, state, recordId, inDoubt }] of items.entries()) {
      const check = checks.get(ordinal)
      if (expected[index]!.state !== 'pending' || !check) {
        assert.deepEqual([ordinal, key, state], [ordinal, key, expected[index]!.state])
        continue
      }
      const may = [...check.ends(isCut)]
      assert.ok(
        may.includes(state),
        `row ${key} is ${state}, and may be ${may.join(', ') || 'nothing'}: ${JSON.stringify(check)}`,
      )
      this.#tell(`rows ${state}`)
      const isRecorded = state !== 'outcome_unknown' || inDoubt
      if (isRecorded)
        recorded.push({ ordinal, key: check.row.key, state, recordId, image: check.imageOf(state) })
      const writer = { until: 0 }
      // What became of a row without an answer is found when the books are closed: whether it is sent again is left open.
      if (undo || (isCut && check.isUnanswered)) this.#scene.known.unsure.add(check.row.key)
      this.#scene.known.note(check, state, { at, writer, held: check.held, isUndo: undo !== null })
    }
    const removed = await this.#endRemovals(ledger, isCut)
    await this.#books(
      ledger,
      items.map(({ state }) => state),
      isCut,
    )
    const left = staged.flatMap(({ ordinal, row, key }) => {
      const { state } = items.find((item) => item.ordinal === ordinal)!
      const isSure = ['invalid', 'refused', 'conflict', 'outcome_unknown', 'not_sent'].includes(
        state,
      )
      const isRead = ['created', 'updated'].includes(state) && this.#scene.known.unsure.has(key!)
      return isSure || isRead ? [{ row, isSure }] : []
    })
    this.#noteReading(isCut)
    return { run, at, isUndo: undo !== null, rows: recorded, removed, left }
  }

  readonly #removedStates = new Map<string, string>()

  async #endRemovals(ledger: Ledger, isCut: boolean): Promise<RunRecord['removed']> {
    const { run } = this.#rows
    const { rows } = await ledger.removals(run, { states: DELETION_STATES, after: 0, limit: ALL })
    assert.deepEqual(
      rows.map(({ key }) => key).toSorted(),
      this.#removals.map(({ row }) => row.key).toSorted(),
    )
    const removed: RunRecord['removed'][number][] = []
    for (const { key, state, number, reason, detail } of rows) {
      const check = this.#removals.find(({ row }) => row.key === key)!
      const may = [...check.ends(isCut)]
      assert.ok(
        may.includes(state),
        `removal of ${key} is ${state} (${reason ?? 'no reason'}, ${detail ?? 'no property'}), and may be ${may.join(', ') || 'nothing'}: ${JSON.stringify(check)}`,
      )
      this.#tell(`removals ${state}`)
      this.#removedStates.set(key, state)
      if (state === 'deleted' && check.before !== null)
        removed.push({ number, key, before: this.#mapped(check.before) })
      if (state === 'deleted' || state === 'already_gone')
        this.#scene.known.removed(key, check.row.recordId, { wasGone: state === 'already_gone' })
    }
    return removed.toSorted((a, b) => a.number - b.number)
  }

  #mapped(values: Readonly<Record<string, unknown>>) {
    const { properties, constants } = this.#scene.setting
    const names = ['code', ...Object.keys(constants), ...properties]
    return Object.fromEntries(
      names.flatMap((name) => (values[name] == null ? [] : [[name, values[name]]])),
    ) as RunRecord['removed'][number]['before']
  }

  async #books(ledger: Ledger, states: readonly string[], isCut: boolean): Promise<void> {
    const { state, counts: books } = (await ledger.run(this.#rows.run))!
    assert.ok(books !== null && isBalanced(books), 'the books do not balance')
    const count = (...of: string[]) => states.filter((one) => of.includes(one)).length
    assert.equal(books.read, states.length)
    for (const name of ITEM_STATES)
      assert.deepEqual([name, books.states[name]], [name, count(name)])
    const removals = [...this.#removedStates.values()]
    for (const name of DELETION_STATES)
      assert.deepEqual(
        [name, books.removals?.[name] ?? 0],
        [name, removals.filter((one) => one === name).length],
      )
    if (isCut) return
    // Of a run that was cut, what became of rows without an answer is found when its books are closed, and is in them alone.
    const progress = await ledger.progress(this.#rows.run)
    assert.deepEqual(
      [progress.created, progress.updated, progress.rejected],
      [count('created'), count('updated'), count('refused', 'conflict')],
    )
    const rejects =
      count('invalid', 'refused', 'conflict', 'outcome_unknown', 'not_sent') +
      removals.filter((one) => ['refused', 'outcome_unknown', 'not_sent'].includes(one)).length
    const { different, missing, overwritten = 0 } = books.readBack
    const differences =
      different +
      missing +
      overwritten +
      removals.filter((one) => ['changed_since', 'unproven'].includes(one)).length
    assert.equal(
      state,
      rejects > 0
        ? 'complete_with_rejects'
        : differences > 0
          ? 'complete_with_differences'
          : 'complete',
    )
  }

  /** What the next run compares its reading with. */
  #noteReading(isCut: boolean): void {
    const { sync } = this.#scene.known
    if (isCut || !this.#rows.isRegular) return
    sync.reading = new Map(
      this.#rows.staged.flatMap(({ key, state }) =>
        key === null ? [] : [[key, state === 'deletion_requested']],
      ),
    )
    sync.readingAt = this.#rows.at
    sync.removedSince.clear()
    for (const [key, state] of this.#removedStates)
      if (state === 'deleted' || state === 'already_gone') sync.removedSince.add(key)
    sync.open = new Map(
      [...this.#rows.removals].flatMap(([key, { cause }]) =>
        ['unproven', 'refused', 'outcome_unknown', 'not_sent'].includes(
          this.#removedStates.get(key)!,
        )
          ? [[key, cause]]
          : [],
      ),
    )
  }
}
