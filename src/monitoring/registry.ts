// Metrics in memory, and the page that Prometheus reads (text format 0.0.4). Promises kept here: every line of the page can be
// parsed; a gauge that is no longer set is not on it.

export type Labels = Readonly<Record<string, string>>

type Sample = readonly [suffix: string, labels: Labels, value: number]

/** A metric: its state by labels, in the order in which they appeared. */
abstract class Metric<State> {
  abstract readonly type: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  protected readonly byLabels = new Map<
    string,
    { readonly labels: Labels; readonly state: State }
  >()

  constructor(name: string, help: string) {
    this.name = name
    this.help = help
  }

  abstract samples(): Iterable<Sample>
  protected abstract initial(): State

  protected at(labels: Labels): State {
    const key = JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    let found = this.byLabels.get(key)
    if (!found) this.byLabels.set(key, (found = { labels, state: this.initial() }))
    return found.state
  }
}

abstract class SingleValue extends Metric<{ value: number }> {
  protected initial = () => ({ value: 0 });

  *samples(): Generator<Sample> {
    for (const { labels, state } of this.byLabels.values()) yield ['', labels, state.value]
  }
}

export class Counter extends SingleValue {
  readonly type = 'counter'

  /** `by` 0 creates it, so that its first increase is visible as one. */
  add(labels: Labels, by = 1): void {
    if (by >= 0) this.at(labels).value += by
  }
}

export class Gauge extends SingleValue {
  readonly type = 'gauge'

  set(labels: Labels, value: number): void {
    this.at(labels).value = value
  }

  /** Drops all of its values: what is not set again is no longer known. */
  clear(): void {
    this.byLabels.clear()
  }
}

export class Histogram extends Metric<{ counts: number[]; sum: number; count: number }> {
  readonly type = 'histogram'
  private readonly buckets: readonly number[]

  /** @param buckets upper bounds, ascending */
  constructor(name: string, help: string, buckets: readonly number[]) {
    super(name, help)
    this.buckets = buckets
  }

  protected initial = () => ({ counts: this.buckets.map(() => 0), sum: 0, count: 0 })

  record(labels: Labels, value: number): void {
    const state = this.at(labels)
    for (const [index, bound] of this.buckets.entries()) if (value <= bound) state.counts[index]!++
    state.sum += value
    state.count++
  }

  *samples(): Generator<Sample> {
    for (const { labels, state } of this.byLabels.values()) {
      for (const [index, bound] of this.buckets.entries())
        yield ['_bucket', { ...labels, le: String(bound) }, state.counts[index]!]
      yield ['_bucket', { ...labels, le: '+Inf' }, state.count]
      yield ['_sum', labels, state.sum]
      yield ['_count', labels, state.count]
    }
  }
}

export class Registry {
  private readonly metrics: Metric<unknown>[] = []

  counter = (name: string, help: string) => this.added(new Counter(name, help))
  gauge = (name: string, help: string) => this.added(new Gauge(name, help))
  histogram = (name: string, help: string, buckets: readonly number[]) =>
    this.added(new Histogram(name, help, buckets))

  /** The page. A metric without a value is on it with its name and description. */
  text(): string {
    const lines: string[] = []
    for (const metric of this.metrics) {
      const { name, help, type } = metric
      lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`)
      lines.push(`# TYPE ${name} ${type}`)
      for (const [suffix, labels, value] of metric.samples())
        lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`)
    }
    return `${lines.join('\n')}\n`
  }

  private added<Kind extends Metric<unknown>>(metric: Kind): Kind {
    this.metrics.push(metric)
    return metric
  }
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
  )
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}
