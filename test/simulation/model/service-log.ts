// What happened at the service, in its order: every change of a record, whose it was, and every request.

import type { Org, Rec } from '../../other-service/index.ts'
import { isNumber, textOf } from '../../other-service/json.ts'

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
}

const PROPERTIES = ['code', 'name', 'size', 'note'] as const

export function plainValues({ properties }: Rec): Record<string, string> {
  const values: Record<string, string> = {}
  for (const name of PROPERTIES) {
    const value = properties[name]
    if (value === null || value === undefined) continue
    values[name] = isNumber(value) ? textOf(value) : String(value as string)
  }
  return values
}

export class ServiceLog {
  readonly changes: Change[] = []
  readonly #now: () => number
  readonly #onChange: (change: Change) => void
  #isOthers = false

  constructor(now: () => number, onChange: (change: Change) => void) {
    this.#now = now
    this.#onChange = onChange
  }

  /** Another writer works. */
  others<Result>(work: () => Result): Result {
    this.#isOthers = true
    try {
      return work()
    } finally {
      this.#isOthers = false
    }
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
    this.changes.push(noted)
    this.#onChange(noted)
  }

  watch(org: Org): void {
    const { put, change, remove } = org
    const find = (id: string) => {
      for (const type of org.types()) {
        const record = org.record(type.name, id)
        if (record) return plainValues(record)
      }
      return null
    }
    const note = (id: string, before: Change['before']) => {
      const values = find(id)
      const noted: Change = {
        at: this.#now(),
        org: org.id,
        id,
        code: (values ?? before)?.['code'] ?? '',
        values,
        before,
        by: this.#isOthers ? 'others' : 'us',
      }
      this.changes.push(noted)
      this.#onChange(noted)
    }
    org.put = (...given) => {
      const record = put.apply(org, given)
      note(record.id, null)
      return record
    }
    org.change = (...given) => {
      const before = find(given[0])
      const record = change.apply(org, given)
      note(record.id, before)
      return record
    }
    org.remove = (id) => {
      const before = find(id)
      remove.call(org, id)
      if (before) note(id, before)
    }
  }
}
