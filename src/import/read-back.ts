// What reading back shows of an item: equal, different, missing, or normalised. A value that came back the same other value as
// the last time it was sent is the service's own form of it: sending it a third time would change nothing.

import { hash as digestOf } from 'node:crypto'
import { shownText } from '../core/differences.ts'
import { canonicalJson, type Json } from '../core/json.ts'
import type { ImportConfig } from '../core/sync.ts'
import type { Verified } from '../ledger/ledger.ts'
import { canonical } from './compare.ts'

type Values = Readonly<Record<string, Json>>
type TypeOf = (property: string) => string

/** Reasons of items that were accepted and are not as they were sent. */
export const READ_BACK_DIFFERENT = 'read_back_different'
export const READ_BACK_MISSING = 'read_back_missing'

const MISSING = 'the service accepted it, and does not find it by its key'
/** Fields that a detail names. */
const NAMED_MAX = 3
const DIGEST_CHARS = 32

const heldOf = (held: Values, property: string): Json | undefined =>
  Object.hasOwn(held, property) ? held[property] : undefined

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
      canonical(sent[field], typeOf(field)),
      canonical(heldOf(held, field), typeOf(field)),
    ])
  return digestOf('sha256', canonicalJson(pairs), 'hex').slice(0, DIGEST_CHARS)
}

/** Whether what is read now is what an earlier run read, of the same values, and took for the service's own form. */
export const isNormalised = (
  item: {
    readonly hash: string
    readonly accepted: { hash: string | null; readBack: string | null } | null
  },
  read: string,
): boolean =>
  item.accepted !== null && item.accepted.hash === item.hash && item.accepted.readBack === read

/** What kind of difference it is, in words; the values themselves stay in the ledger. */
function classOf(sent: Json | undefined, held: Json | undefined): string {
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

const shown = (value: Json | undefined): string => shownText(canonicalJson(value ?? null))

/**
 * What is booked of an item whose record was looked up.
 * @param fields in which they differ; null where there is no record
 * @param lastRead what an earlier run read of the key, as a digest
 */
export function verdictOf(
  read: { sent: Values; held: Values; fields: readonly string[] } | null,
  { config, typeOf, lastRead }: { config: ImportConfig; typeOf: TypeOf; lastRead: string | null },
): Pick<Verified, 'verdict' | 'field' | 'readBack' | 'told'> {
  if (read === null) {
    const told = { reason: READ_BACK_MISSING, detail: MISSING, column: null, value: null }
    return { verdict: 'missing', field: null, readBack: null, told }
  }
  const { sent, held, fields } = read
  const [first] = fields
  if (first === undefined) return { verdict: 'equal', field: null, readBack: null, told: null }
  const readBack = readDigest(sent, held, fields, typeOf)
  if (readBack === lastRead) return { verdict: 'normalised', field: null, readBack, told: null }
  const named = fields
    .slice(0, NAMED_MAX)
    .map(
      (field) =>
        `${field}: sent ${shown(sent[field])}, the service holds ${shown(heldOf(held, field))} (${classOf(sent[field], heldOf(held, field))})`,
    )
  const more = fields.length > NAMED_MAX ? `; and ${fields.length - NAMED_MAX} more` : ''
  const told = {
    reason: READ_BACK_DIFFERENT,
    detail: `${named.join('; ')}${more}`,
    column: config.properties[first]?.column ?? null,
    value: shown(sent[first]),
  }
  return { verdict: 'different', field: `/properties/${first}`, readBack, told }
}
