// The SDK workers that serve a project's queues: one for workflows and short activities, one for each kind of work that takes
// minutes, with few slots.

import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker'
import { PROJECTS_QUEUE, STREAMING_QUEUES, streamingQueueOf } from '../../workflows/queues.ts'

type Activities = NonNullable<WorkerOptions['activities']>

export interface PollingOptions {
  readonly taskQueue: string
  readonly workflowBundle: NonNullable<WorkerOptions['workflowBundle']>
  /** Activities that only query the ledger or the configuration, and do little else. */
  readonly short: Activities
  readonly activities: Activities
  /** Slots for each kind of work; backfills have half as many. */
  readonly slots: number
  readonly shared: {
    readonly connection: NativeConnection
    readonly namespace: string
    readonly dataConverter?: NonNullable<WorkerOptions['dataConverter']>
    readonly shutdownForceTime: number
  }
  /** Name of the deployment and of this build; null: workers without versions. */
  readonly version: { readonly deploymentName: string; readonly buildId: string } | null
}

const heartbeats = {
  shutdownGraceTime: 0,
  maxHeartbeatThrottleInterval: '5s',
  defaultHeartbeatThrottleInterval: '5s',
} as const

/** Workers that poll once they run. */
export async function createPollers(options: PollingOptions): Promise<Worker[]> {
  const { taskQueue, workflowBundle, short, activities, slots, shared, version } = options
  const base = {
    ...shared,
    ...heartbeats,
    // A run stays with the build that began it, activities included: no code replays a history that another build wrote.
    ...(version && {
      workerDeploymentOptions: {
        useWorkerVersioning: true as const,
        version,
        defaultVersioningBehavior: 'PINNED' as const,
      },
    }),
  }
  const workers = [
    await Worker.create({
      ...base,
      workflowBundle,
      taskQueue,
      activities: short,
      maxCachedWorkflows: 20,
      // How long tasks wait for the cache of a killed worker; then another worker reads the history again.
      stickyQueueScheduleToStartTimeout: '3s',
    }),
  ]
  for (const kind of Object.keys(STREAMING_QUEUES) as (keyof typeof STREAMING_QUEUES)[])
    workers.push(
      await Worker.create({
        ...base,
        taskQueue: streamingQueueOf(taskQueue, kind),
        activities,
        maxConcurrentActivityTaskExecutions:
          kind === 'backfill' ? Math.max(1, Math.floor(slots / 2)) : slots,
      }),
    )
  return workers
}

/** A worker that only shows which project is served here. @param identity from `workerIdentity` */
export async function createBeacon(
  shared: PollingOptions['shared'],
  identity: string,
): Promise<Worker> {
  return await Worker.create({
    ...shared,
    ...heartbeats,
    identity,
    taskQueue: PROJECTS_QUEUE,
    activities: { nothing: () => Promise.resolve() },
    maxConcurrentActivityTaskPolls: 1,
    maxConcurrentActivityTaskExecutions: 1,
  })
}
