// Which sign or code beside an amount cannot be of its currency.

import { expect, it } from 'vitest'
import { contradicts } from '../../../src/core/currencies.ts'

it.each([
  ['€', 'USD'],
  ['€', 'CHF'],
  ['€', 'SEK'],
  ['$', 'EUR'],
  ['$', 'GBP'],
  ['$', 'JPY'],
  ['US$', 'EUR'],
  ['£', 'EUR'],
  ['£', 'USD'],
  ['¥', 'USD'],
  ['￥', 'EUR'],
  ['₹', 'USD'],
  ['₹', 'PKR'],
  ['₺', 'EUR'],
  ['₩', 'JPY'],
  ['₽', 'USD'],
  ['EUR', 'USD'],
  ['USD', 'CAD'],
  ['GBP', 'EUR'],
  ['CHF', 'EUR'],
])('%s is not of %s', (symbol, unit) => {
  expect(contradicts(symbol, unit)).toBe(true)
})

it.each([
  ['€', 'EUR'],
  ['$', 'USD'],
  ['$', 'CAD'],
  ['$', 'MXN'],
  ['$', 'ARS'],
  ['$', 'MOP'],
  ['US$', 'USD'],
  ['R$', 'BRL'],
  ['£', 'GBP'],
  ['£', 'EGP'],
  ['£', 'LBP'],
  ['¥', 'JPY'],
  ['¥', 'CNY'],
  ['￥', 'JPY'],
  ['₹', 'INR'],
  ['₦', 'NGN'],
  ['₺', 'TRY'],
  ['kr', 'SEK'],
  ['Rs.', 'INR'],
  ['Rs.', 'PKR'],
  ['zł', 'PLN'],
  ['元', 'CNY'],
  ['%', 'USD'],
  ['DR', 'USD'],
  ['EUR', 'EUR'],
])('%s may be of %s', (symbol, unit) => {
  expect(contradicts(symbol, unit)).toBe(false)
})
