// Telephone numbers in the form of E.164, by the numbering plans of libphonenumber. Promise kept here: the whole cell is one valid
// number, or it is refused; nothing of it is cut off.

import type * as phones from 'libphonenumber-js/max'
import type { Coercion } from './coerce.ts'

export type PhoneLibrary = Pick<typeof phones, 'getCountries' | 'parsePhoneNumberFromString'>

/** A longer cell is no telephone number. */
const CHARS_MAX = 100

/** @param country of numbers that name none; `international`: every number names one */
export function phoneCoercion(
  { parsePhoneNumberFromString }: PhoneLibrary,
  country: string,
): Coercion {
  const isBound = country !== 'international'
  const options = {
    // Else a number would be taken out of any text.
    extract: false,
    ...(isBound && { defaultCountry: country as phones.CountryCode }),
  }
  const expected = isBound
    ? `one valid telephone number of ${country}, or one that begins with + and its country, such as +49301234567; without an extension`
    : 'one valid telephone number that begins with + and its country, such as +49301234567; without an extension'
  return (cell) => {
    const text = cell.trim()
    const number = text.length > CHARS_MAX ? undefined : parsePhoneNumberFromString(text, options)
    if (number === undefined || number.ext !== undefined || !number.isValid())
      return { ok: false, reason: 'not_a_phone', expected }
    return { ok: true, value: number.number }
  }
}
