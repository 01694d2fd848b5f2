// A mirror whose ledger was lost, or put back: its tables stay, and the numbers of runs begin anew.

import { join } from 'node:path'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { edgesStream } from '../../../src/mirror/index.ts'
import { backupFile } from '../../../src/sqlite/backup.ts'
import { openMirrorTables } from '../../../src/warehouses/index.ts'
import { CONTACT, mirrorScene, SCHEMA, type Scene } from './scene.ts'

const folderOf = () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-lost-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const create = async ({ client }: Scene, count: number) => {
  for (let n = 0; n < count; n++) await client.createRecord(CONTACT, { svc_first_name: `new ${n}` })
}

test('another project is refused, and nothing is written for it; it takes the schema over by name', async () => {
  const folder = folderOf()
  const duckdb = join(folder, 'w.duckdb')
  const s = await mirrorScene({ service: { seedRecords: 20 }, place: { duckdb, folder } })
  await s.run()
  const first = await s.ledger.project()
  await create(s, 3)
  await s.replaceLedger()
  const ours = await s.ledger.project()
  const refused = { code: 'warehouse_other_project' }
  await expect(s.run()).rejects.toMatchObject(refused)
  await expect(s.reconcile()).rejects.toMatchObject(refused)
  expect(await s.sql(`SELECT count(*) FROM ${SCHEMA}.${CONTACT}`)).toEqual([['20']])
  const tables = await openMirrorTables('dwh', { duckdb, folder }, SCHEMA)
  try {
    expect(await tables.takeOver(first, ours)).toBe(true)
  } finally {
    await tables.close()
  }
  expect((await s.run()).streams[CONTACT]).toMatchObject({ state: 'complete', inserted: 3 })
  expect(await s.difference()).toEqual([])
})

test('a run is not taken for one of a lost ledger that had the same number', async () => {
  const s = await mirrorScene({
    service: { seedRecords: 20 },
    config: { object_types: [CONTACT, 'svc_company'], associations: ['svc_contact_company'] },
  })
  const first = await s.run()
  await create(s, 3)
  await s.replaceLedger()
  const ours = await s.ledger.project()
  await s.alter(`UPDATE ${SCHEMA}._records_sync_mirror SET project = '${ours}'`)
  const again = await s.run()
  expect(again.run).toBe(first.run)
  expect(again.streams[CONTACT]).toMatchObject({ state: 'complete', inserted: 3 })
  expect(again.streams[CONTACT]!.requests).toBeGreaterThan(0)
  expect(again.streams[edgesStream(CONTACT)]!.requests).toBeGreaterThan(0)
  expect(await s.difference()).toEqual([])
})

test('nor for one that ran after the backup from which the ledger was put back', async () => {
  const backup = join(folderOf(), 'ledger.db')
  const s = await mirrorScene({ service: { seedRecords: 20 } })
  await s.run()
  backupFile(s.ledger.place, backup)
  const second = await s.run()
  await create(s, 3)
  await s.replaceLedger(backup)
  const again = await s.run()
  expect(again.run).toBe(second.run)
  expect(again.streams[CONTACT]).toMatchObject({ state: 'complete', inserted: 3 })
  expect(await s.difference()).toEqual([])
})
