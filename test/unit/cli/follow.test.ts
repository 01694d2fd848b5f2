// What a run that failed says of the configuration: the exit code tells it from a service or a ledger that is to blame.

import { ApplicationFailure } from '@temporalio/common'
import { expect, test } from 'vitest'
import { toApplicationFailure } from '../../../activities/failure.ts'
import { isConfigFailure } from '../../../src/cli/shared/follow.ts'
import {
  ConfigError,
  LedgerError,
  MappingError,
  MirrorInvalid,
  SourceError,
  SyncError,
} from '../../../src/core/errors.ts'
import { silentLogger } from '../../../src/core/ports.ts'

/** As a client has it of the server: in the failures of workflow and activity. */
const failed = (error: unknown) => {
  const context = { attempt: 1, serviceProbeMs: 1, blockedProbeMs: 1, logger: silentLogger }
  const { failure } = toApplicationFailure(error, context)
  return new Error('Workflow execution failed', {
    cause: new Error('Activity task failed', { cause: failure }),
  })
}
const problem = { message: 'no such property', path: ['properties'] }

test.each([
  new ConfigError('records-sync.yaml', [{ message: 'x' }]),
  new MappingError('contacts', [problem]),
])('%s is of the configuration', (error) => {
  expect(isConfigFailure(failed(error))).toBe(true)
})

test.each([
  new MirrorInvalid('copy', [problem]),
  new LedgerError('ledger_failed', 'x'),
  new SourceError('csv_cut', 'x'),
  new SyncError('warehouse_other_project', 'x'),
])('%s is not', (error) => {
  expect(isConfigFailure(failed(error))).toBe(false)
  expect(isConfigFailure(ApplicationFailure.create({ type: 'RunAbandoned' }))).toBe(false)
  expect(isConfigFailure(null)).toBe(false)
})
