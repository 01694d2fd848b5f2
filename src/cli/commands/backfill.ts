// `records-sync backfill SYNC`: a run limited to a window or to object types, that gives way to other runs.

import { backfill } from '../../../workflows/names.ts'
import { findSync, type SyncConfig } from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import { parseWindowInstant } from '../../core/window-instant.ts'
import { overwritingProblem } from '../../import/index.ts'
import { windowProblem } from '../../sources/index.ts'
import { commandLine } from '../shared/command-line.ts'
import type { CommandContext } from '../shared/context.ts'
import { safeText } from '../shared/terminal.ts'
import { parseTuning, startRun } from './run.ts'

export interface BackfillOptions {
  readonly from?: string
  readonly to?: string
  readonly objectTypes?: readonly string[]
  readonly full: boolean
  readonly overwriteNewer?: boolean
  readonly detach: boolean
  readonly local?: boolean
  readonly wait?: boolean
  readonly tuning?: string
}

/** The instant of an option. @throws ConfigError */
function instantOf(option: string, text: string | undefined): string | null {
  const instant = text === undefined ? null : parseWindowInstant(text.trim())
  if (instant !== null || text === undefined) return instant
  const expected = 'expected a day such as 2026-01-01, or a time such as 2026-01-01T06:00:00Z'
  throw new ConfigError(option, `"${safeText(text, 40)}": ${expected}`)
}

/** The workflow refuses the same, as it does in the Temporal UI; here before anything is asked. @throws ConfigError */
function checkOptions(sync: SyncConfig, options: BackfillOptions): void {
  const from = instantOf('--from', options.from)
  const to = instantOf('--to', options.to)
  if (from !== null && to !== null && from >= to)
    throw new ConfigError('--to', 'expected a day or a time after that of --from')
  const isLimited = from !== null || to !== null
  if (options.full && isLimited)
    throw new ConfigError('--full', 'it reads everything; leave out --from and --to, or --full')
  const refused = options.overwriteNewer === true ? overwritingProblem(sync) : null
  if (refused !== null) throw new ConfigError('--overwrite-newer', refused)
  if (sync.kind === 'mirror') return
  const problem = isLimited ? windowProblem(sync.import.from) : null
  if (problem !== null)
    throw new ConfigError(from === null ? '--to' : '--from', `${sync.name}: ${problem}`)
  if (options.full || options.objectTypes !== undefined)
    throw new ConfigError(
      options.full ? '--full' : '--object-types',
      `"${sync.name}" is an import; only a mirror has it`,
    )
}

export async function backfillSync(
  context: CommandContext,
  name: string,
  options: BackfillOptions,
): Promise<number> {
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  checkOptions(sync, options)
  const { from, to, objectTypes, full } = options
  const input = {
    sync: sync.name,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(objectTypes !== undefined && { object_types: objectTypes }),
    ...(full && { full }),
    ...(options.overwriteNewer && { overwrite_newer: true }),
    ...(options.tuning !== undefined && {
      tuning: parseTuning(options.tuning, sync.kind, context.env),
    }),
  }
  const command = `backfill ${name}`
  const line = commandLine(['backfill', name], options)
  const label = { id: `backfill-${name}`, summary: command, command, line }
  const job = { sync, type: backfill, input, priority: 'backfill' as const, ...label }
  return await startRun(context, config, job, options)
}
