// A row whose record has another key at the service is held back: neither the reconciliation nor a retry makes a second record.

import { expect, test } from 'vitest'
import { nextStepOf } from '../../../src/cli/views/differences.ts'
import { countRunAccount } from '../../../src/report/account.ts'
import { CONTACT, importScene, type Scene } from './scene.ts'

const NAMES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const HEAD = ['id', 'name']

/** What a person is told to do after a run. */
const nextStep = async (scene: Scene, run: number) => {
  const found = (await scene.ledger.run(run))!
  return nextStepOf(
    { hint: (command) => command },
    found,
    (await countRunAccount(scene.ledger, found)).differences!,
  )
}

test.each([{ repair: false }, { repair: true }])(
  'a row whose record has another key now is not sent by a retry of the reconciliation: %o',
  async (scope) => {
    const scene = await importScene(NAMES)
    scene.rows(HEAD, [
      ['k0', 'Ann'],
      ['k1', 'Bea'],
      ['k2', 'Cleo'],
    ])
    await scene.run()
    const { id } = (await scene.held('k0'))!
    const renamed = { svc_external_id: 'renamed' }
    await scene.client.updateRecord(CONTACT, id, renamed as never)
    const looked = await scene.reconcile(scope)
    expect(looked.differences).toMatchObject([{ key: 'k0', kind: 'different' }])
    expect(await nextStep(scene, looked.run)).toMatch(/^Rows are held back, .*rejects \d+$/)
    const choice = { after: 0, limit: 10 }
    expect(await scene.ledger.retryRows(looked.run, {}, choice)).toEqual([])
    const correction = await scene.ledger.addCorrections(looked.run, null, [
      { ordinal: 1, raw: ['k0', 'Anna'] },
    ])
    expect(await scene.ledger.retryRows(looked.run, { correction }, choice)).toEqual([])
    const again = await scene.retry(looked.run)
    expect(again.books).toMatchObject({ read: 0 })
    expect(scene.service.records(CONTACT)).toHaveLength(3)
  },
)

test('a retry takes the other rows, and its command is offered for them', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, [
    ['k0', 'Ann'],
    ['k1', 'Bea'],
  ])
  await scene.run()
  const change = async (key: string, properties: object) =>
    await scene.client.updateRecord(CONTACT, (await scene.held(key))!.id, properties as never)
  await change('k0', { svc_external_id: 'renamed' })
  await change('k1', { svc_first_name: 'Zoe' })
  const looked = await scene.reconcile()
  expect(await nextStep(scene, looked.run)).toBe(
    `Send what differs: retry ${looked.run}. It writes over what other users changed; to keep their values: on_conflict: theirs (docs/protect.md)`,
  )
  const sent = await scene.retry(looked.run)
  expect(sent.books).toMatchObject({ read: 1, states: { updated: 1 } })
  const { warnings } = (await scene.ledger.run(sent.run))!
  expect(warnings).toEqual([expect.stringMatching(/^1 row of run 2 is held back: /)])
  expect(scene.service.records(CONTACT)).toHaveLength(2)
})
