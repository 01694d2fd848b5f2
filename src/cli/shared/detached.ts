// What a command prints of a run that is started and not followed. Promise kept here: of two that are started at once, one is said to be
// started, and the other which run there is.

import { ApplicationFailure } from '@temporalio/client'
import { SyncError } from '../../core/errors.ts'
import { systemClock } from '../../core/ports.ts'
import type { Run } from '../../ledger/ledger.ts'
import { EXIT, type CommandContext } from './context.ts'
import { causesOf } from './follow.ts'
import { printJson } from '../json.ts'

/** So long a worker may take to open the run. It does so at once, unless it has no slot free or has just gone. */
export const BEGIN_MAX_MS = 60_000

/** Whether a run is open, or the wait for that is over. */
export function openedOr(maxMs: number): (run: Run | null) => boolean {
  const until = systemClock.now() + maxMs
  return (run) => run !== null || systemClock.now() >= until
}

/** Prints that it is started; or, if no worker has opened it yet, what is known. */
export function printStarted(
  { terminal, json, hint }: CommandContext,
  { sync, workflowId }: { readonly sync: string; readonly workflowId: string },
  run: Run | null,
): number {
  const watch = hint(`watch ${sync}`)
  if (json) printJson(terminal, { workflow_id: workflowId, run: run?.id ?? null })
  else if (run !== null) terminal.out(`Started ${workflowId}, run ${run.id}. Watch it: ${watch}`)
  else
    terminal.out(
      `${workflowId} waits for a worker. It begins when one is free, unless another run of ${sync} is at work then. Watch it: ${watch}`,
    )
  return EXIT.done
}

/** That the sync is held by another run, in the words of the worker that found it; null for any other end. */
export function heldBy(error: unknown): SyncError | null {
  const held = causesOf(error).find(
    (cause) => cause instanceof ApplicationFailure && cause.type === 'AlreadyRunning',
  )
  return held ? new SyncError('already_running', held.message) : null
}
