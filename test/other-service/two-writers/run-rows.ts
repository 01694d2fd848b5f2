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
  withoutEmpty,
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
  /** Whether the key may have several records: its row is looked up until one is left. Default: no. */
  readonly isUnsure?: boolean
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
    const { row, image } = this
    return { row, image, story: this.#story, isOld: this.#isOld, restored: this.#restored }
  }

  readonly row: CheckedRow
  readonly #rules: RowRules
  readonly #restored: RestoredRow | null
  /** What happened, for the message of a failure. */
  readonly #story: string[] = []
  #look: { record: Version | null } | null = null
  #doubts: Payload[] = []
  /** Whether the worker was killed since the last sending: what it knew for certain may be lost. */
  #isForgotten = false
  #last: { send: Send; item: SentItem; found: Version | null } | null = null
  /** Sendings that the service may not have seen, at most. */
  #unseen = 0
  /** The record that was made of a part of the row; it gets the rest. */
  #madeId: string | null = null
  /** Whether an answer has shown that the row made it. */
  #isMadeKnown = false
  /** Whether a look-up has shown what was sent without an answer: the row may have been settled by it. */
  #wasDone = false
  /** What earlier look-ups since the last sending may have settled it as: the ones that follow read it back. */
  readonly #settledBefore = new Set<string>()
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
    if (this.#look !== null && !this.#isOld && this.#doubts.length > 0)
      for (const one of this.#settledAgain(this.#look.record)) this.#settledBefore.add(one)
    this.#noteMade()
    this.#look = { record: shown.get(this.row.key) ?? null }
    this.#story.push(`finds ${JSON.stringify(this.#look.record)}`)
    this.#isOld = false
    this.#isElsewhere = false
    this.#wasDone ||= this.#isDone(this.#look.record)
  }

  /** Whether a record holds what was sent without an answer. */
  #isDone(record: Version | null): boolean {
    return record !== null && this.#doubts.some((sent) => holds(record, sent))
  }

  /** A request that was on its way to a service that is killed is an attempt, which the service has not seen. */
  serviceKilled(): void {
    this.#story.push('the service is killed')
    this.#unseen++
  }

  /** Of an undo: whether the record has another key since. */
  #isElsewhere = false

  #isOld = true

  killed(): void {
    this.#story.push('the worker is killed')
    if (this.#last !== null) this.#isForgotten = true
  }

  /** Its record went before it was carried out as an update: the new one has a part of the row. */
  get #isMadeInPart(): boolean {
    if (this.#last === null || this.#last.found === null) return false
    const { result, properties } = this.#last.item
    return (
      result === 'created' &&
      !isSameValues(withoutEmpty(this.row.payload), withoutEmpty(properties))
    )
  }

  #noteMade(): void {
    if (!this.#isMadeInPart) return
    this.#madeId = this.#last!.item.recordId
    this.#isMadeKnown = isAnswered(this.#last!) && !this.#isForgotten
  }

  #isMade(record: Version | null): boolean {
    return record !== null && record.id === this.#madeId
  }

  /** Whether the key has another record than the one that the row was sent over, or none any more: it is judged anew. */
  #isMoved(record: Version | null): boolean {
    const before = this.image?.record ?? null
    return (
      this.#restored === null &&
      this.#doubts.length > 0 &&
      (this.#isMade(record) || (before !== null && before.id !== record?.id))
    )
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
    if (this.#doubts.length === 0 || this.#isMoved(record))
      this.image = { record: this.#isMade(record) ? null : record, sent: item.properties }
    else this.image = this.#withoutKept(this.image!, item.properties, record)
    this.sends.push(item)
    this.#last = { send, item, found: record }
    this.#isForgotten = false
    this.#isOld = true
    this.#wasDone = false
    this.#settledBefore.clear()
    const { fault } = send.seen
    this.#story.push(`sends ${JSON.stringify(item)}${fault === null ? '' : `: ${fault}`}`)
    const isRefused = fault === '429' || fault === '503'
    if (!isRefused) this.#doubts.push(item.properties)
  }

  /** What an undo of the row may take back. A look-up that settles a row of which the key has another record is its image. */
  imageOf(state: string): Image | null {
    const { record = null } = this.#look ?? {}
    const isAnew = state === 'updated' && !this.#isOld && record !== null && this.#isMoved(record)
    return isAnew ? { record, sent: {} } : this.image
  }

  /** An update that is sent again: what it leaves to others now counts as not written. */
  #withoutKept({ record, sent }: Image, again: Payload, now: Version | null): Image {
    if (record === null || now === null || this.#restored !== null) return { record, sent }
    const kept = differing(this.row.payload, now).filter((name) => !Object.hasOwn(again, name))
    const written = Object.entries(sent).filter(([name]) => !kept.includes(name))
    return { record, sent: Object.fromEntries(written) }
  }

  #maySend({ action }: Send, { id, properties: sent }: SentItem, record: Version | null): boolean {
    const { payload } = this.row
    const { setting } = this.#rules
    const isExact = this.#rules.isExact && !this.#isMade(record)
    if (record !== null && id !== null && id !== record.id) return false
    if (this.#conflicts(record) && !this.#mayConflict(record)) return false
    const isAgain = this.#doubts.length > 0 && !this.#isMoved(record)
    if (isAgain && !this.#maySendAgain(record)) return false
    if (this.#restored !== null) return this.#mayRestore(this.#restored, record, sent)
    if (record === null) return action !== 'update' && mayCreate(payload, sent)
    if (action === 'create') return false
    const fates = fatesOf(setting, { payload, record, base: this.#baseOf(record) })
    return mayUpdate({ payload, fates, isExact, doubts: this.#doubts }, sent)
  }

  /** What this run has sent without an answer is ours as well. */
  #baseOf(record: Version): Base {
    const base = this.row.baseOf(record)
    return { ...base, doubts: [...base.doubts, ...this.#doubts] }
  }

  /** Of a row without an answer: what is done is not sent again, and of a plan nothing that others changed. */
  #maySendAgain(record: Version | null): boolean {
    if (this.#isDone(record)) return false
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
          (!this.#rules.isExact || open.includes(name) || this.#isSentBefore(name, sent)),
      )
    )
  }

  #isSentBefore(name: string, sent: Payload): boolean {
    return this.#doubts.some((one) => one[name] === sent[name])
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
    if (isCut) may.add('not_sent').add('outcome_unknown')
    if (this.#last !== null) {
      const { item } = this.#last
      if (item.isFailed) may.add('outcome_unknown')
      if (this.isUnanswered && this.sends.length + this.#unseen >= ATTEMPTS_MAX)
        may.add('outcome_unknown')
      if (isAnswered(this.#last)) for (const state of this.#answered(item)) may.add(state)
    }
    if (this.#look !== null && !this.#isOld) {
      const { record } = this.#look
      if (this.#doubts.length > 0)
        for (const one of [...this.#settledBefore, ...this.#settledAgain(record)]) may.add(one)
      // Refused for certain, or never sent.
      if (this.#doubts.length === 0) for (const one of this.#settled(record)) may.add(one)
    }
    return may
  }

  #answered(item: SentItem): readonly string[] {
    if (this.#isMadeInPart) {
      if (this.row.planned !== null || this.#restored !== null) return ['conflict']
      return this.sends.length >= ATTEMPTS_MAX ? ['refused'] : []
    }
    const isMade = item.result === 'updated' && item.recordId === this.#madeId
    if (isMade) return this.#isMadeKnown ? ['created'] : ['created', 'updated']
    return answeredStates(item)
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
    if (setting.mode === 'create') {
      if (record === null) return []
      // An earlier run may have made it, without an answer.
      const { doubts } = this.row.baseOf(record)
      const isMaybeMade = holds(record, payload) && doubts.some((one) => isSameValues(one, payload))
      return isMaybeMade ? ['exists', 'created'] : ['exists']
    }
    if (record === null) return setting.mode === 'update' ? ['not_found'] : []
    const fates = fatesOf(setting, { payload, record, base: this.#baseOf(record) })
    if (fates.size === 0) return this.row.isUnsure ? ['unchanged', 'updated'] : ['unchanged']
    const states: string[] = []
    if (mayAll(fates, 'keep')) states.push('protected')
    if (maySome(fates, 'reject')) states.push('refused')
    return states
  }

  #settledUndone({ recordId, expected }: RestoredRow, record: Version | null): readonly string[] {
    const { payload } = this.row
    if (expected === null && record !== null)
      return holds(record, payload) ? ['protected', 'unchanged'] : ['protected']
    if (expected === null) return []
    if (record === null) return [this.#isElsewhere ? 'protected' : 'not_found']
    if (record.id !== recordId || !isRestorable(payload, expected, record)) return ['protected']
    return differing(payload, record).length === 0 ? ['unchanged'] : []
  }

  /** Of a row that was sent without an answer. */
  #settledAgain(record: Version | null): readonly string[] {
    const { setting } = this.#rules
    const states: string[] = []
    if (this.#isMoved(record)) return this.#settledAnew(record)
    const isDone = this.#isDone(record)
    if (setting.mode !== 'create' && this.#isPartHeld(record)) {
      states.push('updated')
      // It was written, and others have changed the rest since.
      if (this.sends.length === 1 && this.#last!.send.isCarriedOut) return states
    }
    if (isDone || this.#wasDone) states.push(setting.mode === 'create' ? 'created' : 'updated')
    else if (this.row.planned !== null && !this.#isAsBefore(record)) states.push('conflict')
    // A create that is there, and not as it was sent.
    if (!isDone && setting.mode === 'create' && this.#restored === null && record !== null)
      states.push('exists', 'outcome_unknown')
    // What the killed worker knew: that nothing was carried out.
    if (
      !isDone ||
      this.#isForgotten ||
      this.#last!.send.seen.fault !== null ||
      this.#last!.item.isFailed
    )
      states.push(...this.#settled(record))
    return states
  }

  /** Whether a record holds a value that was sent without an answer, and that it did not have before. */
  #isPartHeld(record: Version | null): boolean {
    const before = this.image?.record ?? null
    if (record === null || (before !== null && before.id !== record.id)) return false
    return this.#doubts.some((sent) =>
      Object.entries(sent).some(
        ([name, value]) =>
          name !== 'code' && value !== heldOf(before, name) && value === heldOf(record, name),
      ),
    )
  }

  /** Of a row whose key has another record now than the one that it was sent over. */
  #settledAnew(record: Version | null): readonly string[] {
    if (this.row.planned !== null) return ['conflict']
    if (record === null) return this.#rules.setting.mode === 'update' ? ['conflict'] : []
    const { payload } = this.row
    const fates = fatesOf(this.#rules.setting, { payload, record, base: this.#baseOf(record) })
    if (maySome(fates, 'reject')) return ['refused', 'protected']
    if (!mayAll(fates, 'keep')) return []
    // What a killed worker knew of the record that it made, the next one may not know.
    if (this.#isMade(record))
      return this.#isMadeKnown && !this.#isForgotten
        ? ['created']
        : ['created', 'updated', 'protected']
    return fates.size === 0 ? ['updated'] : ['protected']
  }

  /** Whether the last sending had no answer. */
  get isUnanswered(): boolean {
    return this.#last !== null && !isAnswered(this.#last)
  }

  /** The record that the row has in the end, as far as its own sending or look-up tells. */
  get recordId(): string | null {
    return this.#last?.item.recordId ?? this.seenId
  }
}

/** How often a row is sent. */
const ATTEMPTS_MAX = 5

const isAnswered = ({ send, item }: { send: Send; item: SentItem }): boolean =>
  send.isCarriedOut && send.seen.fault === null && !item.isFailed

const answeredStates = ({ result }: SentItem): readonly string[] => {
  switch (result) {
    case 'created':
      return ['created']
    case 'updated':
      return ['updated']
    case 'refused':
      return ['refused']
    case 'taken':
      return ['exists', 'outcome_unknown', 'created']
    case 'missing':
      return ['not_found', 'refused']
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
