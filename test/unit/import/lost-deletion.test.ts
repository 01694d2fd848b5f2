// A deletion whose answer was lost, in a run that then ends before its time: its books say what became of it.

import { expect, test } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, CONTACT, importScene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' } }
const DELETES = { repair: true, deleteExtra: true }

/** A run whose deletion of k1 is carried out, or not, and not answered; the run after it closes its books. */
async function lost(isCarriedOut: boolean, later?: (client: ImportClient) => ImportClient) {
  const scene = await importScene(NAMES)
  scene.rows(['id'], [['k0'], ['k1']])
  await scene.run()
  scene.rows(['id'], [['k0']])
  const through = (client: ImportClient) =>
    clientWith(client, {
      batchDelete: async (...given) => {
        if (isCarriedOut) await client.batchDelete(...given)
        throw new ServiceFailure('batchDelete: no answer', {
          disposition: 'retry',
          outcomeUnknown: true,
        } as never)
      },
    })
  const ended = scene.reconcile(DELETES, { through })
  await expect(ended).rejects.toThrow()
  const [run] = await scene.ledger.liveRuns()
  // Its writes may be on their way for a while, so that the run that finds it gone does not begin.
  await scene.run(later ? { through: later } : {}).catch(() => null)
  const { warnings, closedAt } = (await scene.ledger.run(run!.id))!
  expect(closedAt).not.toBeNull()
  const { rows } = await scene.ledger.differences(run!.id, { after: 0, limit: 9 })
  const { requests } = await scene.ledger.progress(run!.id)
  return { scene, run: run!.id, warnings: warnings.join('\n'), rows, requests }
}

test('is in the books where the record is gone', async () => {
  const { scene, warnings, rows, requests } = await lost(true)
  expect(scene.service.records(CONTACT)).toHaveLength(1)
  expect(rows).toMatchObject([{ key: 'k1', kind: 'extra', repaired: true }])
  expect([requests, warnings]).toEqual([0, ''])
})

test('stays a difference where the record is there', async () => {
  const { scene, warnings, rows, requests } = await lost(false)
  expect(scene.service.records(CONTACT)).toHaveLength(2)
  expect(rows).toMatchObject([{ key: 'k1', kind: 'extra', repaired: false }])
  expect([requests, warnings]).toEqual([0, ''])
})

test('is in doubt where the service cannot be asked', async () => {
  const away = (client: ImportClient) =>
    clientWith(client, { queryRecords: () => Promise.reject(new Error('away')) })
  const { scene, run, rows } = await lost(true, away)
  expect(rows).toMatchObject([{ key: 'k1', kind: 'extra', repaired: false }])
  const page = { after: 0, limit: 9, states: ['outcome_unknown'] as const }
  expect((await scene.ledger.removals(run, page)).rows).toMatchObject([
    { key: 'k1', state: 'outcome_unknown', inDoubt: true },
  ])
})
