// What others changed, and who may write over it: a sync that protects, and an undo. The rule is that of docs/protect.md and docs/undo.md, in
// the words of the model: who has changed a value last, and whether this sync has ever written it, is known from what happened at the service.

import type { Protection, SyncScene } from '../search/plan.ts'
import { KEY_PROPERTY } from '../world/configuration.ts'
import type { World } from '../world/world.ts'
import type { RunRow } from './judge.ts'
import { isOfKey, isRekeyed, type Change } from './service-log.ts'
import { REFUSED, type Row } from './sources.ts'

type Violate = (what: string) => void

/** A look at a record is so old when its row is written, at most, and a little more on its way. */
const UNSEEN_MS = 10_000
/** Where the right to send comes seldom, or the clock of the worker is wrong, looks are older. */
const UNSEEN_SLOW_MS = 40_000
const SLOW_UNDER_PER_MINUTE = 600
const SLOWING = ['clock', 'limit', 'maintenance', 'outage']

export function unseenMs({ plan: { scene, actions } }: World): number {
  const isSlow =
    scene.service.perMinute < SLOW_UNDER_PER_MINUTE ||
    actions.some((action) => SLOWING.includes(action.do))
  return isSlow ? UNSEEN_SLOW_MS : UNSEEN_MS
}

/** The last change of a property of a record; undefined: nobody has ever given it a value. */
const lastOf = (changes: readonly Change[], id: string, property: string): Change | undefined =>
  changes.findLast((one) => one.id === id && one.values?.[property] !== one.before?.[property])

/** Whether what a change has met was changed right before, so that nobody could know: a property of it, or one change. */
export function isYoungChange(
  world: World,
  change: Change,
  property: string | null,
  last?: Change,
): boolean {
  const of =
    property === null
      ? last
      : lastOf(
          world.services.log.changes.filter((one) => one !== change),
          change.id,
          property,
        )
  return of !== undefined && change.at - of.at <= unseenMs(world)
}

/** Whether a record had another key when its row was looked up. */
export const isRekeyedLately = (world: World, { id, at }: Pick<Change, 'id' | 'at'>): boolean =>
  world.services.log.changes.some(
    (one) => one.id === id && isRekeyed(one) && at - one.at <= unseenMs(world),
  )

const isWrittenByUs = (changes: readonly Change[], id: string, property: string): boolean =>
  changes.some(
    (one) =>
      one.by === 'us' &&
      one.id === id &&
      one.values?.[property] !== undefined &&
      one.values[property] !== one.before?.[property],
  )

/**
 * Whether a row is sent again whose answer was lost, and others have put back what its first sending has met: then nothing tells that
 * it was carried out.
 */
function looksUnsent(
  world: World,
  sync: string,
  earlier: readonly Change[],
  { change, property }: { change: Change; property: string },
): boolean {
  const ours = earlier.findLast(
    ({ by, values, before }) => by === 'us' && values?.[property] !== before?.[property],
  )
  if (ours?.before?.[property] !== change.before?.[property]) return false
  const [again] = world.query(
    `SELECT 1 FROM items JOIN runs ON runs.id = items.run
     WHERE runs.sync = ? AND runs.closed_at IS NULL AND items.key = ? AND items.replayed = 1`,
    sync,
    change.code.trim(),
  )
  return ours !== undefined && again !== undefined
}

/** (ix) Called for each property that a write of ours has changed in a record that was there. */
export function judgeWrittenOver(
  world: World,
  sync: SyncScene,
  { change, property, purpose }: { change: Change; property: string; purpose: string },
  violate: Violate,
): void {
  const { id, before, at } = change
  const { protection } = sync
  const isUndo = purpose === 'undo'
  if (before === null || property === KEY_PROPERTY || (protection === null && !isUndo)) return
  // What was written just now is the last of them.
  const earlier = world.services.log.changes.filter((one) => one !== change && one.id === id)
  const last = lastOf(earlier, id, property)
  const isFresh = last !== undefined && at - last.at <= unseenMs(world)
  if (isFresh || isRekeyedLately(world, change)) return
  const ago = last === undefined ? '' : ` ${Math.round((at - last.at) / 1_000)} s before`
  const isFilled = before[property] !== undefined
  if (!isUndo && protection!.ifEmpty === property && isFilled)
    return violate(`(ix) ${id}: ${property} is written, and has had a value since${ago}`)
  // An older state of the service may be taken for either.
  if (last === undefined || last.by === 'us' || last.isRestored) return
  // Others may have given it a value of the source.
  if (world.versions.originOf(before[property]) !== null) return
  if (!isUndo && protection!.onConflict === 'ours') return
  const isFirst = !isUndo && !isWrittenByUs(earlier, id, property)
  if (isFirst && (protection!.firstContact === 'ours' || !isFilled)) return
  if (looksUnsent(world, sync.name, earlier, { change, property })) return
  violate(
    `(ix) ${id}: ${property} is written over by ${isUndo ? 'an undo' : sync.name}, and others have changed it${ago}`,
  )
}

/** The states that protection allows a row besides those of its mode. */
export function protectedStates(protection: Protection | null, row: Row): readonly string[] {
  if (protection === null) return []
  const isRefused = Object.values(row.cells).includes(REFUSED)
  return [
    'protected',
    // The value that the service would refuse may be the one that is not sent.
    ...(isRefused ? ['updated', 'unchanged'] : []),
  ]
}

interface RowOfRun {
  readonly run: RunRow
  readonly row: Row
  readonly item: {
    readonly ordinal: number
    readonly state: string
    readonly reason: string | null
  }
}

/** Why a row of a protecting sync is rejected, where no value of it is to blame. */
const CHANGED_BY_OTHERS = 'changed_by_others'

export const isSetAside = (sync: SyncScene, item: RowOfRun['item']): boolean =>
  sync.protection?.onConflict === 'reject' && item.reason === CHANGED_BY_OTHERS

const hasRunElsewhere = (world: World, { id, sync, origin }: RunRow): boolean =>
  world.query(
    `SELECT 1 FROM runs JOIN destinations ON destinations.id = runs.destination
     WHERE runs.sync = ? AND runs.id < ? AND destinations.origin <> ?`,
    sync,
    id,
    origin ?? '',
  ).length > 0

/** (ix) A row that is left as it is has a record that others have changed, or that had a value. */
export function judgeLeft(
  world: World,
  sync: SyncScene,
  { run, row, item }: RowOfRun,
  violate: Violate,
): void {
  const isLeft = item.state === 'protected' || item.reason === CHANGED_BY_OTHERS
  if (!isLeft) return
  const { protection } = sync
  const properties = sync.properties.filter((one) => row.cells[one] !== '')
  const changed = world.services.log.changes.some((one) => {
    const { org, by, isCopy, before, values } = one
    return (
      org === run.org_id &&
      // A proxy is one of them: what it sends once more may be carried out after its first was refused.
      (by === 'others' || isCopy) &&
      isOfKey(one, row.code) &&
      ['code', ...properties].some((property) => values?.[property] !== before?.[property])
    )
  })
  const isFilled = item.state === 'protected' && protection?.ifEmpty != null
  // What was written under another address is not known under this one: it was there before.
  const isFirst = protection?.firstContact === 'theirs' && hasRunElsewhere(world, run)
  if (!changed && !isFilled && !isFirst)
    violate(
      `(ix) run ${run.id}: row ${item.ordinal} is ${item.state} (${item.reason}), and nobody else has changed its record`,
    )
}

/** (ix) A row that this run has looked at says what it has not written over. */
export function judgeSaid(
  world: World,
  sync: SyncScene,
  { run, item, property, last }: RowOfRun & { property: string; last: Change | undefined },
  since: number,
  violate: Violate,
): void {
  if (sync.protection === null || !['created', 'updated'].includes(item.state)) return
  if (last === undefined || last.by === 'us' || last.at >= since - unseenMs(world)) return
  const [image] = world.query<{ kept: string | null }>(
    'SELECT kept FROM before_images WHERE run = ? AND ordinal = ?',
    run.id,
    item.ordinal,
  )
  if (image?.kept?.includes(`"${property}"`)) return
  violate(
    `(ix) run ${run.id}: row ${item.ordinal} is ${item.state}, and does not say that ${property}, which others have changed, was kept`,
  )
}
