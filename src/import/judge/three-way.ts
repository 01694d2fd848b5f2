// The three-way rule of one property whose value at the service differs from that of the row: base is what this sync wrote last,
// theirs what the record has, ours what the row has. Nothing but these facts decides.

import type { ConflictPolicy, KeptReason } from '../../core/domain/protection.ts'

export interface ProtectionPolicy {
  readonly onConflict: ConflictPolicy
  readonly firstContact: 'ours' | 'theirs'
  readonly write: 'always' | 'if_empty'
}

/** What is known of a value that differs from that of the row. */
export interface TheirValue {
  /** Its baseline hash. */
  readonly mark: string
  readonly isEmpty: boolean
  /** Of what this sync wrote last; null if it has never written the property. */
  readonly base: string | null
  /** Of further values that are ours: forms of the base that the service made, and what rows without an answer sent. */
  readonly alsoOurs: ReadonlySet<string>
  /** Of values that look like a form of the base, and that others may have written. Default: none. */
  readonly lookAlikes?: ReadonlySet<string>
  /** Whether a row without an answer may have written it, and the ledger does not know which value. */
  readonly isUnclear: boolean
}

export type Fate =
  | {
      readonly action: 'write'
      /** The record has another value, which is protected, and nothing says that this sync wrote it. */
      readonly isOver?: true
    }
  | { readonly action: 'keep' | 'reject'; readonly reason: KeptReason }

const WRITE: Fate = { action: 'write' }

/** What becomes of the property. */
export function fateOf(
  { onConflict, firstContact, write }: ProtectionPolicy,
  { mark, isEmpty, base, alsoOurs, lookAlikes, isUnclear }: TheirValue,
): Fate {
  if (write === 'if_empty' && !isEmpty) return { action: 'keep', reason: 'has_value' }
  if (onConflict === 'ours' || mark === base || alsoOurs.has(mark)) return WRITE
  // A record that never had a value has none to protect.
  if (base === null && isEmpty) return WRITE
  if (base === null && firstContact === 'ours') return { action: 'write', isOver: true }
  const changed = lookAlikes?.has(mark) === true ? 'look_alike' : 'changed'
  const reason = isUnclear ? 'unclear' : base === null ? 'first_contact' : changed
  return { action: onConflict === 'theirs' ? 'keep' : 'reject', reason }
}
