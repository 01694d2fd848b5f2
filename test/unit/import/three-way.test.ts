// The three-way rule against a model of its own: who wrote the value that a record has, told as a story instead of facts.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fateOf, type Fate, type ProtectionPolicy } from '../../../src/import/judge/three-way.ts'

const VALUES = ['', 'a', 'b', 'c'] as const
const value = fc.constantFrom(...VALUES)

/** What happened to a property, in order. */
const story = fc.record({
  /** What the record had before this sync wrote it. */
  before: value,
  /** What this sync wrote, answered; null: nothing. */
  wrote: fc.option(value),
  /** What this sync sent without an answer, whether it came in, and whether the ledger still has it; null: nothing. */
  doubt: fc.option(fc.record({ value, cameIn: fc.boolean(), isKnown: fc.boolean() })),
  /** What another one wrote after that; null: nothing. */
  other: fc.option(value),
  ours: value,
})

const policy: fc.Arbitrary<ProtectionPolicy> = fc.record({
  onConflict: fc.constantFrom('ours', 'theirs', 'reject'),
  firstContact: fc.constantFrom('ours', 'theirs'),
  write: fc.constantFrom('always', 'if_empty'),
})

type Story = typeof story extends fc.Arbitrary<infer Told> ? Told : never

const heldAfter = ({ before, wrote, doubt, other }: Story): string =>
  other ?? (doubt?.cameIn ? doubt.value : null) ?? wrote ?? before

/** The same question, asked of the story. */
function expected(told: Story, { onConflict, firstContact, write }: ProtectionPolicy) {
  const held = heldAfter(told)
  if (write === 'if_empty' && held !== '') return 'keep'
  if (onConflict === 'ours') return 'write'
  const ourValues = new Set<string>()
  if (told.wrote !== null) ourValues.add(told.wrote)
  if (told.doubt?.isKnown === true) ourValues.add(told.doubt.value)
  if (ourValues.has(held)) return 'write'
  const isFirst = told.wrote === null
  if (isFirst && firstContact === 'ours') return 'write'
  if (isFirst && held === '') return 'write'
  return onConflict === 'theirs' ? 'keep' : 'reject'
}

function fate(told: Story, given: ProtectionPolicy): Fate {
  const held = heldAfter(told)
  const { wrote, doubt } = told
  return fateOf(given, {
    mark: `hash of ${held}`,
    isEmpty: held === '',
    base: wrote === null ? null : `hash of ${wrote}`,
    alsoOurs: new Set(doubt?.isKnown ? [`hash of ${doubt.value}`] : []),
    isUnclear: doubt !== null && !doubt.isKnown,
  })
}

it('decides as the story of the value says', () => {
  fc.assert(
    fc.property(story, policy, (told, given) => {
      fc.pre(heldAfter(told) !== told.ours)
      expect(fate(told, given).action).toBe(expected(told, given))
    }),
    { numRuns: 20_000 },
  )
})

it('never writes over a value of others where theirs counts', () => {
  fc.assert(
    fc.property(story, policy, (told, given) => {
      const { other, wrote, doubt, ours } = told
      fc.pre(other !== null && other !== ours && other !== wrote && other !== doubt?.value)
      fc.pre(wrote !== null && given.onConflict !== 'ours')
      expect(fate(told, given).action).not.toBe('write')
    }),
    { numRuns: 20_000 },
  )
})

it('writes everywhere where ours counts, but over no value of what is written only if it is empty', () => {
  fc.assert(
    fc.property(story, policy, (told, given) => {
      const isSpared = given.write === 'if_empty' && heldAfter(told) !== ''
      expect(fate(told, { ...given, onConflict: 'ours' }).action).toBe(isSpared ? 'keep' : 'write')
    }),
    { numRuns: 5_000 },
  )
})
