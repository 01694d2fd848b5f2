// `records-sync backfill SYNC`: a run limited to a window or to object types, that gives way to other runs.

import { backfill } from '../../../workflows/names.ts'
import { findSync } from '../../../config/index.ts'
import type { CommandContext } from '../shared/context.ts'
import { parseTuning, startRun } from './run.ts'

export interface BackfillOptions {
  readonly from?: string
  readonly to?: string
  readonly objectTypes?: readonly string[]
  readonly full: boolean
  readonly detach: boolean
  readonly local?: boolean
  readonly tuning?: string
}

/** The workflow refuses invalid options, as in the Temporal UI. */
export async function backfillSync(
  context: CommandContext,
  name: string,
  options: BackfillOptions,
): Promise<number> {
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  const { from, to, objectTypes, full } = options
  const input = {
    sync: sync.name,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(objectTypes !== undefined && { object_types: objectTypes }),
    ...(full && { full }),
    ...(options.tuning !== undefined && {
      tuning: parseTuning(options.tuning, sync.kind, context.env),
    }),
  }
  const command = `backfill ${name}`
  const job = { sync, type: backfill, id: `backfill-${name}`, summary: command, command, input }
  return await startRun(context, config, { ...job, priority: 'backfill' }, options)
}
