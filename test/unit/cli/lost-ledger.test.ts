// What is said where something is not there, or not yet: a ledger that was moved away, a run that the Temporal server does not take,
// parts that are only starting, a key in the place of its file's path.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { status } from '../../../src/cli/commands/status.ts'
import { keyFileProblem } from '../../../src/cli/shared/key-file.ts'
import { notStarted } from '../../../src/cli/shared/not-started.ts'
import { untilStarted } from '../../../src/cli/shared/starting.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { defaultConfig } from '../../e2e/contacts.ts'
import { openRun } from '../../suites/ledger/scene.ts'
import { said } from './said.ts'

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-lost-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return dir
}

test('status says that a ledger was moved away, where it can know, and calls no sync never run', async () => {
  const dir = folder()
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(config, defaultConfig.replace('"${RECORDS_URL}"', 'http://127.0.0.1:1'))
  const fresh = await said(config, status)
  expect(fresh.out.join('\n')).toContain('never run')
  expect(fresh.err).toEqual([])
  const path = join(dir, 'ledger.db')
  const ledger = openSqliteLedger(path)
  onTestFinished(() => ledger.close())
  await openRun(ledger)
  renameSync(path, join(dir, 'away.db'))
  const lost = await said(config, status)
  expect(lost.err.join('\n')).toMatch(
    /^There is no ledger at .*ledger\.db, although .*ledger\.db-wal is there: it was moved/,
  )
  expect(lost.out.join('\n')).not.toContain('never run')
})

test('status says of a live run that nobody works on it, where no Temporal server answers', async () => {
  const dir = folder()
  const config = join(dir, 'records-sync.yaml')
  const text = defaultConfig.replace('"${RECORDS_URL}"', 'http://127.0.0.1:1')
  writeFileSync(config, `temporal: { address: "127.0.0.1:1" }\n${text}`)
  const ledger = openSqliteLedger(join(dir, 'ledger.db'))
  onTestFinished(() => ledger.close())
  const { id } = await openRun(ledger)
  expect((await said(config, status)).out.join('\n').replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(
      `Run ${id} of contacts: nobody works on it, no Temporal server answers at 127.0.0.1:1. It goes on with records-sync .*worker, or records-sync .*run contacts --local`,
    ),
  )
  const { out } = await said(config, status, true)
  expect(JSON.parse(out.join(''))).toMatchObject([{ sync: 'contacts', nobody_works: true }])
})

test('a run that the server does not take is told in its words, with the room on the disk', () => {
  const cause = new Error('14 UNAVAILABLE: database or disk is full')
  const error = new Error('Failed to start Workflow', { cause })
  const { code, message } = notStarted(
    { configFile: join(folder(), 'records-sync.yaml'), hint: (text) => `records-sync ${text}` },
    error,
  )
  expect(code).toBe('not_started')
  expect(message).toMatch(/\(14 UNAVAILABLE: database or disk is full\); nothing was sent/)
  expect(message).toMatch(/\.records-sync.*full disk: [\d.,]+ [MGT]B free at .*records-sync doctor/)
})

test('Ctrl-C while the parts start ends with exit code 4, and says how to start again', async () => {
  const lines: string[] = []
  const terminal = { endLive: () => {}, err: (line = '') => void lines.push(line) } as never
  const codes: number[] = []
  const before = process.listenerCount('SIGINT')
  let end = () => {}
  const started = new Promise<string>((resolve) => (end = () => resolve('parts')))
  const waiting = untilStarted(
    { terminal },
    'records-sync run a --local',
    () => started,
    (code) => {
      codes.push(code)
    },
  )
  process.emit('SIGINT', 'SIGINT')
  expect(codes).toEqual([4])
  expect(lines).toEqual([
    'Stopped while its parts started; no run was begun. Again: records-sync run a --local',
  ])
  end()
  expect(await waiting).toBe('parts')
  expect(process.listenerCount('SIGINT')).toBe(before)
})

test.each([
  ['k'.repeat(40), true],
  ['sk_live_0a/b+c=/d', true],
  ['eyJhbGciOi.eyJzdWIi.SflKxwRJSM', true],
  ['./crm.key', false],
  ['missing.key', false],
  ['/nowhere/crm.key', false],
  [`${tmpdir()}/crm`, false],
])('a key in the place of its path is not repeated: %s', (text, isHidden) => {
  expect(keyFileProblem(text) !== null).toBe(isHidden)
  expect(keyFileProblem(text) ?? '').not.toContain(text)
})
