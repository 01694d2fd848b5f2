// Promise 1, for any order of events: after every step each row read has exactly one item, the books say so, and a
// terminal state is never left; at the end the run balances. Workers crash, hand over and come back late.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { TERMINAL_STATES, type ItemState } from '../../../src/core/domain/outcomes.ts'
import { countAll } from '../../../src/core/domain/outcome-counts.ts'
import type { ItemOutcome, Ledger, SentBatch, StagedItem } from '../../../src/ledger/ledger.ts'
import {
  answered,
  badRow,
  openRun,
  outcome,
  row,
  send,
  stage,
  statesOf,
  unanswered,
  type Claim,
  type Open,
  type Opened,
} from './scene.ts'
import { runs } from '../../runs.ts'

type Event =
  | { readonly kind: 'stage'; readonly keys: readonly string[] }
  | { readonly kind: 'torn stage'; readonly keys: readonly string[] }
  | { readonly kind: 'send'; readonly limit: number }
  | { readonly kind: 'settle'; readonly states: readonly ItemOutcome['state'][] }
  | {
      readonly kind:
        | 'no answer'
        | 'release'
        | 'resend'
        | 'crash'
        | 'zombie'
        | 'verify'
        | 'settle leftovers'
    }

/** Keys of rows; `!` is a row that does not map. */
const keys = fc.array(fc.constantFrom('x', 'y', 'z', 'v', 'w', '!'), { minLength: 2, maxLength: 9 })
/** A run is staged until that succeeds once, or is torn off; it is never staged again after that. */
const stagings = fc
  .tuple(fc.array(keys, { maxLength: 2 }), keys, fc.nat(9))
  .map(([torn, last, chance]): Event[] => [
    ...torn.map((drawn) => ({ kind: 'torn stage' as const, keys: drawn })),
    { kind: chance === 0 ? 'torn stage' : 'stage', keys: last },
  ])
const state = fc.constantFrom(
  'created',
  'updated',
  'refused',
  'exists',
  'not_found',
  'pending',
  'in_flight',
)
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.integer({ min: 1, max: 3 }).map((limit) => ({ kind: 'send' as const, limit })),
  },
  {
    weight: 4,
    arbitrary: fc
      .array(state, { minLength: 3, maxLength: 3 })
      .map((states) => ({ kind: 'settle' as const, states })),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(
        'no answer',
        'release',
        'resend',
        'crash',
        'crash',
        'zombie',
        'zombie',
        'verify',
      )
      .map((kind) => ({ kind }) as Event),
  },
)

/** A run, the worker that holds it, and the worker before that, which does not know that it lost it. */
class World {
  readonly run: number
  readonly reopen: () => Promise<Ledger>
  ledger: Ledger
  claim: Claim | null = null
  inFlight: SentBatch[] = []
  zombie: { ledger: Ledger; claim: Claim; batch: SentBatch } | null = null
  rows = 0

  constructor(opened: Opened, run: number) {
    this.run = run
    this.ledger = opened.ledger
    this.reopen = () => opened.reopen()
  }

  itemsOf(drawn: readonly string[]): StagedItem[] {
    this.rows = drawn.length
    return drawn.map((key, index) => (key === '!' ? badRow(index + 1, key) : row(index + 1, key)))
  }

  async take(): Promise<void> {
    const [segment] = await this.ledger.openSegments(this.run)
    this.claim = segment
      ? { run: this.run, segment, fence: await this.ledger.claimSegment(this.run, segment) }
      : null
    this.inFlight = segment ? [...(await this.ledger.unsettledBatches(this.run, segment))] : []
  }

  async step(event: Event): Promise<void> {
    const { ledger, run, claim } = this
    switch (event.kind) {
      case 'stage':
        await stage(ledger, run, this.itemsOf(event.keys))
        return await this.take()
      case 'torn stage': {
        const fence = await ledger.beginStage(run, ['id'])
        await ledger.stageItems(run, fence, this.itemsOf(event.keys))
        this.claim = null
        this.inFlight = []
        return
      }
      case 'crash': {
        const batch = this.inFlight[0]
        if (claim && batch) this.zombie = { ledger, claim, batch }
        this.ledger = await this.reopen()
        return await this.take()
      }
      case 'zombie': {
        if (!this.zombie) return
        const { ledger: late, claim: old, batch } = this.zombie
        const outcomes = batch.items.map(({ ordinal }) => outcome(ordinal, 'created'))
        const settled = late.settle(run, old.segment, old.fence, batch, answered, outcomes)
        const error: unknown = await settled.then(
          () => new Error('a worker that lost its segment settled a batch'),
          (reason: unknown) => reason,
        )
        if (!(error instanceof FenceLost)) throw error
        return
      }
      case 'verify': {
        if (this.inFlight.length > 0) return
        const doubtful = await ledger.written(run, { after: 0, every: 1, limit: 100 })
        const verdicts = doubtful.map(({ ordinal }) => ({
          ordinal,
          verdict: (['equal', 'different', 'missing'] as const)[ordinal % 3]!,
          recordId: null,
          field: null,
        }))
        return await ledger.recordVerified(run, verdicts)
      }
      case 'settle leftovers':
        return await ledger.settleLeftovers(run)
      default:
        if (claim) await this.push(event, claim)
    }
  }

  async push(event: Event, claim: Claim): Promise<void> {
    const { ledger, run } = this
    const { segment, fence } = claim
    if (event.kind === 'send') {
      const options = { after: 0, attemptsBelow: 5, limit: 1 }
      if ((await ledger.nextPlanned(run, segment, options)).length > 0)
        this.inFlight.push(await send(ledger, claim, event.limit))
      return
    }
    const batch = this.inFlight[0]
    if (!batch) return
    if (event.kind === 'no answer') return await ledger.recordNoAnswer(run, batch, unanswered)
    if (event.kind === 'resend') {
      const again = { operation: 'batchUpsert', replayed: true }
      this.inFlight[0] = await ledger.recordResend(run, segment, fence, batch, again)
      return
    }
    this.inFlight.shift()
    if (event.kind === 'release') return await ledger.release(run, segment, fence, batch, answered)
    if (event.kind !== 'settle') return
    const outcomes = batch.items.map(({ ordinal }, index) => outcome(ordinal, event.states[index]!))
    await ledger.settle(run, segment, fence, batch, answered, outcomes)
  }
}

export function interleavingTests(open: Open): void {
  describe('any order of events', () => {
    it('leaves every row with exactly one item, and the books balanced', async () => {
      const opened = await open()
      let sync = 0
      try {
        await fc.assert(
          fc.asyncProperty(
            stagings,
            fc.array(event, { minLength: 10, maxLength: 30 }),
            async (first, events) => {
              const { id } = await openRun(opened.ledger, 'run', `sync ${++sync}`)
              const world = new World(opened, id)
              let before: Record<number, ItemState> = {}
              // A worker that comes back after everything is settled finds that it lost its segment, too.
              const end: Event[] = [{ kind: 'settle leftovers' }, { kind: 'zombie' }]
              const steps: Event[] = [...first, ...events, ...end]
              for (const step of steps) {
                await world.step(step)
                const states = await statesOf(world.ledger, id)
                const books = await world.ledger.books(id)
                const ordinals = Array.from({ length: world.rows }, (_, index) => String(index + 1))
                expect(Object.keys(states)).toEqual(ordinals)
                expect([books.read, countAll(books.states)]).toEqual([world.rows, world.rows])
                if (step.kind === 'stage' || step.kind === 'torn stage') before = {}
                for (const [ordinal, was] of Object.entries(before))
                  if (TERMINAL_STATES.includes(was)) expect(states[Number(ordinal)]).toBe(was)
                before = states
              }
              expect(isBalanced(await world.ledger.books(id))).toBe(true)
            },
          ),
          { numRuns: runs(100) },
        )
      } finally {
        await opened.cleanup()
      }
    })
  })
}
