// What holds rows is its owner's alone, whatever the umask of who calls; what an older release left open is told and mended.

import { execFile } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../../config/index.ts'
import { openPrivateFile } from '../../../src/cli/shared/private-file.ts'
import { restrictFiles, findExposedFiles } from '../../../src/cli/shared/private-files.ts'
import { stripControls } from '../../../src/cli/shared/terminal.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { acquireFileLock } from '../../../src/sqlite/file-lock.ts'
import { openMirrorTables } from '../../../src/warehouses/index.ts'
import { HANG_MS } from '../../hang.ts'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'records-sync-private-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8)

/** Runs `work` as a caller whose umask takes nothing away. */
async function openHanded<Result>(work: () => Result): Promise<Awaited<Result>> {
  const before = process.umask(0)
  try {
    return await work()
  } finally {
    process.umask(before)
  }
}

test('the ledger, with what is beside it, a lock and a mirror are private where the umask is 000', async () => {
  const home = folder()
  const path = join(home, 'new', 'ledger.db')
  await openHanded(async () => {
    const ledger = openSqliteLedger(path)
    for (const name of ['ledger.db', 'ledger.db-wal', 'ledger.db-shm'])
      expect([name, mode(join(home, 'new', name))]).toEqual([name, '600'])
    expect(mode(join(home, 'new'))).toBe('700')
    await ledger.close()

    acquireFileLock(join(home, 'some.lock'))!()
    expect(mode(join(home, 'some.lock'))).toBe('600')

    const duckdb = join(home, 'lake.duckdb')
    const tables = await openMirrorTables('lake', { duckdb, folder: home }, 'crm', {})
    await tables.own('https://crm.example.com org 7', '3f9ac2b1')
    await tables.close()
    expect(mode(duckdb)).toBe('600')
  })
})

test(
  'commands make private files and folders; the configuration is for whom the umask says',
  async () => {
    const home = folder()
    const cli = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
    const tsx = fileURLToPath(new URL('../../../node_modules/tsx/dist/loader.mjs', import.meta.url))
    const run = (...args: string[]) =>
      promisify(execFile)(
        'sh',
        ['-c', 'umask 000; exec "$0" --import "$@"', process.execPath, tsx, cli, ...args],
        { cwd: home },
      )
    await run('init')
    expect(mode(join(home, 'records-sync.yaml'))).toBe('666')
    await run('service', 'keys', 'mint', '--data', 'new/service.db')
    expect([mode(join(home, 'new')), mode(join(home, 'new', 'service.db'))]).toEqual(['700', '600'])
  },
  HANG_MS,
)

test('what others may read is found and closed, and nothing else is touched', async () => {
  const home = folder()
  const ours = join(home, '.records-sync')
  mkdirSync(join(ours, 'deep'), { recursive: true })
  const config = join(home, 'records-sync.yaml')
  writeFileSync(
    config,
    `ledger: ./.records-sync/ledger.db
connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./key } } }
warehouses: { lake: { duckdb: ./lake.duckdb }, read: { duckdb: ./read.duckdb } }
syncs: { crm: { mirror: { from: crm, to: lake } } }
`,
  )
  const open = ['.records-sync/ledger.db', '.records-sync/deep/x', 'lake.duckdb', 'lake.duckdb.wal']
  const others = ['read.duckdb', 'contacts.csv', 'records-sync.yaml']
  for (const name of [...open, ...others]) {
    if (name !== 'records-sync.yaml') writeFileSync(join(home, name), '')
    chmodSync(join(home, name), 0o644)
  }
  writeFileSync(join(ours, 'quota.db'), '', { mode: 0o600 })
  chmodSync(ours, 0o755)
  chmodSync(join(ours, 'deep'), 0o700)
  symlinkSync(join(home, 'contacts.csv'), join(ours, 'link'))
  chmodSync(home, 0o755)

  const found = findExposedFiles(await loadConfig(config, {}))
  expect(found.map((file) => [file.path, file.mode]).toSorted()).toEqual(
    [[ours, '755'], ...open.map((name) => [join(home, name), '644'])].toSorted(),
  )
  expect(restrictFiles(found)).toEqual([])
  expect(findExposedFiles(await loadConfig(config, {}))).toEqual([])
  expect([mode(ours), mode(join(home, 'lake.duckdb')), mode(home)]).toEqual(['700', '600', '755'])
  for (const name of others) expect([name, mode(join(home, name))]).toEqual([name, '644'])
})

test('a link in the place of an output leads nowhere', async () => {
  const home = folder()
  const target = join(home, 'target')
  writeFileSync(target, 'kept', { mode: 0o644 })
  symlinkSync(target, join(home, 'out.csv'))
  await expect(openPrivateFile(join(home, 'out.csv'))).rejects.toMatchObject({ code: 'ELOOP' })
  expect([readFileSync(target, 'utf8'), mode(target)]).toEqual(['kept', '644'])
  const file = await openPrivateFile(target)
  await file.close()
  expect([readFileSync(target, 'utf8'), mode(target)]).toEqual(['', '600'])
})

test('what steers a terminal is written as its number, which JSON reads as the same', () => {
  const text = JSON.stringify({ a: 'x\u001b[2J\u009b31m\u202e\ty\n' })
  const shown = stripControls(`${text}\n`)
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  expect(JSON.parse(shown)).toEqual(JSON.parse(text))
  expect(shown.endsWith('\n')).toBe(true)
})
