// An older copy of a mirror's file, put in its place in the middle of a run: the run does not end as complete.

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { Blocked, SyncError } from '../../../src/core/errors.ts'
import { recheckTables } from '../../../src/mirror/index.ts'
import { openMirrorTables } from '../../../src/warehouses/index.ts'
import { stream } from '../../suites/ledger/scene.ts'

test('an older copy of the file: the streams that were done differ', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-replaced-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = `${folder}/w.duckdb`
  const open = () => openMirrorTables('lake', { duckdb: file, folder }, 'crm')
  const write = async (run: number, openedAt?: string) => {
    const tables = await open()
    await tables.own('https://a.test org 1', '3f9ac2b1')
    if ((await tables.streamNames()).length === 0)
      await tables.change([{ name: 'svc_deal', table: 'deal', add: [], retire: [], revive: [] }])
    const { fence } = await tables.claim('svc_deal')
    await tables.move(
      'svc_deal',
      fence,
      JSON.stringify({ v: 1, run: { id: run, openedAt, phase: 'done' } }),
    )
    await tables.close()
  }
  const ledger = openSqliteLedger(':memory:')
  const opened = await ledger.openRun({
    sync: 'copy',
    kind: 'mirror',
    mode: 'run',
    workflowId: 'w',
    workflowRunId: 'r',
    config: {},
  })
  if (!('run' in opened)) throw new Error('a run is open')
  const run = opened.run.id
  const done = { state: 'complete', mode: 'full', table: 'deal', differs: false } as const
  const look = async (how = open) => {
    await ledger.noteStream(run, stream('svc_deal', done))
    await recheckTables(ledger, run, how)
    const [row] = await ledger.streams(run)
    return row
  }

  // A run of that number, of a ledger that was lost or put back since.
  await write(run, '2026-01-01T00:00:00.000Z')
  expect(await look()).toMatchObject({ differs: true })
  await write(run, opened.run.openedAt)
  expect(await look()).toMatchObject({ differs: false, message: null })
  await write(run - 1, opened.run.openedAt)
  copyFileSync(file, `${file}.old`)
  await write(run, opened.run.openedAt)
  expect(await look()).toMatchObject({ differs: false, message: null })
  copyFileSync(`${file}.old`, file)
  expect(await look()).toMatchObject({
    differs: true,
    message: expect.stringMatching(
      /^the table deal is not the one that this run filled: run \d+ was/,
    ),
  })
  rmSync(file)
  expect(await look()).toMatchObject({ differs: true })
  const failing = (error: Error) => () => Promise.reject(error)
  expect(await look(failing(new SyncError('warehouse_missing', 'gone')))).toMatchObject({
    differs: true,
    message: 'the table deal is gone: gone',
  })
  const held = await look(failing(new Blocked('warehouse', 'another process has it', 1)))
  expect(held).toMatchObject({ differs: false })
  expect(held!.message).toContain('could not be looked at')
  await ledger.close()
})
