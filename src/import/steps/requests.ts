// How many requests the rows of a run take, and their links.

import { BATCH_ITEMS_MAX, IN_VALUES_MAX } from '../../contract/index.ts'
import { operationOfMode, writesRecords } from '../../core/domain/import-modes.ts'
import { repeatedLooks } from '../../core/domain/look-ups.ts'
import { keepsBefore } from '../../core/domain/protection.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { countsChanges, rulesOf } from './approval-rules.ts'
import { verifyStep } from '../outbox/verify-links.ts'
import type { ImportClient } from '../ports.ts'

/**
 * Requests that write rows and links, and those that look rows up: before a plan is made, and again right before they are sent.
 * @param known rows whose keys were accepted before: a row with links alone has the ids of their records
 */
export async function requestsOf(
  client: Pick<ImportClient, 'itemsPerRequest'>,
  config: Pick<ImportConfig, 'mode' | 'verify' | 'missing_rows'> & Partial<ImportConfig>,
  {
    rows,
    known,
    links = 0,
    removals = 0,
    appliesPlan = false,
    perMinute = null,
  }: {
    readonly rows: number
    readonly known: number
    /** Links that are sent, one request each; their ends are looked up, and some are read back, with one request each. */
    readonly links?: number
    readonly removals?: number
    /** Whether the run applies a plan: it makes none of its own, and looks each row up before it sends it. */
    readonly appliesPlan?: boolean
    /** Requests that the run can count on: with few, look-ups grow old before their rows are sent. */
    readonly perMinute?: number | null
  },
): Promise<number> {
  const { mode, verify, missing_rows: missing } = config
  const writes = writesRecords(mode)
    ? Math.ceil(rows / (await client.itemsPerRequest(operationOfMode(mode))))
    : 0
  const { always } = rulesOf(config)
  const isLooked = keepsBefore(config) || always || appliesPlan
  const looked = {
    upsert: isLooked ? rows : 0,
    create: rows,
    update: rows,
    link: rows - known,
  }[mode]
  const again = isLooked ? Math.ceil(writes * repeatedLooks(perMinute)) : 0
  const planned = appliesPlan ? 0 : lookedUpFirst(config, { rows, known })
  // What names its targets by their ids looks up none of them.
  const hasKeys = config.links?.every(({ by }) => by === undefined) !== true
  const ends = hasKeys ? [links, links] : [links]
  const lookUps = [planned, looked, ...ends].reduce(
    (sum, keys) => sum + Math.ceil(keys / IN_VALUES_MAX),
    0,
  )
  // A removal is read before and after.
  const operation = typeof missing === 'object' ? 'batchUpdate' : 'batchDelete'
  const removed =
    removals === 0
      ? 0
      : Math.ceil(removals / (await client.itemsPerRequest(operation))) +
        2 * Math.ceil(removals / BATCH_ITEMS_MAX)
  const every = links === 0 ? null : verifyStep({ mode, verify }, links)
  const readBack = every === null ? 0 : Math.ceil(links / every)
  return writes + again + lookUps + links + readBack + removed
}

/** Rows that are looked up before a person is asked. */
function lookedUpFirst(
  config: Parameters<typeof countsChanges>[0],
  { rows, known }: { readonly rows: number; readonly known: number },
): number {
  if (countsChanges(config)) return rows
  return rulesOf(config).creates_max_percent === undefined ? 0 : rows - known
}
