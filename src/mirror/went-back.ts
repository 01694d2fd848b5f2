// Detects a service that went back in time, such as one restored from a backup. Before the run: its read of changes lacks records
// that the table has in the same span of time. During the run: rows that it has read hold later versions than their records have at
// its end. A few of those are asked for. Promise kept here: the run that notices it reports it, and the next run reads everything, of all types.

import type { QueryBody } from '../contract/index.ts'
import { confirmGone } from './deletions.ts'
import type { MirrorTables } from '../warehouses/mirror-tables.ts'
import { isLater } from './instant.ts'
import { wentBackAtOf, type StreamPosition } from './position.ts'
import type { RecordsWork } from './records-work.ts'

/** Records that are asked for at a time: one of them that is older than before is enough. */
const ASKED_MAX = 5
/** Records of the answer that shows the newest: many may have been changed at one moment, or since. */
const LISTED_MAX = 100

/**
 * @param since changes were read from this time to their end
 * @param beganAt when that read began
 */
export async function checkWentBack(
  work: RecordsWork,
  since: string,
  beganAt: string,
): Promise<void> {
  const { deps, stream, merger } = work
  await merger.flush()
  const lacked = { after: null, limit: ASKED_MAX, versionFrom: since, seenBefore: beganAt }
  await report(work, await deps.tables.ids(stream, lacked))
}

/**
 * At the end of a run that has read rows: whether the service lists those with the highest versions, and, whatever people have
 * changed meanwhile, those that had them when a listing began.
 */
export async function checkNewest(work: RecordsWork): Promise<void> {
  const { position, modified } = work
  const { full, tally } = position.run
  const hasRead = full || tally.inserted + tally.changed > 0
  if (modified === null || !hasRead || position.wanting) return
  const lacked = await lackedOfNewest(work, modified.name)
  const { listedAt } = position
  if (full && listedAt !== null)
    lacked.push(...(await lackedOfNewest(work, modified.name, listedAt)))
  await report(work, [...new Set(lacked)])
}

/** Ids of the rows with the highest versions whose records the service does not list with such a version. One request. */
async function lackedOfNewest(
  { deps, stream, type, reader }: RecordsWork,
  modified: string,
  upTo?: string,
): Promise<string[]> {
  const ids = await deps.tables.newestIds(stream, ASKED_MAX, upTo)
  // They come highest first.
  const [last] = await deps.tables.rows(stream, ids.slice(-1))
  const lowest = last?.version
  if (!lowest) return []
  const bound = (op: 'gte' | 'lte', value: string) => ({ property: modified, op, value })
  const listed = new Set<string>()
  const query: QueryBody = {
    filter:
      upTo === undefined
        ? bound('gte', lowest)
        : { $and: [bound('gte', lowest), bound('lte', upTo)] },
    sorts: [{ property: modified, direction: 'desc' }],
    properties: [modified],
  }
  for await (const { records } of reader.pages(type, query)) {
    for (const { id } of records) listed.add(id)
    if (listed.size >= LISTED_MAX) break
  }
  return ids.filter((id) => !listed.has(id))
}

async function report(work: RecordsWork, ids: readonly string[]): Promise<void> {
  const { merger, position, account, reader } = work
  if (ids.length === 0) return
  const { reverted } = position.run.tally
  // Deleted records are found by counting, as always.
  await confirmGone(work, ids)
  await merger.flush()
  if (position.run.tally.reverted === reverted) return
  position.wanting = true
  position.wentBackAt = reader.now()
  account.differ('the service went back in time: the next run reads everything, of all types')
}

/** Whether a run has noticed it on another type since this one was listed: what was put back there may have equal counts here. */
export async function hasGoneBackElsewhere(
  tables: Pick<MirrorTables, 'position' | 'streamNames'>,
  type: string,
  { listedAt }: Pick<StreamPosition, 'listedAt'>,
): Promise<boolean> {
  if (listedAt === null) return false
  for (const name of await tables.streamNames()) {
    if (name === type) continue
    const at = wentBackAtOf(await tables.position(name))
    if (at !== null && isLater(at, listedAt)) return true
  }
  return false
}
