// Requests of the kit, by operation, and the words for them in evidence.

import type { FilterNode } from '../contract/index.ts'
import type { RuleCall } from './types.ts'

/** An id that no record has. */
export const NO_RECORD = 'conform-no-such-record'
/** A name that no property has. */
export const NO_PROPERTY = 'conform_no_such_property'

export const listCall = (objectType: string): RuleCall => ({ operation: 'listRecords', objectType })

/** A query; `sent` is what evidence may show of its body. */
export const queryCall = (
  objectType: string,
  body: object,
  sent: string = evidenceText(body),
): RuleCall => ({ operation: 'queryRecords', objectType, body, sent })

export const aggregateCall = (
  objectType: string,
  body: object,
  sent: string = evidenceText(body),
): RuleCall => ({ operation: 'aggregateRecords', objectType, body, sent })

/** JSON that the kit invented, for evidence. */
export function evidenceText(body: unknown): string {
  const text = JSON.stringify(body)
  return text.length > 160 ? `${text.slice(0, 157)}...` : text
}

/** A filter's leaf, for evidence: what it asks, without the value, which may come from a record. */
export function leafEvidence(filter: FilterNode): string {
  return 'op' in filter ? `filter ${filter.property} ${filter.op} …` : evidenceText(filter)
}
