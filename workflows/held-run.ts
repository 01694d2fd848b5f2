// The run that holds a sync, when another one of it cannot begin.

import { ApplicationFailure } from '@temporalio/workflow'

/** The run that holds the sync, as the worker that found it says; null for any other failure. */
export function heldRun(error: unknown): number | null {
  let current = error
  for (let depth = 0; depth < 10 && current instanceof Error; depth++) {
    if (current instanceof ApplicationFailure && current.type === 'AlreadyRunning') {
      const [details] = (current.details ?? []) as readonly { readonly run?: unknown }[]
      return typeof details?.run === 'number' ? details.run : null
    }
    current = current.cause
  }
  return null
}
