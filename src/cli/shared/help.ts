// What `--help` shows, in 80 columns: the commands by group, and with each command a real example.

import { Help, type Command, type Option } from 'commander'
import { suggestNearest } from '../../core/suggest.ts'
import { safeText } from './terminal.ts'

/** A command line for each command that has no commands of its own. A test runs each against the program. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  init: 'init contacts.csv --service https://crm.example --key env:KEY',
  describe: 'describe crm svc_contact',
  check: 'check --operations',
  test: 'test contacts --junit mapping-tests.xml',
  completion: 'completion bash',
  doctor: 'doctor --json',
  plan: 'plan contacts --diff --html changes.html',
  run: 'run contacts --local',
  backfill: 'backfill contacts --from 2026-01-01 --to 2026-02-01',
  pause: 'pause contacts --reason "until the CRM team is done"',
  resume: 'resume contacts',
  cancel: 'cancel 12',
  approve: 'approve 12',
  reject: 'reject 12 --stream svc_contact',
  status: 'status --json',
  watch: 'watch contacts --keep',
  console: 'console --port 8089',
  show: 'show contacts',
  report: 'report 12 --output monday.html --open',
  audit: 'audit --json',
  quota: 'quota crm',
  sql: 'sql lake "SELECT * FROM people" --limit 20',
  rejects: 'rejects 12 --directory to-correct',
  retry: 'retry 12 --file to-correct/email.csv',
  undo: 'undo 12 --dry-run',
  reconcile: 'reconcile contacts --repair',
  'take-over': 'take-over crm_copy --from a1b2c3d4',
  worker: 'worker --config /etc/records-sync/records-sync.yaml',
  'schedules plan': 'schedules plan',
  'schedules apply': 'schedules apply',
  'schedules prune': 'schedules prune',
  'schedules list': 'schedules list --json',
  'schedules pause': 'schedules pause contacts --reason "the CRM is being migrated"',
  'schedules resume': 'schedules resume contacts',
  'schedules trigger': 'schedules trigger contacts',
  'ledger backup': 'ledger backup /backup/ledger.db',
  'ledger move': 'ledger move --from .records-sync/ledger.db',
  'ledger upgrade': 'ledger upgrade',
  'ledger export': 'ledger export books --run 12',
  links: 'links',
  notify: 'notify ops',
  'codec-server': 'codec-server --port 8888',
  dev: 'dev -- run contacts',
  service: 'service --data service.db --limit 600 --limit-model sliding',
  'service keys mint': 'service keys mint --data service.db --grant svc_contact:read',
  'service keys list': 'service keys list --data service.db',
  'service keys revoke': 'service keys revoke key#1a2b3c4d5e6f --data service.db',
  conform: 'conform --service https://crm.example --key file:crm.key',
  demo: 'demo --keep',
}

/** What the list of all commands says, in one line each; the command's own help says the rest. */
const SUMMARIES: Readonly<Record<string, string>> = {
  init: 'write a configuration from a file and a service',
  describe: 'what a service has: types, properties',
  check: 'check configuration, files and services',
  test: 'run the tests of mappings; asks no service',
  completion: 'print the script for bash, zsh or fish',
  doctor: 'whether all is well, and what to do if not',
  plan: 'what a run would do; writes nothing',
  run: 'start a run and follow it',
  backfill: 'start a limited run that gives way to others',
  cancel: 'end a run; what is done stays',
  approve: 'let a run do what waits for a person',
  status: 'every sync with its latest run',
  watch: 'the live runs, with keys to pause and cancel',
  console: 'pages that show every sync, in a browser',
  show: 'one run: state, books, rejects, tables',
  report: 'one run as a page to look at or to mail',
  audit: 'check the sealed accounts of every run',
  quota: 'the quota of each org, and who uses it',
  sql: 'what a query gives; reads only',
  rejects: 'the rejected rows as CSV, to correct',
  retry: 'send again what a run left over',
  undo: 'take back what a run wrote',
  reconcile: 'compare both sides; make them equal',
  'take-over': "make the tables of a mirror this project's",
  worker: 'run workflows and activities until stopped',
  schedules: 'plan, apply, list and pause the schedules',
  ledger: 'move, upgrade, back up or export the ledger',
  links: "addresses of Temporal's start form, filled in",
  'codec-server': 'decrypt payloads for the Temporal UI',
  dev: 'Temporal server, worker and service in one',
  service: 'run the Records Service',
  conform: 'which rules of the specification are kept',
  demo: 'the main job on real files',
}

/** `service keys mint` */
export const commandName = (command: Command): string =>
  command.parent?.parent ? `${commandName(command.parent)} ${command.name()}` : command.name()

export const isHidden = (command: Command): boolean => command.name().startsWith('__')

/** The defaults of switches that are off, and of empty lists, say nothing. */
function optionDescription(option: Option): string {
  const { defaultValue: value, description } = option
  const isSilent = value === false || (Array.isArray(value) && value.length === 0)
  return isSilent ? description : Help.prototype.optionDescription.call(new Help(), option)
}

const term = (command: Command): string =>
  [command.name(), ...command.registeredArguments.map(argumentTerm)].join(' ')

const argumentTerm = (argument: Command['registeredArguments'][number]): string => {
  const name = argument.variadic ? `${argument.name()}...` : argument.name()
  return argument.required ? `<${name}>` : `[${name}]`
}

/** Whoever asks for the help of a command that is not there hears so. */
function refuseUnknown(command: Command): void {
  const [first, second] = command.args
  const word = first === 'help' ? second : first
  const names = command.commands.filter((each) => !isHidden(each)).map((each) => each.name())
  if (word === undefined || word.startsWith('-') || names.includes(word)) return
  command.error(`error: unknown command '${safeText(word)}'${suggestNearest(word, names)}`, {
    code: 'commander.unknownCommand',
  })
}

/** Gives every command its example, and all of them the same form. */
export function arrangeHelp(command: Command): void {
  const summary = command.parent?.parent === null ? SUMMARIES[command.name()] : undefined
  if (summary !== undefined) command.summary(summary)
  command.configureHelp({
    optionDescription,
    subcommandTerm: term,
    showGlobalOptions: true,
    visibleCommands: (of) =>
      new Help().visibleCommands(of).filter((each) => each.name() !== 'help' && !isHidden(each)),
    visibleGlobalOptions: (of) => {
      let top = of
      while (top.parent) top = top.parent
      return top === of ? [] : top.options.filter(({ long }) => long !== '--version')
    },
  })
  if (command.commands.length > 0)
    command.addHelpText('before', () => {
      refuseUnknown(command)
      return ''
    })
  if (command.parent !== null)
    command.showHelpAfterError(`(records-sync ${commandName(command)} --help shows what it takes)`)
  const example = EXAMPLES[commandName(command)]
  if (example !== undefined) command.addHelpText('after', `\nExample:\n  $ records-sync ${example}`)
  if (command.parent === null)
    command.addHelpText(
      'after',
      '\nrecords-sync COMMAND --help shows what a command takes, with an example.',
    )
  for (const each of command.commands) arrangeHelp(each)
}
