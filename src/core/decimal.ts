// Exact decimals as text. A binary float represents an amount only if it can represent no other.

/**
 * A canonical decimal of at most this many characters has at most 15 digits: no other such decimal has the same double, and
 * the doubles are in the order of the decimals.
 */
export const SHORT_CHARS = 15

const pattern = /^([+-]?)(\d+)(?:\.(\d+))?$/
/** What is canonical already: most decimals are. */
const CANONICAL = /^(?:0|-?[1-9]\d*|-?(?:0|[1-9]\d*)\.\d*[1-9])$/

/** Whether a text is its own canonical decimal. */
export const isCanonicalDecimal = (text: string): boolean => CANONICAL.test(text)

/**
 * The canonical text of a plain decimal (`-12.50` becomes `-12.5`, `007` becomes `7`, `-0` becomes `0`), or null if
 * `text` is not one. Exponents, separators, white space and signs without digits are not decimals.
 */
export function canonicalDecimal(text: string): string | null {
  if (isCanonicalDecimal(text)) return text
  const match = pattern.exec(text)
  if (!match) return null
  const whole = match[2]!.replace(/^0+(?=\d)/, '')
  const fraction = trimTrailingZeros(match[3] ?? '')
  const digits = fraction === '' ? whole : `${whole}.${fraction}`
  return match[1] === '-' && digits !== '0' ? `-${digits}` : digits
}

/** Without the zeros at its end. A regular expression would scan from each zero to the end: the square of their number. */
export function trimTrailingZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/** The plain decimal text of a finite number (never in exponent form). */
export function decimalOfNumber(value: number): string {
  const text = String(value)
  // Without an exponent JavaScript writes the canonical decimal.
  if (!text.includes('e')) return text
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text)
  if (!match) return canonicalDecimal(text) ?? text
  const [, sign, whole, fraction = '', exponent] = match
  const point = whole!.length + Number(exponent)
  return canonicalDecimal(sign + plainDigits(whole! + fraction, point))!
}

/** The plain decimal 0.digits × 10^point. */
export function plainDigits(digits: string, point: number): string {
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`
  return point >= digits.length
    ? digits + '0'.repeat(point - digits.length)
    : `${digits.slice(0, point)}.${digits.slice(point)}`
}

/** The number that represents this decimal exactly, or null if a binary double cannot hold it. */
export function exactDouble(decimal: string): number | null {
  const canonical = canonicalDecimal(decimal)
  if (canonical === null) return null
  const value = Number(canonical)
  return Number.isFinite(value) && decimalOfNumber(value) === canonical ? value : null
}

/** Negative, zero or positive if `a` is less than, equal to or greater than `b`; both canonical decimals. */
export function compareDecimals(a: string, b: string): number {
  if (a.length <= SHORT_CHARS && b.length <= SHORT_CHARS) return Number(a) - Number(b)
  const negativeA = a.startsWith('-')
  const negativeB = b.startsWith('-')
  if (negativeA !== negativeB) return negativeA ? -1 : 1
  const sign = negativeA ? -1 : 1
  const [wholeA = '', fractionA = ''] = a.replace('-', '').split('.')
  const [wholeB = '', fractionB = ''] = b.replace('-', '').split('.')
  if (wholeA.length !== wholeB.length) return sign * (wholeA.length - wholeB.length)
  if (wholeA !== wholeB) return wholeA < wholeB ? -sign : sign
  if (fractionA === fractionB) return 0
  return fractionA < fractionB ? -sign : sign
}
