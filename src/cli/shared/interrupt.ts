// Ctrl-C, and SIGTERM, of what has to end in order. Promise kept here: one press counts once. Programs such as npx and timeout pass a
// signal on that has reached this process already. A second press, a second later, or another signal ends the process at once.

import { systemClock } from '../../core/ports.ts'

const ONE_PRESS_MS = 1_000

/** Calls `done` at the first of the signals. Returns the function that stops listening. */
export function onInterrupt(
  signals: readonly NodeJS.Signals[],
  done: (signal: NodeJS.Signals) => void,
): () => void {
  let first: { readonly signal: NodeJS.Signals; readonly atMs: number } | null = null
  const listen = (signal: NodeJS.Signals) => {
    if (first === null) {
      first = { signal, atMs: systemClock.now() }
      return done(signal)
    }
    if (signal === first.signal && systemClock.now() - first.atMs < ONE_PRESS_MS) return
    stop()
    // As if nothing listened.
    process.kill(process.pid, signal)
  }
  const stop = () => {
    for (const name of signals) process.off(name, listen)
  }
  for (const name of signals) process.on(name, listen)
  return stop
}
