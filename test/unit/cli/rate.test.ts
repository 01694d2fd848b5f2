// How fast a count grows, and how long the rest takes.

import { expect, test } from 'vitest'
import { RateMeter } from '../../../src/report/rate.ts'

test('counts the last half minute, and forgets a pause and an earlier phase', () => {
  const meter = new RateMeter()
  const at = (second: number, done: number, phase = 'sending') =>
    meter.pace(second * 1_000, phase, { done, total: 10_000 })
  expect(at(0, 0)).toEqual({ rate: null, leftMs: null })
  expect(at(0.4, 40)).toEqual({ rate: null, leftMs: null })
  expect(at(10, 1_000)).toEqual({ rate: 100, leftMs: 90_000 })
  // A pause of a minute: nothing moves, so nothing is forecast.
  for (let second = 11; second <= 70; second++) at(second, 1_000)
  expect(at(71, 1_000)).toEqual({ rate: 0, leftMs: null })
  for (let second = 72; second <= 110; second++) at(second, 1_000 + (second - 71) * 50)
  expect(at(111, 3_000)).toEqual({ rate: 50, leftMs: 140_000 })
  expect(at(112, 3_010, 'verifying')).toEqual({ rate: null, leftMs: null })
  expect(at(113, 3_030, 'verifying').rate).toBe(20)
  // A step that begins again counts anew.
  expect(at(114, 0, 'verifying').rate).toBeNull()
  expect(at(114.5, 5, 'verifying').rate).toBe(10)
  meter.reset()
  expect(at(114.6, 5, 'verifying').rate).toBeNull()
  meter.reset()
  expect(at(114, 0, 'verifying').rate).toBeNull()
  expect(meter.pace(115_000, 'verifying', { done: 5, total: null })).toEqual({
    rate: 5,
    leftMs: null,
  })
})
