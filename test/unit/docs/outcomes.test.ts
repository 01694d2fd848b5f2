// docs/outcomes.md lists every outcome with its reasons, as the register has them.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  actsOn,
  ALL_STATES,
  isReason,
  meaningOf,
  OPEN_STATES,
  OUTCOMES,
  outcomeOf,
  outcomesOf,
  statesOf,
  type State,
} from '../../../src/core/domain/outcomes.ts'

const page = readFileSync(new URL('../../../docs/outcomes.md', import.meta.url), 'utf8')
const KINDS = ['row', 'link', 'deletion'] as const
const ACTS = { nobody: '', person: 'a person', 'later run': 'the next run' } as const
const isOpen = (state: State) => (OPEN_STATES as readonly State[]).includes(state)

test('the table has every result, with its kinds, its meaning and who has to act', () => {
  const rows = OUTCOMES.flatMap((outcome) =>
    ALL_STATES.filter((state) => outcomeOf(state) === outcome).map((state) => {
      const kinds = KINDS.filter((kind) => (statesOf(kind) as readonly State[]).includes(state))
      const meanings = kinds.map((kind) => `${kind}s: ${meaningOf(kind, state)}`)
      const meaning = kinds.length === 1 ? meaningOf(kinds[0]!, state) : meanings.join('; ')
      const isOne = new Set(kinds.map((kind) => meaningOf(kind, state))).size === 1
      return [
        `\`${outcome}\``,
        isReason(state) ? `\`${state}\`` : '',
        kinds.map((kind) => `${kind}s`).join(', '),
        isOne ? meaningOf(kinds[0]!, state) : meaning,
        ACTS[actsOn(state)],
      ]
    }),
  )
  const table = page.split('\n').filter((line) => line.startsWith('| `'))
  const cells = table.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
  expect(cells).toEqual(rows)
})

test('the sums of the page are those of the register', () => {
  for (const [what, kind] of [
    ['rows read', 'row'],
    ['links', 'link'],
    ['deletions due', 'deletion'],
  ] as const)
    expect(page).toContain(`- ${what} = ${outcomesOf(kind).join(' + ')}\n`)
})

test('every kind has its outcomes and no other, and a reason has one outcome', () => {
  for (const kind of KINDS)
    expect(
      new Set(
        statesOf(kind)
          .filter((state) => !isOpen(state))
          .map(outcomeOf),
      ),
    ).toEqual(new Set(outcomesOf(kind)))
  expect(ALL_STATES.filter(isReason).length).toBeLessThan(30)
})
