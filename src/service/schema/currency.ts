// Currency amounts: their units, and how two amounts in different units compare.
// Promise kept here: amounts are exact decimals, never rounded.

import { canonicalDecimal, compareDecimals } from '../../core/decimal.ts'

/** A currency value: a canonical decimal and an ISO 4217 code. */
export type CurrencyValue = { amount: string; unit: string }

/** Digits of an amount. */
const digitsMax = 30

/** Millionths of a euro that one unit is worth. Fixed, so that an order is the same on every run. */
const microEuros: Readonly<Record<string, bigint>> = {
  EUR: 1_000_000n,
  USD: 920_000n,
  GBP: 1_170_000n,
  JPY: 6_100n,
  CHF: 1_050_000n,
  CAD: 670_000n,
  AUD: 605_000n,
  SEK: 88_000n,
  NOK: 86_000n,
  DKK: 134_000n,
  PLN: 232_000n,
  INR: 10_500n,
}

export const CURRENCY_UNITS: readonly string[] = Object.keys(microEuros)

/** The stored form of a currency value (exactly `amount` and `unit`), or undefined if it is not one. */
export function parseMoney(raw: unknown): CurrencyValue | undefined {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return undefined
  const { amount, unit, ...rest } = raw as Record<string, unknown>
  if (typeof amount !== 'string' || amount.length > 2 * digitsMax) return undefined
  if (typeof unit !== 'string' || !Object.hasOwn(microEuros, unit)) return undefined
  if (Object.keys(rest).length > 0) return undefined
  const canonical = canonicalDecimal(amount)
  if (canonical === null || canonical.replace(/[-.]/g, '').length > digitsMax) return undefined
  return { amount: canonical, unit }
}

/** Negative, zero or positive if `a` is worth less than, as much as or more than `b`. */
export function compareMoney(a: CurrencyValue, b: CurrencyValue): number {
  if (a.unit === b.unit) return compareDecimals(a.amount, b.amount)
  const scale = Math.max(fractionDigits(a.amount), fractionDigits(b.amount))
  const difference = worth(a, scale) - worth(b, scale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

function fractionDigits(amount: string): number {
  const point = amount.indexOf('.')
  return point < 0 ? 0 : amount.length - point - 1
}

function worth(money: CurrencyValue, scale: number): bigint {
  const zeros = '0'.repeat(scale - fractionDigits(money.amount))
  return BigInt(money.amount.replace('.', '') + zeros) * microEuros[money.unit]!
}
