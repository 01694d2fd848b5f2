// A read that never ends: a service whose pages repeat, with another cursor each time. Promise kept here: whoever has read more
// than twice what the service itself counts, and then some, reads no further.

import { Blocked } from '../core/errors.ts'
import { formatNumber } from '../core/format.ts'
import type { RecordsWork } from './records-work.ts'

/** Records beyond twice the service's count: people work meanwhile, and pages may overlap. */
const BEYOND = 10_000

/**
 * @param read records that a read has brought
 * @param counted records that the service counted; null where it was not asked
 * @throws Blocked `contract` where that is more than there can be
 */
export async function checkReadLimit(
  { deps, type, reader }: RecordsWork,
  read: number,
  counted: number | null,
): Promise<void> {
  const isBeyond = (records: number) => read > 2 * records + BEYOND
  if (!isBeyond(counted ?? 0)) return
  // It may have grown since.
  const now = await reader.count(type)
  if (!isBeyond(now)) return
  throw new Blocked(
    'contract',
    `${type}: a listing does not end: it has brought ${formatNumber(read)} records, and the service counts ${formatNumber(now)}; its pages repeat`,
    deps.tuning.blocked_probe_ms,
  )
}
