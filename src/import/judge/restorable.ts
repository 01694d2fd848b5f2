// Which values of a record are restored: those that the run changed, and that the record holds as the run wrote them. Promise kept here:
// what others have changed since, a later run of ours included, is left as it is.

import { ownValue, writeJson, type Json } from '../../core/json.ts'
import type { AcceptedRecord, BeforeImage } from '../../ledger/ledger.ts'
import { afterOf } from '../look/after-write.ts'
import { isCompared } from '../mapping/types.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { changedFields, isWrittenSame } from '../look/as-written.ts'
import { isFieldDifferent } from '../look/compare.ts'
import type { PropertyValues } from '../look/look-up.ts'
import { readDigest } from '../look/read-back.ts'

type TypeOf = (property: string) => string

/** The properties that a run has given other values. Of one that is not compared it cannot be told who changed it. */
export const changedProperties = (
  config: ImportConfig,
  { sent, before }: { readonly sent: PropertyValues; readonly before: PropertyValues },
  typeOf: TypeOf,
): readonly string[] =>
  changedFields(sent, before, typeOf).filter(
    (name) => name !== config.matching_property && isCompared(config, name),
  )

/**
 * Of properties that were sent, those that the record holds otherwise. A form of the service's own is no other value where the answer
 * has shown it, or where two runs have sent the value and read the same form of it: what was read back once may be an edit by a person
 * between the write and the reading.
 */
export function changedSince(
  { sent, held }: { readonly sent: PropertyValues; readonly held: PropertyValues },
  { accepted, of, image }: { readonly image: Pick<BeforeImage, 'after'> | null } & Writer,
  typeOf: TypeOf,
): ReadonlySet<string> {
  const { forms } = afterOf(image)
  const differing = changedFields(sent, held, typeOf).filter(
    (name) =>
      !Object.hasOwn(forms, name) ||
      !isWrittenSame(forms[name], ownValue(held, name), typeOf(name)),
  )
  const others = differing.filter((name) => isFieldDifferent(sent, held, name, typeOf))
  const isAsRead =
    accepted?.run === of &&
    accepted.normalised === true &&
    accepted.readBack === readDigest(sent, held, others, typeOf)
  return new Set(isAsRead ? differing.filter((name) => !others.includes(name)) : differing)
}

interface Writer {
  readonly accepted: AcceptedRecord | null
  /** The run that is undone. */
  readonly of: number
}

/** Whether a record holds for each property the value that is expected, or the one that is sent. */
export function holdsExpected(
  { expected, sent }: { readonly expected: PropertyValues; readonly sent: PropertyValues },
  held: PropertyValues,
  typeOf: TypeOf,
): boolean {
  const holds = (name: string, value: Json | undefined) =>
    isWrittenSame(value, ownValue(held, name), typeOf(name))
  return Object.keys(expected).every(
    (name) => holds(name, expected[name]) || holds(name, ownValue(sent, name)),
  )
}

/** The payload of these values, with the one by which the record is found: in the order of names, as a mapping writes it. */
export function payloadOf(values: PropertyValues): string {
  const names = Object.keys(values).toSorted()
  return writeJson({
    properties: Object.fromEntries(names.map((name) => [name, ownValue(values, name) ?? null])),
  })
}
