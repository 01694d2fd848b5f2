// Telephone numbers in the form of E.164, by the numbering plans of libphonenumber. Promise kept here: the whole cell is one valid
// number, or it is refused; nothing of it is cut off, and a number with two readings is none.

import type * as phones from 'libphonenumber-js/max'
import type { Coercion } from './coerce.ts'

export type PhoneLibrary = Pick<typeof phones, 'getCountries' | 'parsePhoneNumberFromString'>

/** A longer cell is no telephone number. */
const CHARS_MAX = 100

/** What stands between several numbers. */
const MARKS = [' ::: ', ';', '/', ',', '|', '\n']

/** The country of `DE`, `DE national` and `international`, and which reading holds where a number without + has two. */
export function phoneSetting(phone: string) {
  const [country, reading] = phone.split(' ')
  return {
    country: country === 'international' ? null : country!,
    reading: reading as 'national' | 'international' | undefined,
  }
}

/** @param phone the setting of the mapping */
export function phoneCoercion(
  { parsePhoneNumberFromString: parse }: PhoneLibrary,
  phone: string,
): Coercion {
  const { country, reading } = phoneSetting(phone)
  // Else a number would be taken out of any text.
  const whole = { extract: false } as const
  const read = (text: string, given: typeof whole & { defaultCountry?: phones.CountryCode }) => {
    const number = parse(text, given)
    return number?.isValid() === true && number.ext === undefined ? number : null
  }
  const options =
    country === null ? whole : { ...whole, defaultCountry: country as phones.CountryCode }
  const expected =
    country !== null
      ? `one valid telephone number of ${country}, or one that begins with + and its country, such as +49301234567; without an extension`
      : 'one valid telephone number that begins with + and its country, such as +49301234567; without an extension'
  return (cell) => {
    // Full-width signs are signs.
    const text = cell.normalize('NFKC').trim()
    const number = text.length > CHARS_MAX ? null : read(text, options)
    const other = country === null || text.length > CHARS_MAX ? null : lostPlus(text)
    const isOther =
      other !== null && (number === null ? other.isValid() : isDoubtful(number, other, text))
    if (reading === 'international' && isOther) return { ok: true, value: other.number }
    if (number === null)
      return {
        ok: false,
        reason: 'not_a_phone',
        expected: isOther
          ? `${expected}; with a + before it, which spreadsheets take away, it is a number of +${other.countryCallingCode}: \`phone: ${country} international\` of the mapping reads it so`
          : expected + several(text),
      }
    if (isOther && reading === undefined)
      return {
        ok: false,
        reason: 'phone_ambiguous',
        expected: `a number with one reading: this is a valid number of ${country}, and with a + before it, which spreadsheets take away, one of +${other.countryCallingCode}; \`phone: ${country} international\` or \`phone: ${country} national\` of the mapping says which holds`,
      }
    return { ok: true, value: number.number }
  }

  /** Which settings read a cell that has several numbers. */
  function several(text: string): string {
    const mark = MARKS.find((one) => {
      const parts = text.split(one)
      return parts.length > 1 && parts.every((part) => read(part.trim(), options) !== null)
    })
    return mark === undefined
      ? ''
      : `; it has several numbers: \`split: ${JSON.stringify(mark)}\` of the mapping makes a list of them, for a property that takes one, and \`pattern: '^(?<first>[^${mark.trim()[0] ?? '\\n'}]+)'\` takes the first`
  }

  /** What it is with a + before it, valid or not; null if it has one, or begins with 0. */
  function lostPlus(text: string): phones.PhoneNumber | null {
    const digits = digitsOf(text)
    if (text.includes('+') || !/^[1-9]/.test(digits)) return null
    return parse(`+${digits}`, whole) ?? null
  }
}

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '')

/**
 * Whether the + of a valid number may be lost. A number that is written as its country writes it is doubted where it is a valid one of
 * the same country too. One that is not, such as one without its first 0, is doubted where it is one of any country; a landline number
 * also where it has the length of one of the same country.
 */
function isDoubtful(number: phones.PhoneNumber, other: phones.PhoneNumber, text: string): boolean {
  if (other.number === number.number) return false
  const isOwn = other.countryCallingCode === number.countryCallingCode
  const isUsual = digitsOf(number.formatNational()) === digitsOf(text)
  if (other.isValid()) return isOwn || !isUsual
  return isOwn && !isUsual && number.getType() === 'FIXED_LINE' && other.isPossible()
}
