// A run that found no difference says that both sides are equal only where it compared them, to its end.

import { expect, test } from 'vitest'
import type { NotedDifference } from '../../../src/ledger/ledger.ts'
import { printFirstDifferences, printRunDifferences } from '../../../src/cli/views/differences.ts'
import { noDifferences } from '../../../src/core/domain/differences.ts'
import { emptyStates, type RunState } from '../../../src/core/domain/books.ts'
import { tallyOf } from '../../../src/core/domain/outcome-counts.ts'

const said = (
  state: RunState,
  compared: number,
  waiting = 0,
  kept = 0,
  kind: 'import' | 'mirror' = 'import',
): string => {
  const states = { ...emptyStates(), unchanged: compared, protected: kept }
  const counts = kept === 0 ? null : { values: kept, rows: kept, reasons: { changed: kept } }
  const links = {
    read: waiting,
    replaced: 0,
    ...tallyOf('link', { target_missing: waiting }),
  }
  const rows = { read: compared + kept, ...tallyOf('row', states) }
  const lines: string[] = []
  const terminal = {
    out: (line = '') => void lines.push(line),
    err: () => {},
    live: () => {},
    endLive: () => {},
    style: (_: string, text: string) => text,
  }
  printRunDifferences(
    terminal,
    { kind, state, rows, links, kept: counts },
    {
      found: noDifferences(),
      left: noDifferences(),
      groups: [],
      held: 0,
    },
  )
  return lines.join('\n')
}

test.each<[RunState, number, RegExp]>([
  ['complete', 3, /Both sides are equal, as far as they were compared/],
  ['complete', 0, /No row was compared/],
  ['failed', 0, /whether both sides are equal is not known/],
  ['cancelled', 3, /whether both sides are equal is not known/],
  ['running', 0, /No difference so far/],
])('%s with %d rows compared', (state, compared, text) => {
  expect(said(state, compared)).toMatch(text)
  if (!(state === 'complete' && compared > 0))
    expect(said(state, compared)).not.toContain('are equal, as far')
})

test('a mirror whose tables lack something is not equal', () => {
  const text = said('complete_with_differences', 0, 0, 0, 'mirror')
  expect(text).toMatch(/No record differs.*the message says what the tables lack/)
  expect(text).not.toContain('equal')
})

test('waiting links are named next to what is equal', () => {
  const text = said('complete_with_differences', 3, 2)
  expect(text).toMatch(/equal on both sides; 2 links are waiting: their targets do not exist yet/)
  expect(text).not.toContain('Both sides are equal')
})

test.each([0, 3])('values that are kept are named next to %d equal rows', (compared) => {
  expect(said('complete', compared, 0, 2)).toBe(
    '  Both sides are equal but for what is kept: 2 values of 2 rows differ, and are kept as others changed them.',
  )
})

test('the first records that differ are named on a screen alone, with both values of each field and who changed it', () => {
  const lines: string[] = []
  const terminal = {
    isScreen: true,
    out: (line = '') => void lines.push(...line.split('\n')),
    err: () => {},
    live: () => {},
    endLive: () => {},
    style: (_: string, text: string) => text,
  }
  const noted = (key: string | null, field: string | null): NotedDifference => ({
    stream: 'svc_contact',
    key,
    recordId: '17',
    ordinal: key === null ? null : 3,
    kind: field === null ? 'missing' : 'different',
    field,
    whose: 'service',
    ours: '"mine"',
    theirs: field === 'svc_phone' ? null : '"their\u001bs"',
    repaired: false,
  })
  const many = Array.from({ length: 20 }, (_, at) => noted(`k-${at}`, null))
  printFirstDifferences({ ...terminal, isScreen: false }, 'import', many)
  printFirstDifferences(terminal, 'import', [
    noted('c\u001b-3', 'svc_email'),
    noted('c\u001b-3', 'svc_phone'),
    noted(null, null),
    ...many,
  ])
  expect(lines).toEqual([
    '    different c -3 (row 3)',
    '              svc_email: source "mine", service "their s"; changed by service',
    '              svc_phone: source "mine", service nothing; changed by service',
    '    missing   record 17 of svc_contact',
    '    missing   k-0 (row 3)',
    '    missing   k-1 (row 3)',
    '    missing   k-2 (row 3)',
  ])
})
