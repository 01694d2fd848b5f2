// The rows of a run as they were read, by ordinal: corrections are compared with them.

import type { Json } from '../core/json.ts'
import type { Leftovers } from '../ledger/ledger.ts'

/** The rows of at most 1,000 ordinals of a closed run, without those that a retry would not take. */
export async function rawRows(
  ledger: Leftovers,
  run: number,
  ordinals: readonly number[],
): Promise<ReadonlyMap<number, readonly Json[]>> {
  // Adjacent ordinals form one range: rows mostly come in order.
  const ranges: [number, number][] = []
  for (const ordinal of [...new Set(ordinals)].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last && last[1] === ordinal - 1) last[1] = ordinal
    else ranges.push([ordinal, ordinal])
  }
  const found = new Map<number, readonly Json[]>()
  if (ranges.length === 0) return found
  let after = ranges[0]![0] - 1
  // Bounded by the ordinals: every pass moves `after` forward.
  for (;;) {
    const rows = await ledger.retryRows(run, { rows: ranges }, { after, limit: ordinals.length })
    for (const { ordinal, raw } of rows) found.set(ordinal, raw)
    if (rows.length === 0 || found.size === ordinals.length) return found
    after = rows.at(-1)!.ordinal
  }
}
