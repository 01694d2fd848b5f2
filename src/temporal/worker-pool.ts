// SDK workers as one: they run until they are stopped, and if one fails the others stop too, because the process would otherwise
// continue with only part of its workers.

import type { Worker } from '@temporalio/worker'

export interface WorkerPool {
  /** Whether all of them poll. */
  isRunning(): boolean
  add(workers: readonly Worker[]): void
  /** Stops these and waits for them; the others continue. */
  remove(workers: readonly Worker[]): Promise<void>
  shutdown(): void
  /** Resolves when all have stopped; rejects with the first failure. */
  readonly stopped: Promise<void>
}

export function createWorkerPool(first: readonly Worker[]): WorkerPool {
  const running = new Map<Worker, Promise<void>>()
  let failure: { readonly reason: unknown } | null = null
  let isStopping = false
  const { promise: stopped, settle } = settled()
  const stop = (worker: Worker) => {
    if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  const shutdown = () => {
    isStopping = true
    for (const worker of running.keys()) stop(worker)
  }
  const add = (workers: readonly Worker[]) => {
    for (const worker of workers) {
      const run = worker
        .run()
        .catch((error: unknown) => {
          failure ??= { reason: error }
          shutdown()
        })
        .finally(() => {
          running.delete(worker)
          if (running.size === 0) settle(failure)
        })
      running.set(worker, run)
      if (isStopping) stop(worker)
    }
  }
  add(first)
  return {
    isRunning: () =>
      running.size > 0 && [...running.keys()].every((worker) => worker.getState() === 'RUNNING'),
    add,
    async remove(workers) {
      const ends = workers.map((worker) => running.get(worker) ?? Promise.resolve())
      for (const worker of workers) stop(worker)
      await Promise.all(ends)
    },
    shutdown,
    stopped,
  }
}

function settled() {
  let settle: (failure: { readonly reason: unknown } | null) => void = () => {}
  const promise = new Promise<void>((resolve, reject) => {
    settle = (failure) => (failure === null ? resolve() : reject(failure.reason))
  })
  return { promise, settle }
}
