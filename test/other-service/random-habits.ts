// Habits and faults that a seed chooses.

import { randoms } from './index.ts'
import type { FaultKind, Faults, OtherServiceOptions } from './index.ts'

export function dice(seed: number) {
  const random = randoms(seed * 7_919)
  const below = (end: number) => Math.floor(random() * end)
  const one = <Choice>(...of: readonly Choice[]): Choice => of[below(of.length)]!
  const often = (rate: number) => random() < rate
  return { random, below, one, often }
}
type Dice = ReturnType<typeof dice>

const BEFORE: readonly FaultKind[] = ['drop_before', '500', '503', '502', '504', '429', '302']
const ANY: readonly FaultKind[] = [...BEFORE, 'drop_after', 'torn', '500_after', '503_after']

export function habitsOf({ one, often, random }: Dice, seed: number): OtherServiceOptions {
  const fault = (on: 'reads' | 'writes'): Faults[] =>
    often(0.5) ? [{ rate: random() * 0.12, kinds: often(0.5) ? ANY : BEFORE, on }] : []
  return {
    seed,
    prefix: one('svc_', 'acme_', 'x9_'),
    fieldTypes: one('plain', 'plain', 'other'),
    paths: one('plain', 'other'),
    matching: one('exact', 'exact', 'trimmed', 'folded'),
    lowerEmails: often(0.3),
    trim: often(0.3),
    times: one('millis', 'short', 'offset'),
    clockAhead: one(0, 0, -3_600_000, 3_600_000),
    batchItems: one('record', 'record', 'bare', '204'),
    batchStatus: one(200, 207),
    singleWrites: one('record', 'nothing'),
    self: one('schema', 'prose'),
    pages: one('full', 'short', 'empty'),
    cursors: one('fresh', 'same'),
    headers: one('all', 'refusals', 'limit', 'remaining', 'none'),
    refuseEach: null,
    retryAfter: '0',
    faults: [...fault('reads'), ...fault('writes')],
    itemFaults: often(0.3)
      ? { rate: random() * 0.2, applied: random(), status: one(500, 503) }
      : null,
  }
}
