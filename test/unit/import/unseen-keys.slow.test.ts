// Keys that look the same are one key on both sides: rows are one record, and two records of one look are told by a reconciliation.

import { expect, it } from 'vitest'
import { CONTACT, importScene } from './scene.ts'

const PROPERTIES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
}
const HEAD = ['id', 'name']

it.each(['\u200b', '\u200f', '\u00ad', '\u2060', '\u202c', '\u00a0'])(
  'rows whose keys differ in %j only are one record, and it is said',
  async (unseen) => {
    const s = await importScene(PROPERTIES)
    s.rows(HEAD, [
      ['ZW1', 'Ada'],
      [`ZW1${unseen}`, 'Ada B'],
    ])
    const end = await s.run()
    expect(end).toMatchObject({
      state: 'complete',
      books: { states: { created: 1, superseded: 1 } },
    })
    const { warnings } = (await s.ledger.run(end.run))!
    expect(warnings).toEqual([
      expect.stringContaining('1 row superseded: a later row has the same key, 1 of them written'),
      expect.stringContaining('1 row with a key that has space around it, characters that cannot'),
    ])
    expect((await s.held('ZW1'))!.properties['svc_first_name']).toBe('Ada B')
    expect(await s.reconcile()).toMatchObject({ state: 'complete', differences: [] })
  },
)

it('an e-mail address is one key on both sides', async () => {
  const s = await importScene(
    { svc_email: { column: 'id' }, svc_first_name: { column: 'name' } },
    {
      matching_property: 'svc_email',
    },
  )
  s.rows(HEAD, [
    ['zw9@example.com', 'Ada'],
    ['zw9@exam\u00adple.com\u200b', 'Ada B'],
  ])
  const end = await s.run()
  expect(end.books.states).toMatchObject({ created: 1, superseded: 1 })
  expect((await s.ledger.run(end.run))!.warnings).toContainEqual(
    expect.stringContaining('1 cell of svc_email has characters that cannot be seen'),
  )
  // The service takes both for one as well, whoever writes.
  const { properties } = await s.client.createRecord(CONTACT, { svc_email: ['a@b.example\u200b'] })
  expect(properties['svc_email']).toEqual(['a@b.example'])
})

it('two records whose keys look the same are told', async () => {
  const s = await importScene(PROPERTIES)
  const ids: string[] = []
  for (const id of ['ZW1', 'ZW1\u200b'])
    ids.push(
      (await s.client.createRecord(CONTACT, { svc_external_id: id, svc_first_name: 'Ada' })).id,
    )
  s.rows(HEAD, [['ZW1\u200b', 'Ada']])
  const end = await s.reconcile()
  expect((await s.ledger.run(end.run))!.warnings).toContainEqual(
    expect.stringMatching(
      new RegExp(`the records (${ids.join(' and ')}|${ids.toReversed().join(' and ')}) have keys`),
    ),
  )
  // The one with the form that is sent is written: without what nobody sees.
  s.rows(HEAD, [['ZW1\u200b', 'Eve']])
  await s.run()
  const held = await Promise.all(ids.map((id) => s.client.readRecord(CONTACT, id)))
  expect(held.map(({ properties }) => properties['svc_first_name'])).toEqual(['Eve', 'Ada'])
})

it('a record that has the form of the row alone is found, and stays one', async () => {
  const s = await importScene(PROPERTIES)
  await s.client.createRecord(CONTACT, { svc_external_id: 'ZW1\u200b', svc_first_name: 'Ada' })
  s.rows(HEAD, [['ZW1\u200b', 'Eve']])
  expect((await s.run()).books.states).toMatchObject({ updated: 1, created: 0 })
  expect(await s.reconcile()).toMatchObject({ state: 'complete', differences: [] })
})
