// Whether another value that a service holds is its own form of what was sent. That needs evidence: two values that only look
// different, or two that have much in common if the write is known to have changed the value. A value that is the same as before
// the write is no form of anything, and neither is no value at all.

import { canonicalDecimal, decimalOfNumber } from '../../core/decimal.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import { plainDecimal as decimalOfLossless, LosslessNumber } from '../../core/lossless-number.ts'
import { canonicalValue } from './compare.ts'
import { baselineHash } from './baseline-hashes.ts'

type Value = Json | undefined

/** The baseline hash of no value. */
export const NO_VALUE_HASH = baselineHash(undefined, 'text')

/** Texts that are shorter than this have things in common by chance. */
const COMMON_MIN = 3
const SECOND = 1_000
const MINUTE = 60 * SECOND
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

/** Whether the record holds for the field what it held before the value was sent. */
export const isValueIgnored = (before: string | null, held: string): boolean => before === held

/**
 * Whether `held` is a form of `sent`.
 * @param marks baseline hashes of what the record held before `sent` was sent first, null if that is not known; and of what it holds
 */
export function isNormalisedForm(
  sent: Value,
  held: Value,
  fieldType: string,
  marks: { readonly before: string | null; readonly held: string },
): boolean {
  if (canonicalValue(sent, fieldType) === '' || canonicalValue(held, fieldType) === '') return false
  if (isValueIgnored(marks.before, marks.held)) return false
  return looksAlike(sent, held, fieldType) || (marks.before !== null && hasInCommon(sent, held))
}

const single = (value: Value): Value =>
  Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value

const bare = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll(/[\s\p{C}]+/gu, '')

/** Other capitals, spaces and forms of characters; fewer decimals; a time without its seconds. */
function looksAlike(one: Value, other: Value, fieldType: string): boolean {
  const [sent, held] = [single(one), single(other)]
  if (Array.isArray(sent) && Array.isArray(held)) {
    const inOrder = (values: readonly Json[]) =>
      values.toSorted((a, b) => (bare(String(a)) < bare(String(b)) ? -1 : 1))
    const others = inOrder(held as readonly Json[])
    return (
      sent.length === held.length &&
      inOrder(sent as readonly Json[]).every((part, at) => looksAlike(part, others[at], fieldType))
    )
  }
  if (isAmount(sent) && isAmount(held))
    return (
      String(sent['unit']) === String(held['unit']) &&
      looksAlike(sent['amount'] as Json, held['amount'] as Json, 'number')
    )
  if (fieldType !== 'text') {
    const [from, to] = [decimalOf(sent), decimalOf(held)]
    if (from !== null && to !== null) return isRounded(from, to)
  }
  if (typeof sent !== 'string' || typeof held !== 'string') return false
  if (TIME.test(sent) && TIME.test(held)) return isCoarser(Date.parse(sent), Date.parse(held))
  return bare(sent) === bare(held)
}

const isAmount = (value: Value): value is { readonly [name: string]: Json } =>
  isJsonObject(value as Json) && Object.hasOwn(value as object, 'amount')

function decimalOf(value: Value): string | null {
  if (typeof value === 'number') return decimalOfNumber(value)
  if (value instanceof LosslessNumber) return decimalOfLossless(value)
  return typeof value === 'string' ? canonicalDecimal(value.trim()) : null
}

const decimalsOf = (decimal: string): number => decimal.split('.')[1]?.length ?? 0

/** Whether the one is the other with fewer decimals, whichever way they were dropped. */
function isRounded(sent: string, held: string): boolean {
  if (sent === held) return true
  const decimals = decimalsOf(held)
  if (decimals >= decimalsOf(sent)) return false
  // Both as whole numbers of the last decimal that was sent.
  const scale = decimalsOf(sent)
  const whole = (decimal: string) => {
    const [digits = '0', rest = ''] = decimal.split('.')
    return BigInt(`${digits}${rest.padEnd(scale, '0')}`)
  }
  const apart = whole(sent) - whole(held)
  const step = 10n ** BigInt(scale - decimals)
  return apart < step && apart > -step
}

const isCoarser = (sent: number, held: number): boolean =>
  [SECOND, MINUTE].some((step) => held % step === 0 && Math.abs(sent - held) < step)

/** Letters and digits alone, without accents. */
const core = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '')

/** Whether two texts have the same letters and digits, without what is between them. */
export const hasSameLetters = (one: string, other: string): boolean =>
  core(one) !== '' && core(one) === core(other)

/** Texts of which one has all letters and digits of the other, in their order: cut short, written with a prefix, without tags. */
function hasInCommon(one: Value, other: Value): boolean {
  const [sent, held] = [single(one), single(other)]
  if (typeof sent !== 'string' || typeof held !== 'string') return false
  const [from, to] = [core(sent), core(held)]
  if (from === to) return from !== ''
  return Math.min(from.length, to.length) >= COMMON_MIN && (from.includes(to) || to.includes(from))
}
