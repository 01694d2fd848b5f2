// What an undo may do, as docs/undo.md says it: which values of which records it restores, which records it deletes, and which it makes again.

import type { Row } from '../oracle/rows.ts'
import type { Payload } from '../oracle/service-model.ts'
import { heldOf } from './decide.ts'
import type { Image, RestoredRow } from './run-rows.ts'
import type { Look, TraceEvent, Version } from './trace.ts'

/** What a run did, as far as an undo asks for it. */
export interface RunRecord {
  /** Its number in the ledger. */
  readonly run: number
  /** Counts runs. */
  readonly at: number
  readonly isUndo: boolean
  readonly rows: readonly RecordedRow[]
  /** Records that it deleted. */
  /** Rows that a retry takes; not sure: those that others may have changed before they were read back. */
  readonly left: readonly { readonly row: Row; readonly isSure: boolean }[]
  readonly removed: readonly {
    readonly number: number
    readonly key: string
    readonly before: Payload
  }[]
}

export interface RecordedRow {
  readonly ordinal: number
  readonly key: string
  readonly state: string
  readonly recordId: string | null
  readonly image: Image | null
}

export interface Choice {
  readonly rows?: readonly (readonly [number, number])[]
  readonly where?: { readonly property: string; readonly value: string | number }
  readonly properties?: readonly string[]
}

export interface UndoneRow {
  readonly key: string
  readonly payload: Payload
  readonly restored: RestoredRow
}

export interface UndoModel {
  /** In the order in which they are staged. */
  readonly rows: readonly UndoneRow[]
  readonly removals: readonly {
    readonly number: number
    readonly key: string
    readonly recordId: string | null
    readonly sent: Payload | null
  }[]
  readonly counts: Readonly<
    Record<'restored' | 'kept' | 'valuesKept' | 'gone' | 'deletions' | 'made' | 'unknown', number>
  >
}

/** The rows that an undo is about, in the order of the run. */
export function undoneRows(
  { rows }: RunRecord,
  { rows: ranges, where }: Choice,
): readonly RecordedRow[] {
  return rows.filter(({ ordinal, state, image }) => {
    const isWritten = state === 'created' || state === 'updated' || state === 'outcome_unknown'
    const isChosen =
      ranges === undefined || ranges.some(([first, last]) => ordinal >= first && ordinal <= last)
    const hasValue = where === undefined || image?.sent[where.property] === where.value
    return isWritten && isChosen && hasValue
  })
}

/** The last thing that a look-up showed of a key. */
function lastShown(events: readonly TraceEvent[], key: string): Version | null {
  const look = events.findLast(
    (event): event is Look => event.kind === 'look' && event.keys.has(key),
  )
  return look?.shown.get(key) ?? null
}

/** Whether a record was found by its id. */
const isShown = (events: readonly TraceEvent[], id: string): boolean =>
  events
    .findLast((event): event is Look => event.kind === 'look' && event.id === id)
    ?.shown.has(id) === true

/** @param looks what was looked up while the undo was staged */
export function undoModel(of: RunRecord, choice: Choice, looks: readonly TraceEvent[]): UndoModel {
  const counts = { restored: 0, kept: 0, valuesKept: 0, gone: 0, deletions: 0, made: 0, unknown: 0 }
  const staged: UndoneRow[] = []
  const removals: UndoModel['removals'][number][] = []
  for (const { key, state, recordId, image } of undoneRows(of, choice)) {
    if (state === 'created') {
      if (choice.properties !== undefined) continue
      counts.deletions++
      removals.push({
        number: of.rows.find((row) => row.key === key && row.state === state)!.ordinal,
        key,
        recordId,
        sent: image?.sent ?? null,
      })
      continue
    }
    if (image === null || image.record === null) {
      counts.unknown++
      continue
    }
    const { record: was, sent } = image
    const names = Object.keys(sent).filter(
      (name) =>
        name !== 'code' &&
        heldOf(was, name) !== sent[name] &&
        (choice.properties === undefined || choice.properties.includes(name)),
    )
    if (names.length === 0) continue
    const before = (of_: readonly string[]): Payload =>
      Object.fromEntries(of_.map((name) => [name, heldOf(was, name)]))
    const written = Object.fromEntries(names.map((name) => [name, sent[name]!]))
    const now = lastShown(looks, key)
    const id = recordId ?? was.id
    const left = names.filter((name) =>
      [sent[name] ?? null, heldOf(was, name)].includes(heldOf(now, name)),
    )
    const isKept = now !== null && (now.id !== id || left.length === 0)
    const payload = (of_: readonly string[]): Payload => ({ code: key, ...before(of_) })
    if (now === null || isKept) {
      // Its record has another key since.
      if (now === null && isShown(looks, id)) counts.kept++
      else if (now === null) counts.gone++
      else {
        counts.kept++
        counts.valuesKept += names.length
      }
      staged.push({ key, payload: payload(names), restored: { recordId: id, expected: written } })
      continue
    }
    counts.valuesKept += names.length - left.length
    if (left.some((name) => heldOf(now, name) !== heldOf(was, name))) counts.restored++
    const expected = Object.fromEntries(left.map((name) => [name, heldOf(now, name)]))
    staged.push({ key, payload: payload(left), restored: { recordId: id, expected } })
  }
  const isPart = (choice.rows ?? choice.where ?? choice.properties) !== undefined
  if (!isPart)
    for (const { key, before } of of.removed) {
      // One whose key a record has by now is left.
      if (lastShown(looks, key) === null) counts.made++
      else counts.kept++
      staged.push({
        key,
        payload: { ...before, code: key },
        restored: { recordId: null, expected: null },
      })
    }
  return { rows: staged, removals, counts }
}
