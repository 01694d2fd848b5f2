// Every change of the records of an org, and whose it was: of the program that is tested, or of other writers.

import type { Org } from './index.ts'

export type Writer = 'us' | 'others'

/** Who writes now. */
export class Writers {
  #by: Writer = 'us'

  get by(): Writer {
    return this.#by
  }

  /** Another writer works. */
  others<Result>(work: () => Result): Result {
    this.#by = 'others'
    try {
      return work()
    } finally {
      this.#by = 'us'
    }
  }
}

/**
 * @param find a record as it is now; null: there is none
 * @param note called after each change
 */
export function watchOrg<State>(
  org: Org,
  find: (id: string) => State | null,
  note: (id: string, before: State | null, after: State | null) => void,
): void {
  const { put, change, remove } = org
  org.put = (...given) => {
    const record = put.apply(org, given)
    note(record.id, null, find(record.id))
    return record
  }
  org.change = (...given) => {
    const before = find(given[0])
    const record = change.apply(org, given)
    note(record.id, before, find(record.id))
    return record
  }
  org.remove = (id) => {
    const before = find(id)
    remove.call(org, id)
    if (before !== null) note(id, before, find(id))
  }
}
