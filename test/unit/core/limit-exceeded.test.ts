// What a person reads before a run goes on.

import { expect, test } from 'vitest'
import {
  approvalText,
  waitingText,
  type LimitExceeded,
} from '../../../src/core/domain/limit-exceeded.ts'

const deletions: LimitExceeded = { limit: 'deletes_max_percent', is: 97, max: 1, records: 32 }
const many: LimitExceeded = { limit: 'rows_max', is: 40, max: 30 }
const asks =
  '32 records wait to be deleted: 97 % of those that the sync has written; above 1 % a person is asked'

test('rows and deletions are told apart', () => {
  expect(approvalText(0, [deletions])).toBe(asks)
  expect(approvalText(5, [deletions])).toBe(`${asks}; 5 rows wait with them`)
  expect(approvalText(40, [deletions, many])).toBe(
    `40 rows wait for approval: the limit rows_max is 30; ${asks}`,
  )
  expect(approvalText(1, [{ ...many, max: 0 }])).toBe(
    '1 row waits for approval: the limit rows_max is 0',
  )
})

test('an older history has no count of deletions', () => {
  const { records: _, ...old } = deletions
  expect(approvalText(0, [old])).toContain('records wait to be deleted: 97 %')
})

test('what waits is named in a summary: rows, deletions or both', () => {
  expect(waitingText(40, [many])).toBe('40 rows')
  expect(waitingText(0, [deletions])).toBe('32 deletions')
  expect(waitingText(1, [{ ...deletions, records: 1 }])).toBe('1 row and 1 deletion')
  const { records: _, ...old } = deletions
  expect(waitingText(0, [old])).toBe('deletions')
})
