// Records that a run would remove, as `plan` names them.

import { expect, test } from 'vitest'
import { printPlannedRemovals } from '../../../src/cli/views/removals.ts'
import type { ReportedRemoval } from '../../../src/ledger/ledger.ts'

const removal = (key: string, state: ReportedRemoval['state'] = 'pending'): ReportedRemoval => ({
  number: 1,
  key,
  recordId: `rec_${key}`,
  cause: 'missing',
  state,
  httpStatus: null,
  code: null,
  reason: null,
  detail: null,
  inDoubt: false,
})

function said(
  isScreen: boolean,
  removals: readonly ReportedRemoval[],
  counts: Parameters<typeof printPlannedRemovals>[2],
): string[] {
  const out: string[] = []
  const terminal = {
    isScreen,
    out: (line = '') => void out.push(line),
    err: () => {},
    live: () => {},
    endLive: () => {},
    style: (_: unknown, text: string) => text,
  }
  printPlannedRemovals(terminal, removals, counts)
  return out
}

test('the first are named, and how many more there are, on a screen alone', () => {
  const removals = [removal('a'), removal('b', 'not_sent')]
  const counts = { pending: 1_200, not_sent: 1, not_owned: 7 }
  expect(said(true, removals, counts)).toEqual([
    'Records without a row:',
    '  a (record rec_a)',
    '  b (record rec_b), held back',
    '  and 1,199 more',
  ])
  expect(said(false, removals, counts)).toEqual([])
  expect(said(true, [], {})).toEqual([])
})
