// Whether anybody works on the runs that the ledger calls live, and what holds them up: a run stays live when its worker or its
// Temporal server is gone, and running when the ledger cannot be told.

import { hostname } from 'node:os'
import type { Client } from '@temporalio/client'
import type { Config } from '../../config/index.ts'
import { taskQueueOf } from '../../workflows/queues.ts'
import { SyncError } from '../core/errors.ts'
import type { Run } from '../ledger/ledger.ts'
import { heldUpBy, type HeldUp } from '../temporal/held-up.ts'
import { describeWorkflow } from '../temporal/is-live.ts'
import type { Sign } from '../temporal/projects.ts'
import { isRunning } from '../warehouses/processes.ts'
import { temporalOf } from './connect.ts'
import type { ActionPlace } from './place.ts'
import { findProject, hasWorker } from './project.ts'

/** A server that is slower says nothing of its workers. */
const ANSWER_MAX_MS = 2_000

/** Workers of a project that poll. The server lists one for minutes after it was killed; on this machine that is seen. */
export async function workersOf(client: Client, project: string): Promise<readonly Sign[]> {
  const { isRecent, signs } = await import('../temporal/projects.ts')
  const isGone = ({ host, pid }: Sign) => host === hostname() && !isRunning(pid)
  const all = await signs(client).catch(() => [])
  return all.filter((sign) => sign.project === project && isRecent(sign) && !isGone(sign))
}

/** How the live runs of a project are worked on, as far as its Temporal server knows. */
export interface Work {
  /** Why nobody works on them, as half a sentence; null if a worker polls, or if that is not known. */
  readonly idle: string | null
  /** What holds each up, by the number of the run; none that moves. */
  readonly held: ReadonlyMap<number, HeldUp>
}

/** @param live runs that the ledger calls live; without any, no server is asked */
export async function workOn(
  context: ActionPlace,
  config: Config,
  live: readonly Run[],
): Promise<Work> {
  const held = new Map<number, HeldUp>()
  if (live.length === 0) return { idle: null, held }
  const { connectClient } = await import('../temporal/client.ts')
  const settings = temporalOf(config, context.env)
  const patience = { maxMs: 0, firstMs: ANSWER_MAX_MS, report: () => {} }
  try {
    const { client, close } = await connectClient(settings, patience)
    try {
      const project = await findProject(context)
      if (project === null) return { idle: null, held }
      const isPolled =
        (await hasWorker(client, taskQueueOf(project.id))) &&
        (await workersOf(client, project.id)).length > 0
      for (const run of live) {
        const description = await client.withDeadline(Date.now() + ANSWER_MAX_MS, () =>
          describeWorkflow(client, run),
        )
        const by = description && heldUpBy(description)
        if (by) held.set(run.id, by)
      }
      const idle = isPolled ? null : `no worker of this project polls at ${settings.address}`
      return { idle, held }
    } finally {
      await close()
    }
  } catch (error) {
    const isAway = error instanceof SyncError && error.code === 'temporal_unreachable'
    return { idle: isAway ? `no Temporal server answers at ${settings.address}` : null, held }
  }
}
