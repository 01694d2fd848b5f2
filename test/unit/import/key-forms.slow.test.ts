// Records whose key the service has in the form of the file, with space around it or in another form of Unicode: a plan finds them as a
// run does, and an undo too. And keys of properties that hold lists.

import { expect, test } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { startOtherService } from '../../other-service/index.ts'
import { stagedPlan } from './plan-scene.ts'
import { importScene, importSceneOn } from './scene.ts'

const CONTACT = 'acme_contact'
const ID = 'acme_external_id'
const FIRST = 'acme_first_name'
const HEAD = ['id', 'name']
const NFD = 'e\u0301-1'
const OLD = [
  [' K1', 'old'],
  ['K2', 'old'],
  [NFD, 'old'],
].toSorted()

async function scene(more: Partial<ImportConfig> = {}) {
  const made = await importSceneOn(
    () => startOtherService({}),
    { [ID]: { column: 'id' }, [FIRST]: { column: 'name' } },
    { object_type: CONTACT, matching_property: ID, verify: 'none', ...more },
  )
  made.service.fill(
    CONTACT,
    OLD.map(([id, name]) => ({ [ID]: id!, [FIRST]: name! })),
  )
  made.rows(HEAD, [
    [' K1', 'new'],
    ['K2', 'new'],
    [NFD, 'new'],
    [' K4', 'new'],
  ])
  return made
}

const held = ({ service }: Awaited<ReturnType<typeof scene>>) =>
  service
    .records(CONTACT)
    .map(({ properties }) => [String(properties[ID]), properties[FIRST]])
    .toSorted()

test('a plan finds them, and a run of it writes them', async () => {
  const s = await scene()
  const plan = await stagedPlan(s)
  // One request more for the forms.
  expect(await plan.lookUp()).toMatchObject({ done: true, rows: 4, requests: 2 })
  expect(Object.values(await plan.verdicts()).toSorted()).toEqual([
    'create',
    'update',
    'update',
    'update',
  ])
  const end = await s.run({ plan: await plan.store() })
  expect(end).toMatchObject({ state: 'complete', books: { states: { created: 1, updated: 3 } } })
  expect(held(s)).toHaveLength(4)
  // It is taken back whole.
  const undone = await s.undo(end.run)
  expect(undone).toMatchObject({
    state: 'complete',
    books: { states: { updated: 3, protected: 0 } },
  })
  expect(held(s)).toEqual(OLD)
  // And so is the undo.
  const again = await s.undo(undone.run)
  expect(again.books.states).toMatchObject({ updated: 3, created: 1 })
  expect(held(s)).toHaveLength(4)
  expect(held(s).filter(([, name]) => name === 'old')).toEqual([])
})

test('a limit on updates counts them', async () => {
  const s = await scene({ approve: { updates_max: 2 } })
  expect(await s.run()).toMatchObject({ state: 'cancelled' })
  expect(held(s)).toEqual(OLD)
})

test('a bounded plan asks for no more than it may', async () => {
  const plan = await stagedPlan(await scene())
  expect(await plan.lookUp({ limitRequests: 1 })).toMatchObject({ rows: 0, requests: 1 })
})

test('an undo leaves what can be set once only, and restores the rest', async () => {
  const s = await importScene(
    {
      svc_external_id: { column: 'id' },
      svc_first_name: { column: 'name' },
      svc_source: { column: 'source' },
    },
    { keep_before: true, verify: 'none' },
  )
  await s.client.createRecord('svc_contact', { svc_external_id: 'k1', svc_first_name: 'old' })
  s.rows(['id', 'name', 'source'], [['k1', 'new', 'fair']])
  const { run } = await s.run()
  const undone = await s.undo(run)
  expect(undone).toMatchObject({
    state: 'complete',
    books: { states: { updated: 1, refused: 0 } },
  })
  expect((await s.ledger.run(undone.run))!.warnings).toEqual([
    `1 value that run ${run} wrote cannot be given back: its property can be set once only`,
  ])
  expect((await s.held('k1'))!.properties).toMatchObject({
    svc_first_name: 'old',
    svc_source: 'fair',
  })
})

test('an undo of an undo sends a key that is a list as a list', async () => {
  const s = await importScene(
    { svc_email: { column: 'email' }, svc_first_name: { column: 'name' } },
    { keep_before: true, matching_property: 'svc_email', verify: 'none' },
  )
  const head = ['email', 'name']
  const names = () =>
    s.service
      .records('svc_contact')
      .map(({ properties }) => properties['svc_first_name'])
      .toSorted()
  s.rows(head, [['a@x.example', 'old']])
  await s.run()
  s.rows(head, [
    ['a@x.example', 'new'],
    ['b@x.example', 'new'],
  ])
  const { run } = await s.run()
  const undone = await s.undo(run, {}, { approves: true })
  expect(names()).toEqual(['old'])
  expect(await s.undo(undone.run)).toMatchObject({ state: 'complete' })
  expect(names()).toEqual(['new', 'new'])
})
