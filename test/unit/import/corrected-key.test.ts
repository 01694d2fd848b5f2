// A record that a person's correction of a row made is no extra one, although the source has no row with its key.

import { expect, test } from 'vitest'
import { CONTACT, importScene, type Scene } from './scene.ts'
import { DELETES, HEAD, NAMES, people } from './people.ts'

/** Retries rows of a run as a person corrected them. */
async function correct(scene: Scene, run: number, page: readonly [number, readonly string[]][]) {
  const corrections = page.map(([ordinal, raw]) => ({ ordinal, raw }))
  const correction = await scene.ledger.addCorrections(run, null, corrections)
  return await scene.retry(run, { correction })
}

test('a record whose key a correction gave is named, and not deleted', async () => {
  const scene = await importScene(NAMES)
  const source = [...people('a', 'b', 'gone'), ['c#', 'Ann', 'no e-mail'], ['d#', 'Ann', 'none']]
  scene.rows(HEAD, source)
  const first = await scene.run()
  expect(first.books.states.invalid).toBe(2)
  const mended = await correct(scene, first.run, [
    [4, ['c', 'Ann', 'c@x.example']],
    [5, ['d', 'Ann', 'd@x.example']],
  ])
  expect(mended.books.states.created).toBe(2)
  scene.rows(
    HEAD,
    source.filter(([id]) => id !== 'gone'),
  )
  const end = await scene.reconcile(DELETES)
  expect(end.differences.map(({ key, kind, repaired }) => [key, kind, repaired])).toEqual([
    ['gone', 'extra', true],
  ])
  expect(scene.service.records(CONTACT)).toHaveLength(4)
  expect((await scene.ledger.run(end.run))!.warnings).toContain(
    `2 records that the source has no row of are left as they are: they came in by a correction of run ${first.run} row 4, run ${first.run} row 5`,
  )
  // Once the source has had the row itself, it is extra where that is gone.
  scene.rows(HEAD, [...people('a', 'b', 'c')])
  await scene.run()
  scene.rows(HEAD, people('a', 'b'))
  const later = await scene.reconcile(DELETES)
  expect(later.differences.map(({ key }) => key)).toEqual(['c'])
  expect((await scene.ledger.run(later.run))!.warnings).toContain(
    `1 record that the source has no row of is left as it is: it came in by a correction of run ${first.run} row 5`,
  )
})

test('a record of a row that was sent again as it was is extra where the row is gone', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, [...people('a'), ['b', 'Ann', 'no e-mail']])
  const first = await scene.run()
  await correct(scene, first.run, [[2, ['b', 'Ann', 'b@x.example']]])
  scene.rows(HEAD, people('a'))
  const end = await scene.reconcile(DELETES)
  expect(end.differences.map(({ key }) => key)).toEqual(['b'])
  expect(scene.service.records(CONTACT)).toHaveLength(1)
})

test('a record of a row that has no key in the source is not offered for deletion', async () => {
  const scene = await importScene(NAMES)
  scene.rows(HEAD, [...people('a'), ['', 'Ann', 'b@x.example']])
  const first = await scene.run()
  await correct(scene, first.run, [[2, ['b', 'Ann', 'b@x.example']]])
  const looked = await scene.reconcile()
  expect(looked.differences).toEqual([])
  expect(looked.state).toBe('complete')
  expect(looked.books.states).toMatchObject({ corrected: 1, invalid: 0 })
  expect((await scene.ledger.run(looked.run))!.verifiedThrough).toBeNull()
  expect((await scene.ledger.run(looked.run))!.warnings).toContain(
    `1 record that the source has no row of is left as it is: it came in by a correction of run ${first.run} row 2`,
  )
})
