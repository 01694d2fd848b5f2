// The state of a stream's reconciliation, stored in the ledger, so that another worker can continue. Losing it costs only requests.

import type { Unread } from '../reader.ts'
import { EMPTY_TALLY, type RunTally } from '../position.ts'

/** A range of the partition key: values in `[from, to)`; null is no bound. Instants to the millisecond. */
export interface PartitionRange {
  readonly from: string | null
  readonly to: string | null
}

/** The time by which records are ordered and counted; `none` if the service sorts by none of their times. */
export type PartitionKeyKind = 'modified' | 'created' | 'none'

export interface ReconcileState {
  v: 1
  /** `look` compares, `mend` deletes extra rows and settles what was repaired before a kill, `done`. */
  phase: 'look' | 'mend' | 'done'
  axis: PartitionKeyKind
  /** Whether each record was compared, or counts of them. */
  how: 'read' | 'counted' | 'sample'
  /** The mirror has not read what changed after this yet; null if nothing is known of it. */
  watermark: string | null
  /** Records since then are read whole, first of all. */
  newest: string
  /** Partitions before it that were not checked yet, newest first. */
  spans: PartitionRange[]
  /** Whether the records without a value of the key were checked. */
  isBeside: boolean
  /** Records that changed since the mirror ran last. */
  pending: number
  serviceCount: number | null
  /** Records that could not be read, by id. */
  unread?: Record<string, Unread>
  tally: RunTally
}

export const initialState = (
  about: Pick<ReconcileState, 'axis' | 'how' | 'watermark'>,
): ReconcileState => ({
  v: 1,
  phase: 'look',
  ...about,
  newest: '',
  spans: [],
  isBeside: false,
  pending: 0,
  serviceCount: null,
  tally: EMPTY_TALLY(),
})

/** Null if none was stored, or by another version: then the work starts from the beginning. */
export function parseState(text: string | null): ReconcileState | null {
  if (text === null) return null
  try {
    const state = JSON.parse(text) as Partial<ReconcileState> | null
    return state?.v === 1 && state.tally !== undefined ? (state as ReconcileState) : null
  } catch {
    return null
  }
}
