// Digits of any script, and signs of full width beside them, as the plain ones: `١٢`, `१२` and `１２` are 12. Promise kept here: a sign
// is changed only if it has one meaning; superscripts and fractions are no digits.

const ASCII = /^[\0-\x7f]*$/
const DIGIT = /\p{Nd}/u
const DIGITS = /\p{Nd}/gu
/** Signs and letters that are as wide as those of East Asia. */
const WIDE = /[！-～]/g
const WIDER_BY = 0xfee0

/** Ten digits follow each other in every script, from zero on. */
function valueOf(digit: string): string {
  const code = digit.codePointAt(0)!
  let zero = code
  while (DIGIT.test(String.fromCodePoint(zero - 1))) zero--
  return String((code - zero) % 10)
}

/** @param decimal the separator of decimals that the text is read with: Arabic has signs of its own for it and for thousands */
export function digitsOfAnyScript(text: string, decimal: '.' | ',' = '.'): string {
  if (ASCII.test(text)) return text
  return text
    .replaceAll(DIGITS, valueOf)
    .replaceAll(WIDE, (sign) => String.fromCodePoint(sign.codePointAt(0)! - WIDER_BY))
    .replaceAll('\u3000', ' ')
    .replaceAll('٫', decimal)
    .replaceAll('٬', decimal === ',' ? '.' : ',')
}
