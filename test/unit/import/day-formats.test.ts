// Days and times as files write them: years of two digits, names of months, several formats in one column, numbers that count days.

import { describe, expect, it } from 'vitest'
import type { PropertyMapping } from '../../../config/index.ts'
import { dateFormatProblem, exampleDay } from '../../../src/core/date-format.ts'
import { coercionFor } from '../../../src/import/mapping/coerce.ts'

type Row = readonly [cell: string, mapping: PropertyMapping, value: string]

function read(type: 'date' | 'datetime', cell: string, mapping: PropertyMapping): unknown {
  const context = { mapping, valueType: 'string', options: new Map(), units: new Set<string>() }
  const read = coercionFor(type, 'string')(cell, context)
  return read.ok ? read.value : read.reason
}

const short = (format: string, window: number): PropertyMapping => ({ format, window })
const DATES: readonly Row[] = [
  ['01.05.21', short('DD.MM.YY', 1950), '2021-05-01'],
  ['01/01/57', short('DD/MM/YY', 1950), '1957-01-01'],
  ['01/01/57', short('DD/MM/YY', 1930), '1957-01-01'],
  ['01/01/57', short('DD/MM/YY', 1960), '2057-01-01'],
  ['01/01/50', short('MM/DD/YY', 1950), '1950-01-01'],
  ['01/01/49', short('MM/DD/YY', 1950), '2049-01-01'],
  ['12/31/00', short('MM/DD/YY', 1901), '2000-12-31'],
  ['29.02.00', short('DD.MM.YY', 1901), '2000-02-29'],
  ['29.02.00', short('DD.MM.YY', 1801), 'not_a_date'],
  ['1.5.2021', short('D.M.YY', 1950), 'not_a_date'],
  ['1.5.1', short('D.M.YY', 1950), 'not_a_date'],
  ['210501', short('YYMMDD', 1950), '2021-05-01'],
  ['3-Sep-21', short('D-MMM-YY', 1950), '2021-09-03'],
  ['03-SEP-21', short('DD-MMM-YY', 1950), '2021-09-03'],
  ['3 sept. 2021', { format: 'D MMM YYYY' }, '2021-09-03'],
  ['May 3, 2021', { format: 'MMMM D, YYYY' }, '2021-05-03'],
  ['September 30, 2021', { format: 'MMMM D, YYYY' }, '2021-09-30'],
  ['Sep 30, 2021', { format: 'MMMM D, YYYY' }, '2021-09-30'],
  ['31 June 2021', { format: 'D MMMM YYYY' }, 'not_a_date'],
  ['3 Mai 2021', { format: 'D MMMM YYYY' }, 'not_a_date'],
  ['3 Ju 2021', { format: 'D MMM YYYY' }, 'not_a_date'],
  ['3. Mai 2021', { format: 'D. MMMM YYYY', language: 'de' }, '2021-05-03'],
  ['03. März 2021', { format: 'DD. MMMM YYYY', language: 'de' }, '2021-03-03'],
  ['03-Mrz-21', { ...short('DD-MMM-YY', 1950), language: 'de' }, '2021-03-03'],
  ['5. Dez. 2021', { format: 'D. MMM YYYY', language: 'de' }, '2021-12-05'],
  ['5. Jänner 2021', { format: 'D. MMMM YYYY', language: 'de-AT' }, '2021-01-05'],
  ['1 févr. 2021', { format: 'D MMM YYYY', language: 'fr' }, '2021-02-01'],
  ['1 AOUT 2021', { format: 'D MMMM YYYY', language: 'fr' }, '2021-08-01'],
  ['1 jui 2021', { format: 'D MMM YYYY', language: 'fr' }, 'not_a_date'],
  ['3 de mayo de 2021', { format: 'D de MMMM de YYYY', language: 'es' }, '2021-05-03'],
  ['3 мая 2021', { format: 'D MMMM YYYY', language: 'ru' }, '2021-05-03'],
  ['3 KASIM 2021', { format: 'D MMMM YYYY', language: 'tr' }, '2021-11-03'],
  ['3 kasım 2021', { format: 'D MMMM YYYY', language: 'tr' }, '2021-11-03'],
  ['3 İyul 2021', { format: 'D MMMM YYYY', language: 'az' }, '2021-07-03'],
  ['3 sierpnia 2021', { format: 'D MMMM YYYY', language: 'pl' }, '2021-08-03'],
  ['2021年5月3日', { format: 'YYYY年M月D日' }, '2021-05-03'],
  ['15/05/1985', { format: 'DD/MM/YYYY' }, '1985-05-15'],
  ['15/05/1985', { format: ['YYYY-MM-DD', 'DD/MM/YYYY'] }, '1985-05-15'],
  ['1985-05-15', { format: ['DD/MM/YYYY', 'YYYY-MM-DD'] }, '1985-05-15'],
  ['13/05/1985', { format: ['MM/DD/YYYY', 'DD/MM/YYYY'] }, '1985-05-13'],
  ['03/05/1985', { format: ['MM/DD/YYYY', 'DD/MM/YYYY'] }, 'ambiguous'],
  ['05/05/1985', { format: ['MM/DD/YYYY', 'DD/MM/YYYY'] }, '1985-05-05'],
  ['1985', { format: ['MM/DD/YYYY', 'DD/MM/YYYY'] }, 'not_a_date'],
  ['1/5/21', { format: ['D/M/YYYY', 'D/M/YY'], window: 1950 }, '2021-05-01'],
  ['31182', { epoch: 'spreadsheet' }, '1985-05-15'],
  ['31182.0', { epoch: 'spreadsheet' }, '1985-05-15'],
  ['61', { epoch: 'spreadsheet' }, '1900-03-01'],
  ['60', { epoch: 'spreadsheet' }, 'not_a_date'],
  ['31182.5', { epoch: 'spreadsheet' }, 'not_a_date'],
  ['1985-05-15', { epoch: 'spreadsheet' }, 'not_a_date'],
  ['9999999', { epoch: 'spreadsheet' }, 'not_a_date'],
]

const TIMES: readonly Row[] = [
  ['1614592800', { epoch: 's' }, '2021-03-01T10:00:00Z'],
  ['1614592800.5', { epoch: 's' }, '2021-03-01T10:00:00.5Z'],
  ['1614592800.123456', { epoch: 's' }, '2021-03-01T10:00:00.123Z'],
  ['1614592800.0', { epoch: 's' }, '2021-03-01T10:00:00Z'],
  ['-1', { epoch: 's' }, '1969-12-31T23:59:59Z'],
  ['1614592800000', { epoch: 's' }, 'not_a_datetime'],
  ['1614592800000', { epoch: 'ms' }, '2021-03-01T10:00:00Z'],
  ['1614592800123', { epoch: 'ms' }, '2021-03-01T10:00:00.123Z'],
  ['1614592800123.0', { epoch: 'ms' }, '2021-03-01T10:00:00.123Z'],
  ['1.6145928E+12', { epoch: 'ms' }, 'not_a_datetime'],
  ['2021-03-01T10:00:00Z', { epoch: 's' }, 'not_a_datetime'],
  ['3-Sep-21 10:00', { ...short('D-MMM-YY', 1950), zone: 'UTC' }, '2021-09-03T10:00:00Z'],
  ['May 3, 2021 2:05 PM', { format: 'MMMM D, YYYY', zone: 'UTC' }, '2021-05-03T14:05:00Z'],
  ['2021 3 May 10:00', { format: 'YYYY D MMM', zone: 'UTC' }, '2021-05-03T10:00:00Z'],
  ['13/05/2021 10:00Z', { format: ['MM/DD/YYYY', 'DD/MM/YYYY'] }, '2021-05-13T10:00:00Z'],
  ['03/05/2021 10:00Z', { format: ['MM/DD/YYYY', 'DD/MM/YYYY'] }, 'ambiguous'],
  ['2020-12-31 21:25:58.745232+02', {}, '2020-12-31T21:25:58.745+02:00'],
  ['2020-12-31T21:25:58.745999Z', {}, '2020-12-31T21:25:58.745Z'],
  ['2020-12-31T21:25:58.745Z', {}, '2020-12-31T21:25:58.745Z'],
  ['2020-12-31T21:25:58.7Z', {}, '2020-12-31T21:25:58.7Z'],
  ['2020-12-31T21:25:58.745000Z', {}, '2020-12-31T21:25:58.745Z'],
]

describe('days', () => {
  it.each(DATES)('%s as %j is %s', (cell, mapping, value) =>
    expect(read('date', cell, mapping)).toBe(value),
  )
})

describe('times', () => {
  it.each(TIMES)('%s as %j is %s', (cell, mapping, value) =>
    expect(read('datetime', cell, mapping)).toBe(value),
  )

  it.each([
    ['2021-01-01T10:00:00.1234Z', true],
    ['2021-01-01T10:00:00.123000Z', undefined],
    ['2021-01-01T10:00:00.123Z', undefined],
  ])('%s is marked where it was cut: %s', (cell, isCut) => {
    const context = {
      mapping: {},
      valueType: 'string',
      options: new Map(),
      units: new Set<string>(),
    }
    expect(coercionFor('datetime', 'string')(cell, context)).toMatchObject({
      ok: true,
      ...(isCut && { isCut }),
    })
  })
})

describe('what was expected names the setting', () => {
  it.each([
    ['date', '15/05/1985', '`format:`'],
    ['date', 'May 3, 2021', '`format:`'],
    ['date', '31182', '`epoch: spreadsheet`'],
    ['datetime', '1614592800', '`epoch: s`'],
    ['datetime', '1614592800000', '`epoch: ms`'],
    ['datetime', '15/05/1985 10:00', '`format:`'],
    ['datetime', '2021-03-01 10:00', '`zone:`'],
  ])('of a %s, %s: %s', (type, cell, setting) => {
    const context = {
      mapping: {},
      valueType: 'string',
      options: new Map(),
      units: new Set<string>(),
    }
    expect(coercionFor(type, 'string')(cell, context)).toMatchObject({
      expected: expect.stringContaining(setting),
    })
  })
})

describe('a format', () => {
  it.each([
    'DD.MM.YYYY',
    'D-MMM-YY',
    'MMMM D, YYYY',
    'YYYY-MM-DDT00:00:00Z',
    'YYMMDD',
    'D de MMMM de YYYY',
    'YYYY年M月D日',
    'DDMMMYYYY',
  ])('%s is one', (format) => expect(dateFormatProblem(format)).toBeNull())
  it.each([
    'DD/MM/YYYY HH:mm',
    'YYYY-MM-DDTHH:mm:ssZ',
    'DD/MM/YYYY hh:mm a',
    'MM/DD/YYYY h:mm A',
    'DD.MM.YYYY ss',
  ])('%s names the time, which has no format', (format) =>
    expect(dateFormatProblem(format)).toMatch(/a day alone/),
  )
  it.each(['DMYY', 'MDYYYY', 'DD.MM', 'MMM YYYY', 'DD.MM.YYYY YY', 'TT.MM.JJJJ', 'DD.MM.YYY'])(
    '%s is none',
    (format) => expect(dateFormatProblem(format)).not.toBeNull(),
  )
  it('has an example', () => {
    expect(exampleDay('D-MMM-YY')).toBe('31-Jan-26')
    expect(exampleDay('D. MMMM YYYY', { language: 'de' })).toBe('31. Januar 2026')
  })
})
