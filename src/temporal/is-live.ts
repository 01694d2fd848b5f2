// Whether the workflow of a run is still running.

import {
  WorkflowNotFoundError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client'

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

export const isLiveWorkflow = async (client: Client, run: WorkflowRun): Promise<boolean> =>
  (await describeWorkflow(client, run))?.status.name === 'RUNNING'
