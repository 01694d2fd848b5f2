// Standard output that nobody reads any more: commands end quietly, as other tools do.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DuckDBInstance } from '@duckdb/node-api'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { main } from '../../e2e/main.ts'
import { badRow, close, openRun, stage } from '../../suites/ledger/scene.ts'

let home: string
const manyRows = Array.from({ length: 5_000 }, (_, at) => badRow(at + 1, `k${at}`))
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'records-sync-output-'))
  writeFileSync(
    join(home, 'records-sync.yaml'),
    'ledger: ./ledger.db\nconnections: {}\nwarehouses: { lake: { duckdb: ./lake.duckdb } }\nsyncs: {}\n',
  )
  const lake = await DuckDBInstance.create(join(home, 'lake.duckdb'))
  lake.closeSync()
  const ledger = openSqliteLedger(join(home, 'ledger.db'))
  const { id } = await openRun(ledger)
  await stage(ledger, id, manyRows)
  await close(ledger, id)
  await ledger.close()
})
afterAll(() => rmSync(home, { recursive: true }))

/** @param readsFirst whether the reader goes after it has got something, as `head` does; else before the command begins */
async function ended(args: readonly string[], readsFirst = false) {
  // It begins at a line of its input: by then the reader has gone.
  const child = spawn(
    'sh',
    ['-c', 'read -r _ && exec "$@"', 'sh', process.execPath, main, ...args],
    { cwd: home, stdio: 'pipe' },
  )
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const exited = once(child, 'close') as Promise<[number | null, string | null]>
  if (!readsFirst) child.stdout.destroy()
  child.stdin.end('\n')
  if (readsFirst) {
    await Promise.race([once(child.stdout, 'data'), exited])
    child.stdout.destroy()
  }
  const [code, signal] = await exited
  return { code, signal, err }
}
const quiet = { code: 141, signal: null, err: '' }

test.each([
  ['--help'],
  ['describe', '--help'],
  ['completion', 'bash'],
  ['show'],
  ['show', '--json'],
  ['status', '--json'],
  ['rejects', '-o', '-'],
  ['rejects', '--json'],
  ['audit', '--json'],
])('%s %s into a closed pipe', async (...args) => {
  expect(await ended(args)).toEqual(quiet)
})

test('a reader that goes in the midst of many rows', async () => {
  expect(await ended(['rejects', '-o', '-'], true)).toEqual(quiet)
  expect(await ended(['rejects', '--json'], true)).toEqual(quiet)
})

test('a query whose rows nobody reads', async () => {
  const query = "SELECT range AS n, repeat('x', 100) AS filler FROM range(9000)"
  const args = ['sql', 'lake', query, '--limit', '9000', '--json']
  // Their number is said on standard error.
  expect(await ended(args)).toEqual({ ...quiet, err: '9,000 rows\n' })
})

test('a failure keeps its exit code', async () => {
  const { code, err } = await ended(['show', '7'])
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('7') })
})

test('a full disk is an error', async () => {
  const full = openSync('/dev/full', 'w')
  try {
    const child = spawn(process.execPath, [main, 'rejects', '-o', '-'], {
      cwd: home,
      stdio: ['ignore', full, 'pipe'],
    })
    let err = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (err += text))
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(3)
    expect(err).toContain('ENOSPC')
    expect(err).not.toContain('    at ')
  } finally {
    closeSync(full)
  }
})
