// DuckDB's temporary folder is this user's alone, and what killed processes left is removed.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { removeLeftovers, temporaryFolder } from '../../../src/warehouses/duckdb/temporary.ts'

test('it is private, whatever the umask, and has a name that cannot be guessed', () => {
  const before = process.umask(0)
  const made = dirname(temporaryFolder('duckdb', '/a'))
  process.umask(before)
  expect(statSync(made).mode & 0o777).toBe(0o700)
  expect(made).toMatch(/-[A-Za-z0-9]{6}$/)
  expect(dirname(temporaryFolder('duckdb', '/b'))).toBe(made)
  expect(temporaryFolder('duckdb', '/b')).not.toBe(temporaryFolder('duckdb', '/a'))
  rmSync(made, { recursive: true })
  expect(existsSync(dirname(temporaryFolder('duckdb', '/a')))).toBe(true)
})

test('those of processes that have ended are removed, and no others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-leftovers-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  // It has ended when this returns.
  const dead = Number(execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }))
  const name = (space: string, pid: number) => `records-sync-tmp-${space}-${pid}-aB3xyZ`
  const gone = name('0a0a0a0a', dead)
  const kept = [
    name('0a0a0a0a', process.pid),
    name('0a0a0a0a', process.ppid),
    // Numbers of another container.
    name('0b0b0b0b', dead),
    `records-sync-tmp-0a0a0a0a-${dead}`,
    'other',
  ]
  for (const made of [gone, ...kept]) mkdirSync(join(folder, made, 'duckdb-1'), { recursive: true })
  symlinkSync(join(folder, 'other'), join(folder, `records-sync-tmp-0a0a0a0a-${dead}-abcdef`))
  removeLeftovers(folder, '0a0a0a0a')
  expect(existsSync(join(folder, gone))).toBe(false)
  for (const made of kept)
    expect([made, existsSync(join(folder, made, 'duckdb-1'))]).toEqual([made, true])
})
