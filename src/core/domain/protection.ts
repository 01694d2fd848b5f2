// The registers of how an import treats values that others changed, and of why it left such a value as it is.

import { namesOf } from '../register.ts'

interface PolicyEntry {
  readonly meaning: string
}

/** Reason of a row that is set aside because others changed what it would write. */
export const CHANGED_BY_OTHERS = 'changed_by_others'

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
  /** Why values were kept, behind what was. */
  readonly cause: { readonly one: string; readonly more: string }
  /** Behind a count of values. */
  readonly which: string
}

/** Why a value of a record was not written over. */
const KEPT_REASON = {
  changed: {
    text: 'others changed it since this sync wrote it',
    cause: { one: 'as others changed it', more: 'as others changed them' },
    which: 'changed by others',
  },
  first_contact: {
    text: 'this sync is not known to have written it',
    cause: {
      one: 'as this sync is not known to have written it (`first_contact: ours` writes over it)',
      more: 'as this sync is not known to have written them (`first_contact: ours` writes over them)',
    },
    which: 'not known to be of this sync (`first_contact: ours` writes over them)',
  },
  has_value: {
    text: 'the record has a value (write: if_empty)',
    cause: {
      one: 'as the record has a value (write: if_empty)',
      more: 'as the records have values (write: if_empty)',
    },
    which: 'where the record has a value (write: if_empty)',
  },
  /** It looks like what was sent, was read back once, and no answer has shown it. */
  look_alike: {
    text: 'others changed it, or the service keeps what was sent so',
    cause: {
      one: 'as others changed it, or the service did',
      more: 'as others, or the service, changed them',
    },
    which: 'changed by others or by the service',
  },
  /** A row was sent without an answer, and the ledger does not have its values any more. */
  unclear: {
    text: 'others changed it, or a row without an answer did',
    cause: {
      one: 'as others, or a row without an answer, changed it',
      more: 'as others, or rows without an answer, changed them',
    },
    which: 'changed by others or by a row without an answer',
  },
} as const satisfies Record<string, KeptEntry>
export type KeptReason = keyof typeof KEPT_REASON

export const KEPT_REASONS = namesOf(KEPT_REASON)

export const keptText = (reason: KeptReason): string => KEPT_REASON[reason].text

/** `kept as others changed them`, or `kept: 3 changed by others, 1 there before this sync`. */
export function keptBecause(
  values: number,
  reasons: Readonly<Partial<Record<KeptReason, number>>> = {},
): string {
  const occurring = KEPT_REASONS.filter((reason) => (reasons[reason] ?? 0) > 0)
  if (occurring.length > 1)
    return `kept: ${occurring.map((reason) => `${reasons[reason]} ${KEPT_REASON[reason].which}`).join(', ')}`
  const { cause } = KEPT_REASON[occurring[0] ?? 'changed']
  return `kept ${values === 1 ? cause.one : cause.more}`
}

/** Whether a setting protects values of records, so that these are looked up before rows are sent. */
export const protects = (setting: string, value: unknown): boolean =>
  (setting === 'on_conflict' && (value === 'theirs' || value === 'reject')) ||
  (setting === 'first_contact' && value === 'theirs') ||
  (setting === 'write' && value === 'if_empty')

/** Whether an import protects values of records. */
export function protectsValues(given: object & { readonly properties?: unknown }): boolean {
  return [given, ...mappingsOf(given)].some(
    (one) =>
      typeof one === 'object' &&
      one !== null &&
      Object.entries(one).some(([setting, value]) => protects(setting, value)),
  )
}

const mappingsOf = ({ properties }: { readonly properties?: unknown }): readonly unknown[] =>
  typeof properties === 'object' ? Object.values(properties ?? {}) : []

const hasPolicy = (given: Parameters<typeof protectsValues>[0], policy: ConflictPolicy): boolean =>
  [given, ...mappingsOf(given)].some(
    (one) =>
      typeof one === 'object' && one !== null && 'on_conflict' in one && one.on_conflict === policy,
  )

/** Whether an import sets rows aside whose records others changed. */
export const maySetAside = (given: Parameters<typeof protectsValues>[0]): boolean =>
  hasPolicy(given, 'reject')

/**
 * What a retry does with rows that were left because of what others changed, in words; null if it sends them over that.
 * @param given the settings of the import
 */
export function retriedText(given: Parameters<typeof protectsValues>[0]): string | null {
  if (maySetAside(given))
    return 'a retry sets them aside again (on_conflict: reject) until the row and the record agree, or the value of before is back'
  return hasPolicy(given, 'theirs')
    ? 'a retry keeps what others changed (on_conflict: theirs), and sends the rest of each row'
    : null
}

/** Whether each row is looked up before it is sent, and what its record held is kept. */
export const keepsBefore = (
  given: Parameters<typeof protectsValues>[0] & { readonly keep_before?: boolean | undefined },
): boolean => given.keep_before === true || protectsValues(given)
