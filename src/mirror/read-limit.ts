// Ends a read that would never end, of a service whose pages repeat with another cursor each time. Promise kept here: no read
// goes on after more than twice what the service itself counts, and some more.

import { ServiceFailure } from '../core/errors.ts'
import { formatNumber } from '../core/format.ts'
import type { RecordsWork } from './records-work.ts'

/** Records beyond twice the service's count: records change during the read, and pages may overlap. */
const BEYOND = 10_000

/** It begins again with the next run. */
export class EndlessListing extends ServiceFailure {
  constructor(message: string, objectType: string) {
    super(message, {
      kind: 'distrusted',
      disposition: 'halt',
      block: 'contract',
      outcomeUnknown: false,
      objectType,
    })
  }
}

/**
 * @param read records of this read so far
 * @param counted the service's last count; null if it was not asked
 * @throws EndlessListing if that is more than there can be
 */
export async function checkReadLimit(
  { type, reader }: RecordsWork,
  read: number,
  counted: number | null,
): Promise<void> {
  const isBeyond = (records: number) => read > 2 * records + BEYOND
  if (!isBeyond(counted ?? 0)) return
  // It may have grown since.
  const now = await reader.count(type)
  if (!isBeyond(now)) return
  throw new EndlessListing(
    `${type}: a listing does not end: it has brought ${formatNumber(read)} records, and the service counts ${formatNumber(now)}; its pages repeat`,
    type,
  )
}
