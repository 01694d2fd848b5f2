// A dialect whose quotes inside cells have a character before them, as one whose quotes are doubled. Promise kept here: the character
// stays where it is before anything else, such as in `"C:\new"`, and in cells without quotes.

const LF = 10
const CR = 13

interface EscapeDialect {
  readonly delimiter: string
  readonly quote: string
  readonly escape: string
}

/** Rewrites a text that comes in pieces of UTF-8, cut between characters; `undefined` is its end. */
export function escapesDoubled({ delimiter, quote, escape }: EscapeDialect) {
  const [limit, mark, before] = [delimiter, quote, escape].map((text) => text.codePointAt(0)!)
  let isQuoted = false
  let isCellStart = true
  /** A character whose meaning the next one says: an escape, or a quote inside quotes. */
  let held: string | null = null
  return (piece: Buffer | undefined): Buffer => {
    let out = ''
    for (const character of piece?.toString('utf8') ?? '') {
      const code = character.codePointAt(0)!
      if (held !== null) {
        const first: string = held
        held = null
        if (first === escape && (code === mark || code === before)) {
          out += code === mark ? quote + quote : escape
          continue
        }
        out += first
        if (first === quote) {
          if (code === mark) {
            out += character
            continue
          }
          isQuoted = false
        }
      }
      if (isQuoted) {
        if (code === mark || code === before) held = character
        else out += character
        continue
      }
      isQuoted = code === mark && isCellStart
      isCellStart = code === limit || code === LF || code === CR
      out += character
    }
    if (piece === undefined && held !== null) out += held
    return Buffer.from(out)
  }
}
