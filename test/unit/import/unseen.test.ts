// Characters that nobody sees: typed cells are read without them, keys are one key, free texts keep them, and what was left out is said.

import { describe, expect, it } from 'vitest'
import type { PropertyMapping } from '../../../config/index.ts'
import { loadMapping } from '../../../src/import/mapping/map.ts'
import { UNSEEN } from '../core/unseen.ts'
import { contactsTarget, importOf } from './mapping-scene.ts'

async function mapped(name: string, cell: string, mapping: PropertyMapping = { column: 'a' }) {
  const config = importOf({ [name]: mapping })
  const plan = await loadMapping('contacts', config, contactsTarget, ['id', 'a'])
  const item = plan.map({ ordinal: 1, line: 2, cells: ['k', cell] })
  const sent = item.valid
    ? (JSON.parse(item.payload) as { properties: Record<string, unknown> }).properties[name]
    : `${item.reason}: ${item.detail}`
  return { sent, notes: plan.notes() }
}

/** A cell of each type, in two parts between which such a character may be, and what is sent. */
const CELLS: readonly [string, string, string, unknown, PropertyMapping?][] = [
  ['email', 'ada@exam', 'ple.com', 'ada@example.com'],
  ['phone', '+49 30', ' 1234567', '+49 30 1234567'],
  ['phone', '030 12', '34567', '+49301234567', { column: 'a', phone: 'DE' }],
  ['url', 'https://exam', 'ple.com/a', 'https://example.com/a'],
  ['text', 'https://www.exam', 'ple.com', 'example.com', { column: 'a', type: 'domain' }],
  ['number', '12', '34.5', 1234.5],
  ['value', '1.2', '34,50', { amount: '1234.5', unit: 'EUR' }, amounts()],
  ['flag', 'tr', 'ue', true],
  ['flag', 'J', 'a', true, { column: 'a', true: ['ja'], false: ['nein'] }],
  ['day', '2026-', '01-31', '2026-01-31'],
  ['at', '2026-01-31T08', ':15:00Z', '2026-01-31T08:15:00Z'],
  ['stage', 'wo', 'n', 'won'],
  ['stage', 'Closed', ' won', 'won'],
  ['stage', 'W', 'on it', 'won', { column: 'a', map: { 'Won it': 'won' } }],
]

function amounts(): PropertyMapping {
  return { column: 'a', decimal: ',', thousands: '.', unit: 'EUR' }
}

describe.each(CELLS)('%s %s%s', (name, before, after, sent, mapping) => {
  it('is read without such a character, wherever it is', async () => {
    for (const unseen of UNSEEN)
      for (const cell of [
        unseen + before + after,
        before + unseen + after,
        before + after + unseen,
      ]) {
        const found = await mapped(name, cell, mapping)
        expect(found.sent, JSON.stringify(cell)).toEqual(sent)
        if (mapping?.map === undefined)
          expect(found.notes).toEqual([
            expect.stringContaining(`1 cell of ${name} has characters that cannot be seen`),
          ])
      }
    expect((await mapped(name, before + after, mapping)).notes).toEqual([])
  })
})

it('a free text keeps them', async () => {
  for (const cell of ['Ada\u200b', 'می\u200cخواهم', '👩\u200d💻', 'I ❤\ufe0f', 'a\u00adb'])
    expect(await mapped('note', cell)).toEqual({ sent: cell, notes: [] })
})

it('a key is one key, and its form in the source is kept for the look-up', async () => {
  const config = importOf({ note: { column: 'a' } })
  const plan = await loadMapping('contacts', config, contactsTarget, ['id', 'a'])
  for (const unseen of UNSEEN)
    for (const id of [`${unseen}ZW1`, `Z${unseen}W1`, `ZW1${unseen}`])
      expect(plan.map({ ordinal: 1, line: 2, cells: [id, 'x'] })).toMatchObject({
        key: 'ZW1',
        rawKey: id,
        payload: '{"properties":{"id":"ZW1","note":"x"}}',
      })
})

it('a cell with nothing else is empty', async () => {
  for (const unseen of UNSEEN) expect((await mapped('number', ` ${unseen}`)).sent).toBe(undefined)
})

describe('keys that look like whole numbers of a column with gaps', () => {
  const notes = async (ids: readonly string[], mapping: PropertyMapping = { column: 'id' }) => {
    const config = importOf({ id: mapping, note: { column: 'a' } })
    const plan = await loadMapping('contacts', config, contactsTarget, ['id', 'a'])
    const keys = ids.map((id) => plan.map({ ordinal: 1, line: 2, cells: [id, 'x'] }))
    return { notes: plan.notes(), keys: keys.map((item) => item.valid && item.key) }
  }

  it.each([
    [['1001.0', '1002.0'], '2 keys of id end in `.0`'],
    [['1001', '1002.0', '1003'], '1 key of id ends in `.0`'],
    [['-7.00'], '1 key of id ends in `.0`'],
  ])('%j are told, and what takes it away', async (ids, expected) => {
    const { notes: texts } = await notes(ids)
    expect(texts).toEqual([expect.stringContaining(expected)])
    const [, pattern] = /`pattern: '(.*)'`/.exec(texts[0]!)!
    const mended = await notes(ids, { column: 'id', pattern: pattern! })
    expect(mended.notes).toEqual([])
    expect(mended.keys).toEqual(ids.map((id) => id.replace(/\.0+$/, '')))
  })

  it.each([[['1.0', '1.1', '2.0']], [['A-1.0']], [['1001']], [['1.0.0']], [['10.50', '7.0']]])(
    '%j are none',
    async (ids) => {
      expect((await notes(ids)).notes).toEqual([])
    },
  )
})

describe('keys that a spreadsheet shortened', () => {
  const notes = async (ids: readonly string[]) => {
    const config = importOf({ id: { column: 'id' }, note: { column: 'a' } })
    const plan = await loadMapping('contacts', config, contactsTarget, ['id', 'a'])
    for (const id of ids) plan.map({ ordinal: 1, line: 2, cells: [id, 'x'] })
    return plan.notes()
  }

  const SHORTENED =
    '4.91701E+11 4,91701E+11 4.91701e+11 4.91701E11 4,91701E11 5E+11 1E+05 -4.91701E+11 +4.91701E+11 1.23457E+15 9.99E+99 1.0E+100'
  it.each([' 4.91701E+11 ', ...SHORTENED.split(' ')])('%j is counted', async (id) => {
    expect(await notes(['A-1', id])).toEqual([
      expect.stringMatching(/^1 key of id is in a form to which spreadsheets shorten.*as text$/),
    ])
  })

  const OTHERS =
    '12E3 5E11 E+11 4.91701 491701234567 C4.9E+11 4.91701E+11-B 12.5E+3 1e-7 4.9E+ 2E+2E+2'
  it.each(OTHERS.split(' '))('%j is none', async (id) => {
    expect(await notes(['A-1', id])).toEqual([])
  })

  it('they are counted together', async () => {
    expect(await notes(['4.91701E+11', '4.91701E+11', '4.91702E+11'])).toEqual([
      expect.stringMatching(/^3 keys of id are in a form/),
    ])
  })
})

it('`1.0` in a property of yes and no is refused with the setting that reads it', async () => {
  for (const cell of ['1.0', '0.0', '1.00', 'Y', 'n', 'on'])
    expect((await mapped('flag', cell)).sent).toContain('`true:` and `false:` of the mapping name')
  const mapping = { column: 'a', true: ['1.0'], false: ['0.0'] }
  expect((await mapped('flag', '1.0', mapping)).sent).toBe(true)
})
