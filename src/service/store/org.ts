// One organisation: its records, edges, users, limits and cursors, and who may do what (section 5).
// Promises kept here: the gates of a write are checked in their order, the object type's rules before the credential's grants;
// a write is stored as a whole, in memory and in the data file, or not at all.

import { createHmac, randomBytes } from 'node:crypto'
import { SyncError } from '../../core/errors.ts'
import type { Clock } from '../../core/ports.ts'
import type { AssociationWire, WritableOperation } from '../../contract/index.ts'
import { Cursors } from './cursors.ts'
import { KeptGroups } from './kept-groups.ts'
import { Edges, type Edge } from './edges.ts'
import { isStoredEqual } from '../schema/field-types.ts'
import { ADMINISTRATOR, grantOf, type Key, type OrgUser } from '../auth/keys.ts'
import type { Limiter } from '../limits/limiter.ts'
import { CREATED_AT, UPDATED_AT, withChange, type ObjectType } from '../schema/object-types.ts'
import { RequestRefused, refused, notFound, describeValue, unavailable } from '../problems.ts'
import { RecordIds } from './record-ids.ts'
import { RecordStore, wholeValues } from './record-store.ts'
import type { Slot, StoredValues } from './slots.ts'
import { VisibleRecords, type Viewer } from './visible-records.ts'
import type { WriteContext } from './writes.ts'

/** One step of a write, as the data file stores it. */
export type WriteStep =
  | { readonly kind: 'stored' | 'deleted'; readonly slot: Slot }
  | { readonly kind: 'linked' | 'unlinked'; readonly edge: Edge }

/** Stores the steps of one write, all or none. @throws if they cannot be stored */
export type KeepSteps = (orgId: number, changes: readonly WriteStep[]) => void

/** A record as a data file stores it: `properties` are those that have a value. */
export interface KeptRecord {
  readonly seq: number
  readonly type: string
  readonly id: string
  readonly properties: StoredValues
}

export interface KeptOrg {
  /** In creation order. */
  readonly records: Iterable<KeptRecord>
  readonly edges: readonly Edge[]
  /** The greatest sequence that a record ever had. */
  readonly lastSeq: number
}

export interface OrgOptions {
  readonly id: number
  readonly clock: Clock
  readonly limiter: Limiter
  readonly types: ReadonlyMap<string, ObjectType>
  readonly associations: ReadonlyMap<string, AssociationWire>
  /** In addition to the administrator. */
  readonly users?: readonly OrgUser[]
  /**
   * Seals the cursors, and makes the ids of records. Default: a new one, because what an earlier process listed is gone with its
   * memory.
   */
  readonly secret?: Uint8Array
  readonly keep?: KeepSteps
}

const changedType = 'svc_contact'
const changedProperty = { name: 'added_while_you_worked', field_type: 'text' }

export class Org {
  readonly id: number
  readonly clock: Clock
  readonly limiter: Limiter
  /** Bytes of answers that clients have not read yet. */
  unreadBytes = 0
  readonly cursors: Cursors
  readonly keptGroups = new KeptGroups()
  readonly types: Map<string, ObjectType>
  readonly associations: ReadonlyMap<string, AssociationWire>
  readonly users: Map<string, OrgUser>
  readonly edges = new Edges()
  /** Whether currency values can be compared. */
  hasRates = true
  private readonly ids: RecordIds
  private readonly keep: KeepSteps | undefined
  private readonly stores = new Map<string, RecordStore>()
  private lastSeq = 0
  private changes: WriteStep[] = []
  private undos: (() => void)[] = []

  constructor(options: OrgOptions) {
    this.id = options.id
    this.clock = options.clock
    this.limiter = options.limiter
    const { secret = randomBytes(32) } = options
    const secretFor = (what: string) => createHmac('sha256', secret).update(what).digest()
    this.cursors = new Cursors(secretFor('cursors'))
    this.ids = new RecordIds(options.id, secretFor(`ids of ${options.id}`).subarray(0, 16))
    this.types = new Map(options.types)
    this.associations = options.associations
    const users = [ADMINISTRATOR, ...(options.users ?? [])]
    this.users = new Map(users.map((user) => [user.id, user]))
    this.keep = options.keep
    for (const type of this.types.values()) this.stores.set(type.name, new RecordStore(type))
  }

  /** Whether no record was ever created. */
  get isUntouched(): boolean {
    return this.lastSeq === 0
  }

  /** @throws SyncError service_options */
  user(id: string): OrgUser {
    const user = this.users.get(id)
    if (user) return user
    throw new SyncError('service_options', `userId: org ${this.id} has no user ${id}`)
  }

  store(type: ObjectType): RecordStore {
    return this.stores.get(type.name)!
  }

  view(sight: Viewer, type: ObjectType): VisibleRecords {
    return new VisibleRecords(this.store(type), sight)
  }

  /** What a write to `type` needs, at the present time. */
  writing(sight: Viewer, type: ObjectType, nowMs = this.clock.now()): WriteContext {
    const view = this.view(sight, type)
    return {
      view,
      userId: sight.user.id,
      nowMs,
      insert: (properties) => this.insert(view.store, properties),
      replace: (slot, properties) => this.replace(view.store, slot, properties),
    }
  }

  /** Runs a write: all of its steps are stored, or none. */
  transaction<Result>(work: () => Result): Result {
    try {
      const result = work()
      if (this.changes.length > 0) this.keepChanges()
      return result
    } catch (error) {
      for (const undo of this.undos.reverse()) undo()
      throw error
    } finally {
      if (this.changes.some(({ kind }) => kind === 'deleted')) {
        for (const store of this.stores.values()) store.tidy()
      }
      this.changes = []
      this.undos = []
    }
  }

  private keepChanges(): void {
    try {
      this.keep?.(this.id, this.changes)
    } catch (cause) {
      throw unavailable('The write could not be stored: nothing was done', '10', { cause })
    }
  }

  /** Adds a property, or removes it again, while others work: what people do in the settings of a CRM. */
  changeSchema(): void {
    const type = this.types.get(changedType)!
    const change = type.properties.has(changedProperty.name)
      ? { remove: [changedProperty.name] }
      : { add: [changedProperty] }
    this.changeType(changedType, change)
  }

  /** @throws Error if the type is unknown, or the change contradicts itself */
  changeType(name: string, change: Parameters<typeof withChange>[1]): void {
    const type = this.types.get(name)
    if (!type)
      throw new Error(`objectType: one of ${[...this.types.keys()].join(', ')} was expected`)
    const changed = withChange(type, change)
    this.types.set(name, changed)
    this.store(type).changeType(changed)
  }

  /**
   * Restores what a data file stored, into a new org. `isChecked`: its values are known to fit these types.
   * @throws SyncError service_schema
   */
  restore(kept: KeptOrg, isChecked: boolean): void {
    for (const { seq, type, id, properties } of kept.records) {
      const known = this.types.get(type)
      if (!known) throw schemaLacks(`the object type ${type}`)
      if (!isChecked) checkValues(properties, known)
      const values = wholeValues(properties, known)
      // One text instead of two for a record that was never changed.
      if (values[UPDATED_AT] === values[CREATED_AT]) values[UPDATED_AT] = values[CREATED_AT]!
      this.store(known).insert(seq, id, values)
      this.lastSeq = seq
    }
    for (const edge of kept.edges) {
      if (!this.associations.has(edge.association)) {
        throw schemaLacks(`the association type ${edge.association}`)
      }
      this.edges.add(edge)
    }
    // No id is given twice, also where the file has lost the greatest one.
    this.lastSeq = Math.max(this.lastSeq, kept.lastSeq)
  }

  delete(store: RecordStore, slot: Slot): void {
    for (const edge of this.edges.touching(slot.record.id)) this.unlink(edge)
    store.delete(slot)
    this.note({ kind: 'deleted', slot }, () => store.revive(slot))
  }

  link(edge: Edge): void {
    this.edges.add(edge)
    this.note({ kind: 'linked', edge }, () => this.edges.remove(edge))
  }

  unlink(edge: Edge): void {
    this.edges.remove(edge)
    this.note({ kind: 'unlinked', edge }, () => this.edges.add(edge))
  }

  private insert(store: RecordStore, properties: StoredValues): Slot {
    const seq = (this.lastSeq += 1)
    const slot = store.insert(seq, this.ids.of(seq), properties)
    this.note({ kind: 'stored', slot }, () => store.delete(slot))
    return slot
  }

  private replace(store: RecordStore, slot: Slot, properties: StoredValues): void {
    const before = slot.record.properties
    store.replace(slot, properties)
    this.note({ kind: 'stored', slot }, () => store.replace(slot, before))
  }

  private note(change: WriteStep, undo: () => void): void {
    this.changes.push(change)
    this.undos.push(undo)
  }

  /** The type, for an operation that lists its records. @throws Refusal 403 if it is unknown or unreadable */
  listableType(key: Key, name: string): ObjectType {
    const type = this.types.get(name)
    if (type && grantOf(key, name).read) return type
    throw new RequestRefused({ status: 403, code: 'permission_denied', detail: noType(name) })
  }

  /** The type, for any other read. @throws Refusal 404 if it is unknown or unreadable */
  readableType(key: Key, name: string): ObjectType {
    const type = this.types.get(name)
    if (type && grantOf(key, name).read) return type
    throw new RequestRefused(notFound(noType(name)))
  }

  /**
   * The type, for a write that needs all of `operations`.
   * @throws Refusal 403 type_read_only; 403 write_forbidden; 404 if it is unknown
   */
  writableType(key: Key, name: string, operations: readonly WritableOperation[]): ObjectType {
    const type = this.types.get(name)
    const accepted = type?.summary.writable_operations
    const missing = accepted && operations.find((operation) => !accepted.includes(operation))
    if (missing) throw refused('type_read_only', `${name} does not accept ${missing}`)
    // The same for a type that does not exist: a key cannot find out about types it has no grant for.
    if (!grantOf(key, name).write) {
      throw refused('write_forbidden', `This key may not write ${plain(name)}`)
    }
    if (type) return type
    throw new RequestRefused(notFound(noType(name)))
  }
}

/** The same for a type that does not exist and for one that the key may not read. */
const noType = (name: string) => `No object type ${describeValue(name)} that this key may read`

/** The name of a type as it is, if it can be one; else its description. */
const plain = (name: string) => (/^[a-z][a-z0-9_]{0,80}$/.test(name) ? name : describeValue(name))

/** @throws SyncError service_schema */
function checkValues(kept: StoredValues, type: ObjectType): void {
  for (const [name, value] of Object.entries(kept)) {
    const property = type.properties.get(name)
    if (!property) throw schemaLacks(`the property ${name} of ${type.name}`)
    const parsed = property.parse(value)
    if (parsed !== undefined && isStoredEqual(parsed, value)) continue
    const message = `The data file holds a value of ${name} of ${type.name} that is not ${property.expected}: start with the schema file that it was written with`
    throw new SyncError('service_schema', message)
  }
}

function schemaLacks(what: string): SyncError {
  return new SyncError(
    'service_schema',
    `The data file holds values of ${what}, which this schema lacks: start with the schema file that it was written with`,
  )
}
