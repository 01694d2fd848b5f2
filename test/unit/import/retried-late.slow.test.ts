// A retry of a run, after a later one has read its rows again, sent them, and ended before it knew what became of them: the service may
// hold the newer values, and what was read before is not written over them.

import { expect, it } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { onEachLedger } from './each-ledger.ts'
import { clientWith, importScene, type Scene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'first' } }
const HEAD = ['id', 'first']

/** A run that is cancelled while no answer comes, not to a look-up either; what it sends is carried out or not. */
async function lostRun(scene: Scene, isDone: boolean): Promise<number> {
  const lost = () =>
    new ServiceFailure('lost', {
      kind: 'no_answer',
      block: 'service',
      outcomeUnknown: true,
      disposition: 'retry',
    })
  const { run, books } = await scene.run({
    ending: 'cancelled',
    tuning: { in_flight: 1, resend_backoff_ms: [0] },
    through: (client) =>
      clientWith(client, {
        queryRecords: () => Promise.reject(lost()),
        async batchUpsert(...given) {
          if (isDone) await client.batchUpsert(...given)
          else given[3]?.permit?.unused()
          throw lost()
        },
      }),
  })
  expect(books).toMatchObject({ inDoubt: 1, states: { outcome_unknown: 1 } })
  return run
}

/** Two such runs: the request of the first is not carried out, that of the second is. */
async function lostTwice(first: string, second: string) {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, [['k1', first]])
  const older = await lostRun(scene, false)
  scene.rows(HEAD, [['k1', second]])
  const newer = await lostRun(scene, true)
  const name = async () => (await scene.held('k1'))?.properties['svc_first_name']
  expect(await name()).toBe(second)
  return { scene, older, newer, name }
}

onEachLedger('a row of an older run', () => {
  it('is not sent over values that a run since may have written', async () => {
    const { scene, older, newer, name } = await lostTwice('Ada', 'Grace')
    const retried = await scene.retry(older)
    expect(retried.books.states).toMatchObject({ superseded: 1, updated: 0, created: 0 })
    expect((await scene.ledger.run(retried.run))!.warnings).toEqual([
      '1 row left out: a row with the same key that was read later is brought in already, or may be where its answer was lost, and nothing older is written over it',
    ])
    expect(await name()).toBe('Grace')
    // The newer row is sent, and the older one is left no more.
    expect((await scene.retry(newer)).books.states).toMatchObject({ updated: 1 })
    expect(await scene.ledger.retryRows(older, {}, { after: 0, limit: 9 })).toEqual([])
  })

  it('is sent where the run since has read the same values', async () => {
    const { scene, older, name } = await lostTwice('Ada', 'Ada')
    expect((await scene.retry(older)).books.states).toMatchObject({ updated: 1, superseded: 0 })
    expect(await name()).toBe('Ada')
  })
})
