// A run that is started and not followed: a live run of its sync is known before.

import { WorkflowNotFoundError, type Client } from '@temporalio/client'
import { expect, test } from 'vitest'
import { refuseSecondRun } from '../../../src/cli/second-run.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { close, openRun } from '../../contract/ledger/scene.ts'

test('is refused while a workflow holds the sync, and not where that is gone, or of another sync', async () => {
  const ledger = openSqliteLedger(':memory:')
  // What the command closes is opened anew for each command.
  const context = {
    findLedger: async () => ({ ...ledger, close: async () => {} }) as Ledger,
  }
  const client = (status: string | null) =>
    ({
      workflow: {
        getHandle: (workflowId: string, runId: string) => ({
          describe: async () => {
            if (status === null) throw new WorkflowNotFoundError('gone', workflowId, runId)
            return { status: { name: status } }
          },
        }),
      },
    }) as unknown as Client
  const refused = (status: string | null, sync = 'contacts') =>
    refuseSecondRun(context, client(status), sync).then(
      () => null,
      (error: Error) => error.message,
    )
  expect(await refused('RUNNING')).toBeNull()
  const run = await openRun(ledger)
  expect(await refused('RUNNING')).toMatch(
    new RegExp(`^Sync "contacts" is already running: run ${run.id} `),
  )
  expect(await refused('RUNNING', 'companies')).toBeNull()
  expect(await refused('TERMINATED')).toBeNull()
  expect(await refused(null)).toBeNull()
  await close(ledger, run.id)
  expect(await refused('RUNNING')).toBeNull()
  expect(await refuseSecondRun({ findLedger: async () => null }, client(null), 'contacts')).toBe(
    undefined,
  )
  await ledger.close()
})
