// Decimals of any length, exact.

interface Decimal {
  readonly digits: bigint
  /** The power of ten that `digits` is multiplied by. */
  readonly exponent: number
}

/** Null where the text is not a decimal, or too far from 1 to be worked out. */
export function decimal(text: string): Decimal | null {
  const found = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,5}))?$/.exec(text)
  if (!found || `${found[2]}${found[3]}` === '') return null
  const digits = BigInt(`${found[1]}${found[2]}${found[3]}`.replace(/^\+/, ''))
  const exponent = Number(found[4] ?? 0) - found[3]!.length
  return Math.abs(exponent) > 20_000 ? null : { digits, exponent }
}

const scaled = ({ digits, exponent }: Decimal, to: number): bigint =>
  digits * 10n ** BigInt(exponent - to)

export function compareDecimals(a: Decimal, b: Decimal): number {
  const exponent = Math.min(a.exponent, b.exponent)
  const [left, right] = [scaled(a, exponent), scaled(b, exponent)]
  return left < right ? -1 : left > right ? 1 : 0
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent)
  return { digits: scaled(a, exponent) + scaled(b, exponent), exponent }
}

/** To twelve places. */
export function divideDecimal(a: Decimal, count: number): Decimal {
  const exponent = Math.min(a.exponent, 0) - 12
  return { digits: scaled(a, exponent) / BigInt(count), exponent }
}

/** Without an exponent and without zeros at the end. */
export function formatDecimal({ digits, exponent }: Decimal): string {
  const sign = digits < 0n ? '-' : ''
  const text = String(digits < 0n ? -digits : digits)
  if (exponent >= 0) return `${sign}${digits === 0n ? '0' : text + '0'.repeat(exponent)}`
  const padded = text.padStart(1 - exponent, '0')
  const whole = padded.slice(0, exponent)
  const part = padded.slice(exponent).replace(/0+$/, '')
  return `${sign}${whole}${part === '' ? '' : `.${part}`}`
}
