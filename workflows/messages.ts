// The public face of the workflows: names, inputs, results and queries. Only names, ids and counts are in them.

import { defineQuery } from '@temporalio/workflow'
import { z } from 'zod'
import type { Books, RunState } from '../src/core/states.ts'

/** Times and sizes of a run; whoever leaves them out gets the values of production. */
export const TuningInput = z
  .object({
    rows_per_segment: z.coerce.number().int().min(1_000),
    in_flight: z.coerce.number().int().min(1).max(64),
    segments_in_flight: z.coerce.number().int().min(1).max(16),
    segment_ms: z.coerce.number().int().min(1_000),
    service_probe_ms: z.coerce.number().int().min(50),
    blocked_probe_ms: z.coerce.number().int().min(50),
    resend_backoff_ms: z.array(z.number().int().min(0)).min(1).max(10),
    item_backoff_ms: z.array(z.number().int().min(0)).min(1).max(10),
    heartbeat_timeout_ms: z.coerce.number().int().min(1_000),
  })
  .partial()
export type TuningInput = z.infer<typeof TuningInput>

/** Input of `importSync`. */
export const ImportInput = z.object({
  sync: z.string().trim().min(1),
  /** Who goes first where several runs want the quota. A backfill also has activity slots of its own. */
  priority: z.enum(['import', 'backfill']).default('import'),
  tuning: TuningInput.default({}),
})
export type ImportInput = z.infer<typeof ImportInput>

/** What a finished import returns. */
export interface ImportResult {
  readonly run: number
  readonly state: RunState
  readonly books: Books
}

/** Answer of the query `progress`. */
export interface ImportProgress {
  readonly sync: string
  readonly run: number | null
  readonly step: 'open' | 'stage' | 'push' | 'close' | 'closed'
  readonly rows: number
  readonly planned: number
  readonly segments: { readonly total: number; readonly done: number }
  readonly requests: number
  readonly state: RunState
}

export const progressQuery = defineQuery<ImportProgress>('progress')
