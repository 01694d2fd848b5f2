// Lines of the log that a flood cannot fill it with: one for each set of fields a minute, with a count. Promise kept here: what is remembered
// has a fixed size, whatever comes.

const MINUTE_MS = 60_000
const LINES_MAX = 200

/** Fields that are text, or null where nothing is known. */
type Fields = Readonly<Record<string, string | null>>

export class MinuteLog {
  readonly #write: (fields: object) => void
  readonly #now: () => number
  readonly #counts = new Map<string, { readonly fields: Fields; count: number }>()
  #beganAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  /** @param write gets the fields, and `count`: how often they came since their last line */
  constructor(write: (fields: object) => void, now: () => number = Date.now) {
    this.#write = write
    this.#now = now
  }

  /** The first of a minute is written at once, the others with its end. */
  note(fields: Fields): void {
    if (this.#now() - this.#beganAt >= MINUTE_MS) this.#begin()
    const own = JSON.stringify(fields)
    const isKnown = this.#counts.has(own) || this.#counts.size < LINES_MAX
    const key = isKnown ? own : 'others'
    const line = this.#counts.get(key)
    if (line !== undefined) return void line.count++
    const kept = isKnown ? fields : others(fields)
    this.#counts.set(key, { fields: kept, count: 0 })
    this.#write({ ...kept, count: 1 })
  }

  /** Writes what is counted; nothing is remembered after it. */
  flush(): void {
    clearTimeout(this.#timer)
    const counted = [...this.#counts.values()].filter(({ count }) => count > 0)
    this.#counts.clear()
    this.#beganAt = -Infinity
    for (const { fields, count } of counted) this.#write({ ...fields, count })
  }

  #begin(): void {
    this.flush()
    this.#beganAt = this.#now()
    this.#timer = setTimeout(() => this.flush(), MINUTE_MS).unref()
  }
}

/** Of so many that they are not told apart. */
const others = (fields: Fields): Fields =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, null]))
