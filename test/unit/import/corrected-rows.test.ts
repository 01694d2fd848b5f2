// A row that a person corrected, and that the source still has as it was: each later run tells it apart from new rejects, and leaves
// the record as it was corrected.

import { expect, test } from 'vitest'
import { CONTACT, importScene, type Scene } from './scene.ts'
import { HEAD, NAMES, people } from './people.ts'

const COMPANY = 'svc_company'
const BAD = ['b', 'Ann', 'no e-mail']

/** A source with a row that does not map and one without a key, and both corrected. */
async function correctedScene(config: Parameters<typeof importScene>[1] = {}) {
  const scene = await importScene(NAMES, config)
  const source = [...people('a'), BAD, ['', 'Ann', 'c@x.example']]
  scene.rows(HEAD, source)
  const first = await scene.run()
  expect(first.state).toBe('complete_with_rejects')
  const correction = await scene.ledger.addCorrections(first.run, null, [
    { ordinal: 2, raw: ['b', 'Ann', 'b@x.example'] },
    { ordinal: 3, raw: ['c', 'Ann', 'c@x.example'] },
  ])
  const mended = await scene.retry(first.run, { correction })
  expect(mended.books.states.created).toBe(2)
  return { scene, source, first: first.run, retry: mended.run }
}

const emails = (scene: Scene) =>
  scene.service
    .records(CONTACT)
    .flatMap(({ properties }) => properties['svc_email'] as string[])
    .toSorted()

test('a nightly run is complete, with a note, while the source has the old cells', async () => {
  const { scene, source, retry } = await correctedScene({ missing_rows: 'delete' })
  for (let night = 0; night < 2; night++) {
    const end = await scene.run()
    expect(end.state).toBe('complete')
    expect(end.books.states).toMatchObject({ unchanged: 1, corrected: 2, invalid: 0, refused: 0 })
    const run = (await scene.ledger.run(end.run))!
    expect(run.message).toBe(
      '2 rows were corrected by a retry, and the source still has the old values',
    )
    expect(run.warnings).toContain(
      `2 rows were corrected in run ${retry}, and the source still has the old values: what was corrected stays at the service, and nothing is sent; mend the source`,
    )
    const [item] = await scene.ledger.report(end.run, { states: ['corrected'], after: 0, limit: 1 })
    expect(item).toMatchObject({
      ordinal: 2,
      reason: 'not_an_email',
      detail: `corrected in run ${retry}; the source still has the old value`,
    })
  }
  // A row that goes takes its record with it, and the others stay; one that changes is a reject again.
  scene.rows(HEAD, [['b', 'Ann', 'another'], ...source.slice(2)])
  const end = await scene.run({ approves: true })
  expect(end.state).toBe('complete_with_rejects')
  expect(end.books.states).toMatchObject({ corrected: 1, invalid: 1 })
  expect(emails(scene)).toEqual(['b@x.example', 'c@x.example'])
})

test('a row that was mended in the source is a row like all others', async () => {
  const { scene } = await correctedScene()
  scene.rows(HEAD, [...people('a', 'b'), ['c', 'Ann', 'other@x.example']])
  const end = await scene.run()
  expect(end.state).toBe('complete')
  expect(end.books.states).toMatchObject({ unchanged: 2, updated: 1, corrected: 0 })
  // What the source says counts from then on.
  scene.rows(HEAD, [...people('a', 'b'), ['', 'Ann', 'c@x.example']])
  expect((await scene.run()).books.states).toMatchObject({ unchanged: 2, invalid: 1 })
})

test('a row that the service has refused is not sent over its correction', async () => {
  const properties = {
    svc_external_id: { column: 'id' },
    svc_name: { column: 'name' },
    svc_domain: { column: 'domain' },
  }
  const scene = await importScene(properties, { object_type: COMPANY })
  const head = ['id', 'name', 'domain']
  const domains = () =>
    scene.service
      .records(COMPANY)
      .map(({ properties: { svc_domain: domain } }) => domain)
      .toSorted()
  const old = ['b', 'B', 'a.example']
  // A domain is unique: the second row is refused.
  scene.rows(head, [['a', 'A', 'a.example'], old])
  const first = await scene.run()
  expect(first.books.states).toMatchObject({ created: 1, refused: 1 })
  const raw = ['b', 'B', 'b.example']
  const correction = await scene.ledger.addCorrections(first.run, null, [{ ordinal: 2, raw }])
  await scene.retry(first.run, { correction })
  // It would be accepted now.
  scene.rows(head, [['a', 'A', 'new.example'], old])
  const end = await scene.run()
  expect(end.state).toBe('complete')
  expect(end.books.states).toMatchObject({ updated: 1, corrected: 1 })
  expect(domains()).toEqual(['b.example', 'new.example'])
  // A reconciliation knows that the sides differ there, and repairs nothing of it.
  const looked = await scene.reconcile({ repair: true })
  expect(looked.state).toBe('complete')
  expect(looked.books.states).toMatchObject({ corrected: 1 })
  expect((await scene.ledger.run(looked.run))!).toMatchObject({
    verifiedThrough: null,
    message:
      'both sides are equal in all rows that were compared; 1 row was corrected by a retry, and the source still has the old value',
  })
  expect(domains()).toEqual(['b.example', 'new.example'])
})
