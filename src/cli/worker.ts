// `records-sync worker`: runs the workflows and activities until it is told to stop.

import { startWorker } from '../worker.ts'
import { EXIT, temporalOf, type CommandContext } from './context.ts'
import { jsonLogger, terminalLogger } from './logging.ts'

export async function worker(context: CommandContext): Promise<number> {
  const config = await context.loadConfig()
  const temporal = temporalOf(config, context.env)
  const logger =
    process.stderr.isTTY && !context.json ? terminalLogger(context.terminal) : jsonLogger()
  const running = await startWorker({
    configFile: context.configFile,
    env: context.env,
    temporal,
    logger,
  })
  logger.info({ ...temporal, ledger: running.ledger, pid: process.pid }, 'worker_started')
  const stopOn = (signal: NodeJS.Signals) => {
    process.once(signal, () => {
      logger.info({ signal }, 'worker_stopping')
      running.shutdown()
      // A second signal ends at once; what was in flight is sent again by the next worker.
      process.once(signal, () => process.exit(130))
    })
  }
  stopOn('SIGINT')
  stopOn('SIGTERM')
  try {
    await running.stopped
  } catch {
    logger.error({}, 'worker_stopped_by_force')
    process.exit(1)
  }
  logger.info({}, 'worker_stopped')
  return EXIT.done
}
