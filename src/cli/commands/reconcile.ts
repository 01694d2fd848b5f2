// `records-sync reconcile SYNC`: compares both sides of a sync, and makes them equal with `--repair`.

import { reconcileJob } from '../../actions/jobs.ts'
import { ConfigError } from '../../core/errors.ts'
import type { ReconcileScope } from '../../core/domain/purpose.ts'
import { findSync } from '../../../config/index.ts'
import { textHash } from '../../import/index.ts'
import { asOption, scopeProblem } from '../../runs/scope-problem.ts'
import { commandLine } from '../shared/command-line.ts'
import type { CommandContext } from '../shared/context.ts'
import { parseTuning, startRun } from './run.ts'

export interface ReconcileOptions {
  readonly repair: boolean
  readonly deleteExtra: boolean
  readonly sample?: number
  readonly where?: string
  readonly objectTypes?: readonly string[]
  readonly full: boolean
  readonly detach: boolean
  readonly local?: boolean
  readonly wait?: boolean
  readonly tuning?: string
}

/** The column, and a digest of the value: the value stays out of Temporal. @throws ConfigError */
function whereOf(text: string): ReconcileScope['where'] {
  const at = text.indexOf('=')
  if (at > 0) return { column: text.slice(0, at), digest: textHash(text.slice(at + 1)) }
  throw new ConfigError('--where', `"${text}": expected column=value, such as country=DE`)
}

/** @throws ConfigError for options that the sync cannot have; the workflow asks again, as of one that the Temporal UI has started */
export async function reconcileSync(
  context: CommandContext,
  name: string,
  options: ReconcileOptions,
): Promise<number> {
  const config = await context.loadConfig()
  const sync = findSync(config, name)
  const { repair, deleteExtra, sample, where, objectTypes, full, tuning } = options
  const digest = where === undefined ? null : whereOf(where)
  const problem = scopeProblem(
    sync,
    { repair, deleteExtra, full, where: digest, sample: sample ?? null, only: objectTypes ?? null },
    asOption,
  )
  if (problem !== null) throw new ConfigError('reconcile', problem)
  const scope = {
    repair,
    ...(deleteExtra && { delete_extra: true }),
    ...(sample !== undefined && { sample }),
    ...(digest !== null && { where: digest }),
    ...(objectTypes !== undefined && { object_types: objectTypes }),
    ...(full && { full }),
    ...(tuning !== undefined && { tuning: parseTuning(tuning, sync.kind, context.env) }),
  }
  const label = {
    command: `reconcile ${name}`,
    line: commandLine(['reconcile', name], options),
  }
  const job = { ...reconcileJob(sync, scope), sync, ...label }
  return await startRun(context, config, job, options)
}
