// What starts a run: a job, as its workflow and its input.

import type { Client } from '@temporalio/client'
import type { SyncConfig } from '../../config/index.ts'
import { idOfStart, taskQueueOf } from '../../workflows/queues.ts'
import { ACTION_NAMES, type ActionName } from '../core/domain/actions.ts'
import type { BulkPriority } from '../core/ports.ts'
import type { Run } from '../ledger/ledger.ts'
import type { ActionPlace } from './place.ts'
import { recorded, type Actor } from './recorded.ts'

/** What is started: a workflow, its id's beginning, and its input, which has only names, ids and counts. */
export interface StartedJob {
  readonly sync: Pick<SyncConfig, 'name'>
  readonly type: string
  readonly id: string
  readonly summary: string
  readonly input: object
  readonly priority: BulkPriority
}

/** A workflow, and its first run. */
export type WorkflowRef = Pick<Run, 'workflowId' | 'workflowRunId'>

/** Starts the workflow of a job at a server. The error is that of the server. */
export type Start = (at: {
  readonly client: Client
  readonly project: string
}) => Promise<WorkflowRef>

/** Starts a job, as `work` does it. */
export async function startJob<Result>(
  place: Pick<ActionPlace, 'openLedger' | 'terminal'>,
  actor: Actor,
  job: StartedJob,
  work: (start: Start) => Promise<{ readonly workflow: WorkflowRef; readonly result: Result }>,
): Promise<Result> {
  const { type, id, input, summary, sync } = job
  const { run = null } = input as { readonly run?: number }
  const about = { action: actionOf(type), sync: sync.name, run, details: detailsOf(input) }
  return await recorded(place, actor, about, async () => {
    const { workflow, result } = await work(async ({ client, project }) => {
      const { workflowId, firstExecutionRunId } = await client.workflow.start(type, {
        taskQueue: taskQueueOf(project),
        workflowId: idOfStart(id, project, Date.now()),
        args: [input],
        staticSummary: summary,
      })
      return { workflowId, workflowRunId: firstExecutionRunId }
    })
    return { result, workflowId: workflow.workflowId }
  })
}

/** Workflows are named by their purpose; those of regular runs by their kind. */
const actionOf = (type: string): ActionName => ACTION_NAMES.find((name) => name === type) ?? 'run'

/** Not in the details: what the row has in its own columns, and what only a program reads. */
const LEFT_OUT = new Set(['sync', 'run', 'tuning', 'where'])
const DETAILS_CHARS_MAX = 500

/** `full: true, rows: 3,7-12`; null without any. */
function detailsOf(input: object): string | null {
  const entries = Object.entries(input).filter(
    ([name, value]) => !LEFT_OUT.has(name) && value !== false,
  )
  const text = entries.map(([name, value]) => `${name.replaceAll('_', ' ')}: ${String(value)}`)
  return text.join(', ').slice(0, DETAILS_CHARS_MAX) || null
}
