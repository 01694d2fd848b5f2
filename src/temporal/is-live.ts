// Whether the workflow of a run is still running.

import { WorkflowNotFoundError, type Client } from '@temporalio/client'

export async function isLiveWorkflow(
  client: Client,
  { workflowId, workflowRunId }: { readonly workflowId: string; readonly workflowRunId: string },
): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(workflowId, workflowRunId).describe()
    return status.name === 'RUNNING'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}
