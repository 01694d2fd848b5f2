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

/** Returns the result of `wait`, with a heartbeat every 5 seconds until then; many short waits have one every 5 seconds too. */
export async function withHeartbeat<Result>(deps: Pulse, wait: Promise<Result>): Promise<Result> {
  let waits = WAITS.get(deps.beat)
  if (waits === undefined) WAITS.set(deps.beat, (waits = new Waits()))
  waits.begin(deps)
  try {
    return await wait
  } finally {
    waits.end(deps)
  }
}

const ENDED = new Error('no wait is left')

/** The waits of one activity at a time. They share a timer: while requests are in flight, the next one needs none of its own. */
class Waits {
  #count = 0
  #over = new AbortController()
  /** When the last heartbeat was, or the first wait began; ms since 1970. */
  #beatAt: number | null = null

  begin({ clock, beat }: Pulse): void {
    this.#beatAt ??= clock.now()
    if (++this.#count > 1) return
    this.#over = new AbortController()
    const { signal } = this.#over
    const pulse = async () => {
      // Ends with the last wait.
      for (;;) {
        await clock.sleep(EVERY_MS, signal)
        this.#beat({ clock, beat })
      }
    }
    pulse().catch(() => {})
  }

  end(pulse: Pulse): void {
    // A reason of our own: the usual one takes its stack, which costs more than the timer.
    if (--this.#count === 0) this.#over.abort(ENDED)
    // The timer does not live as long as the short waits together. A clock that was set back costs a heartbeat.
    if (Math.abs(pulse.clock.now() - this.#beatAt!) >= EVERY_MS) this.#beat(pulse)
  }

  #beat({ clock, beat }: Pulse): void {
    this.#beatAt = clock.now()
    beat()
  }
}

/** By the heartbeat of the activity. */
const WAITS = new WeakMap<Pulse['beat'], Waits>()
