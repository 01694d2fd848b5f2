// Finds what a reconciliation of a mirror has to do. Promise kept here: no table is written, and the mirror of another org, or of
// another project, is not compared.

import type { LedgerIdentity, Streams } from '../../ledger/ledger.ts'
import { SyncError } from '../../core/errors.ts'
import type { ReconcileScope } from '../../core/domain/purpose.ts'
import type { MirrorSync } from '../../../config/index.ts'
import { limitStreams, ownTables } from '../discover.ts'
import { selectTypes, noteLostTypes } from '../lost-types.ts'
import { waitingStream } from '../streams.ts'
import type { DiscoveredStreams, MirrorDeps } from '../ports.ts'
import { Reader } from '../reader.ts'

/**
 * Asks the service for types and field types: three requests. The streams are those of records; edges and association definitions
 * are not compared.
 * @throws SyncError `reconcile_unread` if the mirror never ran, `warehouse_other_mirror`,
 *   `warehouse_other_project`, `warehouse_other_sync`, `mirror_types`; Blocked, ServiceFailure, QuotaWait
 */
export async function discoverReconcile(
  deps: MirrorDeps<LedgerIdentity & Streams>,
  { run, sync, scope }: { run: number; sync: MirrorSync; scope: ReconcileScope },
): Promise<DiscoveredStreams> {
  const { tables, ledger } = deps
  if ((await tables.tableNames()).length === 0)
    throw new SyncError(
      'reconcile_unread',
      `The warehouse ${tables.place} has no tables of sync "${sync.name}" to compare; run it first`,
    )
  const reader = new Reader(deps)
  // There are tables, so this only checks whose they are; if no project is noted yet, it notes this one.
  const { types, sortable } = await ownTables(deps, reader, sync)
  const names = limitStreams({ sync, only: scope.only }, selectTypes(sync.mirror, types).names)
  for (const name of names) await ledger.noteStream(run, waitingStream(name))
  if (scope.only === null) await noteLostTypes(deps, run, sync.mirror, types)
  return { streams: names.map((name) => ({ kind: 'records', name })), sortable }
}
