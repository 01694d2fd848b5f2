// A record as the service has it now, for a person who looks a row up. Promise kept here: it is one request that reads, and its bounds are
// those of a person who waits.

import type { ImportSync } from '../../config/index.ts'
import type { RecordRepresentation } from '../client/index.ts'
import { isGone } from '../core/errors.ts'
import { createClients, type ActionPlace } from './place.ts'

const ANSWER_MAX_MS = 20_000

/** Null if the service has no such record. @throws SyncError if it cannot be asked, or the key may not */
export async function readRecordNow(
  place: ActionPlace,
  sync: ImportSync,
  id: string,
): Promise<RecordRepresentation | null> {
  const quotas = await place.openQuotas()
  const connections = await createClients(place, 'console', quotas)
  try {
    const { client } = await connections.connect(sync.import.to)
    return await client.readRecord(sync.import.object_type, id, {
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
      maxWaitMs: ANSWER_MAX_MS,
    })
  } catch (error) {
    if (isGone(error)) return null
    throw error
  } finally {
    await connections.close()
    await quotas.close()
  }
}
