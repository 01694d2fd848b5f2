// What the answer to an upsert shows of its item at no cost: the record that the service says it wrote. If it is another record
// than the one asked for, or has other values than were sent, the item counts as different until it is read back, whatever
// `verify` says; the read decides about values. An answer without a record, or without some properties, says nothing of them.

import type { RecordRepresentation } from '../../contract/index.ts'
import type { Json } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { ItemOutcome, RunSchema } from '../../ledger/ledger.ts'
import { isFieldDifferent } from './compare.ts'
import { hasSameLetters } from './normalised.ts'
import { itemKey } from '../mapping/key.ts'
import type { PropertyValues } from './look-up.ts'
import { classOf, fieldNotes } from './read-back.ts'
import { isCompared, stagedMatchingProperty, propertyTypes } from '../mapping/types.ts'

/** Reasons of items whose answer does not show what was sent. */
export const ANSWERED_DIFFERENT = 'answered_different'
export const ANSWERED_OTHER_RECORD = 'answered_other_record'

/** Of an update that made a record: what was left out, because the record of then had it, is missing. */
export const MADE_IN_PART = 'made_in_part'
const PART =
  'its record went while the row was on its way, and the service made a new one of the properties that were to change: that is incomplete'

/** The outcome of a row whose record was made of a part of it, and that did not make it whole. */
export const inPart = (outcome: ItemOutcome, recordId: string): ItemOutcome => {
  const { detail } = outcome
  const text = partText(recordId)
  return { ...outcome, detail: detail === null ? text : `${detail}; ${text}` }
}

const ANSWERED = 'the service answered'

/** In the outcome of a row whose record was made of a part of it, and is not whole yet. */
export const partText = (recordId: string | null): string =>
  recordId === null ? PART : `${PART} (record ${recordId})`

/** An item, with the values that were sent. */
interface Sent {
  readonly key: string
  readonly sent: PropertyValues
}

/** Adds to the outcome of an accepted item what the record of its answer shows otherwise. */
export function answerReader(
  config: ImportConfig,
  schema: RunSchema | null,
): (
  item: Sent,
  outcome: ItemOutcome,
  record: RecordRepresentation | null | undefined,
) => ItemOutcome {
  const typeOf = propertyTypes(config, schema)
  const matching = stagedMatchingProperty(config, schema)

  /** Whether the record has values of the matching property, and none of them is the key, in whatever form. */
  const isOther = (key: string, held: Json | undefined): boolean => {
    if (held === key) return false
    const values = [held ?? []].flat() as Json[]
    const isOurs = (value: Json) =>
      itemKey(value, matching.type, matching.folds) === key ||
      (typeof value === 'string' && hasSameLetters(value, key))
    return values.length > 0 && !values.some(isOurs)
  }

  return (item, outcome, record) => {
    if (!record) return outcome
    const held = record.properties as PropertyValues
    const { sent } = item
    const kindOf = (field: string) => classOf(sent[field], held[field])
    const noteOf = (fields: readonly string[], reason: string) =>
      fieldNotes(config, { sent, held, fields, verb: ANSWERED, kindOf, reason })
    const isKeyShown = Object.hasOwn(sent, matching.name) && Object.hasOwn(held, matching.name)
    if (isKeyShown && isOther(item.key, held[matching.name]))
      return {
        ...outcome,
        // It is not known which record has that id.
        recordId: null,
        answered: noteOf([matching.name], ANSWERED_OTHER_RECORD),
      }
    const fields = Object.keys(sent).filter(
      (name) =>
        // Most are the same value; no object inherits a text or a number.
        sent[name] !== held[name] &&
        Object.hasOwn(held, name) &&
        isFieldDifferent(sent, held, name, typeOf) &&
        isCompared(config, name),
    )
    if (fields.length === 0) return outcome
    const [form] = fields.includes(matching.name) ? [held[matching.name]].flat() : []
    const key = typeof form === 'string' ? form : null
    return { ...outcome, answered: { ...noteOf(fields, ANSWERED_DIFFERENT), key } }
  }
}
