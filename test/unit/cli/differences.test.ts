// A run that found no difference says that both sides are equal only where it compared them, to its end.

import { expect, test } from 'vitest'
import { printRunDifferences } from '../../../src/cli/views/differences.ts'
import { noDifferences } from '../../../src/core/domain/differences.ts'
import { emptyStates, type RunState } from '../../../src/core/domain/books.ts'

const said = (state: RunState, compared: number): string => {
  const states = { ...emptyStates(), unchanged: compared }
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
    { kind: 'import', state, states },
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
