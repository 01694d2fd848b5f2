// One organisation: its records, keys, limits and cursors, and who may do what (section 5).
// Promise kept here: the gates of a write come in their order, the object type's rules before the credential's grants.

import { systemClock } from '../core/ports.ts'
import type { Clock } from '../core/ports.ts'
import type { WritableOperation } from '../contract/index.ts'
import { Cursors } from './cursors.ts'
import { SyncError } from '../core/errors.ts'
import { ADMINISTRATOR, grantOf } from './keys.ts'
import type { Key, User } from './keys.ts'
import { FixedWindow } from './limiter.ts'
import type { Limiter } from './limiter.ts'
import { OBJECT_TYPES } from './object-types.ts'
import type { ObjectType } from './object-types.ts'
import { Refusal, factsOf, notFound, shown } from './problems.ts'
import { RecordStore } from './store.ts'
import type { WriteContext } from './writes.ts'

export class Org {
  readonly id: number
  readonly clock: Clock
  readonly cursors = new Cursors()
  readonly limiter: Limiter
  readonly types = OBJECT_TYPES
  readonly users = new Map<string, User>([[ADMINISTRATOR.id, ADMINISTRATOR]])
  /** Whether currency values can be compared. */
  hasRates = true
  private readonly stores: ReadonlyMap<string, RecordStore>
  private lastSeq = 0

  constructor(id: number, limitPerMinute: number | null, clock: Clock = systemClock) {
    this.id = id
    this.clock = clock
    this.limiter = new FixedWindow(limitPerMinute)
    this.stores = new Map(
      [...this.types.values()].map((type) => [type.name, new RecordStore(type)]),
    )
  }

  /** @throws SyncError service_options */
  user(id: string): User {
    const user = this.users.get(id)
    if (user) return user
    throw new SyncError('service_options', `userId: org ${this.id} has no user ${id}`)
  }

  store(type: ObjectType): RecordStore {
    return this.stores.get(type.name)!
  }

  /** What a write to `type` needs, at the present time. */
  writing(type: ObjectType, nowMs = this.clock.now()): WriteContext {
    return { store: this.store(type), nowMs, nextId: () => this.nextId() }
  }

  /** The type, for an operation that lists its records. @throws Refusal 403 where it is unknown or unreadable */
  listableType(key: Key, name: string): ObjectType {
    const type = this.types.get(name)
    if (type && grantOf(key, name).read) return type
    const detail = `No object type ${shown(name)} that this key may read`
    throw new Refusal({ status: 403, code: 'permission_denied', detail })
  }

  /** The type, for any other read. @throws Refusal 404 where it is unknown or unreadable */
  readableType(key: Key, name: string): ObjectType {
    const type = this.types.get(name)
    if (type && grantOf(key, name).read) return type
    throw new Refusal(notFound(`No object type ${shown(name)} that this key may read`))
  }

  /**
   * The type, for a write that needs all of `operations`.
   * @throws Refusal 404 unknown; 403 type_read_only; 404 unreadable; 403 write_forbidden
   */
  writableType(key: Key, name: string, operations: readonly WritableOperation[]): ObjectType {
    const accepted = this.types.get(name)?.summary.writable_operations
    const missing = accepted && operations.find((operation) => !accepted.includes(operation))
    if (missing) throw new Refusal(factsOf('type_read_only', `${name} does not accept ${missing}`))
    const type = this.readableType(key, name)
    if (grantOf(key, name).write) return type
    throw new Refusal(factsOf('write_forbidden', `This key may not write ${name}`))
  }

  private nextId(): { seq: number; id: string } {
    const seq = (this.lastSeq += 1)
    // Padded, so that the order of ids is the order of creation.
    return { seq, id: `rec_${this.id.toString(36)}_${seq.toString(36).padStart(7, '0')}` }
  }
}
