// What the specification leaves to a service, and what may go wrong on the way, as settings. All of them may change while the
// service runs; `DEFAULT_HABITS` is a plain service.

import type { Kind } from './kinds.ts'
import type { Json } from './json.ts'

export interface Faults {
  /** Of 1. */
  readonly rate: number
  readonly kinds: readonly FaultKind[]
  readonly on?: 'all' | 'reads' | 'writes'
  /** Operations that it happens to; default: all but the two public ones. */
  readonly operations?: readonly string[]
  /** How often at most; default: without end. */
  readonly times?: number
}

/** What became of a request; `killed`: the service was killed before it had answered. */
export type Fault = FaultKind | 'killed'

export type FaultKind =
  /** The connection ends, and nothing is carried out. */
  | 'drop_before'
  /** The connection ends after the request is carried out. */
  | 'drop_after'
  /** The answer ends in the middle of its body. */
  | 'torn'
  | '500'
  | '500_after'
  | '503'
  | '503_after'
  | '504'
  | '302'
  /** A page of a proxy: 502, HTML. */
  | '502'
  | '429'

export interface Habits {
  // What it stores
  /** How texts are compared by filters, upserts and unique properties. */
  readonly matching: 'exact' | 'trimmed' | 'folded'
  readonly lowerEmails: boolean
  readonly trim: boolean
  /** A record with this text as a value is refused with 422; null: none is. */
  readonly refusesText: string | null
  /** Changes a text as it is stored. */
  readonly normalise: ((value: string, kind: Kind) => string) | null
  /** `2024-01-01T00:00:00.000Z`, `…00Z` where there are no milliseconds, or `…00+00:00`. */
  readonly times: 'millis' | 'short' | 'offset'
  /** Milliseconds that its clock goes ahead. */
  readonly clockAhead: number
  // What it answers
  readonly batchItems: 'record' | 'bare' | '204'
  readonly batchStatus: 200 | 207
  /** Whether an item with the text that is refused is answered alone, or the whole batch is refused with it. */
  readonly batchRefusals: 'items' | 'whole'
  /** What an item of a batch upsert writes, whatever was sent: itself, a record of another key, or another value. */
  readonly writes: 'sent' | 'otherkey' | 'otherval'
  /**
   * What the record in an answer to a batch upsert is: as it is held, as it was before, with another key or value than it is held
   * with, or without the properties other than its key.
   */
  readonly answers: 'held' | 'before' | 'otherkey' | 'otherval' | 'partial'
  /** Whether a create and an update of one record answer with it. */
  readonly singleWrites: 'record' | 'nothing'
  readonly self: 'schema' | 'prose'
  readonly pages: 'full' | 'short' | 'empty'
  readonly cursors: 'fresh' | 'same'
  /** From the nth request of a listing or query on, one full page is repeated without end. */
  readonly standsStill: { readonly type: string; readonly from: number } | null
  // Limits
  readonly perMinute: number
  readonly limiter: 'window' | 'rolling'
  readonly headers: 'all' | 'refusals' | 'limit' | 'remaining' | 'none'
  /** Each nth request is refused with `Retry-After: 1`. */
  readonly refuseEach: number | null
  readonly retryAfter: string
  // Faults
  readonly faults: readonly Faults[]
  /** Items of batches that are answered 500; `applied` of these are carried out. */
  readonly itemFaults: {
    readonly rate: number
    readonly applied: number
    readonly status: 500 | 503
  } | null
}

export const DEFAULT_HABITS: Habits = {
  matching: 'exact',
  lowerEmails: false,
  trim: false,
  refusesText: null,
  normalise: null,
  times: 'millis',
  clockAhead: 0,
  batchItems: 'record',
  batchStatus: 200,
  batchRefusals: 'items',
  writes: 'sent',
  answers: 'held',
  singleWrites: 'record',
  self: 'schema',
  pages: 'full',
  cursors: 'fresh',
  standsStill: null,
  perMinute: 1_000_000,
  limiter: 'window',
  headers: 'all',
  refuseEach: null,
  retryAfter: '1',
  faults: [],
  itemFaults: null,
}

/** Names that the specification leaves open; they stay as they are while the service runs. */
export interface Naming {
  /** What the service's own names begin with. */
  readonly prefix: string
  readonly fieldTypes: 'plain' | 'other'
  readonly paths: 'plain' | 'other'
  /** Operations that it does not have. */
  readonly lacks: readonly string[]
}

export const DEFAULT_NAMING: Naming = {
  prefix: 'acme_',
  fieldTypes: 'plain',
  paths: 'plain',
  lacks: [],
}

/** A sequence of numbers in [0, 1) that a seed decides. */
export function randoms(seed: number): () => number {
  let state = seed >>> 0 || 1
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export type Values = Readonly<Record<string, Json>>
