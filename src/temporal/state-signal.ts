// Signals to the workflow of a run what its workers have found, for the details and lists of the Temporal UI: that it is blocked,
// or continues.

import type { Client } from '@temporalio/client'
import type { StateChange } from '../../workflows/messages.ts'
import { stateChanged } from '../../workflows/names.ts'
import type { Logger } from '../core/ports.ts'
import type { RunObserver } from '../runs/observers.ts'

const signalMaxMs = 5_000

export function signalRunState(
  client: Client,
  { logger }: { readonly logger: Logger },
): RunObserver {
  return {
    async changed({ run, from, to, reason, message, workflowId }) {
      const isMet = to === 'blocked' || (to === 'running' && from === 'blocked')
      if (run === null || !isMet) return
      const change: StateChange = { state: to, reason, message }
      await client
        .withDeadline(Date.now() + signalMaxMs, () =>
          client.workflow.getHandle(workflowId).signal(stateChanged, change),
        )
        .catch(() => logger.warn({ run }, 'workflow_not_told'))
    },
  }
}
