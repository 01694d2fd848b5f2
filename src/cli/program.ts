// The command line: every command by group, with its arguments and options. Each command loads its own parts when it is called,
// so that `--help` and completion cost nothing.

import { Argument, Command, Option } from 'commander'
import {
  actionsOf,
  withRunOptions,
  perMinute,
  port,
  wholeNumber,
  type Execute,
} from './shared/arguments.ts'
import type { DevOptions } from './commands/dev.ts'
import { describeConform } from './commands/conform-options.ts'
import { describeInit } from './commands/init-options.ts'
import { describeRepair } from './commands/repair-options.ts'
import { describeSchedules } from './commands/schedules-options.ts'
import { describeService } from './commands/service-options.ts'
import { describeControl } from './commands/control-options.ts'
import { SHELLS } from './completion/scripts.ts'
import { arrangeHelp } from './shared/help.ts'
import { boundHeap } from '../worker/heap.ts'
import { requireMachine } from '../worker/machine.ts'

/** What `show`, `rejects` and `report` take. */
const RUN = "number of a run, or a sync's name for its latest; default: the latest of all"

/** More than any source has. */
const MANY = 1_000_000_000

interface Caller {
  readonly version: string
  readonly execute: Execute
  /** The umask that the process was started with. */
  readonly umask: number
  /** What follows `dev --`. */
  readonly besideDev: readonly string[]
}

interface Parts extends Caller {
  readonly program: Command
  readonly action: ReturnType<typeof actionsOf>
}

/** Of a command that runs a worker in this process. */
const bounded =
  <Loaded>(load: () => Promise<Loaded>) =>
  (): Promise<Loaded> => {
    requireMachine()
    boundHeap()
    return load()
  }

export function createProgram(caller: Caller): Command {
  const program = new Command('records-sync')
    .description('Keeps a CRM and your own data in step, and can prove it.')
    .version(caller.version)
    .option('-c, --config <file>', 'configuration file', 'records-sync.yaml')
    .option('--json', 'results as JSON on standard output', false)
    .exitOverride()
    .showHelpAfterError('(records-sync --help lists the commands)')
  const parts = { ...caller, program, action: actionsOf(caller.execute) }
  for (const describe of [
    describeSetUp,
    describeRun,
    describeLook,
    describeMend,
    describeOperate,
    describeDevelop,
  ])
    describe(parts)
  arrangeHelp(program)
  return program
}

function describeSetUp({ program, execute, action, umask }: Parts): void {
  program.commandsGroup('Set up:')
  describeInit(program.command('init'), execute, umask)
  program
    .command('describe')
    .argument('[connection]', 'default: all; of one connection alone, a type may stand here')
    .argument('[type]', 'an object type, to see its properties')
    .option('--service <url>', 'URL of a service, instead of a connection; needs no configuration')
    .option('--key <place>', 'where its API key is: file:PATH, env:NAME or command:COMMAND')
    .description('what a service has: its object types, or the properties of one')
    .action(action(async () => (await import('./commands/describe.ts')).describe))
  program
    .command('check')
    .option(
      '--operations',
      'list how every operation is requested, not only the unusual ones',
      false,
    )
    .option(
      '--fix-permissions',
      'take the rights of other users away from the ledger, mirrors and other files that hold rows',
      false,
    )
    .option(
      '--save-schema [file]',
      'write what the services said of the object types, for `test`; default: next to the configuration',
    )
    .option(
      '--rows <n>',
      'show the first rows of each source, cell by cell with the values that would be sent; on a terminal, or with --json',
      wholeNumber(1, 1_000),
    )
    .description('check the configuration against its files and services; writes nothing there')
    .action(action(async () => (await import('./commands/check.ts')).check))
  program
    .command('test')
    .argument('[syncs...]', 'default: all that have tests')
    .option('--name <text>', 'only the tests with this text in their name')
    .option(
      '--schema <file>',
      'what `check --save-schema` wrote; default: next to the configuration',
    )
    .option('--junit <file>', 'write the results as JUnit XML too')
    .description('run the tests of mappings: rows with what becomes of them; asks no service')
    .action(action(async () => (await import('./commands/test.ts')).testMappings))
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell that you type in').choices(SHELLS))
    .description('print the script that completes commands, options and names in a shell')
    .action(action(async () => (await import('./commands/completion.ts')).completion))
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action((words: string[]) =>
      execute(async (context) =>
        (await import('./commands/completion.ts')).complete(context, program, words),
      ),
    )
  program
    .command('doctor')
    .description(
      'whether machine, Temporal, keys, clocks, quotas and disks are well, and what to do; needs no configuration, changes nothing',
    )
    .action(() =>
      execute(async (context) => await (await import('./commands/doctor.ts')).doctor(context)),
    )
}

function describeRun({ program, execute, action }: Parts): void {
  program.commandsGroup('Run:')
  program
    .command('plan')
    .argument('<sync>')
    .option(
      '--rejects <folder>',
      'of an import: write the rows that it would reject, a file for each kind',
    )
    .option(
      '--diff',
      'of an import: look every row up, 100 a request, say what changes, and keep the plan',
      false,
    )
    .option(
      '--sample <n>',
      'with --diff: look up so many rows, spread evenly',
      wholeNumber(1, MANY),
    )
    .option(
      '--limit-requests <n>',
      'with --diff: look no further row up after so many requests',
      wholeNumber(1, MANY),
    )
    .option('--out <file>', 'write all rows of the diff: a name in .ndjson or .csv')
    .option('--html <file>', 'write the diff as a page, to be sent to whoever decides')
    .option('--number <n>', 'show a plan that was made with --diff again', wholeNumber(1, MANY))
    .option('--run <n>', 'show the plan that a run waits for approval with', wholeNumber(1, MANY))
    .description(
      'what a run would do: rows or records, rejects, requests, minutes, changes; writes nothing to the service',
    )
    .action(action(async () => (await import('./commands/plan.ts')).plan))
  withRunOptions(
    program
      .command('run')
      .argument(
        '[syncs...]',
        'a sync; several, or a group: each begins when those it is after have ended',
      )
      .option('--all', 'every sync of the configuration, in their order', false)
      .option('--attach', 'follow the run that is at work, if there is one; start none then')
      .option('--full', 'of a mirror: read everything again, not only what changed', false)
      .option('--links', 'of an import: only try the links again that are waiting or left', false)
      .option(
        '--plan <n>',
        'of an import: apply this plan (plan SYNC --diff): send what it has, or nothing',
        wholeNumber(1, 1_000_000_000),
      )
      .option(
        '--new-ledger',
        'start from nothing in an empty ledger, although another one has runs of the sync',
      )
      .addOption(
        new Option(
          '--priority <priority>',
          'a backfill gives way to other runs where they share a quota; default: the kind of the sync',
        ).choices(['import', 'mirror', 'backfill']),
      ),
  )
    .description(
      'start a run of a sync, or of several in their order, and follow it; Ctrl-C detaches',
    )
    .action(action(async () => (await import('./commands/run-named.ts')).runNamed))
  describeControl(program, execute)
}

function describeLook({ program, execute, action }: Parts): void {
  program.commandsGroup('Look:')
  program
    .command('status')
    .description(
      'every sync with its latest run, and the latest reconciliation where that is newer',
    )
    .action(action(async () => (await import('./commands/status.ts')).status))
  program
    .command('watch')
    .argument('[sync]', 'only its runs; default: those of all syncs')
    .option('--keep', 'go on when no run is live, and show the next ones', false)
    .description(
      'the live runs, with keys to pause, resume and cancel them; ends with the last one',
    )
    .action((sync: string | undefined, options: { keep: boolean }) =>
      execute(async (context) =>
        (await import('./commands/watch.ts')).watch(context, sync, options),
      ),
    )
  program
    .command('console')
    .option('--host <host>', 'address to listen on; default: console.address, 127.0.0.1')
    .option('--port <port>', 'port; 0 takes a free one; default: console.address, 8088', port)
    .option('--hash-password', 'print the hash of a password for console.users', false)
    .description('pages that show every sync, its runs and what waits for a person; until Ctrl-C')
    .action(action(async () => (await import('./commands/console.ts')).consoleCommand))
  program
    .command('show')
    .argument('[run]', RUN)
    .description('one run: its state, its books and rejects by kind, or its tables')
    .action(action(async () => (await import('./commands/show.ts')).show))
  program
    .command('report')
    .argument('[run]', RUN)
    .option('-o, --output <file>', 'where the page goes; default: records-sync-report-RUN.html')
    .option('--open', 'open it in the browser', false)
    .description('one run as a page of its own: books, differences, errors, requests over time')
    .action(action(async () => (await import('./commands/report.ts')).reportCommand))
  program
    .command('audit')
    .description('check the manifests and the books of every run that the ledger keeps')
    .action(action(async () => (await import('./commands/audit.ts')).auditCommand))
  program
    .command('quota')
    .argument('[connection]', 'only the orgs of its service; default: all')
    .option('--open', 'ask the service of the connection at once, whatever wait it has asked for')
    .description("the state of each org's quota: limit, use, who uses it, what to expect")
    .action(action(async () => (await import('./commands/quota.ts')).quota))
  program
    .command('sql')
    .argument('<warehouse>')
    .argument('<query>', 'one SELECT')
    .option('--limit <rows>', 'rows that are shown', wholeNumber(1, 100_000), 1_000)
    .description('what a query gives, with values as an import would see them; reads only')
    .action(action(async () => (await import('./commands/sql.ts')).sql))
}

function describeMend({ program, execute, action }: Parts): void {
  program.commandsGroup('Mend:')
  program
    .command('rejects')
    .argument('[run]', RUN)
    .option('-d, --directory <folder>', 'where the files go; default: rejects-RUN')
    .option('-o, --output <file>', 'all of them in one file; - is standard output')
    .option('--exact', 'leave cells that a spreadsheet would run as formulas as they are', false)
    .description('the rejected rows as CSV, a file for each kind of error, to correct and retry')
    .action(action(async () => (await import('./commands/rejects.ts')).rejects))
  describeRepair(program, execute)
}

function describeOperate({ program, execute, action }: Parts): void {
  program.commandsGroup('Operate:')
  program
    .command('worker')
    .option('--build-id <id>', 'runs stay with the build that begins them (docs/upgrades.md)')
    .description('run workflows and activities until stopped')
    .action(action(bounded(async () => (await import('./commands/worker.ts')).workerCommand)))
  describeSchedules(program.command('schedules'), execute)
  const ledgerCommand = program.command('ledger').description('the ledger itself')
  ledgerCommand
    .command('backup')
    .argument('<file>')
    .description('a whole copy of a SQLite ledger, also while workers write it')
    .action(action(async () => (await import('./commands/ledger-backup.ts')).ledgerBackup))
  ledgerCommand
    .command('move')
    .option(
      '--from <place>',
      "where the ledger was: a file, or the variable with the URL of a PostgreSQL ('${NAME}')",
    )
    .option('--from-schema <schema>', 'its schema there', 'records_sync')
    .option('--cancel', 'take a move back that has not ended: the old ledger is used again', false)
    .description('move a whole ledger to the place that the configuration names now')
    .action(action(async () => (await import('./commands/ledger-move.ts')).ledgerMove))
  ledgerCommand
    .command('upgrade')
    .option('--no-backup', 'without a copy of the SQLite file beside it')
    .description('bring a ledger of an older release to this one')
    .action(action(async () => (await import('./commands/ledger-upgrade.ts')).ledgerUpgrade))
  ledgerCommand
    .command('export')
    .argument('<folder>')
    .option('--run <run>', 'only what is of this run')
    .description('the ledger as Parquet files: runs, results, differences, requests and more')
    .action(action(async () => (await import('./commands/ledger-export.ts')).ledgerExport))
  program
    .command('links')
    .description("addresses that open Temporal's start form, filled in for a backfill of each sync")
    .action(action(async () => (await import('./commands/links.ts')).backfillLinks))
  program
    .command('notify')
    .argument('<name>', 'a notification of the configuration')
    .description('post a test message to a notification')
    .action(action(async () => (await import('./commands/notify.ts')).notify))
  program
    .command('codec-server')
    .option('--port <port>', 'port on this machine', port, 8888)
    .description('decrypt payloads for the Temporal UI, where temporal.encryption_keys is set')
    .action(action(async () => (await import('./commands/codec-server.ts')).codecServer))
}

function describeDevelop({ program, execute, action, besideDev }: Parts): void {
  program.commandsGroup('Develop:')
  program
    .command('dev')
    .argument('[command...]', 'a command to run beside them, after --, such as -- run contacts')
    .option('--no-service', 'start no Records Service')
    .option(
      '--service-port <port>',
      'port of the Records Service; default: the one that the folder had first: 8080, or the next that is free',
      port,
    )
    .option('--limit <requests>', 'requests a minute that the service allows', perMinute)
    .option(
      '--temporal-port <port>',
      'port of the Temporal server; its UI has the one 1,000 above; default: 7233, or the next that is free',
      port,
    )
    .description(
      'Temporal server, worker and Records Service in one, for your own machine; until Ctrl-C, or the end of a command',
    )
    .action((command: string[], options: Omit<DevOptions, 'command'>) =>
      execute(async (context) =>
        (await bounded(() => import('./commands/dev.ts'))()).dev(context, {
          ...options,
          command: [...command, ...besideDev],
        }),
      ),
    )
  describeService(program.command('service'), execute)
  describeConform(program.command('conform'), execute)
  program
    .command('demo')
    .option('--tour', 'every main command, with its whole output', false)
    .option('--keep', 'leave everything running until Ctrl-C', false)
    .description('the main job on real files, with embedded parts')
    .action(action(bounded(async () => (await import('./commands/demo.ts')).demo)))
}
