// The command line of `records-sync service` and of its keys: options, and what each may be.

import { InvalidArgumentError, Option, type Command } from 'commander'
import { FAULT_KINDS, type FaultKind } from '../../service/limits/faults.ts'
import { LIMIT_MODELS } from '../../service/limits/limiter.ts'
import { SYNCHRONOUS } from '../../sqlite/database.ts'
import { actionsOf, perMinute, port, wholeNumber, type Execute } from '../shared/arguments.ts'
import type { MintCommandOptions } from './service-keys.ts'

export function describeService(command: Command, execute: Execute): void {
  const action = actionsOf(execute)
  command
    .description('run the Records Service')
    .option('--port <port>', '0 for a free one', port, 8080)
    .option(
      '--host <address>',
      'address to listen on; anything but loopback needs --tls-cert and --tls-key, or --plain-http',
      '127.0.0.1',
    )
    .option(
      '--plain-http',
      'speak HTTP beyond loopback: for a proxy before it that speaks TLS',
      false,
    )
    .option('--public-url <url>', 'address that clients use, such as that of a proxy before it')
    .option('--data <file>', 'SQLite file that keeps records and keys; default: in memory only')
    .addOption(
      new Option(
        '--synchronous <when>',
        'when a write waits for the disk under --data, as in SQLite. A power cut loses nothing by full, the last writes by normal (the default), and by off perhaps the file too; a kill loses nothing',
      ).choices(SYNCHRONOUS),
    )
    .option('--schema <file>', 'JSON file with custom types, properties, associations and users')
    .option(
      '--seed-records <n>',
      'contacts to begin with, the same each time',
      wholeNumber(0, 5_000_000),
      0,
    )
    .option('--tls-cert <file>', 'speak HTTPS with this certificate (PEM)')
    .option('--tls-key <file>', 'its private key (PEM)')
    .option('--limit <requests>', 'requests a minute that the service allows', perMinute)
    .addOption(
      new Option('--limit-model <model>', 'how it counts them')
        .choices(LIMIT_MODELS)
        .default('fixed'),
    )
    .option('--latency <ms>', 'waited before each answer', wholeNumber(0, 60_000), 0)
    .option('--fault-rate <share>', 'share of requests that go wrong, 0 to 1', share)
    .option('--faults <names>', `what goes wrong: all, or some of ${FAULT_KINDS.join(', ')}`, kinds)
    .option('--fault-seed <n>', 'the same faults for the same seed', wholeNumber(0, 2 ** 32 - 1), 1)
    .option('--deprecated-since <date>', 'announce the end of v1: deprecated from this day on', day)
    .option('--sunset <date>', 'announce the end of v1: gone from this day on', day)
    .option('--log', 'a line per request', false)
    .action(action(async () => (await import('./service.ts')).service))
  describeKeys(
    command.command('keys').description('mint, list and revoke keys of a data file'),
    execute,
  )
}

function describeKeys(command: Command, execute: Execute): void {
  const action = actionsOf(execute)
  const described = (name: string, description: string) =>
    command
      .command(name)
      .description(description)
      .option('--data <file>', 'data file of the service, running or not (required)')
  described('mint', 'mint a key, show it once')
    .option('--org <id>', 'org; default: the only one', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--user <id>', 'its creator; default: the administrator')
    .option('--admin', 'where the creator is new: as an administrator', false)
    .addOption(
      new Option('--reach <reach>', 'whose private records it sees')
        .choices(['user', 'org'])
        .default('user'),
    )
    .option(
      '--grant <type...>',
      'TYPE (reads and writes) or TYPE:read; default: reads and writes every type',
      [],
    )
    .option('--schema <file>', 'schema file of the service: --grant may name its types')
    .action((options: Omit<MintCommandOptions, 'data'>, mint: Command) => {
      const { schema } = mint.optsWithGlobals<{ schema?: string }>()
      const all = { ...options, data: dataOf(mint), ...(schema === undefined ? {} : { schema }) }
      return action(async () => (await import('./service-keys.ts')).mintKey)(all)
    })
  described('list', 'list the keys by their fingerprints').action((_options, list: Command) =>
    action(async () => (await import('./service-keys.ts')).listKeys)({ data: dataOf(list) }),
  )
  described('revoke', 'revoke a key; its next request is refused')
    .argument('<fingerprint>')
    .action((fingerprint: string, _options, revoke: Command) => {
      const data = dataOf(revoke)
      return action(async () => (await import('./service-keys.ts')).revokeKey)(fingerprint, {
        data,
      })
    })
}

/** `--data`, which commander, like `--schema`, gives to `service` although it is written after `keys`. */
function dataOf(command: Command): string {
  const { data } = command.optsWithGlobals<{ data?: string }>()
  return data ?? command.error("error: required option '--data <file>' not specified")
}

function share(text: string): number {
  const value = Number(text)
  if (/^[\d.]+$/.test(text) && value >= 0 && value <= 1) return value
  throw new InvalidArgumentError('expected a share from 0 to 1, such as 0.05')
}

function kinds(text: string): readonly FaultKind[] {
  if (text === 'all') return FAULT_KINDS
  return text.split(',').map((name) => {
    const kind = FAULT_KINDS.find((each) => each === name.trim())
    if (kind) return kind
    const expected = `expected all, or some of ${FAULT_KINDS.join(', ')}`
    throw new InvalidArgumentError(`there is no fault ${JSON.stringify(name)}: ${expected}`)
  })
}

/** A day, or a moment, in UTC. */
function day(text: string): Date {
  const date = new Date(text)
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/.test(text)
  // 30 February would silently become 2 March.
  const exists = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 10))
  if (isIso && exists) return date
  throw new InvalidArgumentError('expected a day such as 2027-03-01, or 2027-03-01T12:00:00Z')
}
