// Reads a page of Prometheus's text format 0.0.4, and refuses every line that is none.

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Page {
  readonly samples: readonly Sample[]
  /** By name of the metric. */
  readonly types: ReadonlyMap<string, string>
  /** The one sample with that name and, among others, these labels; undefined where there is none or several. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
  /** Sum of all of them. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = String.raw`([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"`
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary|untyped)$`)
const HELP = new RegExp(`^# HELP ${NAME} .*$`)
const LABELS = new RegExp(LABEL, 'g')
const LINE = new RegExp(`^(${NAME})(?:\\{((?:${LABEL},?)*)\\})? (\\S+)$`)

/** @throws Error for a line that is none, a sample without a type, a type or a sample that comes twice */
export function readPage(text: string): Page {
  if (!text.endsWith('\n')) throw new Error('the page does not end with a line end')
  const samples: Sample[] = []
  const types = new Map<string, string>()
  const seen = new Set<string>()
  for (const line of text.slice(0, -1).split('\n')) {
    const type = TYPE.exec(line)
    if (type) {
      if (types.has(type[1]!)) throw new Error(`a second type: ${line}`)
      types.set(type[1]!, type[2]!)
      continue
    }
    if (HELP.test(line)) continue
    const match = LINE.exec(line)
    if (!match) throw new Error(`no line of the format: ${JSON.stringify(line)}`)
    const [, name = '', pairs = ''] = match
    const labels = Object.fromEntries(
      [...pairs.matchAll(LABELS)].map(([, key, value]) => [
        key!,
        value!.replaceAll(/\\(["\\n])/g, (_, sign: string) => (sign === 'n' ? '\n' : sign)),
      ]),
    )
    const identity = JSON.stringify([name, Object.entries(labels).toSorted()])
    if (seen.has(identity)) throw new Error(`a sample that is there twice: ${line}`)
    seen.add(identity)
    const family = [name, name.replace(/_(bucket|sum|count)$/, '')].find((one) => types.has(one))
    if (family === undefined) throw new Error(`a sample without a type: ${line}`)
    const value = match.at(-1)!
    const special: Record<string, number> = { '+Inf': Infinity, '-Inf': -Infinity, NaN: Number.NaN }
    const number = special[value] ?? Number(value)
    if (Number.isNaN(number) && value !== 'NaN') throw new Error(`no number: ${line}`)
    samples.push({ name, labels, value: number })
  }
  const matching = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
  return {
    samples,
    types,
    value(name, labels) {
      const found = matching(name, labels)
      return found.length === 1 ? found[0]!.value : undefined
    },
    sum: (name, labels) => matching(name, labels).reduce((sum, { value }) => sum + value, 0),
  }
}
