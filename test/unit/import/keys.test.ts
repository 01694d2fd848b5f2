// The key that is compared is the key that is sent: against another service, which compares texts exactly unless it is told
// otherwise.

import { expect, test } from 'vitest'
import { keyWarnings } from '../../../src/import/steps/warnings.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { startOtherService, type OtherServiceOptions } from '../../other-service/index.ts'
import { importSceneOn } from './scene.ts'

const CONTACT = 'acme_contact'
const ID = 'acme_external_id'
const MAIL = 'acme_email'
const FIRST = 'acme_first_name'
const HEAD = ['id', 'name']
const NFC = '\u00e9-1'
const NFD = 'e\u0301-1'

const scene = (
  matching: string,
  options: OtherServiceOptions = {},
  more: Partial<ImportConfig> = {},
) =>
  importSceneOn(
    () => startOtherService(options),
    { [matching]: { column: 'id' }, [FIRST]: { column: 'name' } },
    { object_type: CONTACT, matching_property: matching, verify: 'all', ...more },
  )
type TheScene = Awaited<ReturnType<typeof scene>>

const held = ({ service }: TheScene, property: string) =>
  service
    .records(CONTACT)
    .map(({ properties }) => [[properties[property]].flat()[0], properties[FIRST]])
    .toSorted()
const warningsOf = async ({ ledger }: TheScene, run: number) => (await ledger.run(run))!.warnings

test('space around a key, and forms of Unicode, make no second record', async () => {
  const s = await scene(ID)
  s.rows(HEAD, [
    ['K1', 'one'],
    ['K2', 'two'],
    [NFC, 'nfc'],
  ])
  await s.run()
  s.rows(HEAD, [
    [' K1', 'uno'],
    ['K2 ', 'due'],
    [NFD, 'nfd'],
  ])
  const second = await s.run()
  expect(second.books.states).toMatchObject({ created: 0, updated: 3 })
  expect(second.books.readBack).toMatchObject({ equal: 3 })
  expect(held(s, ID)).toEqual([
    ['K1', 'uno'],
    ['K2', 'due'],
    [NFC, 'nfd'],
  ])
  expect(await warningsOf(s, second.run)).toEqual([
    expect.stringContaining('3 rows with a key that has space around it'),
  ])
  // Nothing of it is sent again.
  expect((await s.run()).books.states).toMatchObject({ unchanged: 3 })
  expect(await s.reconcile()).toMatchObject({ state: 'complete' })
})

test('rows of one file whose keys differ only so are one record, and that is told', async () => {
  const s = await scene(ID)
  s.rows(HEAD, [
    ['K9', 'first'],
    ['K9 ', 'second'],
    ['K8', 'a'],
    ['K8', 'b'],
  ])
  const { run, books } = await s.run()
  expect(books.states).toMatchObject({ created: 2, superseded: 2 })
  expect(held(s, ID)).toEqual([
    ['K8', 'b'],
    ['K9', 'second'],
  ])
  expect((await warningsOf(s, run))[0]).toMatch(
    /^2 rows superseded: a later row has the same key, 1 of them written otherwise/,
  )
})

test('a record that is there under the form of the row keeps it: no second one is made', async () => {
  const s = await scene(ID)
  // As others sent them.
  s.service.fill(CONTACT, [
    { [ID]: ' K1', [FIRST]: 'old' },
    { [ID]: NFD, [FIRST]: 'old' },
    { [ID]: 'K3 ', [FIRST]: 'other' },
    { [ID]: 'K3', [FIRST]: 'old' },
  ])
  s.rows(HEAD, [
    [' K1', 'new'],
    [NFD, 'new'],
    ['K3 ', 'new'],
    [' K4', 'new'],
  ])
  const first = await s.run()
  expect(first.books.states).toMatchObject({ created: 1, updated: 3 })
  expect(first.state).toBe('complete')
  expect(held(s, ID)).toEqual(
    [
      [' K1', 'new'],
      [NFD, 'new'],
      ['K3 ', 'other'],
      ['K3', 'new'],
      ['K4', 'new'],
    ].toSorted(),
  )
  expect((await s.run()).books.states).toMatchObject({ unchanged: 4 })
  expect(await s.reconcile()).toMatchObject({ state: 'complete' })
})

test('capitals of e-mails make another key at a service that compares exactly; it is told', async () => {
  const s = await scene(MAIL)
  s.rows(HEAD, [['bob@x.org', 'small']])
  await s.run()
  s.rows(HEAD, [
    ['BOB@x.org', 'capitals'],
    ['bob@x.org', 'still small'],
  ])
  const { run, books } = await s.run()
  expect(books.states).toMatchObject({ created: 1, updated: 1, superseded: 0 })
  expect(held(s, MAIL)).toEqual([
    ['BOB@x.org', 'capitals'],
    ['bob@x.org', 'still small'],
  ])
  expect(await warningsOf(s, run)).toEqual([
    expect.stringContaining('1 row with a key that differs from another one in capitals only'),
  ])
  const again = await s.reconcile()
  expect(again).toMatchObject({ state: 'complete', books: { states: { unchanged: 2 } } })
})

test('a service that shows that it folds gets one record, and one row of each key', async () => {
  const s = await scene(MAIL, { matching: 'folded', lowerEmails: true })
  s.rows(HEAD, [['bob@x.org', 'small']])
  await s.run()
  s.rows(HEAD, [
    ['BOB@x.org', 'capitals'],
    ['Bob@X.org', 'mixed'],
  ])
  const { books } = await s.run()
  expect(books.states).toMatchObject({ updated: 1, superseded: 1 })
  expect(held(s, MAIL)).toEqual([['bob@x.org', 'mixed']])
  expect(await s.reconcile()).toMatchObject({ state: 'complete' })
})

test('before it has a record to show it by, the later of two rows wins all the same', async () => {
  const s = await scene(MAIL, { matching: 'folded', lowerEmails: true })
  s.rows(HEAD, [
    ['BOB@x.org', 'first'],
    ['bob@x.org', 'later'],
  ])
  await s.run()
  expect(held(s, MAIL)).toEqual([['bob@x.org', 'later']])
  await s.run()
  expect(held(s, MAIL)).toEqual([['bob@x.org', 'later']])
})

test('rows of a retry that gave way to newer ones are told apart from those with a later row in their run', async () => {
  const keyFigures = async () => ({ loose: 0, keyless: 0, merged: 0, variants: 0 })
  const counts = { planned: 1, superseded: 3, newer: 2, unchanged: 0, invalid: 0 }
  expect(await keyWarnings({ keyCounts: keyFigures }, 1, { counts, isExact: false })).toEqual([
    '1 row superseded: a later row has the same key',
    '2 rows left out: a row with the same key that was read later is brought in already, or may be where its answer was lost, and nothing older is written over it',
  ])
})
