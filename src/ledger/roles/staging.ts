// Staging: the rows of a source become the items of a run.

import type { Watermark } from '../../core/domain/watermark.ts'
import type { LinkBounds, StagedLinkCounts } from './links.ts'
import type { OnSlice } from './on-slice.ts'

/** What is wrong with a cell. */
export interface CellError {
  readonly reason: string
  readonly column: string | null
  readonly field: string | null
  readonly value: string | null
  readonly detail: string
}

/** A correction that a retry brought in, and that nothing was written over since. */
export interface Correction {
  readonly run: number
  /** The key that it was brought in with, and the hash of what was accepted. */
  readonly key: string
  readonly hash: string
}

/** A row as staging found it. */
export type StagedItem = {
  /** Its rank among the rows of its key in all readings (core/domain/watermark-rank.ts). */
  readonly watermark?: string
} & (
  | {
      readonly ordinal: number
      readonly line: number
      /** Of a retry: the row's ordinal in the retried run. */
      readonly of?: number
      readonly raw: string
      readonly valid: true
      readonly key: string
      /** The exact JSON text of the batch item. */
      readonly payload: string
      readonly hash: string
      /** The key as the source spells it, if it is sent in another form. */
      readonly rawKey?: string
      /** The service accepted it as it is, and it is only read back. */
      readonly held?: true
      /** The row asks for the deletion of its record: nothing of it is sent, and payload and hash are empty. */
      readonly withdrawn?: true
    }
  | ({
      readonly ordinal: number
      readonly line: number
      readonly of?: number
      readonly raw: string
      readonly valid: false
      readonly key: string | null
      /** The row is wrong in the source, and the service has it as this correction brought it in: nothing of the row is sent. */
      readonly corrected?: Correction
      /** Its further errors. */
      readonly more?: readonly CellError[]
    } & CellError)
)

/** The source of a staged run. */
export interface StagedSource {
  readonly rows: number
  /** Those of `rows` that earlier runs have read, the last ones: they have segments of their own. Default 0. */
  readonly again?: number
  readonly digest: string
  readonly rowsPerSegment: number
  readonly watermark?: Watermark | undefined
  /**
   * Whether the run relies on what was accepted, and leaves it out as `unchanged`. Default true; a reconciliation reads the
   * service instead.
   */
  readonly skipUnchanged?: boolean
  /**
   * Of a run that reads all back: what becomes of rows that are as an earlier run wrote them, and that this one has not read back.
   * `read`: they are unchanged, and keep their payloads, so that this run reads them back; `plan`: they stay planned.
   * Default: they are unchanged as others are.
   */
  readonly unread?: 'read' | 'plan'
  /** Whether rows with one key stand each for itself, as in a source of links: then none is superseded. Default false. */
  readonly keysRepeat?: boolean
  /** Whether its rows are those that another run left over. */
  readonly isRetry?: boolean
  /** Left out: a row is sent whatever watermark was accepted for its key. */
  readonly watermarks?: {
    /** Whether rows are sent over those that were accepted with a greater watermark. */
    readonly overwrites: boolean
    /** Whether it is counted for how many rows that is not known. */
    readonly isWindow: boolean
  }
  /** Of an import with links: what the definitions of their associations allow. */
  readonly linkBounds?: LinkBounds
}

/** What staging decided, in rows. */
export interface StageCounts {
  readonly planned: number
  readonly superseded: number
  /** Those of `superseded` that gave way to a newer row of another run: rows of a retry. */
  readonly newer?: number
  /** Rows within `superseded` that a later reading of their source lacks or withdraws: rows of a retry. */
  readonly gone?: number
  /** Rows within `superseded` whose key was accepted with a greater watermark. */
  readonly older?: number
  /** Rows within `planned` for which it is not known whether something newer was accepted for their key. */
  readonly unknown?: number
  readonly unchanged: number
  readonly invalid: number
  /** Rows that ask for the deletion of their records. */
  readonly withdrawn?: number
  /** Rows that are wrong in the source, and that a correction has brought in. Left out if there is none. */
  readonly corrected?: number
  /** Those of `planned` that were accepted as they are, before the ledger was restored from a backup. */
  readonly distrusted?: number
  /** Left out if no links were staged. */
  readonly links?: StagedLinkCounts
}

/** What is left of a staged run, in rows. */
export type LeftCounts = Required<
  Pick<StageCounts, 'planned' | 'superseded' | 'invalid' | 'withdrawn' | 'corrected'>
> & { readonly rows: number }

/** How the keys of a staged run differ from their forms in the source, and from each other. */
export interface KeyCounts {
  /** Rows whose key is sent in another form than the source has it. */
  readonly loose: number
  /** Rows without a known key: they have none, or it is unclear which cell holds it. */
  readonly keyless: number
  /** Superseded rows whose key the source has in another form than the row that supersedes them. */
  readonly merged: number
  /** Keys with capitals whose form in small letters is a key too, of the run or of what was accepted. */
  readonly variants: number
}

export interface RowStaging {
  /**
   * Starts staging from the beginning: a higher fence, and no items.
   * @param seen the `stageFence` of the run when this attempt began: an attempt that stood still until a later one had staged the
   * run must not stage it again
   * @throws FenceLost if it has another one now; once a segment of the run was claimed, or it is closed
   */
  beginStage(run: number, columns: readonly string[], seen?: number): Promise<number>
  /** Writes at most 1,000 items, of LEDGER_CHARS_MAX characters together unless it is one. */
  stageItems(run: number, fence: number, items: readonly StagedItem[]): Promise<void>
  /**
   * Marks superseded and unchanged items, slice by slice, and divides the run into segments. Notes the watermark that was
   * reached: it counts once the run is closed as complete, in the transaction that closes it.
   */
  finishStage(
    run: number,
    fence: number,
    source: StagedSource,
    onSlice?: OnSlice,
  ): Promise<StageCounts>
  /** Removes at most 1,000 items from a staged run, and from its count of rows: as if its source had no such rows. */
  leaveOut(run: number, fence: number, ordinals: readonly number[]): Promise<void>
  /** Removes all but about `rows` of the planned items in the same way, evenly, and counts what is left. */
  keepSample(run: number, fence: number, rows: number): Promise<LeftCounts>
  /** After `leaveOut`: removes the links of removed items, and counts what is left in the segments, and in all. */
  countLeft(run: number, fence: number): Promise<LeftCounts>
  keyCounts(run: number): Promise<KeyCounts>
  /** Which of at most 1,000 keys the items of a run have, of the ordinals up to `upTo`. */
  stagedKeys(
    run: number,
    keys: readonly string[],
    options: { upTo: number },
  ): Promise<ReadonlySet<string>>
}
