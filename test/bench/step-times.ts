// Processor time of the steps of a run, thread by thread. Linux counts it for each thread, to the nanosecond.

import { readdirSync, readFileSync } from 'node:fs'

export interface StepTime {
  readonly step: string
  readonly seconds: number
  /** Processor time, s, of the main thread, of the thread of the ledger, and of all others (garbage, files, loading). */
  readonly main: number
  readonly ledger: number
  readonly others: number
  /** Of the process that serves the records; 0 if it is not known. */
  readonly service: number
}

const threadsOf = (pid: number | 'self'): readonly string[] => readdirSync(`/proc/${pid}/task`)

/** Of one thread, s; 0 for one that has ended. */
function cpuOf(pid: number | 'self', thread: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
    return Number(text.split(' ', 1)[0]) / 1e9
  } catch {
    return 0
  }
}

const cpuOfAll = (pid: number | 'self') =>
  new Map(threadsOf(pid).map((thread) => [thread, cpuOf(pid, thread)]))

const sum = (times: Iterable<number>) => [...times].reduce((all, one) => all + one, 0)

interface Sample {
  readonly at: number
  readonly threads: ReadonlyMap<string, number>
  readonly service: number
}

/** Times steps; made before the ledger is opened, so that the threads that come with it are known. */
export class StepTimer {
  readonly #service: number | null
  readonly #before = new Set(threadsOf('self'))
  readonly #steps: { step: string; from: Sample; to: Sample }[] = []

  constructor(service: number | null) {
    this.#service = service
  }

  #sample(): Sample {
    return {
      at: performance.now(),
      threads: cpuOfAll('self'),
      service: this.#service === null ? 0 : sum(cpuOfAll(this.#service).values()),
    }
  }

  async time<Result>(step: string, work: () => Promise<Result>): Promise<Result> {
    const from = this.#sample()
    try {
      return await work()
    } finally {
      this.#steps.push({ step, from, to: this.#sample() })
    }
  }

  /** Steps of one name together. The thread of the ledger is the busiest of those that came later. */
  get times(): readonly StepTime[] {
    const main = String(process.pid)
    const [ledger] = [...cpuOfAll('self')]
      .filter(([thread]) => !this.#before.has(thread))
      .toSorted((a, b) => b[1] - a[1])
      .map(([thread]) => thread)
    const found = new Map<string, StepTime>()
    for (const { step, from, to } of this.#steps) {
      const spent = (thread: string | undefined) =>
        (to.threads.get(thread ?? '') ?? 0) - (from.threads.get(thread ?? '') ?? 0)
      const all = sum([...to.threads.keys()].map(spent))
      const known = found.get(step)
      found.set(step, {
        step,
        seconds: (known?.seconds ?? 0) + (to.at - from.at) / 1_000,
        main: (known?.main ?? 0) + spent(main),
        ledger: (known?.ledger ?? 0) + spent(ledger),
        others: (known?.others ?? 0) + all - spent(main) - spent(ledger),
        service: (known?.service ?? 0) + to.service - from.service,
      })
    }
    return [...found.values()]
  }
}
