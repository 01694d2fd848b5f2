// Waiting for work that others wait for too: a caller that gives up does not end it for them.

import { setMaxListeners } from 'node:events'

/** @throws the signal's reason, if that comes first */
export function unlessAborted<Value>(work: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (!signal) return work
  // Many callers share one signal by design.
  setMaxListeners(0, signal)
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
