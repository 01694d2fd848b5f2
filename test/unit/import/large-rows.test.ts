// Rows of hundreds of kilobytes on their way to the service: what one body has, and all of them together.

import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { LEDGER_CHARS_MAX, ROW_CHARS_MAX } from '../../../src/core/limits.ts'
import { BODY_CHARS_MAX, BodyRoom, itemsOfBody } from '../../../src/import/outbox/body-room.ts'
import { stagedParts } from '../../../src/import/steps/staged-parts.ts'
import type { PlannedItem, StagedItem } from '../../../src/ledger/ledger.ts'

const item = (chars: number, ordinal = 1): PlannedItem => ({
  ordinal,
  key: String(ordinal),
  payload: 'x'.repeat(chars),
  hash: '',
  attempts: 0,
})
const staged = (chars: number, ordinal = 1): StagedItem => ({
  ordinal,
  line: ordinal + 1,
  raw: 'x'.repeat(chars),
  valid: true,
  key: String(ordinal),
  payload: '',
  hash: '',
})

it('a body has 50 rows of a common size, as many large ones as fit, and one that is larger', () => {
  const common = Array.from({ length: 60 }, () => item(2_000))
  expect(itemsOfBody(common, 50)).toBe(50)
  const third = item(Math.floor(BODY_CHARS_MAX / 3))
  expect(itemsOfBody([third, third, third, third], 50)).toBe(3)
  expect(itemsOfBody([item(BODY_CHARS_MAX + 1), item(1)], 50)).toBe(1)
  expect(itemsOfBody([], 50)).toBe(0)
})

it('rows of a common size are staged at once, large ones in parts, and one that nothing can hold not at all', () => {
  const common = Array.from({ length: 1_000 }, (_, index) => staged(1_000, index))
  expect(stagedParts(common)).toEqual([common])
  const half = staged(LEDGER_CHARS_MAX / 2)
  expect(stagedParts([half, half, half]).map((part) => part.length)).toEqual([2, 1])
  expect(() => stagedParts([staged(1), staged(ROW_CHARS_MAX + 1, 2)])).toThrow(
    'Row 2 (line 3): its cells and what is sent of them take 16,777,217 characters as JSON; expected at most 16,777,216',
  )
})

it('lanes wait while too much is on its way, and go on as it ends', async () => {
  const { signal } = new AbortController()
  const room = new BodyRoom()
  const body = [item(BODY_CHARS_MAX)]
  const ends: (() => void)[] = []
  const enter = async () => {
    await room.enter(signal)
    ends.push(room.take(body))
    room.leave()
  }
  for (let lane = 0; lane < 4; lane++) await enter()
  expect(room.isFull).toBe(true)
  const fifth = enter()
  const sixth = enter()
  await wait(1)
  expect(ends).toHaveLength(4)
  ends.shift()!()
  await fifth
  await wait(1)
  expect(ends).toHaveLength(4)
  ends.shift()!()
  await sixth
})

it('a lane that waits for room ends with the slice', async () => {
  const slice = new AbortController()
  const room = new BodyRoom()
  room.take([item(5 * BODY_CHARS_MAX)])
  const waiting = room.enter(slice.signal)
  slice.abort()
  await waiting
  expect(room.isFull).toBe(true)
})
