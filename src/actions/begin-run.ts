// Begins a run that nobody follows: it is there when a worker has opened it. Promise kept here: of two that are begun at once, one is
// there, and the other is refused with the number of the first.

import { ApplicationFailure, type Client } from '@temporalio/client'
import { AlreadyRunning, SyncError } from '../core/errors.ts'
import { systemClock } from '../core/ports.ts'
import { safeText } from '../core/safe-text.ts'
import type { Run } from '../ledger/ledger.ts'
import { isLiveWorkflow } from '../temporal/is-live.ts'
import { causesOf, innermostMessage } from '../temporal/failures.ts'
import { connectTemporal, temporalOf } from './connect.ts'
import { findHolder } from './holder.ts'
import { withLedger, type ActionPlace } from './place.ts'
import { requireWorker } from './project.ts'
import type { Actor } from './recorded.ts'
import { startJob, type StartedJob, type WorkflowRef } from './start.ts'

/** So long a worker may take to be seen, and to open the run. */
const WORKER_MAX_MS = 5_000
const OPENED_MAX_MS = 10_000
const ASK_EVERY_MS = 200
/** Actions and runs of a sync that are looked at, and workflows that the server is asked for. */
const SEARCHED_MAX = 20
const ASKED_MAX = 3

/** @returns the run; null if no worker has opened it yet @throws SyncError that says why it was not begun */
export async function beginRun(
  place: ActionPlace,
  actor: Actor,
  job: StartedJob,
): Promise<Run | null> {
  const temporal = temporalOf(await place.loadConfig(), place.env)
  const print = (line: string) => place.terminal.err(line)
  return await startJob(place, actor, job, async (start) => {
    const { client, close } = await connectTemporal(temporal, { print })
    try {
      const { id: project } = await requireWorker(place, client, temporal, { maxMs: WORKER_MAX_MS })
      const held = await findHolder(place, client, job.sync.name)
      if (held) throw new AlreadyRunning(held.sync, held.id, held.workflowId)
      await requireNoneWaiting(place, client, job.sync.name)
      const workflow = await start({ client, project }).catch((error: unknown) => {
        throw notTaken(error)
      })
      return { workflow, result: await untilOpened(place, client, job.sync.name, workflow) }
    } finally {
      await close()
    }
  })
}

/** @throws SyncError if one was begun that no worker has opened yet: it would be followed by this one */
async function requireNoneWaiting(
  place: Pick<ActionPlace, 'openLedger'>,
  client: Client,
  sync: string,
): Promise<void> {
  const begun = await withLedger(place, async (ledger) => {
    const opened = await ledger.runs({ sync, limit: SEARCHED_MAX })
    const ids = new Set(opened.map(({ workflowId }) => workflowId))
    const actions = await ledger.actions({ sync, limit: SEARCHED_MAX })
    return actions.flatMap(({ workflowId }) =>
      workflowId === null || ids.has(workflowId) ? [] : [workflowId],
    )
  })
  for (const workflowId of begun.slice(0, ASKED_MAX))
    if (await isLiveWorkflow(client, { workflowId }))
      throw new SyncError(
        'run_waiting',
        `A run of ${sync} was begun already and waits for a worker that opens it (workflow ${workflowId})`,
      )
}

function notTaken(error: unknown): SyncError {
  if (error instanceof SyncError) return error
  const why = safeText(innermostMessage(error), 300)
  return new SyncError('not_started', `The Temporal server did not take the run (${why})`)
}

async function untilOpened(
  place: Pick<ActionPlace, 'openLedger'>,
  client: Client,
  sync: string,
  { workflowId, workflowRunId }: WorkflowRef,
): Promise<Run | null> {
  const refused: SyncError[] = []
  const handle = client.workflow.getHandle(workflowId, workflowRunId)
  handle.result().catch((error: unknown) => refused.push(...refusalOf(error)))
  const until = systemClock.now() + OPENED_MAX_MS
  for (;;) {
    const runs = await withLedger(place, (ledger) => ledger.runs({ sync, limit: 10 }))
    const run = runs.find((each) => each.workflowId === workflowId)
    if (run !== undefined) return run
    if (refused[0] !== undefined) throw refused[0]
    if (systemClock.now() >= until) return null
    await systemClock.sleep(ASK_EVERY_MS)
  }
}

/** Why a workflow ended before it had a run; nothing where that is not known. */
function refusalOf(error: unknown): SyncError[] {
  const failure = causesOf(error).findLast((cause) => cause instanceof ApplicationFailure)
  if (failure === undefined) return []
  const { type } = failure as ApplicationFailure
  const code = type === 'AlreadyRunning' ? 'already_running' : 'refused'
  return [new SyncError(code, safeText(failure.message, 500))]
}
