// What a run wrote and had not read back when it was cancelled, terminated or failed, and what the source does not give again: rows that
// came again themselves, those of a retry, a backfill or a repair. The next run of the sync takes them as they were sent, and reads them
// back; none of them is sent for that.

import { writeJson } from '../../core/json.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { slicesOf } from '../../core/slices.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { Leftovers, LinkStaging, RowStaging, Runs } from '../../ledger/ledger.ts'
import { sourceOf } from '../../sources/index.ts'
import type { SourceRow } from '../../sources/source.ts'
import { linksOfRows } from '../mapping/map-links.ts'
import type { MappingPlan } from '../mapping/map.ts'
import type { ImportDeps } from '../ports.ts'
import { cellFinder, NO_LINE } from './carry-over.ts'
import { stagedParts } from './staged-parts.ts'

type UnreadDeps = Pick<
  ImportDeps<Leftovers & LinkStaging & RowStaging & Pick<Runs, 'run'>>,
  'ledger' | 'signal' | 'beat'
>

interface UnreadJob {
  readonly run: number
  readonly fence: number
  /** Those that are staged. */
  readonly rows: number
  readonly columns: readonly string[]
  readonly plan: MappingPlan
  readonly from: ImportConfig['from']
}

interface Written {
  /** Whether the rows are read back, or looked up like rows that are to be sent. Null: neither. */
  readonly become: 'read' | 'plan' | null
  /** Keys of rows that the source has as they were before they were corrected. */
  readonly corrected: ReadonlySet<string>
}

/** Stages these rows, with the ordinals after `rows`, and returns how many they are. */
export async function carryUnread(
  deps: UnreadDeps,
  job: UnreadJob,
  { become, corrected: met }: Written,
): Promise<number> {
  const { ledger, signal } = deps
  const { run, fence, rows: read, plan } = job
  const isHeld = become === 'read'
  // What is looked up is sent where it differs; a correction is left as it is.
  const corrected = isHeld ? met : new Set<string>()
  // Such a source need not give a row again that is there still. Of one that is read whole only what it has comes: what is gone is gone.
  const isIncremental = sourceOf(job.from).isIncremental(job.from)
  if (become === null || (!isIncremental && corrected.size === 0)) return 0
  const cellsOf = cellFinder(ledger, job.columns, null)
  let carried = 0
  let after: Parameters<Leftovers['unreadRows']>[1]['after'] = null
  // Bounded by the rows of earlier runs: every page goes on behind the one before it.
  do {
    signal.throwIfAborted()
    const page: Awaited<ReturnType<Leftovers['unreadRows']>> = await ledger.unreadRows(run, {
      after,
      limit: LEDGER_ROWS_MAX,
    })
    const keys = page.rows.map(({ key }) => key)
    const given = await ledger.stagedKeys(run, keys, { upTo: read })
    const comes = (key: string) => corrected.has(key) || (isIncremental && !given.has(key))
    const rows: SourceRow[] = []
    const items = []
    for (const one of page.rows.filter(({ key }) => comes(key))) {
      const ordinal = read + ++carried
      const cells = await cellsOf(one)
      const { key, payload, hash, watermark } = one
      const place = { ordinal, line: NO_LINE, ...(watermark !== undefined && { watermark }) }
      const item = { ...place, raw: writeJson(cells), valid: true, key } as const
      items.push({ ...item, payload, hash, ...(isHeld && { held: true as const }) })
      // Links of a corrected row are not read.
      if (!corrected.has(key)) rows.push({ ordinal, line: NO_LINE, cells })
    }
    for (const part of stagedParts(items)) await ledger.stageItems(run, fence, part)
    const linked = new Set(rows.map(({ ordinal }) => ordinal))
    const links = linksOfRows(
      plan,
      rows,
      items.filter(({ ordinal }) => linked.has(ordinal)),
    )
    for (const part of slicesOf(links, LEDGER_ROWS_MAX)) await ledger.stageLinks(run, fence, part)
    deps.beat(items.length)
    after = page.next
  } while (after !== null)
  return carried
}
