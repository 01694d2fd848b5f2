// Which rows are deleted, and when. Promises kept here: a row goes only after the service answered 404 for it, or two complete
// listings lacked it; more than the configured share waits for a person; a listing that lacks what the service itself counts
// deletes nothing.

import { inLanes } from '../core/lanes.ts'
import type { MirrorConfig } from '../core/sync.ts'
import type { RecordRepresentation } from '../contract/index.ts'
import type { MirrorRow } from '../warehouses/mirror-tables.ts'
import type { Merger } from './merger.ts'
import type { Verdict } from './ports.ts'
import type { Reader } from './reader.ts'

/** Candidates that are asked for one by one; more of them are worth a second listing. */
export const ASKED_MAX = 200
/** Deletions that never wait for approval: a share of a small table says nothing. */
const UNASKED_ROWS = 10
/** Share by which two counts may differ while people work. */
const DRIFT = 0.01
const DRIFT_ROWS = 10

/** Asks for each of the ids; what is there after all is merged. Returns those that are not. */
export async function confirm(
  type: string,
  ids: readonly string[],
  parts: {
    readonly reader: Reader
    readonly merger: Pick<Merger, 'take'>
    readonly readers: number
    rowOf(record: RecordRepresentation): MirrorRow
    count(rows: number): void
  },
): Promise<string[]> {
  const { reader, merger } = parts
  const gone: string[] = []
  await inLanes(ids, parts.readers, async (id) => {
    const askedAt = reader.now()
    const record = await reader.record(type, id)
    if (record === null) gone.push(id)
    else {
      parts.count(1)
      await merger.take([parts.rowOf(record)], askedAt, () => {})
    }
  })
  return gone
}

/** What may be done about so many deletions of a table with so many rows. */
export function permission(
  rows: number,
  of: number,
  config: Pick<MirrorConfig, 'deletions_max_percent'>,
  verdict: Verdict | null,
): 'granted' | 'refused' | 'ask' {
  if (rows <= UNASKED_ROWS || rows * 100 <= of * config.deletions_max_percent) return 'granted'
  if (verdict === null) return 'ask'
  if (!verdict.approved) return 'refused'
  return rows <= verdict.rows ? 'granted' : 'ask'
}

/** Whether the table would be left with about as many rows as the service counts. */
export function isPlausible(left: number, counted: number): boolean {
  return left >= counted - Math.max(DRIFT_ROWS, counted * DRIFT)
}
