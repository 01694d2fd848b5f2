// Which rows are deleted, and when. Promises kept here: a row is deleted only after the service answered 404 for it, or after two
// complete listings lacked it and the service answered 404 for each of a sample; more than the configured share waits for a person,
// and every deletion does if the key sees less than before; a listing that lacks records that the service counts deletes nothing.

import { forEachConcurrent } from '../core/concurrency.ts'
import type { MirrorConfig } from '../../config/index.ts'
import { lostSinceLastRun, otherKeyText, storeVisibility } from './last-visibility.ts'
import type { StreamResult, DeletionVerdict } from './ports.ts'
import type { RecordsWork } from './records-work.ts'

/**
 * Candidates that are asked for one by one; if there are more, a second listing comes first, and a sample of so many is asked
 * for.
 */
export const CONFIRM_MAX = 200
/** Ids of rows that are deleted by one statement. */
const DELETED_MAX = 1_000
/** So few deletions wait for approval only if the limit is 0: a share of a small table means nothing. */
const UNASKED_ROWS = 10
/** Share by which two counts may differ while people work. */
const DRIFT = 0.01
const DRIFT_ROWS = 10

/** Asks for each of the ids, and merges the records that exist. Returns those that are gone; what cannot be read is neither. */
export async function confirmGone(work: RecordsWork, ids: readonly string[]): Promise<string[]> {
  const { deps, type, reader, merger } = work
  const gone: string[] = []
  await forEachConcurrent(ids, deps.tuning.readers, async (id) => {
    const askedAt = reader.now()
    const record = await reader.record(type, id)
    if (record === null) gone.push(id)
    else if (record !== undefined) {
      work.count(1)
      await merger.take([work.rowOf(record)], askedAt, () => {})
    }
  })
  return gone
}

/** Rows that were last seen before a moment: those of the ids, or all that are found at the time of the deletion. */
type Gone = { readonly before: string } & (
  | { readonly ids: readonly string[] }
  | { readonly isEvery: true }
)

/** Deletes `rows` rows if that is permitted, or asks a person. */
export async function deleteApproved(
  work: RecordsWork,
  rows: number,
  gone: Gone,
): Promise<StreamResult | undefined> {
  if (rows === 0) return undefined
  const { deps, job, stream, position, account } = work
  const { rows: of } = await deps.tables.count(stream)
  const isLess = lostSinceLastRun(job.sight, position) !== null
  // A run that lists twice deletes twice: what may go unasked is the share of a run.
  const spent = position.run.tally.deleted
  const share = `${rows} of ${of} rows${spent === 0 ? '' : `, after ${spent} by this run,`}`
  const may = deletionPermission(rows, of, job.config, job.verdict, { isLess, spent })
  if (may === 'ask') {
    account.ask(`${share} would be deleted, ${whyAsked(job.config, isLess)}; approve or reject it`)
    return { state: 'approval', rows, of }
  }
  if (may === 'refused') {
    position.kept = rows
    account.differ(`the deletion of ${share} was rejected, so they stay`)
    return undefined
  }
  // Bounded: each pass takes rows away, or is the last.
  for (let done = 0; done < rows;) {
    const ids =
      'ids' in gone
        ? gone.ids.slice(done, done + DELETED_MAX)
        : await deps.tables.ids(stream, {
            after: null,
            limit: Math.min(DELETED_MAX, rows - done),
            seenBefore: gone.before,
          })
    if (ids.length === 0) break
    await deletePage(work, gone.before, ids)
    done += ids.length
  }
  const text = isLess ? null : otherKeyText(rows, job.sight, position)
  if (text !== null) account.say(text)
  if (isLess) storeVisibility(position, job.sight)
  return undefined
}

/** Why a person is asked. */
export const whyAsked = (
  { deletions_max_percent: percent }: Pick<MirrorConfig, 'deletions_max_percent'>,
  isLess: boolean,
): string => (isLess ? 'and the key may only not see them any more' : `more than ${percent} %`)

/** Deletes in one transaction with the position that counts it. */
async function deletePage(
  work: RecordsWork,
  before: string,
  ids: readonly string[],
): Promise<void> {
  const { deps, job, stream, fence, position, account, reader } = work
  const { tally } = position.run
  tally.deleted += ids.length
  // First, because the position has the last time.
  const at = reader.now()
  const deleted = await deps.tables.delete(stream, fence, account.snapshot(), {
    before,
    ids,
    how: job.config.deletions,
    at,
  })
  tally.deleted += deleted - ids.length
}

/**
 * Whether so many of a table's rows may be deleted. `isLess`: the key sees less than before; `spent`: rows that were deleted
 * before, in the same run.
 */
export function deletionPermission(
  rows: number,
  of: number,
  config: Pick<MirrorConfig, 'deletions_max_percent'>,
  verdict: DeletionVerdict | null,
  { isLess, spent = 0 }: { readonly isLess: boolean; readonly spent?: number },
): 'granted' | 'refused' | 'ask' {
  const all = rows + spent
  const percent = config.deletions_max_percent
  const unasked = percent === 0 ? 0 : UNASKED_ROWS
  const isLittle = all <= unasked || all * 100 <= (of + spent) * percent
  if (isLittle && !isLess) return 'granted'
  if (verdict === null) return 'ask'
  if (!verdict.approved) return 'refused'
  return rows <= verdict.rows ? 'granted' : 'ask'
}

/** Whether the table would be left with about as many rows as the service counts. */
export function isPlausible(left: number, counted: number): boolean {
  return left >= counted - Math.max(DRIFT_ROWS, counted * DRIFT)
}
