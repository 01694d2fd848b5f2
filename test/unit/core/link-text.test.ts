// What is said of the links of a run.

import { expect, test } from 'vitest'
import { LINK_STATES, type LinkState } from '../../../src/core/domain/outcomes.ts'
import { linksText } from '../../../src/core/domain/link-text.ts'
import { zeroCounts } from '../../../src/core/register.ts'

const text = (states: Partial<Record<LinkState, number>>) =>
  linksText({ links: { read: 9, states: { ...zeroCounts(LINK_STATES), ...states } } })

test('waiting and rejected links are counted in words', () => {
  expect(linksText({})).toBeNull()
  expect(text({ linked: 5, unchanged: 4, not_wanted: 1 })).toBeNull()
  expect(text({ target_missing: 1 })).toBe('1 link is waiting: its target does not exist yet')
  expect(text({ target_missing: 1_200, refused: 1 })).toBe(
    '1,200 links are waiting: their targets do not exist yet; 1 link was rejected',
  )
  expect(text({ linked: 5, vanished: 2 })).toBe(
    '2 links were answered as made and are not there: the next run sends them again',
  )
  expect(text({ refused: 1, outcome_unknown: 1, not_sent: 1 })).toBe('3 links were rejected')
})
