// How many requests the rows of a run take.

import { IN_VALUES_MAX } from '../contract/index.ts'
import { operationOfMode } from '../core/domain/import-modes.ts'
import type { ImportConfig } from '../../config/index.ts'
import type { ImportClient } from './ports.ts'

/** @param known rows whose keys were accepted before: an update has the ids of their records */
export async function requestsOf(
  client: Pick<ImportClient, 'itemsPerRequest'>,
  { mode }: Pick<ImportConfig, 'mode'>,
  { rows, known }: { readonly rows: number; readonly known: number },
): Promise<number> {
  const writes = Math.ceil(rows / (await client.itemsPerRequest(operationOfMode(mode))))
  const looked = { upsert: 0, create: rows, update: rows - known }[mode]
  return writes + Math.ceil(looked / IN_VALUES_MAX)
}
