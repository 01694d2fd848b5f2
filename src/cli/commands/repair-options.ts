// The command lines that send again, that compare both sides, and that take the tables of a mirror over.

import type { Command } from 'commander'
import { actionsOf, withRunOptions, wholeNumber, type Execute } from '../shared/arguments.ts'

export function describeRepair(program: Command, execute: Execute): void {
  const action = actionsOf(execute)
  withRunOptions(
    program
      .command('retry')
      .argument('<run>')
      .option('--code <codes...>', 'only rows with one of these codes')
      .option(
        '--reason <reasons...>',
        'only rows with one of these reasons or states, such as unsent; in_doubt is one',
      )
      .option('--rows <list>', 'only these rows, such as 3,7-12')
      .option('--file <files...>', 'rows as you corrected them in the files that rejects wrote'),
  )
    .description(
      'send again what a run left over: invalid, rejected, failed, in doubt, unsent; follow it',
    )
    .action(action(async () => (await import('./retry.ts')).retryRun))
  withRunOptions(
    program
      .command('undo')
      .argument('<run>')
      .option('--rows <list>', 'only these rows of the run, such as 3,7-12')
      .option('--where <property=value>', 'only rows that sent this value for this property')
      .option(
        '--property <names...>',
        'only these properties get their values back; nothing is deleted',
      )
      .option('--dry-run', 'show what would be done, and send nothing', false)
      .option('--out <file>', 'all records that would be changed: .ndjson or .csv')
      .option('-y, --yes', 'do not ask; for scripts', false)
      .option(
        '--pause-schedule',
        'pause the schedule of the sync, whose runs may send the rows again',
        false,
      ),
  )
    .description('take back what a run wrote, where it is still so; shows the plan, and asks')
    .action(action(async () => (await import('./undo.ts')).undoRun))
  withRunOptions(
    program
      .command('reconcile')
      .argument('<sync>')
      .option('--repair', 'make both sides equal: write, or pull, just what differs', false)
      .option('--delete-extra', 'of an import, with --repair: delete what the source lacks', false)
      .option(
        '--sample <rows>',
        'compare so many rows or records, chosen evenly',
        wholeNumber(1, 1_000_000),
      )
      .option('--where <column=value>', 'of an import: only rows with this value in this column')
      .option('--object-types <names...>', 'of a mirror: only these')
      .option('--full', 'of a mirror: read every record instead of counting', false),
  )
    .description('compare both sides of a sync, by key and field; follow it')
    .action(action(async () => (await import('./reconcile.ts')).reconcileSync))
  program
    .command('take-over')
    .argument('<sync>', 'a mirror')
    .requiredOption('--from <project>', 'the project that keeps them now, as the refusal names it')
    .description('make the tables of a mirror this project’s: the ledger that kept them is lost')
    .action(action(async () => (await import('./take-over.ts')).takeOverCommand))
}
