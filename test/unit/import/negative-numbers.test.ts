// Numbers whose sign stands elsewhere, and groups as India writes them: each has one reading under its settings, or none.

import { describe, expect, it } from 'vitest'
import { decimalOfCell, type NumberForm } from '../../../src/import/mapping/amounts.ts'
import { numberAdvice } from '../../../src/import/mapping/number-advice.ts'

const paren = { negative: 'parentheses' } as const
const behind = { negative: 'trailing' } as const
const dollar = { ...paren, symbol: '$', thousands: ',' } as const
const euro = { ...behind, symbol: '€', decimal: ',', thousands: '.' } as const
const comma = { thousands: ',' } as const

describe('a number', () => {
  it.each<[string, NumberForm, string | null]>([
    ['(30)', paren, '-30'],
    ['(30.00)', paren, '-30'],
    ['( 30 )', paren, '-30'],
    ['30', paren, '30'],
    ['-30', paren, '-30'],
    ['+30', paren, '30'],
    ['(-30)', paren, null],
    ['-(30)', paren, null],
    ['((30))', paren, null],
    ['(30', paren, null],
    ['30)', paren, null],
    ['()', paren, null],
    ['(a)', paren, null],
    ['30-', paren, null],
    ['($30.00)', dollar, '-30'],
    ['$(30.00)', dollar, '-30'],
    ['(1,234.50)', dollar, '-1234.5'],
    ['($1,234,567)', dollar, '-1234567'],
    ['$1,234.50', dollar, '1234.5'],
    ['(12,34)', dollar, null],
    ['30-', behind, '-30'],
    ['1200.00-', behind, '-1200'],
    ['30 -', behind, '-30'],
    ['-30', behind, '-30'],
    ['-30-', behind, null],
    ['30--', behind, null],
    ['-', behind, null],
    ['(30)', behind, null],
    ['1.200,00-', euro, '-1200'],
    ['1.200,00- €', euro, '-1200'],
    ['1.200,00 €-', euro, '-1200'],
    ['€ 30-', euro, '-30'],
    ['1.200,00 €', euro, '1200'],
    ['30-', {}, null],
    ['(30)', {}, null],
    ['\u22125', {}, '-5'],
    ['\u22121.5', {}, '-1.5'],
    ['\u2212$30', dollar, '-30'],
    ['30\u2212', behind, '-30'],
    ['\u2212\u22125', {}, null],
    ['12,34,567.89', comma, '1234567.89'],
    ['1,23,456', comma, '123456'],
    ['12,34,56,789', comma, '123456789'],
    ['-12,34,567', comma, '-1234567'],
    ['1,234,567', comma, '1234567'],
    ['12,345', comma, '12345'],
    ['123,45,678', comma, null],
    ['12,345,67', comma, null],
    ['1,23,45', comma, null],
    ['1,2,345', comma, null],
    ['0,12,345', comma, null],
    ['1,2345', comma, null],
    ['12.34.567', { thousands: '.', decimal: ',' }, null],
  ])('%s with %j is %s', (cell, form, value) => expect(decimalOfCell(cell, form)).toBe(value))
})

describe('a number that is refused names the setting', () => {
  it.each([
    ['(30)', {}, '`negative: parentheses`'],
    ['($30.00)', {}, '`symbol: "$"` and `negative: parentheses`'],
    ['30-', {}, '`negative: trailing`'],
    ['1.200,50-', {}, '`decimal: ","`, `thousands: "."` and `negative: trailing`'],
    ['12,34,567.89', {}, '`thousands: ","`'],
    ['(30)', { symbol: '$' }, '`negative: parentheses`'],
  ])('%s with %j: %s', (cell, mapping, setting) =>
    expect(numberAdvice(cell, mapping)).toContain(setting),
  )
})
