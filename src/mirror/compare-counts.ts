// The end of a stream's run: the service's own count against the table's. Promises kept here: if they differ, recent changes are
// read again and the rows that make the difference are looked for; what is left of it is reported; every attempt is counted. A service
// that went back during the run is noticed.

import { formatNumber } from '../core/format.ts'
import { asideSurplus, unknownAside } from './aside.ts'
import { readChanges } from './changes.ts'
import { CONFIRM_MAX, confirmGone, deleteApproved } from './deletions.ts'
import { lostSinceLastRun, otherThanListed, storeVisibility } from './last-visibility.ts'
import { bisect, type BisectKey } from './bisect.ts'
import type { StreamResult } from './ports.ts'
import type { StreamPosition } from './position.ts'
import { createRange, rangeFilter } from './ranges.ts'
import type { RecordsWork } from './records-work.ts'
import { misfitText } from './value-forms.ts'
import { checkNewest } from './went-back.ts'

/** Times that a difference is examined while the service changes. */
const ROUNDS_MAX = 3

/** Does the phase, the last one. Undefined if it is over. */
export async function compareCounts(work: RecordsWork): Promise<StreamResult | undefined> {
  await noteEmptied(work)
  const { deps, position, schema, reader, merger, account, stream } = work
  const count = async () => {
    await merger.flush()
    position.asideSurplus = await asideSurplus(work)
    const surplus = account.compare(
      await reader.count(schema.name),
      await deps.tables.count(stream),
    )
    if (surplus !== 0 && !isKnown(position, surplus)) return surplus
    const ofRead = await surplusOfRead(work)
    return ofRead > Math.max(0, surplus) ? ofRead : surplus
  }
  let surplus = await count()
  /** Records that moved in the last round: that many may differ because people work during the run. */
  let moved = 0
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (surplus === 0 || isKnown(position, surplus)) break
    const counted = position.counted!
    const done = writtenOf(position)
    if (work.modified !== null) {
      await readMeanwhile(work)
      surplus = await count()
    }
    if (surplus !== 0 && !isKnown(position, surplus) && Math.abs(surplus) <= CONFIRM_MAX) {
      const before = reader.now()
      const ids = await candidates(work)
      if (ids !== null) {
        const gone = await confirmGone(work, ids)
        const wait = await deleteApproved(work, gone.length, { before, ids: gone })
        if (wait) return wait
        surplus = await count()
      }
    }
    moved = writtenOf(position) - done + Math.abs(position.counted! - counted)
    if (moved === 0) break
  }
  judge(work, surplus, moved)
  await checkNewest(work)
  position.run.phase = 'done'
  const { sight } = work.job
  if (otherThanListed(sight, position) !== null) return undefined
  // Listed with this key, as many rows as records, and every change read: the key sees all that the table has.
  const isWhole = surplus === 0 && (position.run.full || work.modified !== null)
  if (isWhole || lostSinceLastRun(sight, position) === null) storeVisibility(position, sight)
  return undefined
}

/** A run that read changes alone looks into the table, where it has read values of a property and none of them fits. */
async function noteEmptied({ deps, position, stream, merger }: RecordsWork): Promise<void> {
  const { full, values = {} } = position.run
  if (full) return
  for (const column of stream.columns) {
    const counts = Object.hasOwn(values, column.property) ? values[column.property]! : null
    const isKnown = position.unfilled?.[column.property] !== undefined
    if (!column.live || column.part !== 'value' || isKnown) continue
    const text = counts === null || counts.fit > 0 ? null : misfitText(column, counts)
    if (text === null) continue
    await merger.flush()
    if (await deps.tables.hasValues(stream, column.name)) continue
    position.unfilled = { ...position.unfilled, [column.property]: text }
  }
}

/**
 * The surplus among what the changes were read up to; 0 if there is no time to count by. Records that are added after that make up
 * for rows whose records are gone.
 */
async function surplusOfRead(work: RecordsWork): Promise<number> {
  const { deps, position, stream, type, reader } = work
  const key = bisectKey(work)
  const filter = rangeFilter(key?.by ?? null, createRange(null, position.watermark))
  if (key === null || filter === null) return 0
  const within = { column: key.column, from: null, to: position.watermark }
  const { rows } = await deps.tables.count(stream, within)
  return rows - (await reader.count(type, filter))
}

const writtenOf = ({ run: { tally } }: StreamPosition): number =>
  tally.inserted + tally.changed + tally.deleted

/** Rows that a person wants to stay, less those that the warehouse cannot hold, and what records that cannot be read make. */
const expectedOf = ({ kept, unfit = 0, asideSurplus: aside = 0 }: StreamPosition): number =>
  kept - unfit + aside

/** Whether the reason for the difference is known, and a search would find nothing. */
function isKnown(position: StreamPosition, surplus: number): boolean {
  const expected = expectedOf(position)
  if (surplus < expected && surplus >= expected - unknownAside(position)) return true
  if (expected > 0 ? surplus > 0 && surplus <= expected : surplus === expected) return true
  return surplus === position.unexplained && !position.run.full
}

/** Reports what is left of a difference. */
function judge({ position, account }: RecordsWork, surplus: number, moved: number): void {
  const rows = Math.abs(surplus)
  const differ =
    surplus > 0
      ? `${formatNumber(rows)} ${rows === 1 ? 'row' : 'rows'} more than the service has records`
      : `${formatNumber(rows)} ${rows === 1 ? 'record' : 'records'} of the service more than the table has rows`
  if (position.run.full) position.unexplained = 0
  if (surplus === 0) return
  const expected = expectedOf(position)
  // The account names them.
  const { asideSurplus: aside = 0 } = position
  if (surplus <= aside && surplus >= aside - unknownAside(position) && expected === aside) return
  if (expected > 0 && surplus > 0 && surplus <= expected)
    return account.differ(`${formatNumber(rows)} rows stay whose deletion was rejected`)
  // Each run that knows of them reports them.
  if (surplus === expected)
    return account.differ(`${differ}: the warehouse cannot hold their ids, so they were left out`)
  if (surplus === position.unexplained)
    return account.differ(`${differ}, as after the last full listing; reconcile --full says which`)
  if (rows <= moved)
    return account.say(
      `the counts differ by ${formatNumber(rows)}: what changed during the run comes with the next one`,
    )
  if (position.run.full) {
    position.unexplained = surplus
    return account.differ(`${differ}, although everything was read; reconcile --full says which`)
  }
  position.wanting = true
  account.differ(`${differ}: the next run reads everything and finds them`)
}

/**
 * What changed since the changes were read: in the last round, or while the run waited, be it for a person. A record that was added would
 * make up for one that was deleted.
 */
export async function readMeanwhile(work: RecordsWork): Promise<void> {
  const { position, modified } = work
  if (modified === null) return
  let reached: string | null = position.watermark
  await readChanges(work, {
    modified: modified.name,
    from: reached,
    known: () => ({ watermark: position.watermark, reached }),
    moveTo: (watermark, to) => {
      position.watermark = watermark
      reached = to
    },
  })
}

/** Ids of rows whose records the service does not list; null if they were not found within the bounds. */
async function candidates(work: RecordsWork): Promise<readonly string[] | null> {
  // Half of what a listing would cost, within reason.
  const requestsMax = Math.min(300, Math.max(20, Math.ceil((work.position.counted ?? 0) / 200)))
  return await bisect(work, bisectKey(work), { requestsMax, idsMax: CONFIRM_MAX })
}

/** A time by which both sides can be counted: that of creation, which stays; else that of the last change. */
function bisectKey({ stream, by, modified }: RecordsWork): BisectKey {
  const column = stream.columns.find(
    ({ property, live, type }) => property === by?.name && live && type.holds === 'instant',
  )
  if (by !== null && column !== undefined) return { by: by.name, column: column.name }
  return modified === null ? null : { by: modified.name, column: '_version' }
}
