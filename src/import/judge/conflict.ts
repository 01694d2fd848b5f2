// Rows whose records are not as the plan of the run has them: set aside, each alone, with what was planned and what is there now.

import { canonicalJson, parseJson, type JsonObject } from '../../core/json.ts'
import { excerpt } from '../../core/domain/differences.ts'
import type { BeforeImage, ItemOutcome, PlannedItem } from '../../ledger/ledger.ts'
import { blankOutcome } from '../look/outcome.ts'
import { keptOf } from './as-sent.ts'

/** Reason of such a row. */
export const CHANGED_SINCE_PLAN = 'changed_since_plan'

/** Reason of a row that was sent before, and whose record has gone or has another key since. */
const MOVED_SINCE_SENT = 'moved_since_sent'

/** Properties that a detail names. */
const NAMED_MAX = 3

/**
 * The outcome of a row that may not be sent; null if its record is as planned.
 * @param planned its image in the plan
 * @param matching the property of the key: its form may be decided on since the plan
 */
export function conflictOf(
  now: BeforeImage,
  planned: BeforeImage | undefined,
  matching: string,
): ItemOutcome | null {
  if (planned !== undefined && isSame(now, planned, matching)) return null
  const { field, detail } = planned === undefined ? NOT_KEPT : difference(now, planned)
  return { ...blankOutcome(now, 'conflict'), reason: CHANGED_SINCE_PLAN, field, detail }
}

/**
 * Whether a row was sent for a record which its key does not find any more. What it was sent as is a part of it, which makes no whole
 * record.
 * @param image that of before the first sending
 */
export const isMoved = (recordId: string | null, image: BeforeImage | undefined): boolean =>
  image !== undefined && image.recordId !== null && image.recordId !== recordId

/** The outcome of such a row, where it cannot be judged by another record. */
export function movedOutcome(
  item: Pick<PlannedItem, 'ordinal'>,
  recordId: string | null,
  image: BeforeImage,
): ItemOutcome {
  const [was, is] = [
    placeOf({ ...image, verdict: 'update' }),
    placeOf({ verdict: 'update', recordId }),
  ]
  return {
    ...blankOutcome(item, 'conflict'),
    reason: MOVED_SINCE_SENT,
    detail: `when it was sent first ${was} had the key, now ${is} has it`,
  }
}

const NOT_KEPT = { field: null, detail: 'the ledger does not have the plan of this row any more' }

/** Whether a key without a record was written before is a fact of the ledger, and none of the service. */
const verdictOf = ({ verdict }: BeforeImage) => (verdict === 'unknown' ? 'create' : verdict)

const isSame = (now: BeforeImage, planned: BeforeImage, matching: string): boolean =>
  verdictOf(now) === verdictOf(planned) &&
  now.recordId === planned.recordId &&
  differing(heldValues(now, planned), heldValues(planned, now)).length === 0 &&
  differing(sentValues(now), sentValues(planned)).every(
    // Of an update there is what it changes: what only one of them has is compared as what the record held.
    (name) => name === matching || isInOne(name, now, planned),
  )

const isInOne = (name: string, now: BeforeImage, planned: BeforeImage): boolean =>
  Object.hasOwn(sentValues(now), name) !== Object.hasOwn(sentValues(planned), name)

const sentValues = ({ sent }: BeforeImage): JsonObject => parseJson(sent) as JsonObject

/** What a record held of all properties that either of two images of a row has: one that is in the other alone it held as the row has it. */
function heldValues(image: BeforeImage, other: BeforeImage): JsonObject {
  if (image.before === null) return {}
  const kept = keptOf(image).map(({ property, theirs }) => [property, theirs])
  return {
    ...(other.before === null ? {} : sentValues(other)),
    ...Object.fromEntries(kept),
    ...(parseJson(image.before) as JsonObject),
  }
}

interface Told {
  readonly field: string | null
  readonly detail: string
}

function difference(now: BeforeImage, planned: BeforeImage): Told {
  const plannedOf = placeOf(planned)
  const nowOf = placeOf(now)
  if (plannedOf !== nowOf)
    return {
      field: null,
      detail: `when the plan was made ${plannedOf} had the key, now ${nowOf} has it`,
    }
  const [held, was] = [heldValues(now, planned), heldValues(planned, now)]
  const names = differing(held, was)
  const [first] = names
  if (first !== undefined) {
    const named = names
      .slice(0, NAMED_MAX)
      .map(
        (name) => `${name}: ${shown(was[name])} when the plan was made, ${shown(held[name])} now`,
      )
    const more = names.length > NAMED_MAX ? `; and ${names.length - NAMED_MAX} more` : ''
    return { field: `/properties/${first}`, detail: `${named.join('; ')}${more}` }
  }
  const [other] = differing(sentValues(now), sentValues(planned))
  return {
    field: other === undefined ? null : `/properties/${other}`,
    detail: `the plan has it as ${planned.verdict}, and now it would be ${now.verdict}`,
  }
}

/** What had the key, in words. */
function placeOf({ verdict, recordId }: Pick<BeforeImage, 'verdict' | 'recordId'>): string {
  if (verdict === 'ambiguous') return 'several records'
  return recordId === null ? 'no record that the API key sees' : `record ${recordId}`
}

/** Properties whose values differ. */
function differing(left: JsonObject, right: JsonObject): readonly string[] {
  const textOf = (values: JsonObject, name: string) => canonicalJson(values[name] ?? null)
  return [...new Set([...Object.keys(right), ...Object.keys(left)])].filter(
    (name) => textOf(left, name) !== textOf(right, name),
  )
}

const shown = (value: JsonObject[string] | undefined): string =>
  excerpt(canonicalJson(value ?? null))
