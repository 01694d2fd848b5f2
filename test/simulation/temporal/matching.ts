// The task queues, and who polls them. A worker that stands still keeps the polls that it had open, and so takes tasks that it does not
// work on.

import type { Task } from './host.ts'

export interface Poller {
  readonly worker: string
  readonly queue: string
  readonly kind: 'workflow' | 'activity'
  /** Whether it takes one more. */
  isFree(): boolean
  take(task: Task): void
}

interface Waiting {
  readonly task: Task
  /** The worker that is asked first; then any. */
  sticky: string | null
}

const KNOWN_MS = 10_000

const isDue = (task: Task): boolean => {
  if (task.kind === 'workflow') return task.execution.isTaskWaiting(task.task)
  if (task.kind === 'query') return true
  return task.execution.activities.isWaiting(task.scheduledEventId, task.attempt)
}

export class Matching {
  readonly #queues = new Map<string, Waiting[]>()
  readonly #pollers = new Map<string, Poller[]>()
  /** When workers have gone. */
  readonly #left = new Map<string, number>()
  readonly #choose: (count: number) => number

  constructor(choose: (count: number) => number) {
    this.#choose = choose
  }

  static keyOf = (queue: string, kind: Poller['kind']): string => `${kind} ${queue}`

  #keyOf(queue: string, { kind }: Task): string {
    return Matching.keyOf(queue, kind === 'activity' ? 'activity' : 'workflow')
  }

  add(queue: string, task: Task, sticky: string | null): void {
    const key = this.#keyOf(queue, task)
    const waiting = this.#queues.get(key) ?? []
    this.#queues.set(key, waiting)
    waiting.push({ task, sticky })
    this.match(key)
  }

  poll(poller: Poller): void {
    const key = Matching.keyOf(poller.queue, poller.kind)
    this.#pollers.set(key, [...(this.#pollers.get(key) ?? []), poller])
    this.match(key)
  }

  /** A worker's polls end. */
  leave(worker: string, now: number): void {
    this.#left.set(worker, now)
    for (const [key, pollers] of this.#pollers)
      this.#pollers.set(
        key,
        pollers.filter((one) => one.worker !== worker),
      )
  }

  pollersOf(queue: string, kind: Poller['kind']): readonly Poller[] {
    return this.#pollers.get(Matching.keyOf(queue, kind)) ?? []
  }

  /** Whether a worker polls, or has polled a moment ago: then its cache is still counted on. */
  isKnown(worker: string, queue: string, now: number): boolean {
    const isThere = this.pollersOf(queue, 'workflow').some((one) => one.worker === worker)
    return isThere || now - (this.#left.get(worker) ?? -Infinity) < KNOWN_MS
  }

  /** Hands out what can be handed out. */
  match(key: string): void {
    const waiting = (this.#queues.get(key) ?? []).filter(({ task }) => isDue(task))
    this.#queues.set(key, waiting)
    for (let at = 0; at < waiting.length;) {
      const { task, sticky } = waiting[at]!
      const free = (this.#pollers.get(key) ?? []).filter(
        (one) => one.isFree() && (sticky === null || one.worker === sticky),
      )
      if (free.length === 0) at++
      else {
        waiting.splice(at, 1)
        free[this.#choose(free.length)]!.take(task)
      }
    }
  }

  matchAll(): void {
    for (const key of this.#queues.keys()) this.match(key)
  }

  /** Drops what nobody waits for any more. */
  clear(): void {
    this.#queues.clear()
  }
}
