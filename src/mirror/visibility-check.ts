// Before rows are deleted, the service is asked what the key in use sees: records that exist are missing for a key that sees less
// than when the run began. Promise kept here: no row is deleted because such a key did not see its record.

import { Blocked, SyncError } from '../core/errors.ts'
import {
  lostVisibility,
  listNames,
  visibilityOf,
  typesLost,
  type KeyVisibility,
} from '../core/domain/visibility.ts'
import { withHeartbeat } from '../runs/heartbeat.ts'
import type { MirrorTables } from '../warehouses/mirror-tables.ts'
import type { MirrorClient, MirrorDeps, StreamRef } from './ports.ts'

type Deps = Pick<MirrorDeps, 'signal' | 'priority' | 'clock' | 'beat'> & {
  readonly client: Pick<MirrorClient, 'readSelf'>
  /** Wait before a blocked run asks again, ms. */
  readonly probeMs: number
}

/** The same tables, but each deletion asks first. `began`: what the run's key saw when it began. */
export function withVisibilityCheck(
  tables: MirrorTables,
  began: KeyVisibility,
  deps: Deps,
): MirrorTables {
  const remove: MirrorTables['delete'] = async (stream, ...rest) => {
    await checkSight(deps, began, stream.name)
    return await tables.delete(stream, ...rest)
  }
  return new Proxy(tables, {
    get(target, name) {
      if (name === 'delete') return remove
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The part that these streams need: all of it if there are edges, because they lead to types that are not mirrored. */
export function streamsVisibility(
  sight: KeyVisibility,
  streams: readonly StreamRef[],
): KeyVisibility {
  if (sight.types === null || streams.some(({ kind }) => kind === 'edges')) return sight
  const names = new Set(streams.map(({ name }) => name))
  return { ...sight, types: sight.types.filter((type) => names.has(type)) }
}

async function checkSight(deps: Deps, began: KeyVisibility, stream: string): Promise<void> {
  const { client, signal, priority, probeMs } = deps
  // It may wait for the quota, or for a service that is away.
  const self = await withHeartbeat(deps, client.readSelf({ signal, priority }))
  const now = visibilityOf(began.key, self)
  const less = lostVisibility(now, began)
  if (less !== null)
    throw new Blocked(
      'permission',
      `the key in use sees less than when the run began: ${less}. Nothing is deleted. Put back one that sees as much, and the run continues; or cancel the run and start another`,
      probeMs,
    )
  const lost = typesLost(now, began)
  // Records need their own type only; edges lead to every type.
  const ours = began.types?.includes(stream) ? lost.filter((type) => type === stream) : lost
  if (ours.length > 0)
    throw new SyncError(
      'mirror_sight',
      `the key cannot read ${listNames(ours)} any more, or it is gone, so nothing more is deleted; the next run compares with what exists then`,
    )
}
