// What reading back shows reaches the books, the state of the run, and whoever is told. A real service; between it and the run
// a client that answers as a service does which keeps something else than was sent.

import { expect, test } from 'vitest'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, importScene } from './scene.ts'

const PROPERTIES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
}
const HEAD = ['id', 'name']
const people = (count: number, name = 'Ada') =>
  Array.from({ length: count }, (_, index) => [`c-${index + 1}`, name])

/** A service that holds capitals instead of the names of `ids`, and does not find those of `lost`. */
const otherwise =
  (ids: readonly string[], lost: readonly string[] = []) =>
  (client: ImportClient): ImportClient =>
    clientWith(client, {
      queryRecords: async (...given) => {
        const answer = await client.queryRecords(...given)
        const idOf = ({ properties }: (typeof answer.data)[number]) =>
          String(properties['svc_external_id'])
        const data = answer.data
          .filter((record) => !lost.includes(idOf(record)))
          .map((record) =>
            ids.includes(idOf(record))
              ? { ...record, properties: { ...record.properties, svc_first_name: 'ADA' } }
              : record,
          )
        return { ...answer, data }
      },
    })

test('rows that read back otherwise are in the books, the message and the state', async () => {
  const scene = await importScene(PROPERTIES, { verify: 'all' })
  scene.rows(HEAD, people(5))
  const ended = await scene.run({ through: otherwise(['c-2', 'c-4'], ['c-5']) })
  expect(ended.books.readBack).toEqual({ equal: 2, different: 2, missing: 1, normalised: 0 })
  expect(ended).toMatchObject({
    state: 'complete_with_differences',
    message: '3 rows were accepted and read back otherwise: 1 missing, 2 different',
  })
  expect((await scene.ledger.run(ended.run))!.counts).toEqual(ended.books)
})

test('a run that reads back what it sent is complete, and says how many rows it read', async () => {
  const scene = await importScene(PROPERTIES, { verify: 'all' })
  scene.rows(HEAD, people(5))
  const ended = await scene.run()
  expect(ended).toMatchObject({ state: 'complete', message: null })
  expect(ended.books.readBack).toEqual({ equal: 5, different: 0, missing: 0, normalised: 0 })
})
