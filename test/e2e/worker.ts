// A worker in this process, with the workflows that the set-up of the run has bundled: another bundle takes seconds.

import { fileURLToPath } from 'node:url'
import { startWorker, type RunningWorker, type WorkerOptions } from '../../src/worker.ts'

export type { RunningWorker }

/** Of `node src/dev/setup.mjs`, which `setup/global.ts` runs first. */
export const workflowBundle = fileURLToPath(
  new URL('../../dist/workflow-bundle.js', import.meta.url),
)

export const startWorkerHere = (options: WorkerOptions): Promise<RunningWorker> =>
  startWorker({ ...options, workflowBundle })
