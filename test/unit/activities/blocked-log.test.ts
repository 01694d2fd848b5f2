// Work that stands still where no ledger can take the note of it: the log says so.

import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { importActivities } from '../../../activities/import.ts'
import { silentLogger, systemClock } from '../../../src/core/ports.ts'
import type { ImportSync } from '../../../config/index.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { isOwnWorkflow } from '../../own-workflow.ts'

test.each([
  ['that is to be opened', 'openImport', { sync: 'contacts' }, null],
  ['that is open', 'stageImport', { run: 7, tuning: {} }, 7],
] as const)('a run %s', async (_, name, input, run) => {
  const ledger = openSqliteLedger(':memory:')
  await ledger.close()
  const lines: unknown[] = []
  const nothing = async () => {
    throw new Error('nothing is asked for')
  }
  const activities = importActivities({
    ledger,
    clock: systemClock,
    logger: { ...silentLogger, warn: (fields, event) => void lines.push([event, fields]) },
    loadSync: async () => ({ name: 'contacts', kind: 'import' }) as ImportSync,
    isLive: isOwnWorkflow,
    connect: nothing,
    openSource: nothing,
    watch: { changed: async () => {} },
  })
  const work = activities[name] as (input: unknown) => Promise<unknown>
  await expect(
    new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(work, input),
  ).rejects.toMatchObject({ type: 'Blocked' })
  expect(lines).toEqual([
    [
      'work_blocked',
      { run, reason: 'ledger', message: expect.stringMatching(/^blocked: ledger: The ledger/) },
    ],
  ])
})
