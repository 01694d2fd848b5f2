// How many requests the rows of a run take, and their links.

import { IN_VALUES_MAX } from '../contract/index.ts'
import { operationOfMode, writesRecords } from '../core/domain/import-modes.ts'
import type { ImportConfig } from '../../config/index.ts'
import type { ImportClient } from './ports.ts'

/** @param known rows whose keys were accepted before: an update has the ids of their records */
export async function requestsOf(
  client: Pick<ImportClient, 'itemsPerRequest'>,
  { mode }: Pick<ImportConfig, 'mode'>,
  {
    rows,
    known,
    links = 0,
    targets = 0,
  }: {
    readonly rows: number
    readonly known: number
    /** Links that are sent, one request each. */
    readonly links?: number
    /** Targets of them that are looked up. */
    readonly targets?: number
  },
): Promise<number> {
  const writes = writesRecords(mode)
    ? Math.ceil(rows / (await client.itemsPerRequest(operationOfMode(mode))))
    : 0
  const looked = { upsert: 0, create: rows, update: rows - known, link: rows - known }[mode]
  const lookUps = Math.ceil(looked / IN_VALUES_MAX) + Math.ceil(targets / IN_VALUES_MAX)
  return writes + lookUps + links
}
