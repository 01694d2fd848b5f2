// Telephone numbers whose + a spreadsheet took away: a cell with two readings is set aside, unless the mapping says which holds.

import * as library from 'libphonenumber-js/max'
import { describe, expect, it } from 'vitest'
import { phoneCoercion } from '../../../src/import/mapping/phones.ts'

const read = (phone: string, cell: string) => {
  const coerced = phoneCoercion(library, phone)(cell, {
    mapping: {},
    valueType: 'string',
    options: new Map(),
    units: new Set(),
  })
  return coerced.ok ? coerced.value : coerced.reason
}

const expectedOf = (phone: string, cell: string) => {
  const coerced = phoneCoercion(library, phone)(cell, {
    mapping: {},
    valueType: 'string',
    options: new Map(),
    units: new Set(),
  })
  return coerced.ok ? '' : coerced.expected
}

describe('with two readings', () => {
  it.each([
    ['DE', '491701234567', '+491701234567', '+49491701234567'],
    ['DE', '49 170 1234567', '+491701234567', '+49491701234567'],
    ['DE', '49-170-1234567', '+491701234567', '+49491701234567'],
    ['DE', '(49) 170 1234567', '+491701234567', '+49491701234567'],
    ['DE', '491601234567', '+491601234567', '+49491601234567'],
    ['DE', '491511234567', '+491511234567', '+49491511234567'],
    ['DE', '4915112345678', '+4915112345678', '+494915112345678'],
    ['DE', '4917612345678', '+4917612345678', '+494917612345678'],
    ['DE', '４９１７０１２３４５６７', '+491701234567', '+49491701234567'],
    ['DE', '33612345678', '+33612345678', '+4933612345678'],
    ['DE', '447911123456', '+447911123456', '+49447911123456'],
    ['DE', '15712345678', '+15712345678', '+4915712345678'],
  ])('%s %s', (country, cell, international, national) => {
    expect(read(country, cell)).toBe('phone_ambiguous')
    expect(read(`${country} international`, cell)).toBe(international)
    expect(read(`${country} national`, cell)).toBe(national)
    expect(expectedOf(country, cell)).toContain(
      `\`phone: ${country} international\` or \`phone: ${country} national\` of the mapping says`,
    )
  })
})

describe('with one reading', () => {
  it.each([
    ['DE', '+491701234567', '+491701234567'],
    ['DE', '＋491701234567', '+491701234567'],
    ['DE', '01701234567', '+491701234567'],
    ['DE', '1701234567', '+491701234567'],
    ['DE', '15112345678', '+4915112345678'],
    ['DE', '0049 170 1234567', '+491701234567'],
    ['DE', '0491 701234', '+49491701234'],
    ['DE', '4930123456', '+4930123456'],
    ['IT', '393331234567', '+393331234567'],
    ['IT', '3331234567', '+393331234567'],
    ['IT', '3931234567', '+393931234567'],
    ['IT', '390612345678', '+390612345678'],
    ['BR', '5511987654321', '+5511987654321'],
    ['BR', '55991234567', '+5555991234567'],
    ['BR', '11987654321', '+5511987654321'],
    ['IN', '919876543210', '+919876543210'],
    ['IN', '9198765432', '+919198765432'],
    ['MX', '525512345678', '+525512345678'],
    ['MX', '5512345678', '+525512345678'],
    ['US', '12125551234', '+12125551234'],
    ['US', '2125551234', '+12125551234'],
    ['FR', '33612345678', '+33612345678'],
    ['GB', '447911123456', '+447911123456'],
    ['ES', '34612345678', '+34612345678'],
    ['NL', '31612345678', '+31612345678'],
    ['CH', '41791234567', '+41791234567'],
    ['AT', '436641234567', '+436641234567'],
    ['AU', '61412345678', '+61412345678'],
    ['RU', '79161234567', '+79161234567'],
    ['CN', '8613812345678', '+8613812345678'],
    ['CN', '13012345678', '+8613012345678'],
    ['JP', '819012345678', '+819012345678'],
    ['PL', '48601234567', '+48601234567'],
    ['DK', '20123456', '+4520123456'],
  ])('%s %s', (country, cell, number) => {
    expect(read(country, cell)).toBe(number)
    expect(read(`${country} international`, cell)).toBe(number)
    expect(read(`${country} national`, cell)).toBe(number)
  })

  it('a number that is one with a + alone says so', () => {
    expect(read('DE', '12125551234')).toBe('not_a_phone')
    expect(expectedOf('DE', '12125551234')).toContain(
      'it is a number of +1: `phone: DE international`',
    )
    expect(read('DE international', '12125551234')).toBe('+12125551234')
  })

  it('all numbers with a +: one without is refused', () => {
    expect(read('international', '491701234567')).toBe('not_a_phone')
    expect(read('international', '+491701234567')).toBe('+491701234567')
  })
})
