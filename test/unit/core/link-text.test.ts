// What is said of the links of a run.

import { expect, test } from 'vitest'
import { LINK_STATES, type LinkState } from '../../../src/core/domain/link-states.ts'
import { linksText } from '../../../src/core/domain/link-text.ts'
import { zeroCounts } from '../../../src/core/register.ts'

const text = (states: Partial<Record<LinkState, number>>) =>
  linksText({ links: { read: 9, states: { ...zeroCounts(LINK_STATES), ...states } } })

test('parked and rejected links are counted in words', () => {
  expect(linksText({})).toBeNull()
  expect(text({ linked: 5, unchanged: 4, skipped: 1 })).toBeNull()
  expect(text({ parked: 1 })).toBe('1 link is parked: its target does not exist yet')
  expect(text({ parked: 1_200, rejected: 1 })).toBe(
    '1,200 links are parked: their targets do not exist yet; 1 link was not accepted',
  )
  expect(text({ linked: 5, not_kept: 2 })).toBe(
    '2 links were answered as made and are not there: the next run sends them again',
  )
  expect(text({ rejected: 1, failed: 1, unsent: 1 })).toBe('3 links were not accepted')
})
