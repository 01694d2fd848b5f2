// The runs of a group that has ended are those of its result, whatever was asked for before.

import type { Client, WorkflowHandle } from '@temporalio/client'
import { expect, test } from 'vitest'
import type { CommandContext } from '../../../src/cli/shared/context.ts'
import { GroupReader } from '../../../src/cli/shared/group-reader.ts'

test('a run that ended after the last answer of the group is found', async () => {
  const context = {
    findLedger: async () => ({ run: async (id: number) => ({ id }), close: async () => {} }),
  } as unknown as CommandContext
  const reader = new GroupReader(context, {} as Client, {} as WorkflowHandle)
  expect(reader.progress).toBeNull()
  const ended = {
    kind: 'import',
    after: [],
    state: 'complete',
    run: 8,
    workflow: null,
    reason: null,
  } as const
  const runs = await reader.allRuns([{ sync: 'deals', ...ended }])
  expect([...runs]).toEqual([['deals', { id: 8 }]])
  await reader.close()
})
