// The state of a stream. It is stored in the warehouse, in the transaction that merges what was read: table and position cannot
// disagree, and a new warehouse starts from the beginning.

import { SyncError } from '../core/errors.ts'
import { zeroCounts } from '../core/register.ts'
import type { KeyVisibility } from '../core/domain/visibility.ts'
import type { Window } from '../core/domain/watermark.ts'
import type { MergeCounts, TableIdentity } from '../warehouses/mirror-tables.ts'
import type { Unread } from './reader.ts'
import type { ReadValues } from './value-forms.ts'

/** A range of a listing: records whose `by` is in `[from, to)`, or that have none. Null is no bound. */
export interface ListingRange {
  from: string | null
  to: string | null
  /** The records without a value of `by`. */
  without: boolean
  /** Value of `by` of the last record that was merged; if the service refuses the cursor, a filter continues from here. */
  reached: string | null
  /** Of the next page. */
  cursor: string | null
  done: boolean
}

/** A listing in progress: of all records, or of those in a window. */
export interface Listing {
  /** When it began, by our clock: rows seen before that were not seen by it. */
  startedAt: string
  /** The highest modification time then. */
  watermark: string | null
  /** The property that cuts it into ranges and orders them; null if the service orders by none. */
  by: string | null
  ranges: ListingRange[]
  /** Records read so far, including those that came twice. */
  read?: number
  /** What the key saw when it began. */
  sight?: KeyVisibility
  /** Of a window: it has no records without a value of `by`; records later than `end` changed after it began. */
  window?: { end: string | null }
}

/** The window of a run, and its listing; null before it begins, and after its end. */
export interface WindowPosition extends Window {
  listing: Listing | null
}

const TALLIED = [
  'requests',
  'read',
  'inserted',
  'changed',
  'unchanged',
  'deleted',
  'older',
  'reverted',
] as const

/** What a run did so far, as in `StreamBooks`. */
export type RunTally = Record<(typeof TALLIED)[number], number>

/**
 * The next phase of the run that works on the stream: `list` a complete listing, `changes` what changed since, `sweep` the records
 * that both lacked, `relist` a second complete listing if these are many, `resweep` the records that all lacked, `compare` the
 * counts, `done`. Of a run with a window: `window`, `done`.
 */
export type StreamPhase =
  | 'list'
  | 'changes'
  | 'sweep'
  | 'relist'
  | 'resweep'
  | 'compare'
  | 'window'
  | 'done'

/** When a read of the stream began, by our clock, and the service's clock then. */
export interface ClockReading {
  /** Of our clock, ms since 1970. */
  at: number
  /** By how much the service's was ahead; null if that is not known. */
  aheadMs: number | null
}

/** The run that works on a stream. Its number alone does not identify it: a lost or restored ledger counts from before. */
export interface Opened {
  readonly id: number
  readonly openedAt: string
}

/** One run of a stream. */
export interface StreamRunState {
  id: number
  openedAt: string
  phase: StreamPhase
  full: boolean
  /** Changes up to this modification time were merged by this run, the overlap included. */
  reached: string | null
  tally: RunTally
  /** When it began to read changes, by our clock, and from which time on; null for everything. */
  began?: { at: number; from: string | null }
  /** What the run reports to people, in sentences. */
  said?: string[]
  /** Whether the table is known not to be what the service has, and the run could not mend it. */
  differs?: boolean
  /** Whether it has asked for the records that earlier runs set aside. */
  hasAskedAgain?: boolean
  /** What was read of each property. */
  values?: ReadValues
  /** Ids of records that are gone, and of those that the service answers with instead. */
  merged?: Record<string, string>
  /** Absent if there is none. */
  window?: WindowPosition
}

export interface StreamPosition {
  v: 1
  /** Changes up to this modification time were merged; null if none is known. */
  watermark: string | null
  /** The table that it was stored with; absent before the first time, null if a run found that table altered. */
  table?: TableIdentity | null
  /** When the last complete listing began. */
  listedAt: string | null
  /** What the key saw when it began. Absent if that was not known. */
  listedWith?: KeyVisibility
  /** Columns that it filled. */
  columns: string[]
  /** Rows that the service counted last. */
  counted: number | null
  /** Whether the counts differ in a way that only a complete listing repairs. */
  wanting: boolean
  /** When a run noticed last that the service went back in time: no listing of any type counts that began before. */
  wentBackAt?: string
  /** Rows without a record that stay, because a person rejected their deletion. */
  kept: number
  /** By how many rows the table differed after the last complete listing, for no known reason. */
  unexplained?: number
  /** Records of the last complete listing whose ids the warehouse cannot hold. */
  unfit?: number
  /** Properties whose columns have nothing since the last complete listing, because no value fits, and the sentence that says so. */
  unfilled?: Record<string, string>
  /** Records that could not be read, by id: each run asks for them again. */
  aside?: Record<string, Unread>
  /** By how many rows the table has more because of them. */
  asideSurplus?: number
  /** When the service was last asked: the clock of another worker may be behind. */
  askedAt?: string
  /** Of the last read that came to its end: everything that changed before it is in the table. */
  clock?: ClockReading
  /** What the key saw when the table was last known to hold all of it. */
  sight?: KeyVisibility
  /** Properties that have gone since then. */
  lost?: string[]
  listing: Listing | null
  /** The last run that worked on it; the next run replaces it. */
  run: StreamRunState
}

/** A stream that was never read, for a run that begins. */
export function firstPosition(run: StreamRunState): StreamPosition {
  return {
    v: 1,
    watermark: null,
    listedAt: null,
    columns: [],
    counted: null,
    wanting: false,
    kept: 0,
    listing: null,
    run,
  }
}

/** Of a stored position of any stream; null if there is none, or it is unreadable, which its own stream reports. */
export const wentBackAtOf = (stored: string | null): string | null => timeOf(stored, 'wentBackAt')

/** The same of the time at which the service was last asked. */
export const askedAtOf = (stored: string | null): string | null => timeOf(stored, 'askedAt')

function timeOf(stored: string | null, name: 'askedAt' | 'wentBackAt'): string | null {
  const time = stored === null ? null : parsed(stored)?.[name]
  return typeof time === 'string' ? time : null
}

/** Of a run that has done nothing yet. */
export const EMPTY_TALLY = (): RunTally => zeroCounts(TALLIED)

export function addMerge(tally: RunTally, counts: MergeCounts): void {
  for (const name of ['inserted', 'changed', 'unchanged', 'older', 'reverted'] as const)
    tally[name] += counts[name]
}

/** The state of a run that has done nothing yet. */
export function newRunState({ id, openedAt }: Opened, full: boolean): StreamRunState {
  const phase = full ? 'list' : 'changes'
  return { id, openedAt, phase, full, reached: null, tally: EMPTY_TALLY() }
}

/** The same for a run with a window. */
export function newWindowRunState({ from, to }: Window, { id, openedAt }: Opened): StreamRunState {
  const window = { from, to, listing: null }
  return { id, openedAt, phase: 'window', full: false, reached: null, tally: EMPTY_TALLY(), window }
}

/** Whether a position is that of this run. */
export const isSameRun = (
  run: Pick<StreamRunState, 'id' | 'openedAt'>,
  { id, openedAt }: Opened,
): boolean => run.id === id && run.openedAt === openedAt

/** The same, and whether the window is the same. */
export function isPositionOfRun(
  run: StreamRunState,
  opened: Opened,
  window: Window | null,
): boolean {
  const { from = null, to = null } = run.window ?? {}
  return (
    isSameRun(run, opened) &&
    (run.window === undefined) === (window === null) &&
    from === (window?.from ?? null) &&
    to === (window?.to ?? null)
  )
}

/** @throws SyncError `position_unreadable` for a text that a newer version wrote, or a person changed */
export function parsePosition(text: string, place: string, stream: string): StreamPosition {
  const position = parsed(text)
  if (position?.v === 1 && position.run?.tally !== undefined) return position as StreamPosition
  throw new SyncError(
    'position_unreadable',
    `${place}: the position of ${stream} in _records_sync_streams is not one that this version wrote; use the newest version, or set it to NULL to read the stream from its beginning`,
  )
}

function parsed(text: string): Partial<StreamPosition> | null {
  try {
    return JSON.parse(text) as Partial<StreamPosition> | null
  } catch {
    return null
  }
}
