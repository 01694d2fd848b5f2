// How a text looks. Two keys, addresses, options or headers that look the same are the same. Promise kept here: only what nobody
// sees is taken away; a joiner stays between letters and signs that it draws otherwise.

/** Scripts and signs whose shape a joiner (U+200C, U+200D) changes. */
const JOINED = String.raw`(?!\p{Default_Ignorable_Code_Point})[\p{Extended_Pictographic}\u{1f3fb}-\u{1f3ff}${[
  'Arabic',
  'Bengali',
  'Devanagari',
  'Gujarati',
  'Gurmukhi',
  'Kannada',
  'Khmer',
  'Malayalam',
  'Mongolian',
  'Myanmar',
  'Oriya',
  'Sinhala',
  'Syriac',
  'Tamil',
  'Telugu',
]
  .map((script) => String.raw`\p{Script=${script}}`)
  .join('')}]`

/** Unicode's default ignorable characters, controls that are no white space, and the marks of annotations. */
const UNSEEN = String.raw`(?!(?<=${JOINED}\ufe0f?)[\u200c\u200d](?=${JOINED}))(?![\t-\r])[\p{Default_Ignorable_Code_Point}\p{Cc}\ufff9-\ufffb]`

const SOME = new RegExp(UNSEEN, 'u')
const ALL = new RegExp(UNSEEN, 'gu')
const BLANK = new RegExp(String.raw`^(?:\s|${UNSEEN})*$`, 'u')
const ASCII = /^[\t-\r -~]*$/
/** Spaces that are as wide as a space, or nearly so. */
const SPACES = /[\u00a0\u2000-\u200a\u202f\u205f]/g
/** From here on characters may have another composed form; a text without any is in it. */
const MAY_COMPOSE = /[\u0300-\uffff]/

/** Whether a text has characters that cannot be seen. */
export const hasUnseen = (text: string): boolean => !ASCII.test(text) && SOME.test(text)

/** The text without characters that cannot be seen. */
export const withoutUnseen = (text: string): string =>
  ASCII.test(text) ? text : text.replace(ALL, '')

/** Whether there is nothing to be seen. */
export const isBlank = (text: string): boolean => BLANK.test(text)

/** `normalize('NFC')`, which costs more than all else that is done to a text, for those that it may change. */
export const composed = (text: string): string =>
  MAY_COMPOSE.test(text) ? text.normalize('NFC') : text

/** The one form of all texts that look the same: trimmed, composed, with plain spaces, without what cannot be seen. */
export const seenText = (text: string): string =>
  ASCII.test(text) ? text.trim() : composed(withoutUnseen(text).replace(SPACES, ' ').trim())

/** What another text must be called to be told apart: characters that look like others, or like nothing, by their numbers. */
export const spelled = (text: string): string =>
  text.replaceAll(
    /[\p{Cf}\p{Cc}\p{M}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
