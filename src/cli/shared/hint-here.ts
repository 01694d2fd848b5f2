// The command lines that a person types next, in the form that works in this folder as it is: one that starts a run needs a Temporal
// server and a worker, and perhaps the Records Service of `dev`.

import type { Config } from '../../../config/index.ts'
import { taskQueueOf } from '../../../workflows/queues.ts'
import { ownValue } from '../../core/json.ts'
import { findParts } from '../../dev/parts.ts'
import { probeServer } from '../../temporal/probe.ts'
import { DEFAULT_ORIGIN, temporalSettings, type TemporalSettings } from '../../temporal/settings.ts'
import { withinDev, withLocal } from './command-line.ts'
import { orNull, type CommandContext } from './context.ts'
import { devCommand, isOfDev } from './dev-service.ts'

/** What nobody sees as a wait. */
const PROBE_MAX_MS = 1_000

const STARTS_RUN = /^(?:run|retry|reconcile|backfill) /

type Form = (command: string) => string
const asItIs: Form = (command) => command

/**
 * Makes command lines as `hint` does, and those that start a run of the sync with `dev --` or `--local` where they need that.
 * A configuration that does not load changes none.
 */
export async function hintHere(context: CommandContext, sync: string): Promise<Form> {
  const form = (await orNull(() => formOf(context, sync))) ?? asItIs
  return (command) => context.hint(STARTS_RUN.test(command) ? form(command) : command)
}

async function formOf(context: CommandContext, sync: string): Promise<Form> {
  const { configFile, env } = context
  const parts = findParts(configFile)
  if (parts !== null && parts.pid === process.ppid) return (line) => withinDev(line, parts.command)
  // Those of a local run end with it.
  if (parts !== null && parts.sync === null) return asItIs
  const config = await context.loadConfig()
  if (isWithDev(configFile, config, sync)) {
    const dev = await devCommand(context, sync)
    return (line) => withinDev(line, dev)
  }
  const settings = temporalSettings(config, env)
  if (settings.origin !== DEFAULT_ORIGIN) return asItIs
  return (await isServed(context, settings)) ? asItIs : withLocal
}

/** Whether the sync writes, or reads, the service that `dev` brings. */
function isWithDev(configFile: string, { connections, syncs }: Config, name: string): boolean {
  const sync = ownValue(syncs, name)
  if (sync === undefined) return false
  const connection = ownValue(
    connections,
    sync.kind === 'import' ? sync.import.to : sync.mirror.from,
  )
  return connection !== undefined && isOfDev(configFile, connection)
}

/** Whether a server answers at the usual place, and a worker of this project polls there. */
async function isServed(context: CommandContext, settings: TemporalSettings): Promise<boolean> {
  const isThere = await orNull(async () => {
    await probeServer(settings.address, false, Date.now() + PROBE_MAX_MS)
    return true
  })
  if (isThere === null) return false
  const { connectClient } = await import('../../temporal/client.ts')
  const { findProject, hasWorker } = await import('../../actions/project.ts')
  const patience = { maxMs: 0, firstMs: PROBE_MAX_MS, report: () => {} }
  const connected = await orNull(() => connectClient(settings, patience))
  if (connected === null) return false
  try {
    const project = await findProject(context)
    if (project === null) return false
    return await hasWorker(connected.client, taskQueueOf(project.id)).catch(() => false)
  } finally {
    await connected.close()
  }
}
