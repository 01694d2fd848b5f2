// What `dev` says last: the command for another terminal, which has to find this Temporal server.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../../config/index.ts'
import { otherTerminalText } from '../../../src/cli/commands/dev.ts'

async function textAt(address: string, temporal = '', env = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-dev-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'records-sync.yaml')
  writeFileSync(file, `syncs: {}\nconnections: {}\n${temporal}`)
  return otherTerminalText('records-sync run SYNC', address, await loadConfig(file, {}), env)
}

test('names no address where commands look there anyway', async () => {
  const bare = 'In another terminal: records-sync run SYNC.'
  expect(await textAt('127.0.0.1:7233')).toContain(bare)
  // By `dev.json`.
  expect(await textAt('127.0.0.1:7243')).toContain(bare)
  expect(await textAt('127.0.0.1:23987', 'temporal: { address: "127.0.0.1:23987" }\n')).toContain(
    bare,
  )
})

test('names the address where commands would look elsewhere', async () => {
  const named = 'In another terminal: TEMPORAL_ADDRESS=127.0.0.1:23987 records-sync run SYNC.'
  const elsewhere = 'temporal: { address: "crm.example.com:7233" }\n'
  expect(await textAt('127.0.0.1:23987', elsewhere)).toContain(named)
  // The other terminal does not have this one's variable.
  const env = { TEMPORAL_ADDRESS: '127.0.0.1:23987' }
  expect(await textAt('127.0.0.1:23987', elsewhere, env)).toContain(named)
})
