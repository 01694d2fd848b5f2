// The rows of one run against what happened at the service: every request must follow from a look-up, and every state from what was looked up
// and answered.

import assert from 'node:assert/strict'
import type { Payload } from '../oracle/service-model.ts'
import {
  differing,
  fatesOf,
  heldOf,
  holds,
  isSameValues,
  mayAll,
  mayCreate,
  maySome,
  mayUpdate,
  type Base,
} from './decide.ts'
import type { Look, Send, SentItem, Version } from './trace.ts'
import type { WriterSetting } from './world.ts'

/** What the first sending of a row found, and what it sent. */
export interface Image {
  readonly record: Version | null
  readonly sent: Payload
}

/** A row of a plan: what it found. */
export interface PlannedRow {
  readonly key: string
  readonly payload: Payload
  readonly record: Version | null
}

export interface CheckedRow {
  readonly ordinal: number
  readonly key: string
  readonly payload: Payload
  /** What is known of a record when the run begins. */
  baseOf(record: Version): Base
  /** Of a run that keeps to a plan. */
  readonly planned: PlannedRow | null
}

export interface RowRules {
  readonly setting: WriterSetting
  /** Whether of an update the changed properties alone are sent. */
  readonly isExact: boolean
  /** Whether every sending is preceded by a look. */
  readonly isFresh: boolean
}

/** What an undo has of a row besides. */
export interface RestoredRow {
  readonly recordId: string | null
  /** What the record must hold, or what is restored; null: there is no record. */
  readonly expected: Payload | null
}

/** The states that a row may end in. `isWhole`: false if they count only for a run that was cut. */
export class RowCheck {
  toJSON() {
    const { row, image, sends } = this
    return { row, image, sends, look: this.#look, isOld: this.#isOld, restored: this.#restored }
  }

  readonly row: CheckedRow
  readonly #rules: RowRules
  readonly #restored: RestoredRow | null
  #look: { record: Version | null } | null = null
  #doubts: Payload[] = []
  /** Whether the worker was killed since the last sending: what it knew for certain may be lost. */
  #isForgotten = false
  #last: { send: Send; item: SentItem } | null = null
  /** What it was sent over. */
  image: Image | null = null
  readonly sends: SentItem[] = []

  constructor(row: CheckedRow, rules: RowRules, restored: RestoredRow | null = null) {
    this.row = row
    this.#rules = rules
    this.#restored = restored
  }

  /** The record that was seen last; null if there was none. */
  get held(): Version | null {
    return this.#look?.record ?? null
  }

  get seenId(): string | null {
    return this.#look?.record?.id ?? null
  }

  looked({ keys, id, shown }: Look): void {
    if (id !== null && id === this.#restored?.recordId) this.#isElsewhere = shown.has(id)
    if (!keys.has(this.row.key)) return
    this.#look = { record: shown.get(this.row.key) ?? null }
    this.#isOld = false
    this.#isElsewhere = false
  }

  /** Of an undo: whether the record has another key since. */
  #isElsewhere = false

  #isOld = true

  killed(): void {
    if (this.#last !== null) this.#isForgotten = true
  }

  sent(send: Send, item: SentItem): void {
    const told = `row ${this.row.key} sends ${JSON.stringify(item)}`
    assert.ok(this.#look !== null, `${told} without a look-up`)
    if (this.#rules.isFresh) assert.ok(!this.#isOld, `${told} again without a look-up`)
    const { record } = this.#look
    const shown = `${told}; it found ${JSON.stringify(record)}, and has ${JSON.stringify(this.row)} ${JSON.stringify(this.#restored)} ${JSON.stringify(this.image)}`
    const isReplayed = !this.#rules.isFresh && this.#doubts.length > 0
    if (!isReplayed && (!this.#isOld || this.sends.length === 0))
      assert.ok(this.#maySend(send, item, record), `${shown}: it may not`)
    if (this.#doubts.length === 0) this.image = { record, sent: item.properties }
    this.sends.push(item)
    this.#last = { send, item }
    this.#isForgotten = false
    this.#isOld = true
    const { fault } = send.seen
    const isRefused = fault === '429' || fault === '503'
    if (!isRefused) this.#doubts.push(item.properties)
  }

  #maySend({ action }: Send, { id, properties: sent }: SentItem, record: Version | null): boolean {
    const { payload } = this.row
    const { setting, isExact } = this.#rules
    if (record !== null && id !== null && id !== record.id) return false
    if (this.#conflicts(record) && !this.#mayConflict(record)) return false
    if (this.#doubts.length > 0 && !this.#maySendAgain(record)) return false
    if (this.#restored !== null) return this.#mayRestore(this.#restored, record, sent)
    if (record === null) return action !== 'update' && mayCreate(payload, sent)
    if (action === 'create') return false
    const fates = fatesOf(setting, { payload, record, base: this.#baseOf(record) })
    return mayUpdate({ payload, fates, isExact }, sent)
  }

  /** What this run has sent without an answer is ours as well. */
  #baseOf(record: Version): Base {
    const base = this.row.baseOf(record)
    return { ...base, doubts: [...base.doubts, ...this.#doubts] }
  }

  /** Of a row without an answer: what is done is not sent again, and of a plan nothing that others changed. */
  #maySendAgain(record: Version | null): boolean {
    if (record !== null && this.#doubts.some((sent) => holds(record, sent))) return false
    return this.row.planned === null || this.#isAsBefore(record)
  }

  #isAsBefore(record: Version | null): boolean {
    if (this.image === null) return true
    const { record: before, sent } = this.image
    if (record === null || before === null) return record === before
    return (
      record.id === before.id &&
      Object.keys(sent).every((name) => heldOf(record, name) === heldOf(before, name))
    )
  }

  #mayRestore({ recordId, expected }: RestoredRow, record: Version | null, sent: Payload): boolean {
    const { payload } = this.row
    if (expected === null) return record === null && mayCreate(payload, sent)
    if (record === null || record.id !== recordId) return false
    const names = Object.keys(sent).filter((name) => name !== 'code')
    const open = differing(payload, record)
    return (
      isRestorable(payload, expected, record) &&
      open.length > 0 &&
      open.every((name) => names.includes(name)) &&
      names.every(
        (name) =>
          Object.hasOwn(payload, name) &&
          sent[name] === payload[name] &&
          (!this.#rules.isExact || open.includes(name)),
      )
    )
  }

  /** Whether a record is not as the plan has it. */
  #conflicts(record: Version | null): boolean {
    const { planned } = this.row
    if (planned === null || this.#doubts.length > 0) return false
    return !isAsPlanned(planned, record)
  }

  /** Whether what others changed since the plan is nothing that the row writes, before and now. */
  #mayConflict(record: Version | null): boolean {
    const { payload } = this.row
    const was = this.row.planned!.record
    if (was === null || record === null || was.id !== record.id) return false
    if (this.#rules.setting.mode === 'create') return true
    const fates = fatesOf(this.#rules.setting, { payload, record, base: this.#baseOf(record) })
    const before = fatesOf(this.#rules.setting, { payload, record: was, base: this.#baseOf(was) })
    const keeps = (name: string, of: typeof fates) => of.get(name)?.has('keep') ?? true
    return Object.keys(payload).every(
      (name) =>
        heldOf(was, name) === heldOf(record, name) || (keeps(name, fates) && keeps(name, before)),
    )
  }

  /** States that the row may end in, with the reason for a person. */
  ends(isCut: boolean): ReadonlySet<string> {
    const may = new Set<string>()
    if (isCut) may.add('unsent').add('failed')
    if (this.#last !== null) {
      const { send, item } = this.#last
      const isAnswered = send.isCarriedOut && send.seen.fault === null
      if (isAnswered) for (const state of answeredStates(item)) may.add(state)
    }
    if (this.#look !== null && !this.#isOld) {
      const { record } = this.#look
      if (this.#doubts.length > 0) for (const one of this.#settledAgain(record)) may.add(one)
      // Refused for certain, or never sent.
      if (this.#doubts.length === 0) for (const one of this.#settled(record)) may.add(one)
    }
    return may
  }

  #settled(record: Version | null): readonly string[] {
    const conflict = this.#conflicts(record) ? ['conflict'] : []
    if (conflict.length > 0 && !this.#mayConflict(record)) return conflict
    if (this.#restored !== null) return this.#settledUndone(this.#restored, record)
    return [...conflict, ...this.#settledByMode(record)]
  }

  #settledByMode(record: Version | null): readonly string[] {
    const { payload } = this.row
    const { setting } = this.#rules
    if (setting.mode === 'create') return record === null ? [] : ['exists']
    if (record === null) return setting.mode === 'update' ? ['absent'] : []
    const fates = fatesOf(setting, { payload, record, base: this.#baseOf(record) })
    if (fates.size === 0) return ['unchanged']
    const states: string[] = []
    if (mayAll(fates, 'keep')) states.push('kept')
    if (maySome(fates, 'reject')) states.push('rejected')
    return states
  }

  #settledUndone({ recordId, expected }: RestoredRow, record: Version | null): readonly string[] {
    const { payload } = this.row
    if (expected === null && record !== null)
      return holds(record, payload) ? ['kept', 'unchanged'] : ['kept']
    if (expected === null) return []
    if (record === null) return [this.#isElsewhere ? 'kept' : 'absent']
    if (record.id !== recordId || !isRestorable(payload, expected, record)) return ['kept']
    return differing(payload, record).length === 0 ? ['unchanged'] : []
  }

  /** Of a row that was sent without an answer. */
  #settledAgain(record: Version | null): readonly string[] {
    const { setting } = this.#rules
    const states: string[] = []
    const isDone = record !== null && this.#doubts.some((sent) => holds(record, sent))
    if (isDone) states.push(setting.mode === 'create' ? 'created' : 'updated')
    else if (this.row.planned !== null && !this.#isAsBefore(record)) states.push('conflict')
    // A create that is there, and not as it was sent.
    else if (setting.mode === 'create' && this.#restored === null && record !== null)
      states.push('exists', 'failed')
    // What the killed worker knew: that nothing was carried out.
    if (!isDone || this.#isForgotten || this.#last!.send.seen.fault !== null)
      states.push(...this.#settled(record))
    return states
  }

  /** The record that the row has in the end, as far as its own sending or look-up tells. */
  get recordId(): string | null {
    return this.#last?.item.recordId ?? this.seenId
  }
}

const answeredStates = ({ result }: SentItem): readonly string[] => {
  switch (result) {
    case 'created':
      return ['created']
    case 'updated':
      return ['updated']
    case 'refused':
      return ['rejected']
    case 'taken':
      return ['exists', 'failed', 'created']
    case 'missing':
      return ['absent', 'rejected']
    default:
      return []
  }
}

/** Whether a record is as it was when a plan was made. */
export function isAsPlanned({ payload, record: was }: PlannedRow, now: Version | null): boolean {
  if (was === null || now === null) return was === now
  return (
    was.id === now.id &&
    Object.keys(payload).every((name) => heldOf(was, name) === heldOf(now, name))
  )
}

/** Whether each value is as expected, or as it is to be. */
export const isRestorable = (payload: Payload, expected: Payload, record: Version): boolean =>
  Object.keys(expected).every((name) =>
    [expected[name] ?? null, payload[name] ?? null].includes(heldOf(record, name)),
  )

export const isEqualImage = (a: Image, b: Image): boolean =>
  a.record?.id === b.record?.id && isSameValues(a.sent, b.sent)
