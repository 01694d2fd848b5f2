// Whether the workflow of a run is still running.

import {
  WorkflowNotFoundError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client'
import type { ActivityAttempt } from '../runs/open.ts'

interface WorkflowRun {
  readonly workflowId: string
  /** Default: the newest. */
  readonly workflowRunId?: string
}

/** Null if the server does not know it. */
export async function describeWorkflow(
  client: Client,
  { workflowId, workflowRunId }: WorkflowRun,
): Promise<WorkflowExecutionDescription | null> {
  try {
    return await client.workflow.getHandle(workflowId, workflowRunId).describe()
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

/** @param of whether this is the newest attempt of its activity, too: the worker of an older one has stood still */
export async function isLiveWorkflow(
  client: Client,
  run: WorkflowRun,
  of?: ActivityAttempt,
): Promise<boolean> {
  const description = await describeWorkflow(client, run)
  if (description?.status.name !== 'RUNNING') return false
  if (of === undefined) return true
  const pending = description.raw.pendingActivities ?? []
  return pending.some(
    ({ activityId, attempt }) => activityId === of.activityId && attempt === of.attempt,
  )
}
