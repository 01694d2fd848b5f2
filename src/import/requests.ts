// How many requests the rows of a run take, and their links.

import { BATCH_ITEMS_MAX, IN_VALUES_MAX } from '../contract/index.ts'
import { operationOfMode, writesRecords } from '../core/domain/import-modes.ts'
import { keepsBefore } from '../core/domain/protection.ts'
import type { ImportConfig } from '../../config/index.ts'
import { verifyStep } from './links/verify-links.ts'
import type { ImportClient } from './ports.ts'

/** @param known rows whose keys were accepted before: a row with links alone has the ids of their records */
export async function requestsOf(
  client: Pick<ImportClient, 'itemsPerRequest'>,
  {
    mode,
    verify,
    missing_rows: missing,
    ...more
  }: Pick<ImportConfig, 'mode' | 'verify' | 'missing_rows'> &
    Partial<Pick<ImportConfig, 'keep_before' | 'on_conflict' | 'first_contact' | 'properties'>>,
  {
    rows,
    known,
    links = 0,
    targets = 0,
    removals = 0,
  }: {
    readonly rows: number
    readonly known: number
    /** Links that are sent, one request each; some are read back, with one request each. */
    readonly links?: number
    /** Targets of them that are looked up. */
    readonly targets?: number
    readonly removals?: number
  },
): Promise<number> {
  const writes = writesRecords(mode)
    ? Math.ceil(rows / (await client.itemsPerRequest(operationOfMode(mode))))
    : 0
  const looked = {
    upsert: keepsBefore(more) ? rows : 0,
    create: rows,
    update: rows,
    link: rows - known,
  }[mode]
  const lookUps = Math.ceil(looked / IN_VALUES_MAX) + Math.ceil(targets / IN_VALUES_MAX)
  // A removal is read before and after.
  const operation = typeof missing === 'object' ? 'batchUpdate' : 'batchDelete'
  const removed =
    removals === 0
      ? 0
      : Math.ceil(removals / (await client.itemsPerRequest(operation))) +
        2 * Math.ceil(removals / BATCH_ITEMS_MAX)
  const every = links === 0 ? null : verifyStep({ mode, verify }, links)
  const readBack = every === null ? 0 : Math.ceil(links / every)
  return writes + lookUps + links + readBack + removed
}
