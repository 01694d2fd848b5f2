// Differences in the ledger, and their repair in the table. Promise kept here: a difference is in the ledger before it is repaired,
// and is marked as repaired after the table was read again.

import type { Difference } from '../../core/domain/differences.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { compareInstants, type RowDifference } from './compare.ts'
import type { Suspect } from './suspects.ts'
import { rowsById } from './table-pages.ts'
import type { ReconcileWork } from './work.ts'

/** Writes differences into the ledger. Those of a record come together, and replace what was known of it. */
export async function noteDifferences(
  { deps, run }: ReconcileWork,
  differences: readonly Difference[],
): Promise<void> {
  let some: Difference[] = []
  let records = 0
  for (const [index, one] of differences.entries()) {
    some.push(one)
    if (differences[index + 1]?.recordId === one.recordId) continue
    if (++records % LEDGER_ROWS_MAX > 0 && index + 1 < differences.length) continue
    await deps.ledger.noteDifferences(run, some, { repaired: false })
    some = []
  }
}

export const differencesOf = (difference: RowDifference): readonly Difference[] =>
  'differences' in difference ? difference.differences : []

/** Merges the records into the table, if the run repairs, and marks as repaired what is equal then. */
export async function repairRows(work: ReconcileWork, suspects: readonly Suspect[]): Promise<void> {
  const { deps, run, stream, writer, reader, compare, isUnread } = work
  const { tables, ledger, beat } = deps
  if (writer === null || suspects.length === 0) return
  // A merge never puts an older version in the place of a newer one.
  const newer = suspects.filter(
    ({ row, held }) =>
      held?.version != null &&
      row.version !== null &&
      compareInstants(held.version, row.version) > 0,
  )
  const at = reader.now()
  const { fence } = writer
  if (newer.length > 0)
    await tables.delete(stream, fence, writer.position(), {
      before: at,
      ids: newer.map(({ row }) => row.id),
      how: 'hard',
      at,
    })
  const batch = await tables.batch(stream)
  try {
    for (const askedAt of new Set(suspects.map((one) => one.askedAt)))
      await batch.add(
        suspects.filter((one) => one.askedAt === askedAt).map(({ row }) => row),
        askedAt,
      )
    work.merged(await batch.merge({ run, fence, position: writer.position() }))
  } finally {
    await batch.drop()
  }
  beat()
  const held = await rowsById(
    work,
    suspects.map(({ row }) => row.id),
  )
  const repaired = suspects
    .filter(({ row, record }) => compare(row, held.get(row.id), isUnread(record)).kind === 'equal')
    .flatMap(({ difference }) => differencesOf(difference))
  if (repaired.length > 0) await ledger.noteDifferences(run, repaired, { repaired: true })
}
