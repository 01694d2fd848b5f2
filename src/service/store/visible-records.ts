// The records of one object type as one key sees them (section 5): all except the private records of others.
// Promise kept here: for what a key cannot see, the service answers exactly as for what does not exist.

import { valueKeys, type StoredValue } from '../schema/field-types.ts'
import type { Key } from '../auth/keys.ts'
import { CREATED_BY, PRIVATE } from '../schema/object-types.ts'
import { RequestRefused, noRecord } from '../problems.ts'
import type { RecordStore } from './record-store.ts'
import type { Slot } from './slots.ts'

/** Who reads, and how much they may see. */
export type Viewer = Pick<Key, 'user' | 'reach'>

export class VisibleRecords {
  readonly store: RecordStore
  private readonly sight: Viewer

  constructor(store: RecordStore, sight: Viewer) {
    this.store = store
    this.sight = sight
  }

  /** The same text for readers who see the same records. */
  get reader(): string {
    return this.seesAll() ? 'all' : `user ${this.sight.user.id}`
  }

  sees({ record: { properties } }: Slot): boolean {
    if (properties[PRIVATE] !== true) return true
    return this.seesAll() || properties[CREATED_BY] === this.sight.user.id
  }

  /** Whether the key may make the record private, or public: what one user hides, all others lose. */
  mayHide({ record: { properties } }: Slot): boolean {
    return this.seesAll() || properties[CREATED_BY] === this.sight.user.id
  }

  /** The reach of a key never changes; but a key never sees more than its creator, who may no longer be an administrator. */
  private seesAll(): boolean {
    return this.sight.reach === 'org' && this.sight.user.admin
  }

  get(id: string): Slot | undefined {
    const slot = this.store.get(id)
    return slot && this.sees(slot) ? slot : undefined
  }

  /** @throws Refusal 404 */
  existing(id: string): Slot {
    const slot = this.get(id)
    if (slot) return slot
    throw new RequestRefused(noRecord(id, this.store.type.name))
  }

  /** The visible records that hold any of the property's values. */
  find(name: string, value: StoredValue): Slot[] {
    return this.store.find(name, valueKeys(value)).filter((slot) => this.sees(slot))
  }
}
