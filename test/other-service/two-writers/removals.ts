// Deletions of a run against what happened at the service: a record is deleted only if a look-up has shown it as this sync left it.

import assert from 'node:assert/strict'
import type { Payload } from '../oracle/service-model.ts'
import type { Look, SentItem, Version } from './trace.ts'

export interface RemovalRow {
  readonly number: number
  readonly key: string
  readonly recordId: string | null
  /** Whether a record holds what was sent last. */
  isAsSent(record: Version): boolean
  /** States that the ledger alone decides; empty: none. */
  readonly settled: readonly string[]
  /** Whether it may be unclear: the key may have several records. */
  readonly isUnsure: boolean
  /** The record is one that others have changed since, by all that the service has shown. */
  isChanged(record: Version): boolean
  /** The record may count as changed by others: it was changed, and has the values again. */
  mayBeChanged(record: Version): boolean
  /** A later run of the sync has made this record, in the place of the one that is gone. */
  isMadeAgain(record: Version): boolean
}

export class RemovalCheck {
  toJSON() {
    return { row: this.row, record: this.#record, isLooked: this.#isLooked, isSent: this.#isSent }
  }

  readonly row: RemovalRow
  readonly #isFresh: boolean
  #record: Version | null = null
  #isLooked = false
  #isOld = true
  #isElsewhere = false
  #isMadeAgain = false
  #isSent = false
  #isFailed = false
  /** Whether a request may have been on its way to a service that was killed, which has not seen it. */
  #mayBeOnItsWay = false
  /** What the record held when it was deleted. */
  before: Payload | null = null
  isDeleted = false

  constructor(row: RemovalRow, isFresh: boolean) {
    this.row = row
    this.#isFresh = isFresh
  }

  looked({ keys, id, shown }: Look): void {
    const { key, recordId } = this.row
    if (id !== null && id === recordId) this.#isElsewhere = shown.has(id)
    if (!keys.has(key)) return
    this.#isLooked = true
    this.#isOld = false
    this.#isElsewhere = false
    const record = shown.get(key) ?? null
    this.#record = record !== null && (recordId === null || record.id === recordId) ? record : null
    this.#isMadeAgain = record !== null && this.#record === null && this.row.isMadeAgain(record)
  }

  /** Whether the request is about this record: it was shown with the key, or it is the one that the row wrote. */
  isOf({ id }: SentItem, isShown: boolean): boolean {
    return id !== null && id === (isShown ? this.#record?.id : this.row.recordId)
  }

  sent(item: SentItem): void {
    const told = `removal of ${this.row.key} (${item.id}), found as ${JSON.stringify(this.#record)}`
    assert.ok(this.#isLooked, `${told}: it was not looked up`)
    if (this.#isFresh) assert.ok(!this.#isOld, `${told}: sent again without a look-up`)
    const last = this.#record
    assert.ok(
      last !== null && this.#mayDelete(last),
      `${told}: it may not go, ${JSON.stringify(this.row)}`,
    )
    this.before = last.values
    this.#isSent = true
    this.#isOld = true
    if (item.result === 'deleted') this.isDeleted = true
    this.#isFailed = item.isFailed
  }

  /** A request that was on its way to it is an attempt: if the record is gone later, that may be by it. */
  serviceKilled(): void {
    this.#mayBeOnItsWay ||= this.#record !== null && this.#mayDelete(this.#record)
  }

  #mayDelete(record: Version): boolean {
    const { settled } = this.row
    return settled.length === 0 && this.row.isAsSent(record) && !this.row.isChanged(record)
  }

  ends(isCut: boolean): ReadonlySet<string> {
    const { settled } = this.row
    const may = new Set<string>(settled)
    if (this.row.isUnsure) may.add('unproven')
    if (isCut) for (const state of ['not_sent', 'outcome_unknown']) may.add(state)
    if (this.isDeleted || this.#isSent || this.#mayBeOnItsWay)
      for (const state of ['deleted', 'already_gone']) may.add(state)
    if (this.#isFailed) may.add('outcome_unknown')
    if (!this.#isLooked) return may
    const record = this.#record
    // A record with another key now may be that of another row.
    const isChanged = this.#isElsewhere || this.#isMadeAgain
    if (record === null)
      for (const state of [isChanged ? 'changed_since' : 'already_gone', 'still_wanted'])
        may.add(state)
    else if (!this.#mayDelete(record) || this.row.isUnsure || this.row.mayBeChanged(record))
      for (const one of ['changed_since', 'unproven', 'still_wanted']) may.add(one)
    return may
  }
}
