// Shell completion: what may stand at the end of a command line, where names come from, and a real bash that asks.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { completionNames } from '../../../src/cli/completion/names.ts'
import { completionOf, type NameKind } from '../../../src/cli/completion/words.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openRun } from '../../suites/ledger/scene.ts'
import { main } from '../../e2e/main.ts'

const program = createProgram({
  version: '1.2.3',
  execute: async () => {},
  umask: 0,
  besideDev: [],
})

/** The words that are offered, and where names were asked for, their kind and their configuration. */
async function offered(...words: string[]): Promise<string[]> {
  const names = async (kind: NameKind, file: string) => [{ word: `${kind} of ${file}`, about: '' }]
  const { candidates, paths } = await completionOf(program, words, names)
  return [...candidates.map(({ word }) => word), ...(paths ? [`:${paths}`] : [])]
}

const FILE = 'records-sync.yaml'

test('commands, and commands of commands', async () => {
  expect(await offered('re')).toEqual([
    'resume',
    'reject',
    'report',
    'rejects',
    'retry',
    'reconcile',
  ])
  expect(await offered('')).not.toContain('__complete')
  expect(await offered('service', 'keys', '')).toEqual(['mint', 'list', 'revoke'])
  expect(await offered('nothing', '')).toEqual([])
})

test('options, those of all commands too, and none twice', async () => {
  expect(await offered('run', '--lo')).toEqual(['--local'])
  expect(await offered('run', 'contacts', '--local', '--')).not.toContain('--local')
  expect(await offered('run', '--js')).toEqual(['--json'])
  expect(await offered('retry', '1', '--file', 'a.csv', '--f')).toEqual(['--file'])
})

test('values of options: choices, paths, and what is no option of the command', async () => {
  const kinds = ['import', 'mirror', 'backfill']
  expect(await offered('run', 'contacts', '--priority', '')).toEqual(kinds)
  expect(await offered('run', '--priority=b')).toEqual(['--priority=backfill'])
  expect(await offered('run', '--priority', '=', 'b')).toEqual(['backfill'])
  expect(await offered('completion', 'z')).toEqual(['zsh'])
  expect(await offered('rejects', '1', '-o', '')).toEqual([':files'])
  expect(await offered('rejects', '1', '--directory', '')).toEqual([':folders'])
  expect(await offered('retry', '1', '--file', 'a.csv', '')).toEqual([':files'])
  expect(await offered('check', '--priority', '')).toEqual([])
})

test('names, of the configuration that the line gives', async () => {
  expect(await offered('run', '')).toEqual([`sync or group of ${FILE}`])
  expect(await offered('plan', '')).toEqual([`sync of ${FILE}`])
  expect(await offered('--config', 'other.yaml', 'run', '')).toEqual([
    'sync or group of other.yaml',
  ])
  expect(await offered('run', '-c', 'other.yaml', '')).toEqual(['sync or group of other.yaml'])
  expect(await offered('show', '')).toEqual([`run of ${FILE}`])
  expect(await offered('pause', '')).toEqual([`live run of ${FILE}`])
  expect(await offered('ledger', 'export', 'books', '--run', '')).toEqual([`run of ${FILE}`])
  expect(await offered('sql', '')).toEqual([`warehouse of ${FILE}`])
  expect(await offered('notify', '')).toEqual([`notification of ${FILE}`])
  expect(await offered('run', 'contacts', '')).toEqual([`sync or group of ${FILE}`])
  expect(await offered('plan', 'contacts', '')).toEqual([])
  expect(await offered('schedules', 'pause', '')).toEqual([`sync or group of ${FILE}`])
})

test('the command line behind dev --', async () => {
  expect(await offered('dev', '--', 'rec')).toEqual(['reconcile'])
  expect(await offered('dev', '--limit', '600', '--', 'run', '')).toEqual([
    `sync or group of ${FILE}`,
  ])
})

let dir: string
let config: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-completion-'))
  config = join(dir, 'records-sync.yaml')
})
afterEach(() => rmSync(dir, { recursive: true }))

const words = async (kind: NameKind) =>
  (await completionNames(kind, config)).map(({ word }) => word)

const CONFIG = `
connections:
  crm: { service: http://127.0.0.1:1, key: "\${NOT_SET}" }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs:
  contacts: { import: { to: nowhere } }
  crm_copy: { mirror: {} }
  "$(reboot)": { import: {} }
`

async function addRun(sync: string, state: 'failed' | null): Promise<void> {
  mkdirSync(join(dir, '.records-sync'), { recursive: true })
  const ledger = openSqliteLedger(join(dir, '.records-sync/ledger.db'))
  const { id } = await openRun(ledger, 'run', sync)
  if (state) await ledger.setRunState(id, state)
  await ledger.close()
}

test('names are read from a file that has mistakes; one that a shell would run is left out', async () => {
  writeFileSync(config, CONFIG)
  expect(await words('sync')).toEqual(['contacts', 'crm_copy'])
  expect(await words('connection')).toEqual(['crm'])
  expect(await words('warehouse')).toEqual(['lake'])
  expect(await words('notification')).toEqual([])
})

test('numbers of runs are those of the ledger; only live ones where a run is steered', async () => {
  writeFileSync(config, CONFIG)
  expect(await words('run')).toEqual([])
  await addRun('contacts', 'failed')
  await addRun('crm_copy', null)
  expect(await words('run')).toEqual(['2', '1', 'contacts', 'crm_copy'])
  expect(await words('live run')).toEqual(['2', 'crm_copy'])
})

test.each([
  ['no file', null],
  ['no YAML', '\t:{'],
  ['a ledger that is a server', 'ledger: { postgres: "${LEDGER_URL}" }\nsyncs: {}'],
  ['a ledger that is no file', 'ledger: .\nsyncs: []'],
])('nothing is offered, and nothing is said, with %s', async (_, text) => {
  if (text !== null) writeFileSync(config, text)
  for (const kind of ['sync', 'connection', 'run', 'live run'] as const)
    expect(await words(kind)).toEqual([])
})

test('bash completes commands, names, choices and files', async () => {
  writeFileSync(config, CONFIG)
  await addRun('contacts', 'failed')
  const program = join(dir, 'records-sync')
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`)
  chmodSync(program, 0o755)
  const lines = [
    ['sche'],
    ['show', ''],
    ['run', 'contacts', '--priority', '=', 'b'],
    ['rejects', '1', '--output', 'records-sync.y'],
  ]
  const asked = lines.map(
    (line) =>
      `COMP_WORDS=(records-sync ${line.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${line.length}; _records_sync; echo "\${COMPREPLY[*]}"`,
  )
  const script = ['eval "$(records-sync completion bash)"', ...asked].join('\n')
  const answers = execFileSync('bash', ['--norc', '-c', script], {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dir}:${process.env['PATH']}` },
  })
  expect(answers.trim().split('\n')).toEqual([
    'schedules',
    '1 contacts',
    'backfill',
    'records-sync.yaml',
  ])
})
