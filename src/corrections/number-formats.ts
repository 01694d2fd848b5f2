// Numbers as spreadsheets rewrite them: without leading and trailing zeros, with a comma for a point, in powers of ten, with 15
// digits. A text is read as every number that it may be: `1.234` means one thing in English and another in German.

/** `coefficient` times ten to the `exponent`. */
interface Reading {
  readonly coefficient: bigint
  /** Without zeros at the end. */
  readonly exponent: number
  /** The position of its last written digit, as a power of ten. */
  readonly lastPlace: number
  readonly isScientific: boolean
  /** `%`, a currency sign, or nothing. */
  readonly sign: string
}

/** Digits that spreadsheets keep. */
const kept = 15
/** From this many digits on, a decimal without its end may have been cut to the width of a cell. */
const cutDigitsMin = 9
const doubleMagnitudeMax = 308
const exponentMax = 9_999

const separators = [
  { point: '.', group: "[, '’]" },
  { point: ',', group: "[. '’]" },
].map(({ point, group }) => {
  const whole = String.raw`(?<whole>\d+|\d{1,3}(?:${group}\d{3})+)?`
  return new RegExp(
    String.raw`^${whole}(?:[${point}](?<fraction>\d*))?(?:e(?<power>[+-]?\d{1,4}))?$`,
    'i',
  )
})

function readings(text: string): readonly Reading[] {
  const bare = text.replace(/^([+\-−]?)\s*([%\p{Sc}])\s*/u, '$1').replace(/\s*([%\p{Sc}])\s*$/u, '')
  const sign = /[%\p{Sc}]/u.exec(text)?.[0] ?? ''
  const inParentheses = /^\((.*)\)$/.exec(bare)?.[1]
  const [, before = '', body = '', after = ''] =
    /^([+\-−]?)\s*(.*?)(-?)$/s.exec(inParentheses ?? bare) ?? []
  const isNegative =
    inParentheses !== undefined || before === '-' || before === '−' || after === '-'
  const found: Reading[] = []
  for (const pattern of separators) {
    const groups = pattern.exec(body)?.groups
    if (!groups) continue
    const whole = groups['whole']?.replaceAll(/\D/g, '') ?? ''
    const fraction = groups['fraction'] ?? ''
    const power = Number(groups['power'] ?? 0)
    const digits = whole + fraction
    if (digits === '' || Math.abs(power) > exponentMax) continue
    const trimmed = digits.replace(/0+$/, '')
    const lastPlace = power - fraction.length
    found.push({
      coefficient: BigInt(trimmed) * (isNegative ? -1n : 1n),
      exponent: lastPlace + digits.length - trimmed.length,
      lastPlace,
      isScientific: groups['power'] !== undefined,
      sign,
    })
  }
  return found
}

const digitsOf = ({ coefficient }: Reading): number => String(coefficient).replace('-', '').length
/** The power of ten of the first digit. */
const magnitude = (reading: Reading): number => digitsOf(reading) + reading.exponent - 1

/** Twice the distance of two numbers, in units of ten to the `place`, rounded up. */
function distanceTwice(a: Reading, b: Reading, place: number): bigint {
  const low = Math.min(a.exponent, b.exponent, place)
  const scaled = ({ coefficient, exponent }: Reading) => coefficient * 10n ** BigInt(exponent - low)
  const apart = scaled(a) - scaled(b)
  const unit = 10n ** BigInt(place - low)
  return (2n * (apart < 0n ? -apart : apart) + unit - 1n) / unit
}

function compare(was: Reading, is: Reading): 'same' | 'damaged' | 'different' {
  if (was.sign !== is.sign && was.sign !== '' && is.sign !== '') return 'different'
  if ((was.sign === '%') !== (is.sign === '%')) return 'different'
  if (was.coefficient === 0n || is.coefficient === 0n)
    return was.coefficient === is.coefficient ? 'same' : 'different'
  if (was.coefficient === is.coefficient && was.exponent === is.exponent) return 'same'
  // A number too large for a double becomes the greatest double.
  if (is.isScientific && magnitude(is) === doubleMagnitudeMax && magnitude(was) > magnitude(is))
    return 'damaged'
  if (magnitude(was) > magnitude(is) + 1 || magnitude(is) > magnitude(was) + 1) return 'different'
  // In powers of ten: what was rounded or cut off is less than one unit of what is left.
  const shown = magnitude(is) - is.lastPlace + 1
  if (is.isScientific && shown >= 3)
    return distanceTwice(was, is, is.lastPlace) <= 2n ? 'damaged' : 'different'
  // A person may have rounded these as well.
  const place = magnitude(was) - kept + 1
  if (digitsOf(was) > kept && is.exponent >= place)
    return distanceTwice(was, is, place) <= 2n ? 'same' : 'different'
  // Rounded to the width of a cell: this happens only to decimals.
  const isCut = was.exponent < is.lastPlace && is.lastPlace <= 0 && shown >= cutDigitsMin
  return isCut && distanceTwice(was, is, is.lastPlace) <= 1n ? 'same' : 'different'
}

/** Whether `is` is a number that a spreadsheet would make of `was`: the same, or what is left of it. */
export function isNumberFormatOf(was: string, is: string): 'same' | 'damaged' | 'different' {
  const before = readings(was)
  if (before.length === 0) return 'different'
  const looks = readings(is).flatMap((one) => before.map((other) => compare(other, one)))
  return looks.includes('same') ? 'same' : looks.includes('damaged') ? 'damaged' : 'different'
}
