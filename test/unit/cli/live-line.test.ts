// The line of a run that stands still says who has to do something, and `status` says why it stands.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { progressLine } from '../../../src/cli/views/progress-line.ts'
import { status } from '../../../src/cli/commands/status.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openRun } from '../../suites/ledger/scene.ts'
import { defaultConfig } from '../../e2e/contacts.ts'
import { said } from './said.ts'

test('a run that waits for a person names the command; one that is blocked is asked again; the reason is in status', async () => {
  const home = await mkdtemp(join(tmpdir(), 'records-sync-live-'))
  const ledger = openSqliteLedger(join(home, 'ledger.db'))
  onTestFinished(async () => {
    await ledger.close()
    await rm(home, { recursive: true })
  })
  const config = join(home, 'records-sync.yaml')
  await writeFile(config, defaultConfig.replace('"${RECORDS_URL}"', 'http://127.0.0.1:1'))
  const { id } = await openRun(ledger)
  const line = progressLine({
    hint: (command) => `records-sync ${command}`,
    terminal: {} as never,
  })
  const shown = async () => await line(ledger, (await ledger.run(id))!)
  const told = async () => (await said(config, status)).out.join('\n')

  await ledger.setRunState(id, 'blocked', 'approval', '6,000 rows wait')
  expect(await shown()).toBe(
    `contacts  6,000 rows wait; waits for records-sync approve ${id}, or reject`,
  )
  await ledger.setRunState(id, 'blocked', 'service', 'the service is away')
  expect(await shown()).toBe('contacts  the service is away; asking again')
  expect(await told()).toContain(`Run ${id} of contacts: the service is away`)
  await ledger.setRunState(id, 'paused', null, 'the CRM is being moved')
  expect(await shown()).toBe(
    `contacts  paused: the CRM is being moved; goes on with records-sync resume ${id}`,
  )
  expect(await told()).toContain(`Run ${id} of contacts: the CRM is being moved`)
  await ledger.setRunState(id, 'running')
  expect(await told()).not.toContain('the CRM is being moved')
})
