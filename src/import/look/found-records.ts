// What a look-up by key shows of rows: those whose mode does not write each of them, and those whose answer was lost.

import type { RecordRepresentation } from '../../contract/index.ts'
import type { Json } from '../../core/json.ts'
import type { PlannedItem } from '../../ledger/ledger.ts'
import { propertyTypes, stagedMatchingProperty } from '../mapping/types.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { differingFields } from './compare.ts'
import {
  lookUpItems,
  payloadsProperties,
  type Found,
  type ParsedItem,
  type PropertyValues,
} from './look-up.ts'
import { isNormalisedForm } from './normalised.ts'

/** A row, and the record of its key. */
export interface FoundRow {
  readonly item: ParsedItem<PlannedItem>
  /** Null if there is none, or the API key does not see it. */
  readonly record: RecordRepresentation | null
  /** Whether the key has more records than that one. */
  readonly isSeveral: boolean
  /** Whether it holds what the row sends, or forms of it. False if only the key was read. */
  readonly isAsSent: boolean
  /** What this run has written of the row already, as its record shows. */
  readonly written?: PropertyValues
}

/** Of records with several forms of a key, the one with the form that the row sends. */
function recordOf(
  found: Found,
  { key, sent }: ParsedItem<PlannedItem>,
  property: string,
): RecordRepresentation | null {
  const [exact] = [sent[property] ?? []].flat() as Json[]
  return found.writtenAs(exact) ?? found.get(key) ?? null
}

export const NO_BASELINE = { before: null, held: '' }

/**
 * Looks up at most 100 rows. `whole`: with the values of all mapped properties, not only the key; `onFound`: told how many requests it
 * took, and since when it holds.
 */
export function rowFinder(
  deps: ImportDeps,
  { config, schema }: StagedImport,
): (
  items: readonly PlannedItem[],
  options: {
    readonly whole: boolean
    readonly onFound?: (found: Pick<Found, 'reads' | 'askedAt'>) => void
  },
) => Promise<readonly FoundRow[]> {
  const matching = stagedMatchingProperty(config, schema)
  const typeOf = propertyTypes(config, schema)
  const isAsSent = (sent: PropertyValues, held: PropertyValues): boolean =>
    differingFields(sent, held, typeOf).every((name) =>
      isNormalisedForm(sent[name], held[name], typeOf(name), NO_BASELINE),
    )

  return async (items, { whole, onFound }) => {
    if (items.length === 0) return []
    const sent = payloadsProperties(items)
    const asked = items.map((item, index) => ({
      ordinal: item.ordinal,
      key: item.key,
      payload: item.payload,
      hash: item.hash,
      attempts: item.attempts,
      marks: item.marks ?? null,
      ...(item.isReplayed && { isReplayed: item.isReplayed }),
      sent: sent[index]!,
    }))
    const names = whole ? Object.keys(config.properties) : [matching.name]
    const found = await lookUpItems(deps, config, matching, asked, names)
    onFound?.(found)
    return asked.map((item) => {
      const record = recordOf(found, item, matching.name)
      return {
        item,
        record,
        isSeveral: found.several.has(item.key),
        isAsSent:
          whole && record !== null && isAsSent(item.sent, record.properties as PropertyValues),
      }
    })
  }
}

/** The row as an update of a record. Written out: to spread each row takes longer. */
export const aimedAt = (
  { ordinal, key, payload, hash, attempts, marks = null, isReplayed }: PlannedItem,
  recordId: string,
): PlannedItem => ({
  ordinal,
  key,
  payload,
  hash,
  attempts,
  marks,
  recordId,
  ...(isReplayed && { isReplayed }),
})
