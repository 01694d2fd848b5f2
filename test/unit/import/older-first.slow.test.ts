// A row of a query comes again, and the answer has its key in other capitals, which the service takes for the same: what was read before
// is not written over what was read later.

import { expect, it } from 'vitest'
import { startOtherService } from '../../other-service/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { answer, QUERY } from './query-answers.ts'
import { importSceneOn, type RunOptions } from './scene.ts'
import { otherwise, watching } from './watching.ts'

const CONTACT = 'acme_contact'
const FIRST = 'acme_first_name'

const foldedScene = () =>
  importSceneOn(
    () => startOtherService({ matching: 'folded' }),
    { acme_external_id: { column: 'id' }, [FIRST]: { column: 'first' } },
    { object_type: CONTACT, matching_property: 'acme_external_id', verify: 'all', from: QUERY },
  )

const names = ({ service }: Awaited<ReturnType<typeof foldedScene>>) =>
  service
    .records(CONTACT)
    .map(({ properties }) => properties[FIRST])
    .toSorted()

/** A row that was read back otherwise comes again next to a newer one, whose key has capitals. */
async function next(options: RunOptions) {
  const scene = await foldedScene()
  const { through } = watching(otherwise, FIRST)
  const rows = [
    ['a1', 'one'],
    ['a2', 'older'],
  ]
  expect(await scene.run({ through, answers: answer('1', rows) })).toMatchObject({
    state: 'complete_with_differences',
  })
  const end = await scene.run({
    answers: answer('2', [
      ['b1', 'first'],
      ['A2', 'newer'],
    ]),
    as: { name: scene.sync.name, import: { verify: 'none' } },
    ...options,
  })
  return { scene, end }
}

onSampledLedgers('a row that comes again in other capitals', () => {
  it('is sent before the newer one, at a service that shows nothing of its records', async () => {
    const { scene, end } = await next({ through: watching(undefined, FIRST).through })
    expect(end.books).toMatchObject({ read: 4, states: { updated: 3, created: 1 } })
    expect(names(scene)).toEqual(['first', 'newer', 'one'])
  })

  it('gives way to the newer one where the answers show one record', async () => {
    const { scene, end } = await next({ tuning: { in_flight: 1 } })
    expect(end.books).toMatchObject({ readBack: { overwritten: 1 } })
    expect(names(scene)).toEqual(['first', 'newer', 'one'])
    const items = await scene.ledger.report(end.run, { states: ['updated'], after: 0, limit: 9 })
    expect(items.map(({ key, reason }) => [key, reason])).toEqual([
      ['A2', null],
      ['a1', null],
      ['a2', 'same_record'],
    ])
  })

  it('is followed by the newer one although that has not changed', async () => {
    const scene = await foldedScene()
    const { through } = watching()
    const rows = [
      ['b1', 'first'],
      ['a2', 'older'],
      ['A2', 'newer'],
    ]
    // By the older key no record is found.
    expect(await scene.run({ through, answers: answer('1', rows) })).toMatchObject({
      books: { readBack: { missing: 1, equal: 2 } },
    })
    const as = { name: scene.sync.name, import: { verify: 'none' as const } }
    const answers = answer('1', [rows[0]!, rows[2]!])
    expect((await scene.run({ through, answers, as })).books.states).toMatchObject({
      updated: 2,
      unchanged: 1,
    })
    expect(names(scene)).toEqual(['first', 'newer'])
  })
})
