import { expect, test } from 'vitest'
import { stepsOfRun } from '../../../src/console/views/run-steps.ts'
import type { Run } from '../../../src/ledger/ledger.ts'

const at = (minute: number) => `2026-05-04T09:0${minute}:00.000Z`
const run = {
  kind: 'mirror',
  state: 'complete',
  openedAt: at(0),
  closedAt: at(9),
} as Run

test('the wait for an approval is a step of its own, and no time of the reading', () => {
  const spans = (approvedAt: string | null) =>
    stepsOfRun(run, null, null, approvedAt).map(({ name, from, to }) => [name, from, to])
  expect(spans(null)).toEqual([['Read and merge the tables', at(0), at(9)]])
  expect(spans(at(7))).toEqual([
    ['Read and merge the tables', at(0), null],
    ['Approved by a person', null, at(7)],
  ])
})
