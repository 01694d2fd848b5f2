// Texts of others, safe to show.

/** What steers a terminal, or turns the direction of its text. */
export const CONTROL_CHARACTERS =
  // oxlint-disable-next-line no-control-regex -- control characters are what it finds
  /[\u0000-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Text without control characters, cut to `charsMax`. */
export function safeText(text: string, charsMax = 120): string {
  const clean = text.replace(CONTROL_CHARACTERS, ' ')
  return clean.length > charsMax ? `${clean.slice(0, charsMax - 1)}…` : clean
}
