// Concurrent work, a limited number of items at a time. Deterministic, so that workflows may use it.

/**
 * Works on at most `limit` items at a time; after the first failure no further item starts. Ends when every item that was started
 * has ended, so that no work goes on after that.
 * @throws the first failure, in the order of the lanes
 */
export async function forEachConcurrent<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items]
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await work(item)
      } catch (error) {
        queue.length = 0
        throw error
      }
    }
  }
  const lanes = Array.from({ length: Math.min(limit, items.length) }, lane)
  const results = await Promise.allSettled(lanes)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Tasks one after the other, of which one runs while its caller prepares the next. */
export interface Behind {
  /** Starts a task once the one before it has ended. @throws what that one threw */
  start(task: () => Promise<void>): Promise<void>
  /** Waits for the last task. @throws what it threw */
  end(): Promise<void>
}

/** Gives `work` tasks that run behind it. None of them runs any more when the promise ends, however it ends. */
export async function withBehind<Result>(
  work: (behind: Behind) => Promise<Result>,
): Promise<Result> {
  let last: Promise<void> = Promise.resolve()
  const settled = () => last.catch(() => {})
  try {
    return await work({
      async start(task) {
        await last
        last = task()
        // Thrown where it is waited for.
        void settled()
      },
      end: () => last,
    })
  } finally {
    await settled()
  }
}

/** Gives a function that runs tasks, at most `limit` at a time; the others wait, in order. */
export function atMost(limit: number): <Result>(task: () => Promise<Result>) => Promise<Result> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (task) => {
    if (running < limit) running++
    // Its place is handed on by the task that ends.
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
