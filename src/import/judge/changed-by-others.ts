// Rows that are set aside because others changed what they would write (`on_conflict: reject`).

import { excerpt } from '../../core/domain/differences.ts'
import { CHANGED_BY_OTHERS, keptText } from '../../core/domain/protection.ts'
import { canonicalJson } from '../../core/json.ts'
import type { ItemOutcome } from '../../ledger/ledger.ts'
import { blankOutcome } from '../look/outcome.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { KeptValue } from './protection.ts'
import type { RowChange } from './row-changes.ts'

/** Properties that a detail names. */
const NAMED_MAX = 3

const shown = (value: KeptValue['ours']): string => excerpt(canonicalJson(value))

const factOf = ({ property, reason, since, ours, theirs }: KeptValue): string => {
  const known = since === null ? keptText(reason) : `${keptText(reason)}, in run ${since}`
  return `${property}: the row has ${shown(ours)}, the record ${shown(theirs)} (${known})`
}

/** What a person reads of such values. */
export function changedText(values: readonly KeptValue[]): string {
  const named = values.slice(0, NAMED_MAX).map(factOf)
  const more = values.length > NAMED_MAX ? `; and ${values.length - NAMED_MAX} more` : ''
  return `${named.join('; ')}${more}`
}

/** The outcome of such a row. */
export function changedByOthers(
  config: ImportConfig,
  { item, protection: { refused } }: Pick<RowChange, 'item' | 'protection'>,
): ItemOutcome {
  return {
    ...blankOutcome(item, 'refused'),
    reason: CHANGED_BY_OTHERS,
    field: `/properties/${refused[0]!.property}`,
    detail: changedText(refused),
  }
}
