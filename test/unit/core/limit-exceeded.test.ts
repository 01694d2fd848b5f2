// What a person reads before a run goes on.

import { expect, test } from 'vitest'
import {
  approvalText,
  isPlanNamed,
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

test('a plan is named with what it does', () => {
  const plan = { number: 12, digest: 'abcdef0123456789', verdicts: { create: 1_200, update: 3 } }
  const asked: LimitExceeded = { limit: 'plan', is: 40, max: 0 }
  expect(approvalText(40, [asked], plan)).toBe(
    '40 rows wait for approval: every run of the sync asks; plan of run 12 (abcdef012345): 1,200 create, 3 update',
  )
  expect(approvalText(0, [asked], { ...plan, verdicts: {}, removals: 2, links: 1 })).toBe(
    'what is planned waits for approval: every run of the sync asks; plan of run 12 (abcdef012345): 2 to be removed, 1 link',
  )
  const above: LimitExceeded = { limit: 'updates_max', is: 3, max: 2 }
  const share: LimitExceeded = { limit: 'updates_max_percent', is: 7.5, max: 5 }
  expect(approvalText(40, [above, share])).toBe(
    '40 rows wait for approval: 3 of them change a record, the limit updates_max is 2; 7.5 % of them change a record, the limit updates_max_percent is 5',
  )
  expect(isPlanNamed('12', plan)).toBe(true)
  expect(isPlanNamed('ABCDEF0123456', plan)).toBe(true)
  expect(['1', '13', 'abcdef', 'abcdef012346', ''].some((name) => isPlanNamed(name, plan))).toBe(
    false,
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
