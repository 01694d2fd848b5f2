// `records-sync approve RUN` and `reject RUN`: what a person decides about deletions that wait in a mirror's run.

import {
  ApplicationFailure,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import { approve, reject } from '../../workflows/names.ts'
import { ConfigError, SyncError } from '../core/errors.ts'
import { systemClock } from '../core/ports.ts'
import { LIVE_STATES } from '../core/states.ts'
import type { Run } from '../ledger/ledger.ts'
import { connectTemporal, EXIT, temporalOf, type CommandContext } from './context.ts'
import { messageOf } from './follow.ts'
import { runNamed } from './reports.ts'
import { needWorker } from './run.ts'
import { safe } from './terminal.ts'

const UPDATES = { approve, reject } as const
/** How long a worker may take to pass the verdict on. */
const ANSWER_MAX_MS = 30_000
const ASKS_MAX = 10
const ASK_EVERY_MS = 300

/** `stream`: by its name; default: all that wait. */
export async function decide(
  context: CommandContext,
  runText: string,
  { verdict, stream }: { readonly verdict: 'approve' | 'reject'; readonly stream: string | null },
): Promise<number> {
  const run = await waitingRun(context, runText)
  const temporal = temporalOf(await context.loadConfig(), context.env)
  const { client, close } = await connectTemporal(temporal)
  try {
    await needWorker(client, temporal)
    const handle = client.workflow.getHandle(run.workflowId, run.workflowRunId)
    const send = () =>
      client.withDeadline(Date.now() + ANSWER_MAX_MS, () =>
        handle.executeUpdate<{ streams: readonly string[] }, [{ stream: string | null }]>(
          UPDATES[verdict],
          { args: [{ stream }] },
        ),
      )
    const decided = async (): Promise<readonly string[]> => {
      for (let ask = 1; ; ask++) {
        try {
          return (await send()).streams
        } catch (error) {
          const isEarly = ask < ASKS_MAX && isNothingWaiting(error)
          if (!isEarly || !(await waits(context, run))) throw refusalOf(error, run)
          await systemClock.sleep(ASK_EVERY_MS)
        }
      }
    }
    const streams = await decided()
    if (streams.length === 0)
      throw new SyncError('nothing_waits', `Nothing waits for approval in run ${run.id}`)
    if (context.json)
      context.terminal.out(
        JSON.stringify({ run: run.id, approved: verdict === 'approve', streams }),
      )
    else
      context.terminal.out(
        `Run ${run.id} of ${run.sync}: ${verdict === 'approve' ? 'the deletions are made' : 'the rows stay'}: ${streams.map((name) => safe(name, 80)).join(', ')}`,
      )
    return EXIT.done
  } finally {
    await close()
  }
}

const isNothingWaiting = (error: unknown): boolean =>
  error instanceof WorkflowUpdateFailedError &&
  error.cause instanceof ApplicationFailure &&
  error.cause.type === 'NothingWaits'

/** Whether deletions wait by the ledger. It knows of them a moment before the workflow can take a verdict. */
async function waits(context: CommandContext, run: Run): Promise<boolean> {
  const ledger = await context.openLedger()
  try {
    return (await ledger.streams(run.id)).some(({ state }) => state === 'approval')
  } finally {
    await ledger.close()
  }
}

/** @throws ConfigError, SyncError where nothing can wait in it */
async function waitingRun(context: CommandContext, runText: string): Promise<Run> {
  const ledger = await context.openLedger()
  try {
    const run = await runNamed(ledger, runText)
    if (run.kind !== 'mirror')
      throw new ConfigError('RUN', [
        {
          message: `run ${run.id} is of the import ${run.sync}; only a mirror asks before it deletes`,
        },
      ])
    if (!LIVE_STATES.includes(run.state)) throw ended(run)
    return run
  } finally {
    await ledger.close()
  }
}

const ended = (run: Run, state: string = run.state) =>
  new SyncError(
    'run_ended',
    `Run ${run.id} of ${run.sync} is ${state}: nothing waits in it any more`,
  )

function refusalOf(error: unknown, run: Run): unknown {
  if (error instanceof WorkflowNotFoundError) return ended(run, 'over')
  if (error instanceof WorkflowUpdateFailedError)
    return new SyncError('nothing_waits', `Run ${run.id} of ${run.sync}: ${messageOf(error)}`)
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)
    return new SyncError(
      'verdict_unanswered',
      `No worker took the verdict within ${ANSWER_MAX_MS / 1_000} s; see the worker's log, and ask again`,
    )
  return error
}
