// Where the reconciliation of a stream stands: kept in the ledger, so that one that was killed goes on. Losing it costs requests
// and nothing else.

import { EMPTY_TALLY, type RunTally } from '../position.ts'

/** A share of the axis: values in `[from, to)`; null is no bound. Instants to the millisecond. */
export interface PartitionRange {
  readonly from: string | null
  readonly to: string | null
}

/** By what records are put in order and counted; `none` where the service sorts by no time of theirs. */
export type PartitionKeyKind = 'modified' | 'created' | 'none'

export interface ReconcileState {
  v: 1
  /** `look` compares, `mend` deletes what is extra and settles what was repaired before a kill, `done`. */
  phase: 'look' | 'mend' | 'done'
  axis: PartitionKeyKind
  /** Whether each record was compared, or counts of them. */
  how: 'read' | 'counted' | 'sample'
  /** What was changed after this was not read by the mirror yet; null where nothing is known of it. */
  watermark: string | null
  /** What changed last since then is read whole, first of all. */
  newest: string
  /** Shares before it that were not looked at yet, newest first. */
  spans: PartitionRange[]
  /** Whether the records without a value were looked at. */
  isBeside: boolean
  /** Records that changed since the mirror ran last. */
  pending: number
  serviceCount: number | null
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

/** Null for what nobody kept, and for what another version wrote: the work begins anew. */
export function parseState(text: string | null): ReconcileState | null {
  if (text === null) return null
  try {
    const place = JSON.parse(text) as Partial<ReconcileState> | null
    return place?.v === 1 && place.tally !== undefined ? (place as ReconcileState) : null
  } catch {
    return null
  }
}
