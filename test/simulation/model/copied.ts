// Copies of records that pass a filter (docs/records.md): one goes only when its record is gone, and not when it leaves the filter.

import { COPIED_TYPE, COPIES, FILTERED_PROPERTY } from '../search/copies.ts'
import type { World } from '../world/world.ts'
import type { RunRow } from './judge.ts'
import { isOfKey, type Change } from './service-log.ts'

type Violate = (what: string) => void

export const isCopy = ({ id }: Pick<Change, 'id'>): boolean =>
  id.startsWith(COPIED_TYPE.slice(0, 3))

/** When the oldest of the records was made that have a key now; Infinity: there is none. */
function thereSince(world: World, org: number, key: string): number {
  const since = new Map<string, number>()
  for (const change of world.services.log.changes) {
    const { id, code, at, values } = change
    if (change.org !== org || !id.startsWith('con') || !isOfKey(change, key)) continue
    if (values === null || code.trim() !== key) since.delete(id)
    else if (!since.has(id)) since.set(id, at)
  }
  return Math.min(Infinity, ...since.values())
}

/** (iv) (v) Called for each copy that we have written or deleted. */
export function judgeCopied(
  world: World,
  { org, id, code, values }: Change,
  run: RunRow | undefined,
  violate: Violate,
): void {
  if (run?.org_id != null && run.org_id !== org)
    violate(`(v) run ${run.id} belongs to org ${run.org_id}, and ${id} is written in org ${org}`)
  if (values !== null) return
  if (world.plan.scene.copies?.missingRows !== 'delete' || run === undefined)
    return violate(`(iv) ${id} is deleted, and no run of a sync that deletes is live`)
  const begun = world.runs.find(({ workflowId }) => workflowId === run.workflow_id)
  if (thereSince(world, org, code.trim()) < (begun?.beganAt ?? -Infinity))
    violate(
      `(iv) ${id}, a copy, is deleted, and its record has been there since before run ${run.id} began`,
    )
}

/** (i) Each record that passes the filter has a copy as it is. */
export function judgeCopies(world: World, violate: Violate): void {
  const { org } = world.services.crm
  const copies = new Map(
    org
      .list(COPIED_TYPE)
      .map(({ properties: { code, name } }) => [String(code as string).trim(), name] as const),
  )
  for (const { id, properties } of org.list('contact')) {
    const { code, name } = properties
    if (properties[FILTERED_PROPERTY] != null || code == null || name == null) continue
    const key = String(code as string).trim()
    if (!copies.has(key)) violate(`(i) at the end ${id} passes the filter, and has no copy`)
    else if (copies.get(key) !== name)
      violate(`(i) at the end the copy of ${id} is not as its record`)
  }
}

/** A filter that nothing passes looks as if everything were gone: such a run is refused. */
export const isRefusedAsEmpty = (world: World): boolean =>
  world.query(
    `SELECT 1 FROM runs WHERE sync = ? AND reason = 'source_shrank_to_nothing'
     AND id = (SELECT max(id) FROM runs WHERE sync = ?)`,
    COPIES,
    COPIES,
  ).length > 0
