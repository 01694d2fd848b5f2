// Rows whose records are not as the plan of the run has them: set aside, each alone, with what was planned and what is there now.

import { canonicalJson, parseJson, type JsonObject } from '../../core/json.ts'
import { excerpt } from '../../core/domain/differences.ts'
import type { BeforeImage, ItemOutcome } from '../../ledger/ledger.ts'
import { blankOutcome } from '../push/outcome.ts'

/** Reason of such a row. */
export const CHANGED_SINCE_PLAN = 'changed_since_plan'

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

const NOT_KEPT = { field: null, detail: 'the ledger does not have the plan of this row any more' }

/** Whether a key without a record was written before is a fact of the ledger, and none of the service. */
const verdictOf = ({ verdict }: BeforeImage) => (verdict === 'unknown' ? 'create' : verdict)

const isSame = (now: BeforeImage, planned: BeforeImage, matching: string): boolean =>
  verdictOf(now) === verdictOf(planned) &&
  now.recordId === planned.recordId &&
  now.before === planned.before &&
  differing(now.sent, planned.sent).every((name) => name === matching)

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
  const names = differing(now.before, planned.before)
  const [first] = names
  if (first !== undefined) {
    const [held, was] = [valuesOf(now.before), valuesOf(planned.before)]
    const named = names
      .slice(0, NAMED_MAX)
      .map(
        (name) => `${name}: ${shown(was[name])} when the plan was made, ${shown(held[name])} now`,
      )
    const more = names.length > NAMED_MAX ? `; and ${names.length - NAMED_MAX} more` : ''
    return { field: `/properties/${first}`, detail: `${named.join('; ')}${more}` }
  }
  const [other] = differing(now.sent, planned.sent)
  return {
    field: other === undefined ? null : `/properties/${other}`,
    detail: `the plan has it as ${planned.verdict}, and now it would be ${now.verdict}`,
  }
}

/** What had the key, in words. */
function placeOf({ verdict, recordId }: BeforeImage): string {
  if (verdict === 'ambiguous') return 'several records'
  return recordId === null ? 'no record that the API key sees' : `record ${recordId}`
}

const valuesOf = (text: string | null): JsonObject =>
  text === null ? {} : (parseJson(text) as JsonObject)

/** Properties whose values differ. */
function differing(one: string | null, other: string | null): readonly string[] {
  if (one === other) return []
  const [left, right] = [valuesOf(one), valuesOf(other)]
  const textOf = (values: JsonObject, name: string) => canonicalJson(values[name] ?? null)
  return [...new Set([...Object.keys(right), ...Object.keys(left)])].filter(
    (name) => textOf(left, name) !== textOf(right, name),
  )
}

const shown = (value: JsonObject[string] | undefined): string =>
  excerpt(canonicalJson(value ?? null))
