// Metrics in memory, and the page that Prometheus reads (text format 0.0.4). Promises kept here: every line of the page can be
// parsed; a gauge that is no longer set is not on it.

export type Labels = Readonly<Record<string, string>>

interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The name's suffix after the family's name, labels, value; in the order in which they appeared. */
  samples(): Iterable<readonly [suffix: string, labels: Labels, value: number]>
}

/** The values of one metric by its labels. */
class Series {
  private readonly values = new Map<string, { readonly labels: Labels; value: number }>()

  at(labels: Labels): { value: number } {
    const key = JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    let found = this.values.get(key)
    if (!found) this.values.set(key, (found = { labels, value: 0 }))
    return found
  }

  clear(): void {
    this.values.clear()
  }

  *samples(): Generator<readonly [string, Labels, number]> {
    for (const { labels, value } of this.values.values()) yield ['', labels, value]
  }
}

export class Counter {
  private readonly series: Series

  constructor(series: Series) {
    this.series = series
  }

  /** `by` 0 creates it, so that its first increase is visible as one. */
  add(labels: Labels, by = 1): void {
    if (by >= 0) this.series.at(labels).value += by
  }
}

export class Gauge {
  private readonly series: Series

  constructor(series: Series) {
    this.series = series
  }

  set(labels: Labels, value: number): void {
    this.series.at(labels).value = value
  }

  /** Drops all of its values: what is not set again is no longer known. */
  clear(): void {
    this.series.clear()
  }
}

export class Histogram {
  private readonly buckets: readonly number[]
  private readonly byLabels = new Map<
    string,
    { labels: Labels; counts: number[]; sum: number; count: number }
  >()

  /** @param buckets upper bounds, ascending */
  constructor(buckets: readonly number[]) {
    this.buckets = buckets
  }

  record(labels: Labels, value: number): void {
    const key = JSON.stringify(labels)
    let found = this.byLabels.get(key)
    if (!found) {
      found = { labels, counts: this.buckets.map(() => 0), sum: 0, count: 0 }
      this.byLabels.set(key, found)
    }
    for (const [index, bound] of this.buckets.entries()) if (value <= bound) found.counts[index]!++
    found.sum += value
    found.count++
  }

  *samples(): Generator<readonly [string, Labels, number]> {
    for (const { labels, counts, sum, count } of this.byLabels.values()) {
      for (const [index, bound] of this.buckets.entries())
        yield ['_bucket', { ...labels, le: String(bound) }, counts[index]!]
      yield ['_bucket', { ...labels, le: '+Inf' }, count]
      yield ['_sum', labels, sum]
      yield ['_count', labels, count]
    }
  }
}

/** All metrics of one worker. */
export class Registry {
  private readonly families: Family[] = []

  counter(name: string, help: string): Counter {
    const series = new Series()
    this.families.push({ name, help, type: 'counter', samples: () => series.samples() })
    return new Counter(series)
  }

  gauge(name: string, help: string): Gauge {
    const series = new Series()
    this.families.push({ name, help, type: 'gauge', samples: () => series.samples() })
    return new Gauge(series)
  }

  histogram(name: string, help: string, buckets: readonly number[]): Histogram {
    const histogram = new Histogram(buckets)
    this.families.push({ name, help, type: 'histogram', samples: () => histogram.samples() })
    return histogram
  }

  /** The page. A metric without a value is on it with its name and description. */
  text(): string {
    const lines: string[] = []
    for (const { name, help, type, samples } of this.families) {
      lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`)
      lines.push(`# TYPE ${name} ${type}`)
      for (const [suffix, labels, value] of samples())
        lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`)
    }
    return `${lines.join('\n')}\n`
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
