// The command lines that a command prints for a person to type: nothing that was given is lost, and each is in the form that works.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { backfillSync } from '../../../src/cli/commands/backfill.ts'
import { reconcileSync } from '../../../src/cli/commands/reconcile.ts'
import { retryRun } from '../../../src/cli/commands/retry.ts'
import { run } from '../../../src/cli/commands/run.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { allCsvOf, commandLine, shellWord } from '../../../src/cli/shared/command-line.ts'
import type { CommandContext } from '../../../src/cli/shared/context.ts'
import { devAt } from '../../../src/cli/shared/dev-service.ts'
import { leftByParts } from '../../../src/cli/follow/leave.ts'
import { SyncError } from '../../../src/core/errors.ts'
import { hintHere } from '../../../src/cli/shared/hint-here.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { close, openRun, stage } from '../../suites/ledger/scene.ts'
import { said } from './said.ts'

let home: string
let config: string
const configOf = (key: string) => `ledger: ./ledger.db
connections: { crm: { service: "http://127.0.0.1:1", key: { file: ${key} } } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_id
      properties: { svc_id: id }
  copy:
    mirror: { from: crm, to: lake, object_types: all }
`
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'records-sync-line-'))
  config = join(home, 'records-sync.yaml')
  writeFileSync(config, configOf('./key'))
  const ledger = openSqliteLedger(join(home, 'ledger.db'))
  const { id } = await openRun(ledger)
  await close(ledger, id)
  await ledger.close()
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true })
})

const asShell = (line: string): readonly string[] =>
  execFileSync('sh', ['-c', `for word in ${line}; do printf '%s\\0' "$word"; done`], {
    encoding: 'utf8',
  })
    .split('\0')
    .slice(0, -1)

test('a shell takes every word as it was', () => {
  const words = fc.array(
    // What steers a terminal is shown as its number.
    fc.oneof(
      fc.string({ unit: 'grapheme-ascii' }),
      fc.constantFrom('', '~', '=x', "it's", '$a `b`', '*'),
    ),
    { minLength: 20, maxLength: 40 },
  )
  fc.assert(
    fc.property(words, (list) => {
      expect(asShell(list.map(shellWord).join(' '))).toEqual(list)
    }),
    { numRuns: 10 },
  )
})

test.each([
  ['run', 'contacts', '--full', '--priority', 'backfill', '--tuning', '{"in_flight": 4}'],
  ['retry', '1', '--code', 'a', 'b', '--reason', 'in doubt', '--rows', '3,7-12'],
  ['retry', '1', '--file', 'my rejects/a.csv', 'b.csv'],
  ['retry', '1', '--reason=-odd'],
  ['backfill', 'contacts', '--from', '2026-01-01', '--to', '2026-02-01'],
  ['backfill', 'copy', '--object-types', 'svc_contact', 'x_y'],
  ['reconcile', 'contacts', '--repair', '--delete-extra', '--sample', '20', '--where', "a=it's b"],
])('%s %s %s … is said with all that it was given', async (...words) => {
  let options: object = {}
  const program = createProgram({ version: '1', execute: async () => {}, umask: 0, besideDev: [] })
  const command = program.commands.find((each) => each.name() === words[0])!
  command.action((_: string, given: object) => void (options = given))
  await program.parseAsync([...words, '--local'], { from: 'user' })
  expect(asShell(commandLine(words.slice(0, 2), options))).toEqual(words)
})

test('all CSV files of a folder are said as a person types them', () => {
  const folder = join(home, 'my rejects')
  mkdirSync(folder)
  const files = ['a.csv', 'b.csv'].map((name) => join(folder, name))
  for (const file of files) writeFileSync(file, '')
  const line = commandLine(['retry', '1'], { file: files })
  expect(line).toBe(`retry 1 --file '${folder}/'*.csv`)
  expect(asShell(line)).toEqual(['retry', '1', '--file', ...files])
  writeFileSync(join(folder, 'c.csv'), '')
  expect(asShell(commandLine(['retry', '1'], { file: files }))).toEqual([
    'retry',
    '1',
    '--file',
    ...files,
  ])
  expect([allCsvOf('.'), allCsvOf('rejects-1/'), allCsvOf('-x')]).toEqual([
    '*.csv',
    'rejects-1/*.csv',
    './-x/*.csv',
  ])
})

const flags = { detach: false, full: false }
const repair = { repair: true, deleteExtra: false }
const commands: readonly [string, (context: CommandContext) => Promise<number>][] = [
  [
    "retry 1 --reason not_an_email 'in doubt'",
    (context) => retryRun(context, '1', { ...flags, reason: ['not_an_email', 'in doubt'] }),
  ],
  ['run copy --full', (context) => run(context, 'copy', { ...flags, full: true })],
  [
    'backfill copy --object-types svc_contact',
    (context) => backfillSync(context, 'copy', { ...flags, objectTypes: ['svc_contact'] }),
  ],
  [
    'reconcile contacts --repair --sample 20',
    (context) => reconcileSync(context, 'contacts', { ...flags, ...repair, sample: 20 }),
  ],
]

test.each(commands)('without a server, %s is offered with --local', async (line, command) => {
  vi.stubEnv('TEMPORAL_ADDRESS', '127.0.0.1:1')
  const { code, err } = await said(config, command)
  expect(code).toBe(3)
  expect(err.join(' ')).toContain(` ${line} --local"`)
})

test('what the service of dev is missing for is said with all that it was given', async () => {
  writeFileSync(config, configOf('.records-sync/dev.key'))
  const { err } = await said(config, (context) =>
    retryRun(context, '1', { ...flags, reason: ['in doubt'], local: true }),
  )
  expect(err.join(' ')).toContain(" dev -- retry 1 --reason 'in doubt'")
})

test('a service that is not there is said in sentences, and nothing was started', async () => {
  writeFileSync(join(home, 'key'), `rsk_${'a'.repeat(40)}`, { mode: 0o600 })
  const { code, err } = await said(config, (context) =>
    run(context, 'contacts', { ...flags, local: true }),
  )
  expect(code).toBe(3)
  expect(err.join(' ')).toContain('or correct the address. Nothing was started')
})

test('a part that ends unasked leaves the run, and the command that goes on with it is said', () => {
  const error = new SyncError('temporal_server_failed', 'The Temporal server was killed')
  expect(leftByParts(error, 'records-sync run contacts --local')).toMatchObject({
    code: 'temporal_server_failed',
    message:
      'The Temporal server was killed. What is done is kept. Go on with it: records-sync run contacts --local',
  })
})

test('a hint that starts a run has the form that works here, and no other one changes', async () => {
  vi.stubEnv('TEMPORAL_ADDRESS', '')
  vi.stubEnv('TEMPORAL_CONFIG_FILE', undefined)
  const hints = async () => {
    let lines: readonly string[] = []
    await said(config, async (context) => {
      const hint = await hintHere(context, 'contacts')
      lines = ['retry 1', 'reconcile contacts --repair', 'rejects 1', 'show 1']
        .map(hint)
        .map((line) => line.slice(line.indexOf('.yaml ') + '.yaml '.length))
      return 0
    })
    return lines
  }
  expect(await hints()).toEqual([
    'retry 1 --local',
    'reconcile contacts --repair --local',
    'rejects 1',
    'show 1',
  ])
  vi.stubEnv('TEMPORAL_ADDRESS', '127.0.0.1:1')
  expect((await hints())[0]).toBe('retry 1')
  writeFileSync(config, configOf('.records-sync/dev.key'))
  expect((await hints())[0]).toBe('dev -- retry 1')
  const ledger = openSqliteLedger(join(home, 'ledger.db'))
  const { id } = await openRun(ledger)
  await stage(ledger, id, [], { destination: { origin: 'http://127.0.0.1:4100' } })
  await ledger.close()
  // Nothing that was accepted at the one port counts at another.
  expect((await hints())[0]).toBe('dev --service-port 4100 -- retry 1')
  writeFileSync(config, 'syncs: [')
  expect((await hints())[0]).toBe('retry 1')
})

test.each([
  ['dev', 'http://127.0.0.1:4100', 'dev --service-port 4100'],
  [
    'dev --service-port 4101 --limit 60',
    'http://127.0.0.1:4100',
    'dev --limit 60 --service-port 4100',
  ],
  ['dev --limit 60', null, 'dev --limit 60'],
  ['dev', 'https://api.example.com', 'dev'],
  ['dev', 'https://api.example.com:8443', 'dev'],
])('%s for a run that writes to %s is %s', (dev, origin, expected) => {
  expect(devAt(dev, origin)).toBe(expected)
})
