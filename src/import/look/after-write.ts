// What the answer to a row showed of its record right after the write: the values that the service keeps otherwise than they were sent,
// and, of one that the row made, the time of the change. It is stored with the image of the row, so that an undo knows the record as the run left it.

import { modificationNames, type RecordRepresentation } from '../../contract/index.ts'
import { parseJson, writeJson } from '../../core/json.ts'
import type { BeforeImage, ItemOutcome, RunSchema } from '../../ledger/ledger.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { propertyTypes } from '../mapping/types.ts'
import { changedFields } from './as-written.ts'
import type { PropertyValues } from './look-up.ts'

interface After {
  /** Values by property. */
  readonly forms: PropertyValues
  /** Of a record that the row made: times by the properties that may have that of its last change. */
  readonly changed: PropertyValues
}

/** Reads what an answer shows, as the image has it; null if that is nothing. */
export function afterReader(
  config: ImportConfig,
  schema: RunSchema | null,
): (
  sent: PropertyValues,
  state: ItemOutcome['state'],
  record: RecordRepresentation | null | undefined,
) => string | null {
  const typeOf = propertyTypes(config, schema)
  return (sent, state, record) => {
    if (!record) return null
    const held = record.properties as PropertyValues
    const only = (names: readonly string[]): PropertyValues =>
      Object.fromEntries(names.map((name) => [name, held[name]!]))
    const shown = Object.keys(sent).filter((name) => Object.hasOwn(held, name))
    const forms = changedFields(sent, held, typeOf).filter((name) => shown.includes(name))
    const times = state === 'created' ? modificationNames(Object.keys(held)) : []
    if (forms.length === 0 && times.length === 0) return null
    return writeJson({ forms: only(forms), changed: only(times) })
  }
}

/** What the image of a row has of it. */
export function afterOf(image: Pick<BeforeImage, 'after'> | null): After {
  return image?.after == null
    ? { forms: {}, changed: {} }
    : (parseJson(image.after) as unknown as After)
}
