// Sums and averages of decimals. Promise kept here: they are exact, for any number and size of the addends. Small addends with
// few fractional digits, the usual ones, are added as safe integers; the rest as integers of any size.

import { SHORT_CHARS, canonicalDecimal, decimalOfNumber } from './decimal.ts'

/** Fractional digits of an average; more only if an addend itself has more. */
export const AVERAGE_DIGITS = 20

/** The fast sum counts in units of 10^-4. */
const fastDigits = 4
const fastUnits = 10 ** fastDigits
/** The largest fast addend, in units: decimals of at most 15 digits, no two of which share a double. */
const fastMax = 1e15
/** Above this the fast sum is carried over; with one more addend it is still a safe integer. */
const carryMax = Number.MAX_SAFE_INTEGER - fastMax

export class DecimalSum {
  private addends = 0
  private fast = 0
  /** The rest, in units of 10^-scale. */
  private units = 0n
  private scale = fastDigits

  /** `addend`: a canonical decimal, or a finite number, which means its shortest decimal. */
  add(addend: string | number): void {
    this.addends += 1
    if (typeof addend === 'string' && addend.length > SHORT_CHARS) return this.addLong(addend)
    const value = Number(addend)
    const scaled = Math.round(value * fastUnits)
    // Only if dividing gives the number back is `scaled` the decimal itself, not one near it.
    if (scaled / fastUnits !== value || Math.abs(scaled) > fastMax) {
      return this.addLong(decimalOfNumber(value))
    }
    this.fast += scaled
    if (Math.abs(this.fast) > carryMax) this.carry()
  }

  /** Adds what `other` was given. */
  addSum(other: DecimalSum): void {
    this.addends += other.addends
    other.carry()
    this.extendTo(other.scale)
    this.units += other.units * powerOfTen(this.scale - other.scale)
  }

  /** A canonical decimal; null without addends. */
  total(): string | null {
    if (this.addends === 0) return null
    this.carry()
    return decimalOf(this.units, this.scale)
  }

  /** A canonical decimal, rounded half to even to 20 fractional digits or those of the longest addend; null without addends. */
  average(): string | null {
    if (this.addends === 0) return null
    this.carry()
    const scale = Math.max(AVERAGE_DIGITS, this.scale)
    const units = this.units * powerOfTen(scale - this.scale)
    return decimalOf(dividedHalfEven(units, BigInt(this.addends)), scale)
  }

  private carry(): void {
    this.units += BigInt(this.fast) * powerOfTen(this.scale - fastDigits)
    this.fast = 0
  }

  private extendTo(scale: number): void {
    if (scale <= this.scale) return
    this.units *= powerOfTen(scale - this.scale)
    this.scale = scale
  }

  private addLong(decimal: string): void {
    const point = decimal.indexOf('.')
    const digits = point < 0 ? 0 : decimal.length - point - 1
    this.extendTo(digits)
    this.units += BigInt(decimal.replace('.', '') + '0'.repeat(this.scale - digits))
  }
}

const powerOfTen = (exponent: number) => 10n ** BigInt(exponent)

/** `divisor` is positive. */
function dividedHalfEven(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  const rest = dividend % divisor
  const twice = 2n * (rest < 0n ? -rest : rest)
  if (twice < divisor || (twice === divisor && quotient % 2n === 0n)) return quotient
  return rest < 0n ? quotient - 1n : quotient + 1n
}

/** The canonical decimal of `units` of 10^-scale; `scale` is positive. */
function decimalOf(units: bigint, scale: number): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const sign = units < 0n ? '-' : ''
  return canonicalDecimal(`${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`)!
}
