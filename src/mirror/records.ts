// The records of one object type, from the state of their stream on. The position holds the next phase (position.ts), so that any
// worker can continue after any failure.

import { SyncError } from '../core/errors.ts'
import { LISTED_ALWAYS_MAX } from '../core/domain/mirror.ts'
import { askAsideAgain } from './aside.ts'
import { changesFrom, readChanges } from './changes.ts'
import { compareCounts, readMeanwhile } from './compare-counts.ts'
import { earlierInstant, formatInstant, isLater } from './instant.ts'
import { recordsVisibility } from './last-visibility.ts'
import { beginListing, beginWindow, continueListing } from './listing.ts'
import type { StreamResult } from './ports.ts'
import { EndlessListing } from './read-limit.ts'
import type { StreamPhase } from './position.ts'
import { liveColumns, type RecordsWork } from './records-work.ts'
import { clockWentBackText, earliestChange } from './service-clock.ts'
import { sweepDeletions } from './sweep.ts'
import { noValues } from './value-forms.ts'
import { checkWentBack } from './went-back.ts'

/** Times that changes are read again from an earlier time, because the service's clock went back during the read. */
const ROUNDS_MAX = 2

/** Works on the stream until it is done, its time is over, or it waits for a person. */
export async function runRecords(work: RecordsWork): Promise<StreamResult> {
  const { deps, position, merger, account } = work
  try {
    await account.note()
    await askAsideAgain(work)
    if (position.run.phase === 'compare') await readMeanwhile(work)
    // Bounded: every pass moves on to a later phase, or returns.
    for (;;) {
      const result = await runPhase(work, position.run.phase)
      // The next phase reads the table, so the rows must be in it.
      await merger.flush()
      await account.note()
      if (!result) continue
      await account.store()
      return result
    }
  } catch (error) {
    // A listing that does not end begins again when the service is asked again.
    if (error instanceof EndlessListing) forgetListing(work)
    // A run that only waits keeps what it read; a cancelled one does not.
    if (!deps.signal.aborted && !(error instanceof SyncError && error.code === 'fence_lost'))
      await merger
        .flush()
        .then(() => account.store())
        .catch(() => {})
    throw error
  } finally {
    await merger.drop()
  }
}

/** Does a phase, or a part of it. Undefined if the next phase may begin. */
async function runPhase(work: RecordsWork, phase: StreamPhase): Promise<StreamResult | undefined> {
  switch (phase) {
    case 'list':
    case 'relist':
      return await list(work, phase)
    case 'changes':
      return await changes(work)
    case 'sweep':
    case 'resweep':
      return await sweepDeletions(work, phase)
    case 'compare':
      return await compareCounts(work)
    case 'window':
      return await listWindow(work)
    case 'done':
      return { state: 'done' }
  }
}

function forgetListing({ position }: RecordsWork): void {
  const { run } = position
  run.reached = null
  if (run.window) run.window.listing = null
  if (run.full && position.listing !== null) run.phase = 'list'
  position.listing = null
}

async function list(
  work: RecordsWork,
  phase: 'list' | 'relist',
): Promise<StreamResult | undefined> {
  const { deps, job, schema, position, reader } = work
  const columns = liveColumns(work.stream)
  const isOther = columns.join('\n') !== position.columns.join('\n')
  if (phase === 'list' && (position.listing === null || isOther)) {
    position.counted = await reader.count(schema.name)
    position.listing = await beginListing(reader, schema, {
      records: position.counted,
      by: work.by?.name ?? null,
      modified: work.modified?.name ?? null,
      tuning: deps.tuning,
    })
    const seen = recordsVisibility(job.sight)
    if (seen) position.listing.sight = seen
    const at = Date.parse(position.listing.startedAt)
    position.clock = { at, aheadMs: deps.client.clockAheadMs() }
    position.columns = columns
    position.unfit = 0
    for (const counts of Object.values(position.run.values ?? {})) Object.assign(counts, noValues())
    position.listedAt = null
  }
  const listing = position.listing!
  if (!(await continueListing(listing, work))) return { state: 'again' }
  if (phase === 'relist') {
    position.run.phase = 'resweep'
    return undefined
  }
  // Our clock may have been ahead when the listing began.
  position.listedAt = earlierInstant(listing.startedAt, formatInstant(deps.clock.now()))
  position.watermark =
    listing.watermark === null ? null : earlierInstant(listing.watermark, listing.startedAt)
  if (listing.sight) position.listedWith = listing.sight
  position.wanting = false
  position.kept = 0
  position.run.phase = 'changes'
  return undefined
}

/** Lists the records that were last changed in a window. Nothing else in the position moves. */
async function listWindow(work: RecordsWork): Promise<StreamResult | undefined> {
  const { position, modified, reader } = work
  const window = position.run.window!
  window.listing ??= beginWindow(window, modified!.name, reader)
  if (!(await continueListing(window.listing, work))) return { state: 'again' }
  window.listing = null
  position.run.phase = 'done'
  return undefined
}

async function changes(work: RecordsWork): Promise<StreamResult | undefined> {
  const { job, schema, position, modified, reader, account } = work
  if (modified !== null) {
    if (position.unfilled?.[modified.name] !== undefined)
      account.say(
        `no time of ${modified.name} can be read, so what changed is not known, and every run reads all records`,
      )
    const isWhole = position.run.reached === null
    const beganAt = reader.now()
    const from = await readAllChanges(work, modified.name)
    if (from === undefined) return { state: 'again' }
    if (!position.run.full && isWhole && from !== null) await checkWentBack(work, from, beganAt)
  } else if ((position.counted ?? 0) > LISTED_ALWAYS_MAX) {
    account.say(
      `${schema.name} has no property of modification times that the service sorts by, so changes are found only by the full listing every ${job.config.full_every_hours} h; modification_property can name one`,
    )
  }
  position.run.phase = position.run.full ? 'sweep' : 'compare'
  return undefined
}

/** Returns the start of the read, once it has come to its end; undefined before that. */
async function readAllChanges(
  work: RecordsWork,
  modified: string,
): Promise<string | null | undefined> {
  const { deps, position, account } = work
  const { run, clock } = position
  const overlapMs = overlapOf(work)
  const mark = position.watermark
  const startBy = (aheadMs: number | null) =>
    changesFrom(earliestChange(mark, clock, aheadMs), overlapMs)
  const began = (run.began ??= { at: deps.clock.now(), from: startBy(null) })
  for (let round = 0; ; round++) {
    const isComplete = await readChanges(work, {
      modified,
      from: began.from,
      known: () => ({ watermark: position.watermark, reached: run.reached }),
      moveTo: (watermark, reached) => {
        position.watermark = watermark
        run.reached = reached
      },
    })
    if (!isComplete) return undefined
    // After the read, because its answers show the service's clock as it is now.
    const aheadMs = deps.client.clockAheadMs()
    const wentBack = clockWentBackText(clock, aheadMs)
    if (wentBack !== null) account.say(wentBack)
    const from = startBy(aheadMs)
    const isBelow = began.from !== null && from !== null && isLater(began.from, from)
    if (!isBelow || round === ROUNDS_MAX) {
      position.clock = { at: began.at, aheadMs }
      return began.from
    }
    began.from = from
    run.reached = null
  }
}

/** None right after a short listing: the next run goes back far enough. */
function overlapOf({ deps, job, position: { run, listing } }: RecordsWork): number {
  const overlapMs = job.config.overlap_seconds * 1_000
  if (!run.full || listing === null) return overlapMs
  const tookMs = deps.clock.now() - Date.parse(listing.startedAt)
  return tookMs >= 0 && tookMs * 2 < overlapMs ? 0 : overlapMs
}
