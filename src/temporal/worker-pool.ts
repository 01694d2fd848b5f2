// SDK workers as one: they run until they are stopped, and if one fails the others stop too, because the process would otherwise
// continue with only part of its workers.

import type { Worker } from '@temporalio/worker'

export interface WorkerPool {
  /** Whether all of them poll. */
  isRunning(): boolean
  shutdown(): void
  /** Resolves when all have stopped; rejects with the first failure. */
  readonly stopped: Promise<void>
}

export function createWorkerPool(workers: readonly Worker[]): WorkerPool {
  const running = new Set<Worker>()
  let failure: { readonly reason: unknown } | null = null
  const { promise: stopped, settle } = settled()
  const stop = (worker: Worker) => {
    if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  const shutdown = () => {
    for (const worker of running) stop(worker)
  }
  for (const worker of workers) {
    running.add(worker)
    void worker
      .run()
      .catch((error: unknown) => {
        failure ??= { reason: error }
        shutdown()
      })
      .finally(() => {
        running.delete(worker)
        if (running.size === 0) settle(failure)
      })
  }
  return {
    isRunning: () =>
      running.size > 0 && [...running].every((worker) => worker.getState() === 'RUNNING'),
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
