// One run of a sync, one reconciliation or one undo, alone in a process and without Temporal: its activities in the order of the
// workflow, with the real client, ledger and warehouse. `sync-run.ts <file of the job>`; the ledger is made where it is missing.

import { readFileSync } from 'node:fs'
import { ApplicationFailure } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { importActivities } from '../../activities/import.ts'
import { mirrorActivities } from '../../activities/mirror.ts'
import { RecordsClient } from '../../src/client/index.ts'
import type { DifferenceCounts } from '../../src/core/domain/differences.ts'
import { silentLogger, systemClock } from '../../src/core/ports.ts'
import type { ReconcileScope, Task } from '../../src/core/domain/purpose.ts'
import type { ImportSync, MirrorSync } from '../../config/index.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openSource } from '../../src/sources/index.ts'
import { openMirrorTables, type WarehousePlace } from '../../src/warehouses/index.ts'
import { startFigures, type Figures } from './mirror-figures.ts'
import { isOwnWorkflow } from '../own-workflow.ts'
import { StepTimer, type StepTime } from './step-times.ts'

export interface Job {
  readonly url: string
  readonly key: string
  /** File of the ledger. */
  readonly ledger: string
  readonly sync: ImportSync | MirrorSync
  /** Of a mirror. */
  readonly place?: WarehousePlace
  /** Null: a regular run. */
  readonly scope: ReconcileScope | null
  /** The run that is undone. Default: none. */
  readonly undoes?: number
  /** The process of the service, to tell its processor time. */
  readonly servicePid?: number
}

export interface Ended extends Figures {
  readonly state: string
  readonly message: string | null
  readonly found: DifferenceCounts
  readonly left: DifferenceCounts
  /** Of an import. */
  readonly steps: readonly StepTime[]
}

const {
  url,
  key,
  ledger: file,
  sync,
  place,
  scope,
  undoes,
  servicePid = null,
} = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job
const undo = undoes === undefined ? null : { undo: { of: undoes, choice: {} } }
const task: Task | null = scope ? { reconcile: scope } : undo
const timer = new StepTimer(servicePid)
const ledger = await openLedger({ sqlite: file }, { thread: true })
const client = new RecordsClient({ baseUrl: url, key })
const TRIES_MAX = 5
const environment = new MockActivityEnvironment(
  { workflowExecution: { workflowId: `bench-${process.pid}`, runId: 'bench' } },
  { logger: new DefaultLogger('ERROR') },
)
/** Runs an activity, again where it was blocked, as Temporal does. */
const call = async <Input, Result>(
  activity: (input: Input) => Promise<Result>,
  input: Input,
): Promise<Result> => {
  for (let tries = 1; ; tries++) {
    try {
      return await environment.run(activity as (...args: unknown[]) => Promise<Result>, input)
    } catch (error) {
      if (!isBlocked(error) || tries === TRIES_MAX) throw error
      process.stderr.write(`${error.message}\n`)
    }
  }
}
/** The same, as a step that is timed. */
const timed: <Input, Result>(
  step: string,
  activity: (input: Input) => Promise<Result>,
  input: Input,
) => Promise<Result> = (step, activity, input) => timer.time(step, () => call(activity, input))
const isBlocked = (error: unknown): error is ApplicationFailure =>
  error instanceof ApplicationFailure && error.type === 'Blocked'
const surroundings = {
  ledger,
  clock: systemClock,
  logger: silentLogger,
  watch: { changed: async () => {} },
  isLive: isOwnWorkflow,
  loadSync: async () => sync,
  connect: async () => ({ client, keyFingerprint: await client.keyFingerprint() }),
}
const ending = { kind: 'finished' } as const

async function runImport(): Promise<number> {
  const activities = importActivities({
    ...surroundings,
    openSource: (one, signal, extent) => {
      const openWarehouse = () => Promise.reject(new Error('not asked'))
      const openers = {
        connect: async () => ({ client }),
        openWarehouse,
        openTextTables: openWarehouse,
      }
      return openSource(one, openers, signal, extent)
    },
  })
  const run = await timed('open', activities.openImport, { sync: sync.name, task })
  const step = { run, tuning: {} }
  const { segments, removals } = await timed('stage', activities.stageImport, step)
  if (removals > 0) {
    const { excesses } = await call(activities.reviewImport, step)
    if (excesses.length > 0) await call(activities.noteImportVerdict, { run, approved: true })
  }
  if (scope !== null) {
    let compared
    do compared = await call(activities.compareImport, step)
    while (!compared.done)
    if (compared.hasLimits) await call(activities.reviewImport, step)
  }
  if (scope === null || scope.repair)
    for (const segment of segments) {
      let pushed
      do pushed = await timed('push', activities.pushSegment, { ...step, segment, refusedInRow: 0 })
      while (!pushed.done)
    }
  if (removals > 0) {
    let removed
    do removed = await call(activities.removeImport, step)
    while (!removed.done)
  }
  await timed('close', activities.closeImport, { ...step, ending })
  return run
}

async function runMirror(): Promise<number> {
  const activities = mirrorActivities({
    ...surroundings,
    openMirrorTables: (name, schema, signal) => openMirrorTables(name, place!, schema, { signal }),
  })
  const run = await call(activities.openMirror, { sync: sync.name, task })
  const step = { run, tuning: {}, priority: 'mirror' } as const
  const { streams, sortable } = await (scope
    ? call(activities.discoverReconcile, step)
    : call(activities.discoverMirror, step))
  for (const stream of streams) {
    const job = { ...step, stream, sortable, verdict: null }
    let result
    do
      result = await (scope
        ? call(activities.reconcileStream, job)
        : call(activities.mirrorStream, { ...job, full: false }))
    while (result.state === 'again')
    if (result.state !== 'done') throw new Error(`${stream.name}: ${result.state}`)
  }
  await call(activities.closeMirror, { ...step, ending })
  return run
}

// Loaded with the first run of a worker; here by way of tsx, which takes as long as 1,000 rows.
if (sync.kind === 'import') await import('../../src/sources/csv/index.ts')
const figures = startFigures()
const id = await (sync.kind === 'import' ? runImport() : runMirror())
const { rowsRead, state, message } = (await ledger.run(id))!
const counts = await ledger.differenceCounts(id)
const read = (await ledger.streams(id)).reduce((sum, stream) => sum + stream.read, 0)
const steps = timer.times
const ended: Ended = { ...figures(rowsRead ?? read), state, message, steps, ...counts }
process.stdout.write(`${JSON.stringify(ended)}\n`)
await client.close()
await ledger.close()
