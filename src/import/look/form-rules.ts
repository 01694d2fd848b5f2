// What services are known to make of values, as rules that can be tried on a value: capitals, spaces, forms of characters, decimals and
// seconds. A rule tells what a service does with all values from what a person does with one of them.

import { canonicalDecimal, decimalOfNumber } from '../../core/decimal.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import { plainDecimal, LosslessNumber } from '../../core/lossless-number.ts'
import { canonicalValue } from './compare.ts'

/** Rules as bits, by their place in `RULES`. */
export type RuleSet = number

type Value = Json | undefined
/** Null: it says nothing of such a value. */
type Rule = (value: Json, fieldType: string) => Json | null

const CASES: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toLowerCase(),
  (text) => text.toUpperCase(),
]
const SPACES: typeof CASES = [
  (text) => text,
  (text) => text.trim().replaceAll(/\s+/g, ' '),
  (text) => text.replaceAll(/\s+/g, ''),
]
const FORMS: typeof CASES = [(text) => text, (text) => text.normalize('NFKC')]
const DECIMALS = [0, 1, 2, 3, 4]
const STEPS_MS = [1_000, 60_000]
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

const textRules = CASES.flatMap((inCase) =>
  SPACES.flatMap((withSpaces) =>
    FORMS.map(
      (inForm): Rule =>
        (value) =>
          typeof value === 'string' ? inForm(inCase(withSpaces(inForm(value)))) : null,
    ),
  ),
).slice(1)

const numberRules = DECIMALS.flatMap((decimals) =>
  [true, false].map(
    (rounds): Rule =>
      (value, fieldType) =>
        fieldType === 'text' ? null : withDecimals(value, decimals, rounds),
  ),
)

const timeRules = STEPS_MS.map((step): Rule => (value) => {
  if (typeof value !== 'string' || !TIME.test(value)) return null
  const time = Date.parse(value)
  return Number.isNaN(time) ? null : new Date(time - (time % step)).toISOString()
})

/** At most 30. Their order is stored: a new one comes last. */
const RULES: readonly Rule[] = [...textRules, ...numberRules, ...timeRules]

export const RULE_BITS: readonly RuleSet[] = RULES.map((_, at) => 1 << at)

/** The rules that would make another value of this one; `of`: those that are tried. */
export function rulesThatChange(sent: Value, fieldType: string, of: RuleSet = ~0): RuleSet {
  return rulesWhere(of, sent, fieldType, (made) => made !== canonicalValue(sent, fieldType))
}

/** The rules that make of what was sent what is held, and nothing else. */
export function rulesThatMake(sent: Value, held: Value, fieldType: string): RuleSet {
  const [from, to] = [canonicalValue(sent, fieldType), canonicalValue(held, fieldType)]
  return from === to ? 0 : rulesWhere(~0, sent, fieldType, (made) => made === to)
}

function rulesWhere(
  of: RuleSet,
  sent: Value,
  fieldType: string,
  isWanted: (made: string) => boolean,
): RuleSet {
  let found = 0
  for (const [at, bit] of RULE_BITS.entries()) {
    if ((of & bit) === 0) continue
    const made = applied(RULES[at]!, sent, fieldType)
    if (made !== null && isWanted(canonicalValue(made, fieldType))) found |= bit
  }
  return found
}

/** A rule holds for each value of a list, and for the amount of a sum of money. */
function applied(rule: Rule, value: Value, fieldType: string): Json | null {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) {
    const parts = value.map((part) => applied(rule, part as Json, fieldType))
    return parts.includes(null) ? null : parts
  }
  if (isJsonObject(value) && Object.hasOwn(value, 'amount')) {
    const amount = applied(rule, value['amount'] as Json, 'number')
    return amount === null ? null : { ...value, amount }
  }
  return rule(value, fieldType)
}

/** A decimal with this many places at most. */
function withDecimals(value: Json, decimals: number, rounds: boolean): string | null {
  const text = decimalText(value)
  if (text === null) return null
  const isBelow = text.startsWith('-')
  const [digits = '0', rest = ''] = text.replace('-', '').split('.')
  if (rest.length <= decimals) return text
  const up = rounds && rest[decimals]! >= '5' ? 1n : 0n
  const whole = String(BigInt(digits + rest.slice(0, decimals)) + up).padStart(decimals + 1, '0')
  const cut = whole.length - decimals
  const made = decimals === 0 ? whole : `${whole.slice(0, cut)}.${whole.slice(cut)}`
  return canonicalDecimal(`${isBelow ? '-' : ''}${made}`)
}

function decimalText(value: Json): string | null {
  if (typeof value === 'number') return decimalOfNumber(value)
  if (value instanceof LosslessNumber) return plainDecimal(value)
  return typeof value === 'string' ? canonicalDecimal(value.trim()) : null
}
