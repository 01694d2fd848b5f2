// `records-sync run SYNC`: starts a run on the Temporal server and follows it. Ctrl-C detaches; the run goes on.

import type { Client } from '@temporalio/client'
import { importSync } from '../../workflows/names.ts'
import { TASK_QUEUE } from '../../workflows/queues.ts'
import { ConfigError, SyncError } from '../core/errors.ts'
import { systemClock } from '../core/ports.ts'
import { findSync } from '../core/sync.ts'
import { printBooks, runToJson } from './books.ts'
import { connectTemporal, EXIT, exitCodeOf, temporalOf, type CommandContext } from './context.ts'
import { follow, messageOf } from './follow.ts'
import { safe } from './terminal.ts'

const workerAsksMax = 10
const workerAskEveryMs = 300

export interface RunOptions {
  /** Start and return at once. */
  readonly detach: boolean
  /** A JSON object of `tuning` settings. */
  readonly tuning?: string | undefined
}

function parseTuning(text: string | undefined): object {
  if (text === undefined) return {}
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) return parsed
  } catch {
    // Said below, with what was expected.
  }
  throw new ConfigError('--tuning', [
    { message: 'expected a JSON object such as {"in_flight": 4}' },
  ])
}

/** Whether a worker polls. One that has just started is known to the server only after a moment, so it is asked again. */
async function hasWorker(client: Client, namespace: string): Promise<boolean> {
  for (let ask = 1; ; ask++) {
    const queue = await client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: TASK_QUEUE },
      taskQueueType: 1,
    })
    if ((queue.pollers ?? []).length > 0) return true
    if (ask === workerAsksMax) return false
    await systemClock.sleep(workerAskEveryMs)
  }
}

export async function run(
  context: CommandContext,
  name: string,
  options: RunOptions,
): Promise<number> {
  const { terminal } = context
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  const tuning = parseTuning(options.tuning)
  const temporal = temporalOf(config, context.env)
  const { client, close } = await connectTemporal(temporal)
  try {
    if (!(await hasWorker(client, temporal.namespace)))
      throw new SyncError(
        'no_worker',
        `No worker polls the queue ${TASK_QUEUE} at ${temporal.address}. Start one with "records-sync worker", or all parts with "records-sync dev"`,
      )
    const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-')
    const handle = await client.workflow.start(importSync, {
      taskQueue: TASK_QUEUE,
      workflowId: `import-${sync.name}-${stamp}`,
      args: [{ sync: sync.name, tuning }],
      staticSummary: `import ${sync.name}`,
    })
    if (options.detach) {
      if (context.json) terminal.out(JSON.stringify({ workflow_id: handle.workflowId }))
      else terminal.out(`Started ${handle.workflowId}. Watch it: ${context.hint('status')}`)
      return EXIT.done
    }
    const { existsSync } = await import('node:fs')
    const followed = await follow({
      terminal,
      // Made by the worker when the run opens.
      ledger: async () => (existsSync(config.ledger.sqlite) ? await context.openLedger() : null),
      sync: sync.name,
      handle,
      untilEnded: (signal) => client.withAbortSignal(signal, () => handle.result()),
      quiet: context.json,
    })
    if (followed.kind === 'detached') {
      terminal.err(
        `Detached; the run goes on. See it: ${context.hint(followed.run ? `show ${followed.run.id}` : 'status')}`,
      )
      return EXIT.done
    }
    const ended = followed.run
    if (followed.error !== null || !ended) {
      const message = messageOf(followed.error)
      if (context.json)
        terminal.out(
          JSON.stringify({ ...(ended ? runToJson(ended, ended.counts) : {}), error: { message } }),
        )
      else {
        terminal.err(terminal.style('red', safe(message, 2_000)))
        if (ended?.counts) printBooks(terminal, ended.counts)
      }
      return EXIT.stopped
    }
    if (context.json) terminal.out(JSON.stringify(runToJson(ended, ended.counts)))
    else {
      terminal.out(`Run ${ended.id} of ${ended.sync}: ${terminal.style('bold', ended.state)}`)
      for (const warning of ended.warnings)
        terminal.out(terminal.style('yellow', `  ${safe(warning, 300)}`))
      if (ended.counts) printBooks(terminal, ended.counts)
      if (ended.state === 'complete_with_rejects')
        terminal.out(`  The rejects: ${context.hint(`rejects ${ended.id}`)}`)
    }
    return exitCodeOf(ended.state)
  } finally {
    await close()
  }
}
