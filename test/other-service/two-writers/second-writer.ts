// The other writer: a person, or another program with a key of its own, who works on the same records at any moment.

import type { Org } from '../index.ts'
import { KEYS, keyOf, type Dice } from '../oracle/world.ts'
import type { Trace, Version } from './trace.ts'
import { TYPE } from './world.ts'

const MINUTE = 60_000

export class SecondWriter {
  readonly #chance: Dice
  readonly #org: Org
  readonly #trace: Trace
  #later = 0
  #count = 0

  constructor(chance: Dice, org: Org, trace: Trace) {
    this.#chance = chance
    this.#org = org
    this.#trace = trace
  }

  /** Says what it did. @param at keys of records that it works on more often */
  work(times: number, at: readonly string[] = []): string[] {
    return Array.from({ length: times }, () => this.#trace.others(() => this.#once(at)))
  }

  #once(at: readonly string[]): string {
    const { one, often } = this.#chance
    const records = this.#trace.records()
    // Mostly one of those that were written last.
    const last = records.toSorted((a, b) => b.updated - a.updated).slice(0, 4)
    const named = records.filter(({ values }) => at.includes(String(values['code'])))
    const among = named.length > 0 && often(0.7) ? named : often(0.6) ? last : records
    const record = among.length === 0 ? null : one(...among)
    const what = one(
      'change',
      'change',
      'change',
      'clear',
      'back',
      'note',
      'add',
      'remove',
      'rekey',
    )
    if (record === null || what === 'add') return this.#add(records)
    switch (what) {
      case 'change':
        return this.#change(
          record,
          often(0.6) ? { name: one('Fay', 'Gil', 'Ada') } : { size: one(7, 70) },
        )
      case 'clear':
        return this.#change(record, { [one('name', 'size', 'status')]: null })
      case 'back':
        return this.#back(record)
      case 'note':
        return this.#change(record, { note: `n${++this.#count}` }, often(0.5))
      case 'remove':
        this.#org.remove(record.id)
        return `others remove ${record.id} (${String(record.values['code'])})`
      case 'rekey':
        return this.#rekey(record, records)
    }
  }

  #free(records: readonly Version[]): string {
    const taken = new Set(records.map(({ values }) => values['code']))
    const keys = Array.from({ length: KEYS[TYPE] }, (_, at) => keyOf(TYPE, at + 1))
    const free = keys.filter((key) => !taken.has(key))
    return free.length > 0 && this.#chance.often(0.7)
      ? this.#chance.one(...free)
      : `X-${++this.#count}`
  }

  #add(records: readonly Version[]): string {
    const { one, often } = this.#chance
    const code = this.#free(records)
    const properties = {
      code,
      ...(often(0.8) && { name: one('Ada', 'Gil') }),
      ...(often(0.5) && { size: one(3, 7) }),
      ...(often(0.3) && { status: 'old' }),
    }
    const { id } = this.#org.put(TYPE, properties)
    return `others add ${id} ${JSON.stringify(properties)}`
  }

  /** A value that the record had before. */
  #back(record: Version): string {
    const { one } = this.#chance
    const earlier = this.#trace.events.flatMap((event) =>
      event.kind === 'edit' && event.id === record.id && event.before !== null
        ? [event.before]
        : [],
    )
    if (earlier.length === 0) return 'others do nothing'
    const { name = null, size = null } = one(...earlier).values
    return this.#change(record, one({ name }, { size }, { name, size }))
  }

  #rekey(record: Version, records: readonly Version[]): string {
    return this.#change(record, { code: this.#free(records) })
  }

  #change({ id, values: held }: Version, values: Record<string, unknown>, isLater = false): string {
    if (isLater) this.#later += 10 * MINUTE
    const updated = isLater ? Date.now() + this.#later : undefined
    this.#org.change(id, values as never, updated)
    return `others change ${id} (${String(held['code'])}) ${JSON.stringify(values)}`
  }
}
