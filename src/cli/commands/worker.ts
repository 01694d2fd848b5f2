// `records-sync worker`: runs the workflows and activities until it is stopped. After one signal it lets the batches in flight
// finish; after two, or 25 s, it ends at once, and the next worker sends again what was not answered.

import { constants } from 'node:os'
import { startWorker } from '../../worker.ts'
import { EXIT, temporalOf, type CommandContext } from '../shared/context.ts'
import { jsonLogger, terminalLogger } from '../shared/logging.ts'

export interface WorkerCommandOptions {
  /** Runs that a worker of this build begins go on with workers of this build only. */
  readonly buildId?: string
  /** How long batches in flight may take after the first signal, ms; default 25 s. */
  readonly shutdownForceMs?: number
}

/** Ends with code 0 if every batch was settled; the process ends with 1 if one was not, with 128 + signal on a second signal. */
export async function workerCommand(
  context: CommandContext,
  options: WorkerCommandOptions = {},
): Promise<number> {
  const config = await context.loadConfig()
  const temporal = temporalOf(config, context.env)
  const logger =
    process.stderr.isTTY && !context.json ? terminalLogger(context.terminal) : jsonLogger()
  const running = await startWorker({
    configFile: context.configFile,
    env: context.env,
    temporal,
    logger,
    ...options,
  })
  const { address, namespace } = temporal
  const { ledger, project, listening, console } = running
  const build = options.buildId
  const started = {
    address,
    namespace,
    build,
    ledger,
    project,
    listening,
    console,
    pid: process.pid,
  }
  logger.info(started, 'worker_started')
  let stopping = false
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    if (stopping) process.exit(128 + constants.signals[signal])
    stopping = true
    logger.info({ signal }, 'worker_stopping')
    running.shutdown()
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  try {
    await running.stopped
  } catch (error) {
    const { name } = error as Error
    logger.error({ name }, stopping ? 'worker_stopped_by_force' : 'worker_failed')
    process.exit(1)
  }
  logger.info({}, 'worker_stopped')
  return EXIT.done
}
