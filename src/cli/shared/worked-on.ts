// Whether anybody works on the runs that the ledger calls live: a run stays live when its worker or its Temporal server is gone.

import { hostname } from 'node:os'
import type { Client } from '@temporalio/client'
import type { Config } from '../../../config/index.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { SyncError } from '../../core/errors.ts'
import type { Sign } from '../../temporal/projects.ts'
import { isRunning } from '../../warehouses/processes.ts'
import { temporalOf, type CommandContext } from './context.ts'
import { findProject, hasWorker } from './require-worker.ts'

/** A server that is slower says nothing of its workers. */
const ANSWER_MAX_MS = 2_000

/** Workers of a project that poll. The server lists one for minutes after it was killed; on this machine that is seen. */
export async function workersOf(client: Client, project: string): Promise<readonly Sign[]> {
  const { isRecent, signs } = await import('../../temporal/projects.ts')
  const isGone = ({ host, pid }: Sign) => host === hostname() && !isRunning(pid)
  const all = await signs(client).catch(() => [])
  return all.filter((sign) => sign.project === project && isRecent(sign) && !isGone(sign))
}

/** Why nobody works on the live runs of this project, as half a sentence; null if a worker polls, or if that is not known. */
export async function whyIdle(context: CommandContext, config: Config): Promise<string | null> {
  const { connectClient } = await import('../../temporal/client.ts')
  const settings = temporalOf(config, context.env)
  const patience = { maxMs: 0, firstMs: ANSWER_MAX_MS, report: () => {} }
  try {
    const { client, close } = await connectClient(settings, patience)
    try {
      const project = await findProject(context)
      if (project === null) return null
      const isPolled =
        (await hasWorker(client, taskQueueOf(project.id))) &&
        (await workersOf(client, project.id)).length > 0
      return isPolled ? null : `no worker of this project polls at ${settings.address}`
    } finally {
      await close()
    }
  } catch (error) {
    const isAway = error instanceof SyncError && error.code === 'temporal_unreachable'
    return isAway ? `no Temporal server answers at ${settings.address}` : null
  }
}
