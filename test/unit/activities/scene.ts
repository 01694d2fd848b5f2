// What the tests of activities share: where an activity runs, and an open run of a mirror.

import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import type { SyncConfig } from '../../../config/index.ts'
import type { Json } from '../../../src/core/json.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'

export const environment = () =>
  new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') })

/** Opens a run, and returns its number. */
export async function openMirrorRun(
  ledger: Pick<Ledger, 'openRun'>,
  sync: SyncConfig,
): Promise<number> {
  const opened = await ledger.openRun({
    sync: sync.name,
    kind: 'mirror',
    mode: 'run',
    workflowId: 'w',
    workflowRunId: 'r',
    config: sync as unknown as Json,
  })
  if (!('run' in opened)) throw new Error('a run is open')
  return opened.run.id
}
