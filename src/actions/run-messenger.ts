// Sends an update to the workflow of a run.

import {
  ApplicationFailure,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client'
import { ConfigError, SyncError } from '../core/errors.ts'
import type { Run } from '../ledger/ledger.ts'
import { innermostMessage } from '../temporal/failures.ts'
import { describeWorkflow } from '../temporal/is-live.ts'
import { connectTemporal, temporalOf } from './connect.ts'
import type { ActionPlace } from './place.ts'
import { requireWorker } from './project.ts'

/** How long a worker may take to pass a message on. */
const ANSWER_MAX_MS = 30_000

export const runEnded = (run: Run, state: string = run.state) =>
  new SyncError(
    'run_ended',
    `Run ${run.id} of ${run.sync} is ${state}: nothing can be done in it any more`,
  )

const runUnknown = (run: Run, address: string) =>
  new SyncError(
    'run_unknown',
    `The Temporal server at ${address} does not know the workflow of run ${run.id} of ${run.sync}: it is another server than the one that the run is at, or the run has ended and was forgotten there. Expected the address that its worker uses`,
  )

export interface RunMessenger {
  readonly client: Client
  readonly handle: WorkflowHandle
  /**
   * @param input one JSON object, or undefined
   * @throws SyncError what the workflow refused, in its own words; `refusedType` has the type of the refusal
   */
  update<Answer>(name: string, input: unknown): Promise<Answer>
  /** @throws SyncError `run_ended` */
  cancel(): Promise<void>
}

/** Does `work` with a connection to the workflow of a run. `needsWorker`: whether a worker has to answer at once. */
export async function withRunMessenger<Result>(
  context: ActionPlace,
  run: Run,
  needsWorker: boolean,
  work: (messenger: RunMessenger) => Promise<Result>,
): Promise<Result> {
  if (run.workflowId === '')
    throw new ConfigError('RUN', `run ${run.id} is a plan, which no workflow runs`)
  const temporal = temporalOf(await context.loadConfig(), context.env)
  const { client, close } = await connectTemporal(temporal, {
    print: (line) => context.terminal.err(line),
  })
  try {
    const known = await describeWorkflow(client, run)
    if (known === null) throw runUnknown(run, temporal.address)
    if (needsWorker) await requireWorker(context, client, temporal)
    const handle = client.workflow.getHandle(run.workflowId, run.workflowRunId)
    return await work({
      client,
      handle,
      async cancel() {
        try {
          await handle.cancel()
        } catch (error) {
          throw refusalOf(error, run)
        }
      },
      update: async (name, input) => {
        try {
          return await client.withDeadline(Date.now() + ANSWER_MAX_MS, () =>
            handle.executeUpdate<never, [unknown]>(name, { args: [input] }),
          )
        } catch (error) {
          throw refusalOf(error, run)
        }
      },
    })
  } finally {
    await close()
  }
}

function refusalOf(error: unknown, run: Run): unknown {
  if (error instanceof WorkflowNotFoundError) return runEnded(run, 'over')
  if (error instanceof WorkflowUpdateFailedError)
    return new SyncError(
      'refused',
      `Run ${run.id} of ${run.sync}: ${innermostMessage(error)}`,
      error.cause instanceof ApplicationFailure ? { type: error.cause.type ?? null } : {},
    )
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)
    return new SyncError(
      'unanswered',
      `No worker took it within ${ANSWER_MAX_MS / 1_000} s; see the worker's log, and ask again`,
    )
  return error
}
