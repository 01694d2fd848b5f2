// An attempt that stands still before it stages, until another one has staged the run: it stages nothing.

import { expect, it } from 'vitest'
import { row } from '../../suites/ledger/scene.ts'
import { onEachLedger } from './each-ledger.ts'
import { clientWith, importScene, type RunOptions } from './scene.ts'

onEachLedger('an attempt that goes on after the next one has staged', () => {
  it('leaves what the other one has staged', async () => {
    const scene = await importScene({
      svc_external_id: { column: 'id' },
      svc_first_name: { column: 'first' },
    })
    const { ledger } = scene
    scene.rows(['id', 'first'], [['late', 'Late']])

    const theRun = async () => (await ledger.runs({ limit: 1 }))[0]
    let isStaged = false
    const through: RunOptions['through'] = (client) =>
      clientWith(client, {
        readSelf: async (options) => {
          const run = await theRun()
          if (run !== undefined && !isStaged) {
            isStaged = true
            const fence = await ledger.beginStage(run.id, ['id', 'first'])
            await ledger.stageItems(run.id, fence, [row(1, 'one'), row(2, 'two')])
            await ledger.finishStage(run.id, fence, { rows: 2, digest: 'd', rowsPerSegment: 10 })
          }
          return await client.readSelf(options)
        },
      })
    await expect(scene.run({ through })).rejects.toThrow('another attempt works on run 1')
    expect(await theRun()).toMatchObject({ state: 'running', rowsRead: 2, sourceDigest: 'd' })
    expect(await ledger.books(1)).toMatchObject({ read: 2, states: { pending: 2 } })
    expect(scene.service.records('svc_contact')).toEqual([])
  })
})
