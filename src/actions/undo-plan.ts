// What an undo would do now, as the service and the ledger have it.

import type { ImportSync } from '../../config/index.ts'
import type { UndoTask } from '../core/domain/purpose.ts'
import { planUndo, undoneSync, type ReportChanges, type UndoPlan } from '../import/index.ts'
import { createClients, type ActionPlace } from './place.ts'
import { planDeps } from './plan-deps.ts'

/** @throws SyncError if the service cannot be asked, or the key may not do it */
export async function makeUndoPlan(
  place: ActionPlace,
  sync: ImportSync,
  task: UndoTask,
  {
    looked = () => {},
    tell,
    signal,
  }: { looked?(rows: number): void; tell?: ReportChanges; signal?: AbortSignal } = {},
): Promise<UndoPlan> {
  const quotas = await place.openQuotas()
  const connections = await createClients(place, 'undo', quotas)
  const ledger = await place.openLedger({ readOnly: false })
  let rows = 0
  try {
    const { client, keyFingerprint } = await connections.connect(sync.import.to)
    const deps = planDeps(ledger, client, (more = 0) => looked((rows += more)), signal)
    const job = { sync: await undoneSync(ledger, sync, task), keyFingerprint, task }
    return await planUndo(deps, job, tell)
  } finally {
    await ledger.close()
    await connections.close()
    await quotas.close()
  }
}
