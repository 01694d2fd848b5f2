// `records-sync console` and the file of its ledger: what it does while another process holds it, and once it is moved away.

import { existsSync, renameSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createContext } from '../../../src/cli/shared/context.ts'
import { consolePartsOf, startConsole, type RunningConsole } from '../../../src/console/index.ts'
import { silentLogger } from '../../../src/core/ports.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'

let folder: string
let running: RunningConsole
const ledgerFile = () => join(folder, 'ledger.db')

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-sync-console-ledger-'))
  const file = join(folder, 'records-sync.yaml')
  await writeFile(
    file,
    `ledger: ./ledger.db
temporal: { address: "127.0.0.1:9" }
connections: { crm: { service: "http://127.0.0.1:9", key: "\${NO_SUCH_KEY}" } }
warehouses: { lake: { duckdb: ./lake.duckdb } }
syncs: { copy: { mirror: { from: crm, to: lake } } }
`,
  )
  const parts = consolePartsOf(createContext({ config: file, json: false }))
  running = await startConsole({ parts, host: '127.0.0.1', port: 0, logger: silentLogger })
})
afterEach(async () => {
  await running.close()
  await rm(folder, { recursive: true, force: true })
})

async function run(): Promise<{ readonly status: number; readonly text: string }> {
  const session = await fetch(`${running.url}/api/v1/session`)
  const { csrf } = (await session.json()) as { csrf: string }
  const cookie = session.headers.get('set-cookie')!.split(';')[0]!
  const sent = await fetch(`${running.url}/api/v1/syncs/copy/run`, {
    method: 'POST',
    headers: { 'x-csrf-token': csrf, cookie },
  })
  return { status: sent.status, text: await sent.text() }
}
const overview = async () => await (await fetch(running.url)).text()

it('answers pages while an action waits for a lock of another process', async () => {
  await openSqliteLedger(ledgerFile()).close()
  expect(await overview()).toContain('never run')
  const holder = new DatabaseSync(ledgerFile())
  try {
    holder.exec('BEGIN EXCLUSIVE')
    let isAnswered = false
    const action = run().finally(() => (isAnswered = true))
    // It has to get there first.
    for (let pages = 0; pages < 3; pages++) expect(await overview()).toContain('never run')
    expect(isAnswered).toBe(false)
    holder.exec('ROLLBACK')
    const { status, text } = await action
    expect([status, text]).toEqual([503, expect.stringContaining('127.0.0.1:9')])
  } finally {
    holder.close()
  }
})

it('makes no ledger: neither the first one, nor one in place of one that was moved away', async () => {
  const first = await run()
  expect([first.status, first.text]).toEqual([503, expect.stringContaining('There is no ledger')])
  expect(existsSync(ledgerFile())).toBe(false)
  await openSqliteLedger(ledgerFile()).close()
  expect(await overview()).toContain('never run')
  renameSync(ledgerFile(), `${ledgerFile()}.moved`)
  const { status, text } = await run()
  expect([status, text]).toEqual([503, expect.stringContaining('was removed or replaced')])
  expect(existsSync(ledgerFile())).toBe(false)
})
