// For activities whose tests have no server: of all workflows the one that asks is running, and no other.

import { Context } from '@temporalio/activity'

export const isOwnWorkflow = async ({
  workflowRunId,
}: {
  readonly workflowRunId: string
}): Promise<boolean> => Context.current().info.workflowExecution?.runId === workflowRunId
