// What happened at the service, in its order: every change of a record, whose it was, and every request.

import type { Org, Rec } from '../../other-service/index.ts'
import { isNumber, textOf } from '../../other-service/json.ts'
import { watchOrg, Writers } from '../../other-service/watch-org.ts'
import { COPIED_TYPE } from '../search/copies.ts'
import { REPEATER } from '../network/network.ts'
import { currentProcess } from '../world/process.ts'
import { VALUE_MARK } from './sources.ts'

export interface Change {
  readonly at: number
  readonly org: number
  readonly id: string
  readonly code: string
  /** Null: it was removed. */
  readonly values: Readonly<Record<string, string>> | null
  readonly before: Readonly<Record<string, string>> | null
  readonly by: 'us' | 'others'
  /** The service was put back to an older state; nobody has changed the record. */
  readonly isRestored?: true
  /** A copy of a request, made by the network, arrived before the request: the answer is that of the later one. */
  readonly isCopy?: true
}

/** Whether another user has given a record another key. */
export const isRekeyed = ({ by, before, values }: Change): boolean =>
  by === 'others' && before !== null && values !== null && before['code'] !== values['code']

/** Whether it is about a record that has a key, or had it right before. */
export const isOfKey = ({ code, before }: Change, key: string): boolean =>
  code.trim() === key || before?.['code']?.trim() === key

const PROPERTIES = ['code', 'name', 'size', 'note'] as const

const CAPITAL = new RegExp(`^${VALUE_MARK}`, 'i')

/** A value without the capital that the service may have given it. */
export const asSent = (text: string): string => text.replace(CAPITAL, VALUE_MARK)

export function plainValues({ properties }: Rec): Record<string, string> {
  const values: Record<string, string> = {}
  for (const name of PROPERTIES) {
    const value = properties[name]
    if (value === null || value === undefined) continue
    values[name] = isNumber(value) ? textOf(value) : asSent(String(value as string))
  }
  return values
}

export class ServiceLog {
  readonly changes: Change[] = []
  /** Of copies, which have the keys of other records. */
  readonly ofCopies: Change[] = []
  readonly #now: () => number
  readonly #onChange: (change: Change) => void
  readonly #writers = new Writers()

  constructor(now: () => number, onChange: (change: Change) => void) {
    this.#now = now
    this.#onChange = onChange
  }

  #note(change: Change): void {
    const isOfCopy = change.id.startsWith(COPIED_TYPE.slice(0, 3))
    ;(isOfCopy ? this.ofCopies : this.changes).push(change)
  }

  /** Another writer works. */
  others<Result>(work: () => Result): Result {
    return this.#writers.others(work)
  }

  /** Who writes now. */
  get by(): Change['by'] {
    return currentProcess() === REPEATER ? 'others' : this.#writers.by
  }

  /** A record is as it was at an earlier time. */
  restored(
    org: number,
    id: string,
    before: Change['before'] = null,
    values: Change['values'] = null,
  ): void {
    const code = (values ?? before)?.['code'] ?? ''
    const at = this.#now()
    const noted: Change = { at, org, id, code, values, before, by: 'others', isRestored: true }
    this.#note(noted)
    this.#onChange(noted)
  }

  watch(org: Org): void {
    const find = (id: string) => {
      for (const type of org.types()) {
        const record = org.record(type.name, id)
        if (record) return plainValues(record)
      }
      return null
    }
    watchOrg(org, find, (id, before, values) => {
      const code = (values ?? before)?.['code'] ?? ''
      const isRepeated = currentProcess() === REPEATER
      // What the network sends once more changes nothing, or what was not carried out the first time, or else what is not ours any more.
      if (isRepeated && JSON.stringify(before) === JSON.stringify(values)) return
      const isOurs =
        !isRepeated || (before === null && !this.changes.some((one) => one.code === code))
      const by = isOurs ? this.#writers.by : 'others'
      const change: Change = { at: this.#now(), org: org.id, id, code, values, before, by }
      const noted: Change = isRepeated && isOurs ? { ...change, isCopy: true } : change
      this.#note(noted)
      this.#onChange(noted)
    })
  }
}
