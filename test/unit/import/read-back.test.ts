// What reading back shows reaches the books, the state of the run, and whoever is told. A real service; between it and the run
// a client that answers as a service does which keeps something else than was sent.

import { expect, test } from 'vitest'
import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith, CONTACT, importScene, type Scene } from './scene.ts'

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

test('a value that comes back the same other form of it once more is not sent a third time, and is told', async () => {
  const scene = await importScene(PROPERTIES, { verify: 'all' })
  const through = otherwise(['c-1', 'c-2'])
  scene.rows(HEAD, people(4))
  const states: unknown[] = []
  for (let run = 0; run < 3; run++) {
    const { state, books } = await scene.run({ through })
    states.push([state, books.states.updated + books.states.created, books.readBack])
  }
  const read = { equal: 0, different: 0, missing: 0, normalised: 0 }
  expect(states).toEqual([
    ['complete_with_differences', 4, { ...read, equal: 2, different: 2 }],
    ['complete', 2, { ...read, normalised: 2 }],
    ['complete', 0, { ...read, normalised: 2 }],
  ])
  const shown = await scene.reconcile({}, { through })
  expect(shown).toMatchObject({
    state: 'complete',
    message: 'both sides are equal; 2 rows were normalised by the service',
  })
})

test('a value that differs anew is a difference, whatever was normalised before', async () => {
  const scene = await importScene(PROPERTIES, { verify: 'all' })
  scene.rows(HEAD, people(1))
  for (let run = 0; run < 2; run++) await scene.run({ through: otherwise(['c-1']) })
  scene.rows(HEAD, people(1, 'Bea'))
  const ended = await scene.run({ through: otherwise(['c-1']) })
  expect(ended.state).toBe('complete_with_differences')
  // The record still holds what it held for the value before.
  expect(await scene.run({ through: otherwise(['c-1']) })).toMatchObject({
    state: 'complete_with_differences',
  })
})

test('what differs is listed with its field and both values, in the ledger only', async () => {
  const scene = await importScene(PROPERTIES, { verify: 'all' })
  scene.rows(HEAD, people(3))
  const { run } = await scene.run({ through: otherwise(['c-2'], ['c-3']) })
  const left = await scene.ledger.report(run, {
    states: [],
    after: 0,
    limit: 10,
    isLeft: true,
    readBack: true,
  })
  expect(left).toMatchObject([
    {
      ordinal: 2,
      state: 'created',
      reason: 'read_back_different',
      field: '/properties/svc_first_name',
      column: 'name',
      value: '"Ada"',
      detail: 'svc_first_name: sent "Ada", the service holds "ADA" (capitals or small letters)',
    },
    { ordinal: 3, state: 'created', reason: 'read_back_missing', field: null },
  ])
  // They are what a retry takes.
  const retried = await scene.retry(run)
  expect(retried).toMatchObject({ state: 'complete', rows: 2 })
})

/** A service that calls e-mails `mail_address`, which no release knows, and that keeps them in small letters. */
const otherNames = (client: ImportClient): ImportClient =>
  clientWith(client, {
    readObjectType: async (...given) => {
      const schema = await client.readObjectType(...given)
      const properties = schema.properties.map((property) =>
        property.field_type === 'email' ? { ...property, field_type: 'mail_address' } : property,
      )
      return { ...schema, properties }
    },
  })
const sendsOf = async (scene: Scene) => {
  const { books, state } = await scene.run({ through: otherNames })
  return [state, books.states.created + books.states.updated]
}
const mails = (count: number) =>
  Array.from({ length: count }, (_, index) => [`c-${index + 1}`, `Ada.${index + 1}@Example.ORG`])

test("the mapping's type is the one that values are compared by", async () => {
  const scene = await importScene(
    { svc_external_id: { column: 'id' }, svc_email: { column: 'email', type: 'email' } },
    { verify: 'all' },
  )
  scene.rows(['id', 'email'], mails(3))
  expect([await sendsOf(scene), await sendsOf(scene)]).toEqual([
    ['complete', 3],
    ['complete', 0],
  ])
  expect(await scene.reconcile({}, { through: otherNames })).toMatchObject({ state: 'complete' })
})

test('without it the service is told to normalise, and nothing is sent a third time', async () => {
  const scene = await importScene(
    { svc_external_id: { column: 'id' }, svc_email: { column: 'email' } },
    { verify: 'all' },
  )
  scene.rows(['id', 'email'], mails(3))
  expect([await sendsOf(scene), await sendsOf(scene), await sendsOf(scene)]).toEqual([
    ['complete_with_differences', 3],
    ['complete', 3],
    ['complete', 0],
  ])
  expect(scene.service.records(CONTACT)).toHaveLength(3)
})
