// Which project this folder is, and whether a worker serves it.

import type { Client } from '@temporalio/client'
import { taskQueueOf } from '../../workflows/queues.ts'
import { inThisTerminal, LedgerError, SyncError } from '../core/errors.ts'
import { safeText } from '../core/safe-text.ts'
import { systemClock } from '../core/ports.ts'
import { projectOf, type Project } from '../runs/project.ts'
import type { TemporalSettings } from '../temporal/settings.ts'
import type { ActionPlace } from './place.ts'

const waitMaxMs = 20_000
/** So long a worker that was started just now may take without a word. */
const quietMs = 2_000
const askEveryMs = 300

/** The project; null if no worker of this release has opened the ledger yet. */
export async function findProject(context: ActionPlace): Promise<Project | null> {
  try {
    const ledger = await context.findLedger()
    if (ledger === null) return null
    try {
      return await projectOf(ledger)
    } finally {
      await ledger.close()
    }
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'ledger_older') return null
    throw error
  }
}

/**
 * Waits for a worker of this project, because one that starts makes the ledger first and is known to the server only after
 * that.
 * @param offer a command that needs no worker
 * @returns the project that it serves
 * @throws SyncError `no_worker`, with how to start one, and the projects of the workers that run
 */
export async function requireWorker(
  context: ActionPlace,
  client: Client,
  temporal: TemporalSettings,
  { offer, maxMs = waitMaxMs }: { readonly offer?: string; readonly maxMs?: number } = {},
): Promise<Project> {
  const began = systemClock.now()
  let isReported = false
  for (;;) {
    const project = await findProject(context)
    if (project !== null && (await hasWorker(client, taskQueueOf(project.id)))) return project
    const waitedMs = systemClock.now() - began
    if (waitedMs >= maxMs) throw await noWorker(context, client, { temporal, project, offer })
    if (waitedMs >= quietMs && !isReported) {
      isReported = true
      const seconds = maxMs / 1_000
      context.terminal.err(
        `No worker of this project polls yet; waiting up to ${seconds} s for one`,
      )
    }
    await systemClock.sleep(askEveryMs)
  }
}

/** Whether one polls the queue, or did so a few minutes ago. */
export async function hasWorker(client: Client, taskQueue: string): Promise<boolean> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: 1,
  })
  return (pollers ?? []).length > 0
}

async function noWorker(
  { configFile, hint }: ActionPlace,
  client: Client,
  found: { temporal: TemporalSettings; project: Project | null; offer: string | undefined },
): Promise<SyncError> {
  const { temporal, project, offer } = found
  const { projectLabel: labelOf, otherProjects } = await import('../temporal/projects.ts')
  const others = await otherProjects(client, project?.id ?? null).catch(() => [])
  const queue =
    project === null
      ? 'serves this project, whose ledger no worker has opened yet,'
      : `polls the queue ${taskQueueOf(project.id)}`
  const start = `Start one with "${hint('worker')}", or all parts with "${hint('dev')}"${inThisTerminal(offer)}`
  const owners =
    others.length === 0
      ? ''
      : `. The workers there serve ${others.map((other) => safeText(other, 200)).join(', ')}; yours is ${safeText(labelOf(configFile), 200)}`
  return new SyncError('no_worker', `No worker ${queue} at ${temporal.address}${owners}. ${start}`)
}
