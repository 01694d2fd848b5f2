// A line of totals below keys that are no words is set aside; a record that is called like one is not.

import { describe, expect, it } from 'vitest'
import { RowNotes } from '../../../src/import/mapping/row-notes.ts'
import { isTotalsWord } from '../../../src/core/totals.ts'

describe('a word for a total', () => {
  it.each([
    'Total',
    'TOTALS:',
    'total',
    ' Totals ',
    'Total :',
    'Grand total',
    'GRAND TOTALS:',
    'Subtotal',
    'Sub total',
    'Sum',
    'Summe',
    'SUMME:',
    'Gesamt',
    'Gesamtsumme',
    'Zwischensumme',
    'Insgesamt',
    'Totaal',
    'Totale',
    'Totaux',
    'Somme',
    'Suma',
    'Soma',
    'Razem',
    'Celkem',
    'Yhteensä',
    'Toplam',
    'Итого',
    'ВСЕГО:',
    '合計',
    '合计',
    '总计',
    '小計',
    '합계',
    'Total rows: 12',
    'Total (EUR)',
    'Total: 12',
    '** Total **',
    'Yhteensa\u0308',
    'Count',
    'Average',
  ])('%s', (text) => expect(isTotalsWord(text)).toBe(true))

  it.each([
    'Totalenergies',
    'Total Wine',
    'Totals Ltd',
    'C-12',
    '12',
    '',
    'Summer',
    'Summerfield',
    'Sumner',
    'Gesamtschule Bonn',
    'ada@example.com',
    'total@example.com',
    'Subtotal Systems',
    'Counter',
    'Totally',
    'Anna Suma',
    'Grand Hotel',
    'Total12',
    'T',
    '計画',
  ])('%s is none', (text) => expect(isTotalsWord(text)).toBe(false))
})

describe('a row of totals', () => {
  const seen = (...keys: string[]) => {
    const rows = new RowNotes()
    return keys.map((key) => rows.seeKey(key, 'id'))
  }
  it.each<[string[], boolean[]]>([
    [
      ['TT1', 'TT2', 'Totals:'],
      [false, false, true],
    ],
    [
      ['a@x.com', 'Total'],
      [false, true],
    ],
    [
      ['1', 'Subtotal', '2', 'Total'],
      [false, true, false, true],
    ],
    [
      ['Total', 'TT1', 'TT2'],
      [false, false, false],
    ],
    [
      ['Shell', 'Total', 'BP'],
      [false, false, false],
    ],
    [
      ['TT1', 'Shell', 'Total'],
      [false, false, false],
    ],
    [['Total'], [false]],
    [
      ['a_b', 'Sum'],
      [false, true],
    ],
  ])('%j', (keys, expected) => expect(seen(...keys)).toEqual(expected))
})
