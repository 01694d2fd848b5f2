// Which projects the workers of a namespace serve. Every worker polls one queue that never holds work, under a name that contains
// its project: so a command that finds no worker of its own project can name the projects whose workers are running.

import { hostname } from 'node:os'
import { basename, dirname } from 'node:path'
import type { Client } from '@temporalio/client'
import { PROJECTS_QUEUE } from '../../workflows/queues.ts'
import { codeHash } from './code-hash.ts'

/** A poller stays listed for minutes after it has gone. */
const seenMaxMs = 120_000
const answerMaxMs = 2_000

/** `crm/records-sync.yaml`: enough of a path to identify a project, and nothing else about the machine. */
export const projectLabel = (configFile: string): string =>
  `${basename(dirname(configFile))}/${basename(configFile)}`

/** @param copy which copy of the project's ledger the worker has open */
export const workerIdentity = (project: string, configFile: string, copy: string): string =>
  `${process.pid}@${hostname()} ${project} ${projectLabel(configFile)} code#${codeHash()} ledger#${copy}`

/** A worker of the namespace, as it presents itself. */
export interface Sign {
  readonly identity: string
  readonly host: string
  readonly project: string
  readonly label: string
  /** Its process, on its host. */
  readonly pid: number
  /** Its `codeHash`. */
  readonly code: string
  readonly copy: string
  /** When it last polled, by the server's clock, ms. */
  readonly seenMs: number
}

/** Workers of the namespace, including those that went a few minutes ago. */
export async function signs(client: Client): Promise<Sign[]> {
  const { namespace } = client.options
  const taskQueue = { name: PROJECTS_QUEUE }
  const { pollers } = await client.withDeadline(Date.now() + answerMaxMs, () =>
    client.workflowService.describeTaskQueue({ namespace, taskQueue, taskQueueType: 2 }),
  )
  return (pollers ?? []).flatMap(({ identity, lastAccessTime }) => {
    const [all, pid, host, project, label, code, copy] =
      /^(\d+)@(\S+) ([\da-f]{8}) (.+?) code#([\da-f]{8}) ledger#([\da-f]{8})$/.exec(
        identity ?? '',
      ) ?? []
    if (all === undefined) return []
    const { seconds = 0, nanos = 0 } = lastAccessTime ?? {}
    const seenMs = Number(seconds) * 1_000 + (nanos ?? 0) / 1e6
    return [
      {
        identity: all,
        pid: Number(pid),
        host: host!,
        project: project!,
        label: label!,
        code: code!,
        copy: copy!,
        seenMs,
      },
    ]
  })
}

/** Whether it has polled within the last two minutes. */
export const isRecent = ({ seenMs }: Sign): boolean => Date.now() - seenMs < seenMaxMs

/** The projects that the Temporal server at `address` has workers of; null if none answers there. */
export async function projectsAt(address: string): Promise<string[] | null> {
  const { connectClient } = await import('./client.ts')
  try {
    const { client, close } = await connectClient({ address, namespace: 'default' })
    try {
      return await otherProjects(client, null)
    } finally {
      await close()
    }
  } catch {
    return null
  }
}

/** Other projects that workers of the namespace serve: `crm/records-sync.yaml on HOST (project 3f9ac2b1)`. */
export async function otherProjects(client: Client, project: string | null): Promise<string[]> {
  const found = (await signs(client))
    .filter((sign) => isRecent(sign) && sign.project !== project)
    .map(({ label, host, project: id }) => `${label} on ${host} (project ${id})`)
  return [...new Set(found)].toSorted()
}
