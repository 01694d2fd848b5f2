// The registers of how an import treats values that others changed, and of why it left such a value as it is.

import { namesOf } from '../register.ts'

interface PolicyEntry {
  readonly meaning: string
}

/** What becomes of a property of a row if others changed the value of its record. */
const CONFLICT_POLICY = {
  ours: { meaning: 'the value of the row is written over it' },
  theirs: { meaning: 'it is left as it is, and the row is sent without that property' },
  reject: { meaning: 'the row is set aside' },
} as const satisfies Record<string, PolicyEntry>
export type ConflictPolicy = keyof typeof CONFLICT_POLICY

export const CONFLICT_POLICIES = namesOf(CONFLICT_POLICY)

export const conflictMeaning = (policy: ConflictPolicy): string => CONFLICT_POLICY[policy].meaning

interface KeptEntry {
  /** Behind the name of a property. */
  readonly text: string
}

/** Why a value of a record was not written over. */
const KEPT_REASON = {
  changed: { text: 'others changed it since this sync wrote it' },
  first_contact: { text: 'the record had it before this sync wrote it' },
  has_value: { text: 'the record has a value (write: if_empty)' },
  /** A row was sent without an answer, and the ledger does not have its values any more. */
  unclear: { text: 'others changed it, or a row without an answer did' },
} as const satisfies Record<string, KeptEntry>
export type KeptReason = keyof typeof KEPT_REASON

export const keptText = (reason: KeptReason): string => KEPT_REASON[reason].text

/** Whether a setting protects values of records, so that these are looked up before rows are sent. */
export const protects = (setting: string, value: unknown): boolean =>
  (setting === 'on_conflict' && (value === 'theirs' || value === 'reject')) ||
  (setting === 'first_contact' && value === 'theirs') ||
  (setting === 'write' && value === 'if_empty')

/** Whether an import protects values of records. */
export function protectsValues(given: object & { readonly properties?: unknown }): boolean {
  const { properties } = given
  const mappings = typeof properties === 'object' ? Object.values(properties ?? {}) : []
  return [given, ...(mappings as readonly unknown[])].some(
    (one) =>
      typeof one === 'object' &&
      one !== null &&
      Object.entries(one).some(([setting, value]) => protects(setting, value)),
  )
}

/** Whether each row is looked up before it is sent, and what its record held is kept. */
export const keepsBefore = (
  given: Parameters<typeof protectsValues>[0] & { readonly keep_before?: boolean | undefined },
): boolean => given.keep_before === true || protectsValues(given)
