// The write rules of section 4.3: null clears, absent leaves, equal values succeed, create_only is set once, a unique
// value belongs to one record. Promise kept here: a write happens as a whole or not at all, and its replay changes nothing.

import type { JsonObject } from '../../core/json.ts'
import { isStoredEqual, type StoredValue } from '../schema/field-types.ts'
import { CREATED_AT, CREATED_BY, PRIVATE, UPDATED_AT } from '../schema/object-types.ts'
import type { ObjectType, CompiledProperty } from '../schema/object-types.ts'
import { RECORD_CHARS_MAX, TEXT_CHARS_MAX, VALUES_MAX, VIOLATIONS_MAX } from '../limits/sizes.ts'
import { refusalFacts, pointerToken, schemaInvalid, describeValue } from '../problems.ts'
import type { RefusalFacts, Violation } from '../problems.ts'
import type { Slot, StoredRecord, StoredValues } from './slots.ts'
import type { VisibleRecords } from './visible-records.ts'

export interface WriteResult {
  readonly record: StoredRecord
  readonly created: boolean
}
/** A write that was done, or why it was not. */
export type WriteOutcome = WriteResult | { readonly refused: RefusalFacts }

/** What a write needs in addition to its body. */
export interface WriteContext {
  /** The records that the writer sees: others neither match nor hold a unique value. */
  readonly view: VisibleRecords
  readonly userId: string
  readonly nowMs: number
  insert(properties: StoredValues): Slot
  replace(slot: Slot, properties: StoredValues): void
}

interface Draft {
  readonly changes: Map<CompiledProperty, StoredValue>
  readonly violations: Violation[]
}

/** Updates a record, or creates one if `slot` is null; `pointer` is the place of `properties` in the body. */
export function writeRecord(
  context: WriteContext,
  slot: Slot | null,
  raw: JsonObject,
  pointer: string,
): WriteOutcome {
  return write(context, slot, draftOf(context.view.store.type, raw, pointer), pointer)
}

/** Updates the one record that holds a value of `matching`, or creates one (rules 4.3.3 and 4.3.4). */
export function writeRecordUpsert(
  context: WriteContext,
  matching: CompiledProperty,
  raw: JsonObject,
  pointer: string,
): WriteOutcome {
  const draft = draftOf(context.view.store.type, raw, pointer)
  const value = draft.changes.get(matching)
  if (value === undefined && Object.hasOwn(raw, matching.name)) {
    return { refused: schemaInvalid(draft.violations) }
  }
  if (value === undefined || value === null) {
    const detail = `${matching.name} is the matching property: a value was expected`
    const field = `${pointer}/${pointerToken(matching.name)}`
    return { refused: refusalFacts('invalid_matching_property', detail, field) }
  }
  const found = context.view.find(matching.name, value)
  if (found.length > 1) {
    const detail = `${found.length} records hold this value of ${matching.name}: at most one was expected`
    const field = `${pointer}/${pointerToken(matching.name)}`
    return { refused: refusalFacts('ambiguous_match', detail, field) }
  }
  const [slot = null] = found
  return write(context, slot, draft, pointer)
}

function draftOf(type: ObjectType, raw: JsonObject, pointer: string): Draft {
  const changes = new Map<CompiledProperty, StoredValue>()
  const violations: Violation[] = []
  const violate = (name: string, reason: string, detail: string) =>
    violations.push({ field: `${pointer}/${pointerToken(name)}`, reason, detail })
  for (const name of Object.keys(raw)) {
    if (violations.length >= VIOLATIONS_MAX) break
    const property = type.properties.get(name)
    const large = property ? tooLarge(raw[name]) : null
    if (!property) {
      violate(name, 'unknown_property', `${type.name} has no property ${describeValue(name)}`)
    } else if (property.wire.writability === 'read_only') {
      violate(name, 'read_only', `${name} is read-only: leave it out`)
    } else if (large !== null) {
      violate(name, 'too_large', `${name}: expected ${large}`)
    } else {
      const value = property.parse(raw[name])
      if (value !== undefined) changes.set(property, value)
      else {
        const detail = `${name}: expected ${property.expected}, got ${describeValue(raw[name])}`
        violate(name, 'invalid_value', detail)
      }
    }
  }
  return { changes, violations }
}

/** What was expected of a value that is larger than any may be; null if it is not. Looked at before it is parsed. */
function tooLarge(raw: unknown): string | null {
  if (Array.isArray(raw) && raw.length > VALUES_MAX)
    return `at most ${VALUES_MAX} values, got ${raw.length}`
  const texts = Array.isArray(raw) ? raw : [raw]
  const longest = texts.reduce<number>((most, each) => Math.max(most, charsIn(each)), 0)
  return longest > TEXT_CHARS_MAX
    ? `at most ${TEXT_CHARS_MAX} characters in a text, got ${longest}`
    : null
}

/** Characters of a text, or of the texts of a list. */
function charsIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  return Array.isArray(value) ? value.reduce<number>((sum, each) => sum + charsIn(each), 0) : 0
}

/** Why a record cannot become as large as it would; one that was larger before may stay so, or become smaller. */
function recordTooLarge(
  before: StoredValues | null,
  changes: Map<CompiledProperty, StoredValue>,
  pointer: string,
): Violation[] {
  let grown = 0
  let most = 0
  let largest = ''
  for (const [{ name }, value] of changes) {
    const chars = charsIn(value)
    grown += chars - charsIn(before?.[name] ?? null)
    if (chars <= most) continue
    most = chars
    largest = name
  }
  if (grown <= 0) return []
  const chars = Object.values(before ?? {}).reduce<number>(
    (sum, value) => sum + charsIn(value),
    grown,
  )
  if (chars <= RECORD_CHARS_MAX) return []
  const detail = `${largest}: expected at most ${RECORD_CHARS_MAX} characters in all texts of the record together, got ${chars}`
  return [{ field: `${pointer}/${pointerToken(largest)}`, reason: 'too_large', detail }]
}

function write(
  context: WriteContext,
  slot: Slot | null,
  { changes, violations }: Draft,
  pointer: string,
): WriteOutcome {
  if (slot) violations.push(...setTwice(slot, changes, pointer))
  violations.push(...recordTooLarge(slot?.record.properties ?? null, changes, pointer))
  if (violations.length > 0) return { refused: schemaInvalid(violations) }
  const hidden = hides(changes)
  const isHidden = slot?.record.properties[PRIVATE] === true
  if (slot && hidden !== null && hidden !== isHidden && !context.view.mayHide(slot)) {
    const detail = `${PRIVATE}: only the creator of the record and keys of reach org change it: leave it out`
    const field = `${pointer}/${PRIVATE}`
    return { refused: { status: 403, code: 'permission_denied', detail, field } }
  }
  const taken = takenValue(context.view, slot, changes)
  if (taken) {
    const detail = `Another record holds this value of ${taken.name}, which is unique`
    const field = `${pointer}/${pointerToken(taken.name)}`
    return { refused: { status: 409, code: 'conflict', detail, field } }
  }
  return slot ? change(context, slot, changes) : insert(context, changes)
}

function setTwice(
  slot: Slot,
  changes: Map<CompiledProperty, StoredValue>,
  pointer: string,
): Violation[] {
  const violations: Violation[] = []
  for (const [property, value] of changes) {
    if (property.wire.writability !== 'create_only') continue
    const stored = slot.record.properties[property.name]!
    if (stored === null || isStoredEqual(stored, value)) continue
    violations.push({
      field: `${pointer}/${pointerToken(property.name)}`,
      reason: 'create_only',
      detail: `${property.name} is set once and has another value already: leave it out`,
    })
  }
  return violations
}

/** Whether the record is private after the changes; null if they do not say. */
function hides(changes: Map<CompiledProperty, StoredValue>): boolean | null {
  for (const [property, value] of changes) if (property.name === PRIVATE) return value === true
  return null
}

/**
 * A unique property for which the record would take a value that another record holds. A private record that is published takes
 * all of its values.
 */
function takenValue(
  view: VisibleRecords,
  slot: Slot | null,
  changes: Map<CompiledProperty, StoredValue>,
): CompiledProperty | null {
  const before = slot?.record.properties ?? null
  const isPublished = before?.[PRIVATE] === true && hides(changes) === false
  for (const property of view.store.type.unique) {
    const stored = before ? before[property.name]! : null
    const value = changes.has(property) ? changes.get(property)! : isPublished ? stored : null
    if (value === null) continue
    // Its own value is no change, even if a record that became visible later holds it too.
    if (!isPublished && isStoredEqual(stored, value)) continue
    if (view.find(property.name, value).some((holder) => holder !== slot)) return property
  }
  return null
}

function insert(context: WriteContext, changes: Map<CompiledProperty, StoredValue>): WriteOutcome {
  // Every record has every property, in the type's order: answers have one shape, and so do the objects in memory.
  const { type } = context.view.store
  const properties: StoredValues = { ...type.blank }
  for (const property of type.properties.values()) {
    const value = changes.get(property)
    properties[property.name] = value === undefined ? property.defaultValue : value
  }
  const now = new Date(context.nowMs).toISOString()
  properties[CREATED_AT] = now
  properties[UPDATED_AT] = now
  properties[CREATED_BY] = context.userId
  return { record: context.insert(properties).record, created: true }
}

function change(
  context: WriteContext,
  slot: Slot,
  changes: Map<CompiledProperty, StoredValue>,
): WriteOutcome {
  const before = slot.record.properties
  let properties: StoredValues | null = null
  for (const [property, value] of changes) {
    if (isStoredEqual(before[property.name]!, value)) continue
    properties ??= { ...before }
    properties[property.name] = value
  }
  if (properties) {
    properties[UPDATED_AT] = new Date(context.nowMs).toISOString()
    context.replace(slot, properties)
  }
  return { record: slot.record, created: false }
}
