// What reading back shows of an item: equal, different, missing, or normalised. If the service holds the
// same other value as the last time it was sent, and that is a form of what was sent, it is the service's own form: to send it a third
// time would change nothing. A value that the service did not take stays a difference, however often it is read.

import { mappedColumns } from '../../core/domain/mapped-columns.ts'
import { hash as digestOf } from 'node:crypto'
import { excerpt } from '../../core/domain/differences.ts'
import { canonicalJson, ownValue, type Json } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { ItemNote, UncomparedItem, VerificationResult } from '../../ledger/ledger.ts'
import { canonicalValue, isSameMeaning } from './compare.ts'
import { rulesThatMake } from './form-rules.ts'
import type { PropertyValues as Values } from './look-up.ts'
import type { PreviousValues } from './previous-values.ts'
import { isNormalisedForm, isValueIgnored, NO_VALUE_HASH } from './normalised.ts'

type TypeOf = (property: string) => string

/** Reasons of items that were accepted and are not as they were sent. */
export const READ_BACK_DIFFERENT = 'read_back_different'
export const READ_BACK_MISSING = 'read_back_missing'

export const SEVERAL_RECORDS =
  'the service has more than one record with this key; delete those that are too many'
const MISSING = 'the service accepted it, and does not find it by its key'
/** Fields that a detail names. */
const NAMED_MAX = 3
const DIGEST_CHARS = 32

/** Digest of what was sent and what is held, of the fields in which they differ. */
export function readDigest(
  sent: Values,
  held: Values,
  fields: readonly string[],
  typeOf: TypeOf,
): string {
  const pairs = fields
    .toSorted()
    .map((field) => [
      field,
      canonicalValue(sent[field], typeOf(field)),
      canonicalValue(ownValue(held, field), typeOf(field)),
    ])
  return digestOf('sha256', canonicalJson(pairs), 'hex').slice(0, DIGEST_CHARS)
}

/** Whether what is read now is what a run before has shown to be the service's own form of the same values. */
export const isNormalised = (item: Pick<UncomparedItem, 'hash' | 'accepted'>, read: string) =>
  item.accepted?.normalised === true &&
  item.accepted.hash === item.hash &&
  item.accepted.readBack === read

const OLD = 'the service keeps its old value'

/** What kind of difference it is, in words; the values themselves stay in the ledger. */
export function classOf(sent: Json | undefined, held: Json | undefined): string {
  if (held === undefined || held === null) return 'no value'
  if (typeof sent !== typeof held || Array.isArray(sent) !== Array.isArray(held))
    return 'a value of another shape'
  if (typeof sent !== 'string' || typeof held !== 'string')
    return typeof sent === 'number' ? 'another number' : 'another value'
  if (sent.toLowerCase() === held.toLowerCase()) return 'capitals or small letters'
  const bare = (text: string) => text.normalize('NFKC').replaceAll(/\s+/g, '')
  if (bare(sent) === bare(held)) return 'other spaces or forms of characters'
  return held !== '' && sent.startsWith(held) ? 'cut short' : 'another value'
}

const shown = (value: Json | undefined): string => excerpt(canonicalJson(value ?? null))

/** What a person reads about an item, field by field, the first of `fields` first. */
export function fieldNotes(
  config: ImportConfig,
  about: {
    sent: Values
    held: Values
    fields: readonly string[]
    /** Before the value that is not as it was sent. */
    verb: string
    kindOf: (field: string) => string
    reason: string
  },
): ItemNote & { readonly field: string } {
  const { sent, held, fields, verb, kindOf, reason } = about
  const first = fields[0]!
  const named = fields
    .slice(0, NAMED_MAX)
    .map(
      (field) =>
        `${field}: sent ${shown(sent[field])}, ${verb} ${shown(ownValue(held, field))} (${kindOf(field)})`,
    )
  const more = fields.length > NAMED_MAX ? `; and ${fields.length - NAMED_MAX} more` : ''
  return {
    reason,
    field: `/properties/${first}`,
    detail: `${named.join('; ')}${more}`,
    column: mappedColumns(config.properties[first] ?? {})[0] ?? null,
    value: shown(sent[first]),
  }
}

/**
 * What is recorded of an item whose record was looked up.
 * @param fields in which they differ; null if there is no record
 * @param lastRead what an earlier run read of the key, as a digest
 */
export function readBackResult(
  read: {
    sent: Values
    held: Values
    fields: readonly string[]
    earlier: PreviousValues
    /** What the answer to the row has shown. */
    answered: Values
  } | null,
  { config, typeOf, lastRead }: { config: ImportConfig; typeOf: TypeOf; lastRead: string | null },
): Pick<VerificationResult, 'verdict' | 'field' | 'readBack' | 'seen' | 'told'> & {
  /** Of a different one: the fields that hold no form of what was sent. */
  readonly others?: readonly string[]
  /** The fields that hold what looks like a form of what was sent. */
  readonly forms?: readonly string[]
} {
  if (read === null) {
    const told = { reason: READ_BACK_MISSING, detail: MISSING, column: null, value: null }
    return { verdict: 'missing', field: null, readBack: null, seen: null, told }
  }
  const { sent, held, fields, earlier, answered } = read
  if (fields.length === 0)
    return { verdict: 'equal', field: null, readBack: null, seen: null, told: null }
  const readBack = readDigest(sent, held, fields, typeOf)
  const marksOf = (field: string) => ({
    before: earlier.before(field),
    held: earlier.markOf(field, ownValue(held, field)),
  })
  const isForm = (field: string) =>
    isNormalisedForm(sent[field], ownValue(held, field), typeOf(field), marksOf(field))
  const others = fields.filter((field) => !isForm(field))
  const forms = fields.filter((field) => !others.includes(field))
  const isAnswered = (field: string) =>
    Object.hasOwn(answered, field) &&
    isSameMeaning(answered[field], ownValue(held, field), typeOf(field))
  const seen = earlier.seen(
    held,
    forms.map((field) => ({
      field,
      isAnswered: isAnswered(field),
      rules: rulesThatMake(sent[field], ownValue(held, field), typeOf(field)),
    })),
  )
  if (others.length === 0 && readBack === lastRead)
    return { verdict: 'normalised', field: null, readBack, seen, told: null, forms }
  // A person has to see first what is no form of what was sent.
  const inOrder = [...others, ...forms]
  const kindOf = (field: string) => {
    const { before, held: now } = marksOf(field)
    return isValueIgnored(before, now) && now !== NO_VALUE_HASH
      ? OLD
      : classOf(sent[field], ownValue(held, field))
  }
  const told = fieldNotes(config, {
    sent,
    held,
    fields: inOrder,
    verb: 'the service holds',
    kindOf,
    reason: READ_BACK_DIFFERENT,
  })
  return { verdict: 'different', field: told.field, readBack, seen, told, others, forms }
}
