// Texts of others: services, databases, the Temporal server. They are made safe where they enter the program, by one rule.

/** What steers a terminal, breaks a line, or turns the direction of its text. */
export const CONTROL_CHARACTERS =
  // oxlint-disable-next-line no-control-regex -- control characters are what it finds
  /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFFF9-\uFFFB]/g

/** Text without control characters, in one line, cut to `charsMax`. */
export function safeText(text: string, charsMax = 120): string {
  // What is cut off is not looked at.
  const clean = text.slice(0, charsMax + 1).replace(CONTROL_CHARACTERS, ' ')
  if (clean.length <= charsMax) return clean
  return `${clean.slice(0, charsMax - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** The same of a message that has lines, such as one that shows the place in a query. */
export const safeLines = (text: string, linesMax: number, charsMax: number): string =>
  text
    .slice(0, 2 * linesMax * charsMax)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(0, linesMax)
    .map((line) => safeText(line, charsMax))
    .join('\n')

/** In the place of a reason that is no word for programs. */
export const OTHER_REASON = '(other)'

/** The reason of a refusal, as others gave it. */
export const safeReason = (reason: string): string =>
  /^[a-z0-9_]{1,64}$/.test(reason) ? reason : OTHER_REASON

/** Whether a text is no name: it has what `safeText` takes away. */
export const hasControls = (text: string): boolean => text.search(CONTROL_CHARACTERS) !== -1
