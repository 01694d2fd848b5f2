// Links over several runs, against a small model: what each run sends, and what is known behind it, whatever was read, answered,
// interrupted or left.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isBalanced } from '../../../src/core/domain/books.ts'
import type { LinkState } from '../../../src/core/domain/outcomes.ts'
import { BEFORE_LINKS, type Ledger, type PlannedLink } from '../../../src/ledger/ledger.ts'
import {
  knownTexts,
  linkTexts,
  NO_BOUNDS,
  ONE_TARGET,
  outcome,
  plannedLinks,
  stagedLinks,
  type LinkedRow,
} from './link-scene.ts'
import { close, type Open } from './scene.ts'
import { runs } from '../../runs.ts'

const SETTLED = [
  'linked',
  'target_missing',
  'not_wanted',
  'refused',
  'outcome_unknown',
  'not_sent',
] as const

interface Reading {
  readonly isWhole: boolean
  /** Rows by their key: the targets that each names. */
  readonly rows: Readonly<Record<string, readonly string[]>>
  /** What becomes of the links, in their order, over and over. */
  readonly states: readonly (typeof SETTLED)[number][]
  /** How many links are settled before the run ends; a worker dies in the middle of the first group. */
  readonly settled: number
  readonly dies: boolean
}

const reading: fc.Arbitrary<Reading> = fc.record({
  isWhole: fc.boolean(),
  rows: fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 4 }),
    { maxKeys: 3 },
  ),
  states: fc.array(fc.constantFrom(...SETTLED), { minLength: 1, maxLength: 5 }),
  settled: fc.oneof(fc.constant(99), fc.nat(4)),
  dies: fc.boolean(),
})

/** What is known, by `key→target`. */
type Known = Map<string, { state: LinkState; run: number; hasLeft?: true }>

const keyOf = (edge: string): string => edge.split('→')[0]!
const isLeft = ({ state }: { readonly state: LinkState }): boolean => state !== 'linked'

/** The links that a run has behind staging, by the model: `key→target state`. */
function staging(known: Known, { isWhole, rows }: Reading, isSingle: boolean): string[] {
  const links: string[] = []
  if (!isWhole)
    for (const [edge, one] of known) {
      const rivals = [...known].filter(([other]) => other !== edge && keyOf(other) === keyOf(edge))
      const isOlder = rivals.some(
        ([other, { run }]) => run > one.run || (run === one.run && other > edge),
      )
      if (isLeft(one) && rows[keyOf(edge)] === undefined && !(isSingle && isOlder))
        links.push(`${edge} pending`)
    }
  for (const [key, targets] of Object.entries(rows)) {
    const last = targets.filter((target, at) => targets.lastIndexOf(target) === at)
    for (const [at, target] of last.entries()) {
      const edge = `${key}→${target}`
      const before = known.get(edge)
      const state = before?.state === 'linked' && !before.hasLeft ? 'unchanged' : 'pending'
      links.push(`${edge} ${isSingle && at < last.length - 1 ? 'not_wanted' : state}`)
    }
  }
  return links.toSorted()
}

/** What the link step forgets, and what it notes as having left the source, by the model. */
function forget(known: Known, links: readonly string[], { isWhole, rows }: Reading): void {
  const wanted = new Set(
    links.filter((link) => !link.endsWith(' not_wanted')).map((link) => link.split(' ')[0]),
  )
  for (const [edge, one] of known)
    if (!wanted.has(edge) && (isWhole || rows[keyOf(edge)] !== undefined)) {
      if (isLeft(one)) known.delete(edge)
      else known.set(edge, { ...one, hasLeft: true })
    }
}

function learn(known: Known, edge: string, state: LinkState, run: number, isSingle: boolean): void {
  const before = known.get(edge)
  if (state === 'not_wanted') {
    if (before && isLeft(before)) known.delete(edge)
  } else if (!(state === 'not_sent' && before?.state === 'linked')) known.set(edge, { state, run })
  if (state === 'linked' && isSingle)
    for (const other of known.keys())
      if (other !== edge && keyOf(other) === keyOf(edge)) known.delete(other)
}

/** The link step of a run, in groups of two; learns as the model does. */
async function sendAll(
  open: { ledger: Ledger; reopen: () => Promise<Ledger> },
  run: number,
  known: Known,
  { states, settled, dies }: Reading,
  { bounds, isSingle }: { bounds: typeof NO_BOUNDS; isSingle: boolean },
  fence: number,
): Promise<void> {
  let [ledger, held] = [open.ledger, fence]
  const links = await plannedLinks(ledger, run)
  const stateOf = new Map(
    links.map((link, at) => [link.number * 10 + link.ordinal * 1_000, states[at % states.length]!]),
  )
  const of = (link: PlannedLink) => stateOf.get(link.number * 10 + link.ordinal * 1_000)!
  const ids = { sourceId: 's', targetId: 't' }
  for (let first = 0; first < Math.min(links.length, settled); first += 2) {
    let some = links.slice(first, Math.min(first + 2, settled))
    await ledger.recordLinksSent(
      run,
      held,
      some.map((link) => ({ ...link, ...ids })),
    )
    if (dies && first === 0) {
      ledger = await open.reopen()
      held = await ledger.claimLinks(run)
      const page = await ledger.sentLinks(run, { after: BEFORE_LINKS, limit: 9 })
      expect(page.links.map(({ number }) => number)).toEqual(some.map(({ number }) => number))
      some = [...page.links]
      const again = some.map((link) => ({ ...link, ...ids }))
      await ledger.recordLinksSent(run, held, again, { isReplayed: true })
    }
    const outcomes = some.map((link) => outcome(link, of(link)))
    await ledger.settleLinks(run, held, outcomes, bounds)
    for (const link of some) learn(known, `${link.key}→${link.target}`, of(link), run, isSingle)
  }
  for (const { key, target } of links.slice(settled))
    learn(known, `${key}→${target}`, 'not_sent', run, isSingle)
}

export function linkModelTests(open: Open): void {
  it('send what the model says, and know what it knows', { timeout: 600_000 }, async () => {
    const readings = fc.array(reading, { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(readings, fc.boolean(), async (all, isSingle) => {
        const opened = await open()
        try {
          const { ledger } = opened
          const known: Known = new Map()
          const bounds = isSingle ? ONE_TARGET : NO_BOUNDS
          for (const one of all) {
            const rows = Object.entries(one.rows).map(([key, targets]): LinkedRow => [
              key,
              ...targets,
            ])
            const { run, stageFence } = await stagedLinks(ledger, rows, { bounds })
            if (!one.isWhole)
              await ledger.carryLinks(run, stageFence, { of: 'unread keys', bounds })
            const expected = staging(known, one, isSingle)
            expect((await linkTexts(ledger, run)).toSorted()).toEqual(expected)
            const fence = await ledger.claimLinks(run)
            expect(await ledger.reopenLinks(run, fence)).toBe(0)
            const of = one.isWhole ? ('all' as const) : ('read keys' as const)
            await ledger.forgetLinks(run, fence, { of })
            forget(known, expected, one)
            await sendAll(opened, run, known, one, { bounds, isSingle }, fence)
            await close(ledger, run)
            const books = (await ledger.run(run))!.counts!
            expect(isBalanced(books)).toBe(true)
            expect(books.links?.read ?? 0).toBe(expected.length)
            const texts = [...known].map(([edge, { state }]) => `${edge} ${state}`)
            expect(await knownTexts(ledger, run, 3)).toEqual(texts.toSorted())
          }
        } finally {
          await opened.cleanup()
        }
      }),
      { numRuns: runs(200) },
    )
  })
}
