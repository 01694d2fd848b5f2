// `records-sync retry RUN`: sends again what a run left over, as it was kept, or as a person corrected it in the files that
// `rejects` wrote.

import { keepCorrectionFiles } from '../../actions/corrections.ts'
import { retryJob } from '../../actions/jobs.ts'
import { ConfigError } from '../../core/errors.ts'
import { parseRows } from '../../core/domain/row-list.ts'
import { findSync } from '../../../config/index.ts'
import { commandLine } from '../shared/command-line.ts'
import { withLedger, type CommandContext } from '../shared/context.ts'
import { printCorrections } from '../shared/corrections.ts'
import { findRunWithRows } from '../shared/find-run.ts'
import { withFilesOfOption } from '../shared/usage.ts'
import { parseTuning, startRun } from './run.ts'

export interface RetryOptions {
  readonly code?: readonly string[]
  readonly reason?: readonly string[]
  readonly rows?: string
  readonly file?: readonly string[]
  readonly detach: boolean
  readonly local?: boolean
  readonly wait?: boolean
  readonly tuning?: string
}

/** @throws ConfigError for options that cannot be meant; the workflow finds out whether there is something to send */
export async function retryRun(
  context: CommandContext,
  runText: string,
  options: RetryOptions,
): Promise<number> {
  const { code, reason, rows, file, tuning } = options
  if (rows !== undefined && parseRows(rows) === null)
    throw new ConfigError('--rows', `"${rows}": expected rows such as 3,7-12`)
  if (file !== undefined && (code ?? reason ?? rows) !== undefined)
    throw new ConfigError(
      '--file',
      'the files say which rows are sent; leave out --code, --reason and --rows',
    )
  const config = await context.loadConfig()
  const run = await withLedger(context, (ledger) =>
    findRunWithRows(ledger, runText, { terminal: context.terminal, kind: 'import' }),
  )
  const sync = findSync(config, run.sync)
  const kept = file && (await withFilesOfOption(() => keepCorrectionFiles(context, run, file)))
  if (kept && !context.json) printCorrections(context.terminal, kept.account)
  const correction = kept?.correction
  if (correction === null) throw new ConfigError('--file', 'there is no row in it to send again')
  const choice = {
    ...(code && { code }),
    ...(reason && { reason }),
    ...(rows !== undefined && { rows }),
    ...(correction !== undefined && { correction }),
    ...(tuning !== undefined && { tuning: parseTuning(tuning, 'import', context.env) }),
  }
  const command = `retry ${run.id}`
  const line = commandLine(['retry', `${run.id}`], options)
  // Rows of the files that it has brought in are not left any more: going on, it reads none.
  const job = {
    ...retryJob(sync, run, choice),
    sync,
    command,
    line,
    ...(file && { goOn: command }),
  }
  return await startRun(context, config, job, options)
}
