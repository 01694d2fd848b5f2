// The public face of the workflows: inputs, results, queries and updates. Only names, ids and counts are in them.

import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import { z } from 'zod'
import type { RowError } from '../activities/index.ts'
import type { GroupedSync } from '../src/core/domain/group-state.ts'
import type { RowVerdict } from '../src/core/domain/row-changes.ts'
import type { DifferenceCounts } from '../src/core/domain/differences.ts'
import type { BlockReason } from '../src/core/errors.ts'
import type { Books, RunState } from '../src/core/domain/books.ts'
import { approve, groupRunChanged, pause, reject, resume, stateChanged } from './names.ts'

/** Times and sizes of an import. An input that leaves them out gets the values of production. */
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
    refused_in_row_max: z.coerce.number().int().min(0),
    approval_ms: z.coerce.number().int().min(100),
    heartbeat_timeout_ms: z.coerce.number().int().min(1_000),
  })
  .partial()
  // Any other setting passes here and is refused when the run opens.
  .loose()
export type TuningInput = z.infer<typeof TuningInput>

/** Input of `importSync`. */
export const ImportInput = z.object({
  sync: z.string().trim().min(1),
  /** Who goes first if several runs want the quota. A backfill also has activity slots of its own. */
  priority: z.enum(['import', 'backfill']).default('import'),
  /** The number of a plan (`records-sync plan SYNC --diff`): the run sends what it has, or nothing. */
  plan: z.coerce.number({ error: 'expected the number of a plan' }).int().min(1).optional(),
  tuning: TuningInput.default({}),
})
export type ImportInput = z.infer<typeof ImportInput>

/** What a finished import returns. */
export interface ImportResult {
  readonly run: number
  readonly state: RunState
  readonly books: Books
  /** Of a reconciliation: the records that differ, and those that were not repaired. */
  readonly found?: DifferenceCounts | undefined
  readonly left?: DifferenceCounts | undefined
  /** Requests that wrote. */
  readonly requests?: number | undefined
  /** Of a reconciliation: extra records that are gone now. */
  readonly deleted?: number | undefined
  /** Digest of the manifest that the run was sealed with. */
  readonly manifest?: string | null | undefined
  /** Of a run of a group: syncs whose waiting links may find their targets now; the group tries them at its end. */
  readonly resolves?: readonly string[] | undefined
}

/** How far a run is: the answer of the query `progress`. */
export interface RunProgress {
  readonly sync: string
  readonly run: number | null
  readonly step: string
  readonly state: RunState
  /** What a person should know about the state, in one line. */
  readonly message: string | null
}

/** The same for an import. The counts are those at the end of the last slice, at most a few minutes ago. */
export interface ImportProgress extends RunProgress {
  readonly step:
    | 'open'
    | 'stage'
    | 'compare'
    | 'plan'
    | 'review'
    | 'approval'
    | 'push'
    | 'link'
    | 'remove'
    | 'close'
    | 'closed'
  readonly rows: number
  readonly planned: number
  readonly created: number
  readonly updated: number
  readonly rejected: number
  readonly segments: { readonly total: number; readonly done: number }
  /** Requests that wrote. */
  readonly requests: number
  /** Extra records of a reconciliation, or records without a row, that are gone now. */
  readonly deleted?: number
  /** Of a reconciliation: the records that differ. */
  readonly found?: DifferenceCounts
  /** What the rows change at the service, where all of them are looked up before a person is asked. */
  readonly verdicts?: Readonly<Partial<Record<RowVerdict, number>>>
  /** Links of the rows, if they have any. */
  readonly links?: Readonly<
    Record<'read' | 'linked' | 'unchanged' | 'waiting' | 'rejected', number>
  >
}

export const progressQuery = defineQuery<RunProgress>('progress')

/** Answer of the query `lastErrors`: rows of an import, or streams of a mirror that failed. At most 50, oldest first. */
export type LastError = RowError | { readonly stream: string; readonly message: string }

export const lastErrorsQuery = defineQuery<readonly LastError[]>('lastErrors')

/** Times and sizes of a mirror's run: those of `MirrorTuning` in src/mirror/ports.ts, which explains each. */
export const MirrorTuningInput = z
  .object({
    streams_in_flight: z.coerce.number().int().min(1).max(16),
    readers: z.coerce.number().int().min(1).max(64),
    rows_per_range: z.coerce.number().int().min(100).max(1_000_000),
    rows_per_merge: z.coerce.number().int().min(1).max(1_000_000),
    merge_ms: z.coerce.number().int().min(0).max(60_000),
    stream_ms: z.coerce.number().int().min(1_000).max(1_800_000),
    edges_ms: z.coerce.number().int().min(100).max(1_800_000),
    read_backoff_ms: z.array(z.number().int().min(0)).min(1).max(10),
    service_probe_ms: z.coerce.number().int().min(50),
    blocked_probe_ms: z.coerce.number().int().min(50),
    approval_ms: z.coerce.number().int().min(100),
    heartbeat_timeout_ms: z.coerce.number().int().min(1_000),
  })
  .partial()
  // Any other setting passes here and is refused when the run opens.
  .loose()
export type MirrorTuningInput = z.infer<typeof MirrorTuningInput>

/** Input of `mirrorSync`. */
export const MirrorInput = z.object({
  sync: z.string().trim().min(1),
  /** Whether everything is read again, even if reading what changed would be enough. */
  full: z.union([z.boolean(), z.stringbool()], { error: 'expected true or false' }).default(false),
  /** Who goes first if several runs want the quota. A backfill also has activity slots of its own. */
  priority: z.enum(['mirror', 'backfill']).default('mirror'),
  tuning: MirrorTuningInput.default({}),
})
export type MirrorInput = z.infer<typeof MirrorInput>

/** What a finished run of a mirror returns. The ledger has what it did, stream by stream. */
export interface MirrorResult {
  readonly run: number
  readonly state: RunState
  /** Digest of the manifest that the run was sealed with. */
  readonly manifest?: string | null | undefined
}

/** How far a mirror's run is with one stream; `waiting`: for a slot; `approval`: for a person. */
export type StreamState = 'waiting' | 'working' | 'approval' | 'done' | 'failed'

/** Answer of the query `progress` of a mirror. */
export interface MirrorProgress extends RunProgress {
  readonly step: 'open' | 'discover' | 'records' | 'edges' | 'close' | 'closed'
  readonly streams: readonly {
    readonly kind: 'records' | 'edges'
    /** Name of the object type. */
    readonly name: string
    readonly state: StreamState
    /** The deletions that wait for approval: the number of rows, and the number in the table. */
    readonly deletions?: { readonly rows: number; readonly of: number }
  }[]
}

/**
 * Input of `approve` and `reject`: a stream by its name, or nothing for all that wait. A misspelt key is refused: otherwise the
 * update would approve all of them.
 */
export const ApprovalInput = z
  .strictObject({
    stream: z.string().trim().min(1).nullish(),
    /** Of an import that has made a plan: its number, or at least 12 characters of its digest. */
    plan: z.union([z.int(), z.string().trim().min(1)]).nullish(),
  })
  .nullish()
  .transform((input) => ({
    stream: input?.stream ?? null,
    plan: input?.plan == null ? null : String(input.plan),
  }))

/** Answer of `approve` and `reject`: what the verdict applies to: streams of a mirror, or an import, by name. */
export interface ApprovalAnswer {
  readonly streams: readonly string[]
}

/** Input of `pause`: a reason, or nothing. */
export const PauseInput = z
  .union([z.string(), z.strictObject({ reason: z.string().nullish() })], {
    error: 'expected {"reason": "…"}, or nothing',
  })
  .nullish()
  .transform((input) => (typeof input === 'string' ? input : input?.reason)?.trim() || null)

/** Answer of `pause` and `resume`: the state that the run changes to. */
export interface ControlAnswer {
  readonly state: 'paused' | 'running'
}

/** What a worker reports about a run: its state in the ledger. */
export interface StateChange {
  readonly state: RunState
  readonly reason: BlockReason | 'abandoned' | null
  readonly message: string | null
}

/** Syncs of one group that run at the same time, if nothing else is set. */
export const SYNCS_IN_FLIGHT = 8

const GroupNames = z.preprocess(
  (value) => (typeof value === 'string' && value !== 'all' ? value.split(/[\s,]+/) : value),
  z.union([z.literal('all'), z.array(z.string().trim().min(1)).min(1)], {
    error: 'expected "all", or a list of names such as ["companies", "contacts"]',
  }),
)

/** Input of `groupSync`: a group of the configuration, or syncs. */
export const GroupInput = z
  .strictObject({
    group: z.string({ error: 'expected the name of a group' }).trim().min(1).optional(),
    syncs: GroupNames.optional(),
    tuning: z
      .strictObject({
        syncs_in_flight: z.coerce.number().int().min(1).max(64),
        /** Of each of its imports, */
        import: TuningInput,
        /** and of each of its mirrors. */
        mirror: MirrorTuningInput,
      })
      .partial()
      .default({}),
  })
  .refine(({ group, syncs }) => (group === undefined) !== (syncs === undefined), {
    error: 'expected exactly one of "group" and "syncs"',
  })
export type GroupInput = z.infer<typeof GroupInput>

/** Answer of the query `progress` of a group. */
export interface GroupProgress {
  /** Name of the group, or of its syncs. */
  readonly group: string
  readonly step: 'plan' | 'run' | 'link' | 'closed'
  readonly state: RunState
  readonly syncs: readonly GroupedSync[]
  /** What `after` names and is not run with them. */
  readonly ignored: readonly { readonly sync: string; readonly after: readonly string[] }[]
}

/** What a group returns; one that is not complete fails, with this in the details of its failure. */
export type GroupResult = Pick<GroupProgress, 'group' | 'state' | 'syncs'>

/** What a run tells the group that began it. */
export interface GroupRunChange {
  readonly sync: string
  readonly run: number
  readonly state: RunState
  readonly message: string | null
}

export const groupProgressQuery = defineQuery<GroupProgress>('progress')
export const groupRunChangedSignal = defineSignal<[GroupRunChange]>(groupRunChanged)

export const approveUpdate = defineUpdate<ApprovalAnswer, [unknown]>(approve)
export const rejectUpdate = defineUpdate<ApprovalAnswer, [unknown]>(reject)
export const pauseUpdate = defineUpdate<ControlAnswer, [unknown]>(pause)
export const resumeUpdate = defineUpdate<ControlAnswer, [unknown]>(resume)
export const stateChangedSignal = defineSignal<[StateChange]>(stateChanged)
