// What happened, line by line, for people: when, and what. The same seed gives the same lines.

const time = (ms: number): string => {
  const [minutes, rest] = [Math.floor(ms / 60_000), ms % 60_000]
  return `${String(minutes).padStart(4)}:${(rest / 1_000).toFixed(3).padStart(6, '0')}`
}

export class Story {
  readonly #now: () => number
  readonly #startMs: number
  readonly lines: string[] = []

  constructor(now: () => number) {
    this.#now = now
    this.#startMs = now()
  }

  tell = (line: string): void => {
    this.lines.push(`${time(this.#now() - this.#startMs)}  ${line}`)
  }

  get text(): string {
    return `${this.lines.join('\n')}\n`
  }
}
