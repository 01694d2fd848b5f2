// Which projects the workers of a namespace serve. Every worker asks one queue that never holds work, under a name that tells
// its project: so a command that finds no worker of its own project can say whose workers there are.

import { hostname } from 'node:os'
import { basename, dirname } from 'node:path'
import type { Client } from '@temporalio/client'
import { PROJECTS_QUEUE } from '../../workflows/queues.ts'

/** A poller is listed for minutes after it has gone. */
const seenMaxMs = 120_000
const answerMaxMs = 2_000

/** `crm/records-sync.yaml`: as much of a path as tells projects apart, and no more of the machine. */
export const labelOf = (configFile: string): string =>
  `${basename(dirname(configFile))}/${basename(configFile)}`

export const identityOf = (project: string, configFile: string): string =>
  `${process.pid}@${hostname()} ${project} ${labelOf(configFile)}`

/** Other projects that workers of the namespace serve: `crm/records-sync.yaml on HOST (project 3f9ac2b1)`. */
export async function otherProjects(client: Client, project: string | null): Promise<string[]> {
  const { namespace } = client.options
  const taskQueue = { name: PROJECTS_QUEUE }
  const { pollers } = await client.withDeadline(Date.now() + answerMaxMs, () =>
    client.workflowService.describeTaskQueue({ namespace, taskQueue, taskQueueType: 2 }),
  )
  const found = (pollers ?? []).flatMap(({ identity, lastAccessTime }) => {
    const [, host, id, label] = /^\d+@(\S+) ([\da-f]{8}) (.+)$/.exec(identity ?? '') ?? []
    const seenMs = Number(lastAccessTime?.seconds ?? 0) * 1_000
    const isThere = Date.now() - seenMs < seenMaxMs
    return isThere && id !== undefined && id !== project
      ? [`${label} on ${host} (project ${id})`]
      : []
  })
  return [...new Set(found)].toSorted()
}
