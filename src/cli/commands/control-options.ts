// The command lines that start a backfill and steer a run.

import type { Command } from 'commander'
import { actionsOf, withRunOptions, type Execute } from '../shared/arguments.ts'

const RUN = 'number of a run, or name of a sync: its live run'

interface Verdict {
  readonly stream?: string | null
  readonly plan?: string | null
}

export function describeControl(program: Command, execute: Execute): void {
  const action = actionsOf(execute)
  withRunOptions(
    program
      .command('backfill')
      .argument('<sync>')
      .option(
        '--from <time>',
        'a day or a time, such as 2026-01-01; in UTC unless it has an offset',
      )
      .option('--to <time>', 'the day or time before which it ends')
      .option('--object-types <names...>', 'of a mirror: only these')
      .option('--full', 'of a mirror: read everything again', false)
      .option(
        '--overwrite-newer',
        'of an import: also write rows whose key was accepted with a greater watermark',
        false,
      ),
  )
    .description('start a run that is limited, and gives way to others; follow it')
    .action(action(async () => (await import('./backfill.ts')).backfillSync))
  program
    .command('pause')
    .argument('<run>', RUN)
    .option('--reason <text>', 'what others are shown')
    .description('stop a run where it is; it keeps what is done')
    .action(action(async () => (await import('./control.ts')).pauseRun))
  program
    .command('resume')
    .argument('<run>', RUN)
    .description('let a paused run go on')
    .action(action(async () => (await import('./control.ts')).resumeRun))
  program
    .command('cancel')
    .argument('<run>', RUN)
    .description('end a run: what is done stays, and the books are closed')
    .action(action(async () => (await import('./control.ts')).cancelRun))
  for (const [verdict, description] of [
    ['approve', 'let a run do what waits: deletions of a mirror, or rows above a limit'],
    ['reject', 'leave undone what waits in a run'],
  ] as const)
    program
      .command(verdict)
      .argument('<run>', RUN)
      .option('--stream <name>', 'of a mirror: only the deletions of this one; default: all')
      .option(
        '--plan <plan>',
        'of an import: only if this plan waits, by its number or 12 characters of its digest',
      )
      .description(description)
      .action((run: string, { stream = null, plan = null }: Verdict) =>
        action(async () => (await import('./approve.ts')).sendVerdict)(run, {
          verdict,
          stream,
          plan,
        }),
      )
}
