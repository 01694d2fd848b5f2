// PostgreSQL's text holds every character except U+0000, and the driver of SQLite ends a text there. So U+0000 is written as
// U+001A "0", and U+001A itself as U+001A "1": any text comes back as it was, equal texts are equal, and different ones
// differ. JSON texts never change: they escape both characters themselves.

const SUBSTITUTE = '\u001a'

/** A text as a database can hold it. */
export function encodeStoredText(text: string): string {
  if (!text.includes('\0') && !text.includes(SUBSTITUTE)) return text
  return text.replaceAll(SUBSTITUTE, `${SUBSTITUTE}1`).replaceAll('\0', `${SUBSTITUTE}0`)
}

export function decodeStoredText(stored: string): string {
  if (!stored.includes(SUBSTITUTE)) return stored
  return stored.replaceAll(`${SUBSTITUTE}0`, '\0').replaceAll(`${SUBSTITUTE}1`, SUBSTITUTE)
}
