// Compares what the key of a source of records sees with what the keys of earlier runs saw: rows that exist are missing for a key
// that sees less. Promise kept here: a record whose row may only be hidden is deleted when a person approves it, however few such
// records there are, until a reconciliation shows that none is left.

import { formatNumber } from '../../core/format.ts'
import { lostVisibility } from '../../core/domain/visibility.ts'
import type { Runs, StepStates } from '../../ledger/ledger.ts'
import type { SourceVisibility } from '../../sources/source.ts'
import { stepPosition } from '../step-position.ts'

/** Step: what the key of the source saw. */
const STEP = 'source_visibility'

/** Earlier runs that are searched for one that has read the source. */
const CHECKED_MAX = 100

interface Seen extends SourceVisibility {
  readonly run: number
  /** Null: it read a part. */
  readonly rows: number | null
}

/** What a run keeps. */
interface Kept {
  readonly now: Seen | null
  /** Keys that have read rows since a reconciliation left nothing extra, each with something that `now` may not see. */
  readonly more: readonly Seen[]
  /** The newest earlier run that read the whole source. */
  readonly whole: Pick<Seen, 'key' | 'run' | 'rows'> | null
  /** Runs that kept nothing, because their source was of another kind, have read rows too. */
  readonly isUnknown: boolean
}

const NOTHING: Kept = { now: null, more: [], whole: null, isUnknown: false }

/**
 * Keeps with a run what the key of its source saw. Returns what a person should know about it.
 * @param read.rows of the source, if it was read whole
 */
export async function noteSourceVisibility(
  ledger: Runs & StepStates,
  read: { readonly run: number; readonly sync: string; readonly rows: number | null },
  seen: SourceVisibility,
): Promise<readonly string[]> {
  const { run, rows } = read
  const earlier = await lastKept(ledger, read)
  const now: Seen = { ...seen, run, rows }
  const before = [...earlier.more, ...(earlier.now === null ? [] : [earlier.now])]
  const kept: Kept = {
    now,
    more: before.filter((one) => lostSince(now, one) !== null),
    whole: earlier.now !== null && earlier.now.rows !== null ? earlier.now : earlier.whole,
    isUnknown: earlier.isUnknown && now.reach === 'user',
  }
  await (await stepPosition<Kept>(ledger, run, STEP, NOTHING)).keep(kept)
  const { whole } = kept
  const isFewer = rows !== null && whole !== null && rows < whole.rows!
  const counts = isFewer
    ? `${formatNumber(rows)} rows were read, and ${formatNumber(whole.rows!)} by run ${whole.run}`
    : null
  const lost = lostText(kept)
  if (lost !== null && kept.more.length > 0)
    return [
      `${lost}${counts === null ? '' : `; ${counts}`}. What it does not see looks as if it were gone`,
    ]
  if (counts === null || whole!.key === now.key) return []
  return [`${counts}, with another key of the source (key#${now.key}, before key#${whole!.key})`]
}

/** How the key that read the source of a run sees less than those of earlier runs, as a sentence; null if it sees as much. */
export async function lostInSource(ledger: StepStates, run: number): Promise<string | null> {
  return lostText((await stepPosition<Kept>(ledger, run, STEP, NOTHING)).kept)
}

/** A whole reconciliation has left nothing extra: whatever the key of the source does not see, nothing here is of it. */
export async function noteNothingExtra(ledger: StepStates, run: number): Promise<void> {
  const place = await stepPosition<Kept>(ledger, run, STEP, NOTHING)
  if (place.kept.now !== null) await place.keep({ ...place.kept, more: [], isUnknown: false })
}

/** What the newest earlier run of the sync that has read the source keeps. */
async function lastKept(
  ledger: Runs & StepStates,
  { run, sync }: { readonly run: number; readonly sync: string },
): Promise<Kept> {
  let unknown: Kept = NOTHING
  for (const { id, mode, of, rowsRead } of await ledger.runs({ sync, limit: CHECKED_MAX })) {
    // Numbers of plans are negative: every run is earlier than a plan. The rows of a retry are not those of the source.
    if ((run > 0 && id >= run) || mode !== 'run' || of !== null) continue
    const { kept } = await stepPosition<Kept>(ledger, id, STEP, NOTHING)
    if (kept.now !== null) return kept
    if (rowsRead !== null) unknown = { ...NOTHING, isUnknown: true }
  }
  return unknown
}

function lostText({ now, more, isUnknown }: Kept): string | null {
  if (now === null) return null
  const [before] = more
  if (before !== undefined) {
    const than =
      before.key === now.key
        ? `in run ${before.run}`
        : `that of run ${before.run} (key#${before.key})`
    return `the key of the source (key#${now.key}) sees less than ${than}: ${lostSince(now, before)}`
  }
  return isUnknown
    ? `the key of the source (key#${now.key}) has reach user, and what the keys of earlier runs saw is not known`
    : null
}

const lostSince = (now: SourceVisibility, before: SourceVisibility): string | null =>
  now.org === before.org
    ? lostVisibility(now, before)
    : `it is of org ${now.org}, and was of org ${before.org}`
