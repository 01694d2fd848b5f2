// A wait that is bounded elsewhere, for the quota or for an answer, counts as progress: without a heartbeat the server would take
// the worker for dead, and a cancel would not arrive.

import type { Clock } from '../core/ports.ts'

/** What a wait needs to send heartbeats. */
interface Pulse {
  readonly clock: Clock
  beat(): void
}

const EVERY_MS = 5_000

/** Yields what `items` yields, with a heartbeat every 5 seconds while it waits for the next one. */
export async function* heartbeatEach<Item>(
  deps: Pulse,
  items: AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
  const iterator = items[Symbol.asyncIterator]()
  try {
    for (;;) {
      const step = await withHeartbeat(deps, iterator.next())
      if (step.done === true) return
      yield step.value
    }
  } finally {
    await iterator.return?.()
  }
}

/** Returns the result of `wait`, with a heartbeat every 5 seconds until then. */
export async function withHeartbeat<Result>(
  { clock, beat }: Pulse,
  wait: Promise<Result>,
): Promise<Result> {
  const over = new AbortController()
  const pulse = async () => {
    // Ends with the wait.
    for (;;) {
      await clock.sleep(EVERY_MS, over.signal)
      beat()
    }
  }
  pulse().catch(() => {})
  try {
    return await wait
  } finally {
    over.abort()
  }
}
