// A cell that is refused although a setting would read it: the message names the setting, and with it the cell is read.

import { describe, expect, it, test } from 'vitest'
import { parse } from 'yaml'
import type { PropertyMapping } from '../../../config/index.ts'
import { loadMapping } from '../../../src/import/mapping/map.ts'
import { contactsTarget, importOf } from './mapping-scene.ts'

async function mapped(property: string, cell: string, mapping: PropertyMapping) {
  const config = importOf({ [property]: { column: 'cell', ...mapping } })
  const plan = await loadMapping('rows', config, contactsTarget, ['id', 'cell'])
  const item = plan.map({ ordinal: 1, line: 2, cells: ['1', cell] })
  if (!item.valid) return { refused: item.detail }
  const { properties } = JSON.parse(item.payload) as { properties: Record<string, unknown> }
  return { value: properties[property] }
}

/** The settings that a message names, and those that a person adds to them. */
const settingsIn = (message: string): PropertyMapping =>
  Object.assign(
    {},
    ...[...message.matchAll(/`([a-z]+: [^`]+)`/g)].map(([, text]) => parse(text!) as object),
  )

it.each<[string, string, PropertyMapping, PropertyMapping, unknown]>([
  // A time of the day in a column of days.
  ['day', '2021-03-01 10:00', {}, {}, '2021-03-01'],
  ['day', '2021-03-01T10:00:00Z', {}, {}, '2021-03-01'],
  ['day', '2021-03-01T23:30:00+02:00', {}, {}, '2021-03-01'],
  ['day', '01.03.2021 10:00', { format: 'DD.MM.YYYY' }, {}, '2021-03-01'],
  ['day', 'May 3, 2021 1:05 PM', { format: 'MMM D, YYYY' }, {}, '2021-05-03'],
  ['day', '3/1/21  9:15', { format: 'M/D/YY', window: 1950 }, {}, '2021-03-01'],
  ['day', '01.03.2021 10:00', {}, { format: 'DD.MM.YYYY' }, '2021-03-01'],
  // Letters that name a zone.
  ['at', '2021-03-01 10:00 EST', {}, { zone: 'America/New_York' }, '2021-03-01T10:00:00-05:00'],
  ['at', '2021-07-01 10:00 EDT', { zone: 'America/New_York' }, {}, '2021-07-01T10:00:00-04:00'],
  [
    'at',
    '2021-07-01 10:00 PM PT',
    { zone: 'America/Los_Angeles' },
    {},
    '2021-07-01T22:00:00-07:00',
  ],
  ['at', '2021-07-01 10:00 (CEST)', { zone: 'Europe/Berlin' }, {}, '2021-07-01T10:00:00+02:00'],
  ['at', '2021-07-01 10:00:00 IST', { zone: 'Asia/Kolkata' }, {}, '2021-07-01T10:00:00+05:30'],
  ['at', '2021-07-01T10:00:00 JST', { zone: 'Asia/Tokyo' }, {}, '2021-07-01T10:00:00+09:00'],
  [
    'at',
    '01.07.2021 10:00 MESZ',
    { zone: 'Europe/Berlin', format: 'DD.MM.YYYY' },
    {},
    '2021-07-01T10:00:00+02:00',
  ],
  // Several numbers of telephone.
  ['mobiles', '030 1234567; 0170 7654321', { phone: 'DE' }, {}, ['+49301234567', '+491707654321']],
  ['mobiles', '030 1234567 / 030 7654321', { phone: 'DE' }, {}, ['+49301234567', '+49307654321']],
  [
    'mobiles',
    '+49301234567,+49307654321',
    { phone: 'international' },
    {},
    ['+49301234567', '+49307654321'],
  ],
  ['mobiles', '030 1234567 ::: 030 7654321', { phone: 'DE' }, {}, ['+49301234567', '+49307654321']],
  ['mobiles', '030 1234567\n030 7654321', { phone: 'DE' }, {}, ['+49301234567', '+49307654321']],
  // Signs with a point.
  ['number', 'Rs. 1500', {}, {}, 1500],
  ['number', 'Rs.1500', {}, {}, 1500],
  ['value', 'Rs.1,500.50', { unit: 'INR' }, {}, { amount: '1500.5', unit: 'INR' }],
  ['value', 'kr. 1.234,50', { unit: 'DKK' }, {}, { amount: '1234.5', unit: 'DKK' }],
  ['value', '12,50 kr.', { unit: 'SEK', decimal: ',' }, {}, { amount: '12.5', unit: 'SEK' }],
  ['value', 'Fr. 1234.50', { unit: 'CHF' }, {}, { amount: '1234.5', unit: 'CHF' }],
  // Numbers that count seconds.
  ['at', '1614592800', { epoch: 'ms' }, {}, '2021-03-01T10:00:00Z'],
])('%s %j with %j names settings that read it', async (property, cell, mapping, added, value) => {
  const { refused = '' } = await mapped(property, cell, mapping)
  const { pattern, ...named } = settingsIn(refused)
  const settings = property === 'mobiles' ? named : { pattern, ...named }
  expect(await mapped(property, cell, { ...mapping, ...settings, ...added })).toEqual({ value })
})

test.each(['030 1234567; 0170 7654321', '030 1234567 ::: 030 7654321', '030 1234567\n0307654321'])(
  'the first of several numbers: %j',
  async (cell) => {
    const { refused = '' } = await mapped('phone', cell, { phone: 'DE' })
    const { pattern } = settingsIn(refused)
    const read = await mapped('phone', cell, { phone: 'DE', pattern: pattern! })
    expect(read).toEqual({ value: '+49301234567' })
  },
)

it.each([
  'Ja',
  'Oui',
  'Sí',
  'はい',
  'wahr',
  'Y',
  'x',
  '1.0',
  'да',
  'evet',
  'نعم',
  'हाँ',
  'maybe later',
])('%j is no word of yes without a setting, and the message names it', async (cell) => {
  const { refused } = await mapped('flag', cell, {})
  expect(refused).toContain('`true:` and `false:` of the mapping name other words')
  expect(await mapped('flag', cell, { true: [cell] })).toEqual({ value: true })
})

it.each<[string, string, PropertyMapping, unknown]>([
  ['number', '١٢', {}, 12],
  ['number', '۱۲', {}, 12],
  ['number', '१२', {}, 12],
  ['number', '１２．５', {}, 12.5],
  ['number', '－１２', {}, -12],
  ['number', '١٢٫٥', {}, 12.5],
  ['number', '١٢٫٥', { decimal: ',' }, 12.5],
  ['number', '١٬٢٣٤٫٥', { thousands: ',' }, 1234.5],
  ['number', '١٬٢٣٤', { decimal: ',', thousands: '.' }, 1234],
  ['number', '１２，３４５', { thousands: ',' }, 12345],
  ['number', '൧൨൩', {}, 123],
  ['number', '𝟏𝟐', {}, 12],
  [
    'value',
    '¥１，２００',
    { unit: 'JPY', symbol: '¥', thousands: ',' },
    { amount: '1200', unit: 'JPY' },
  ],
  ['value', '٥٠ ₪', { unit: 'ILS', symbol: '₪' }, { amount: '50', unit: 'ILS' }],
  ['day', '٢٠٢١-٠٣-٠١', {}, '2021-03-01'],
  ['day', '２０２１／０３／０１', { format: 'YYYY/MM/DD' }, '2021-03-01'],
  ['day', '２０２１年３月１日', { format: 'YYYY年M月D日' }, '2021-03-01'],
  ['day', '०१.०३.२०२१', { format: 'DD.MM.YYYY' }, '2021-03-01'],
  ['at', '٢٠٢١-٠٣-٠١ ١٠:٠٠', { zone: 'UTC' }, '2021-03-01T10:00:00Z'],
  ['at', '２０２１－０３－０１　１０：００', { zone: 'Asia/Tokyo' }, '2021-03-01T10:00:00+09:00'],
  ['text', '١٢', {}, '١٢'],
])('%s %j with %j has digits of another script', async (property, cell, mapping, value) => {
  expect(await mapped(property, cell, mapping)).toEqual({ value })
})

it.each<[string, string, PropertyMapping]>([
  ['number', '5²', {}],
  ['number', '½', {}],
  ['number', '①', {}],
  ['number', '五', {}],
  ['number', '١٬٢٣٤', {}],
  ['number', '١٬٢٣٤', { decimal: ',' }],
  ['number', 'Rs.1500', { symbol: 'Rs' }],
  ['number', 'EUR.50', { symbol: 'EUR' }],
  ['day', '0021-05-03', {}],
  ['day', '0999-12-31', {}],
  ['day', '03.05.0021', { format: 'DD.MM.YYYY' }],
  ['day', '01.01.50', { format: 'DD.MM.YY', window: 900 }],
  ['at', '0021-05-03T10:00:00Z', {}],
  ['at', '0021-05-03 10:00', { zone: 'UTC' }],
  ['at', '-62135596800', { epoch: 's' }],
  ['at', '1614592800', { epoch: 'ms' }],
  ['at', '-1614592800', { epoch: 'ms' }],
  ['at', '0', { epoch: 'ms' }],
  ['at', '99999999999', { epoch: 'ms' }],
])('%s %j with %j is refused', async (property, cell, mapping) => {
  expect(await mapped(property, cell, mapping)).toHaveProperty('refused')
})

it.each<[string, string, PropertyMapping, unknown]>([
  ['day', '1000-01-01', {}, '1000-01-01'],
  ['at', '1000-01-01T00:00:00Z', {}, '1000-01-01T00:00:00Z'],
  ['at', '100000000000', { epoch: 'ms' }, '1973-03-03T09:46:40Z'],
  ['at', '-1614592800000', { epoch: 'ms' }, '1918-11-02T14:00:00Z'],
  ['at', '0', { epoch: 's' }, '1970-01-01T00:00:00Z'],
])('%s %j with %j is read', async (property, cell, mapping, value) => {
  expect(await mapped(property, cell, mapping)).toEqual({ value })
})

test('a key with several values is set aside, and the message names a way', async () => {
  const config = { ...importOf({}), properties: { mobiles: { column: 'id', split: ';' } } }
  const plan = await loadMapping(
    'rows',
    { ...config, matching_property: 'mobiles' },
    contactsTarget,
    ['id'],
  )
  const row = (cell: string) => plan.map({ ordinal: 1, line: 2, cells: [cell] })
  expect(row('1;')).toMatchObject({ valid: true, key: '1' })
  expect(row('1;2')).toMatchObject({ valid: false, reason: 'key_not_single' })
  const item = row('1;2') as { readonly detail?: string }
  const { pattern } = settingsIn(item.detail ?? '')
  const mended = await loadMapping(
    'rows',
    {
      ...config,
      matching_property: 'mobiles',
      properties: { mobiles: { column: 'id', pattern: pattern! } },
    },
    contactsTarget,
    ['id'],
  )
  expect(mended.map({ ordinal: 1, line: 2, cells: ['1;2'] })).toMatchObject({ key: '1' })
  expect(mended.map({ ordinal: 1, line: 2, cells: ['1'] })).toMatchObject({ key: '1' })
})

describe('cells that are sent as they are, with a note', () => {
  async function notes(property: string, cells: readonly string[], mapping: PropertyMapping = {}) {
    const config = importOf({ [property]: { column: 'cell', ...mapping } })
    const plan = await loadMapping('rows', config, contactsTarget, ['id', 'cell'])
    cells.forEach((cell, at) =>
      plan.map({ ordinal: at + 1, line: at + 2, cells: [`K${at}`, cell] }),
    )
    return plan.notes()
  }
  it.each<[string, string[], PropertyMapping, RegExp | null]>([
    ['phone', ['030 1234567 / 0170 7654321'], {}, /^1 cell of phone has more digits than/],
    ['phone', ['+49 30 1234567; +49 170 7654321', '030 1'], {}, /^1 cell of phone .*`split`/],
    ['phone', ['+49 30 1234567 ext. 12'], {}, null],
    ['phone', ['123456789012345'], {}, null],
    ['text', ['1234567890123456'], {}, null],
    ['mobiles', ['030 1234567;0170 7654321'], { split: ';' }, null],
    ['text', ['#N/A'], {}, /^1 cell of column "cell" has the text `#N\/A`/],
    ['text', [' #NOM? '], {}, /`#NOM\?`.*nulls: \["#NOM\?"\]/],
    ['text', ['null', 'null'], {}, /^2 cells of column "cell" have the text `null`/],
    ['text', ['NULL'], {}, null],
    ['text', ['k.A.', 'k.A.'], {}, /`k\.A\.`/],
    ['text', ['None', '-', '#', 'nil desperandum'], {}, null],
  ])('%s %j with %j', async (property, cells, mapping, note) => {
    const found = await notes(property, cells, mapping)
    expect(found).toEqual(note === null ? [] : [expect.stringMatching(note)])
  })
})
