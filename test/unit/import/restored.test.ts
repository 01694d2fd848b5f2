// A ledger that was put back from a backup: values that were accepted after the backup are known to the service alone.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backupFile } from '../../../src/sqlite/backup.ts'
import { importScene } from './scene.ts'

const HEAD = ['id', 'name']
const rows = (name: string) => ['a', 'b', 'c'].map((id) => [id, name])

async function restored() {
  const scene = await importScene({
    svc_external_id: { column: 'id' },
    svc_first_name: { column: 'name' },
  })
  scene.rows(HEAD, rows('V1'))
  await scene.run()
  const backup = join(scene.folder, 'backup.db')
  backupFile(scene.ledger.place, backup)
  scene.rows(HEAD, rows('V2'))
  await scene.run()
  scene.rows(HEAD, rows('V1'))
  await scene.replaceLedger(backup)
  return scene
}
const namesOf = async (scene: Awaited<ReturnType<typeof restored>>) =>
  await Promise.all(
    ['a', 'b', 'c'].map(async (id) => (await scene.held(id))!.properties['svc_first_name']),
  )

test('the first run sends every row and says why, also where the file is as it was at the backup', async () => {
  const scene = await restored()
  const first = await scene.run()
  expect(first.books.states).toMatchObject({ updated: 3, unchanged: 0 })
  expect(await namesOf(scene)).toEqual(['V1', 'V1', 'V1'])
  expect((await scene.ledger.run(first.run))!.warnings).toContain(
    '3 rows are sent again although the ledger has them as accepted: it was put back from a backup, and the service may hold newer values',
  )
  // Only once, also where the file is opened again.
  await scene.replaceLedger(scene.ledger.place)
  const second = await scene.run()
  expect(second.books.states).toMatchObject({ updated: 0, unchanged: 3 })
  expect((await scene.ledger.run(second.run))!.warnings).toEqual([])
})

test('a reconciliation does not blame the service for what was accepted after the backup', async () => {
  const scene = await restored()
  const { differences } = await scene.reconcile()
  expect(differences.map(({ whose }) => whose)).toEqual(['unknown', 'unknown', 'unknown'])
  expect((await scene.run()).books.states.updated).toBe(3)
})

test('what a reconciliation finds equal is believed', async () => {
  const scene = await restored()
  scene.rows(HEAD, rows('V2'))
  expect((await scene.reconcile()).state).toBe('complete')
  expect((await scene.run()).books.states.unchanged).toBe(3)
})
