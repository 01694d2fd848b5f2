// What `check` finds of the ledger: what `plan` and runs would stumble over.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { check } from '../../../src/cli/commands/check.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { said } from './said.ts'

test('a ledger that is not there yet, one that is, and a file that is none', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-check-ledger-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const config = join(dir, 'records-sync.yaml')
  writeFileSync(config, 'ledger: ./books/ledger.db\nconnections: {}\nsyncs: {}\n')
  const checked = async () => {
    const { code, out } = await said(config, (context) => check(context, { operations: false }))
    return `${code} ${out.join(' ').replace(/ +/g, ' ')}`
  }
  const path = join(dir, 'books/ledger.db')
  expect(await checked()).toBe('0 ok ledger: books/ledger.db; the first run makes it')
  const ledger = await openLedger({ sqlite: path })
  await ledger.close()
  expect(await checked()).toContain('0 ok ledger: books/ledger.db')
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
  writeFileSync(path, 'no ledger at all, but long enough to be looked at as one'.repeat(100))
  expect(await checked()).toMatch(/^2 failed ledger: .*books\/ledger\.db/)
})
