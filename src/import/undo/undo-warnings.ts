// What an undo warns of: what it makes again, and what it leaves as it is.

import { countText } from '../../core/format.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { UndoFindings } from './stage-undo.ts'

export function undoWarnings(
  { unknown, valuesKept, kept, made, lost }: UndoFindings,
  old: Run,
): readonly string[] {
  const { id } = old
  const rows = (count: number) => countText(count, 'row')
  const records = (count: number) => countText(count, 'record')
  const values = countText(valuesKept, 'value')
  const [are, they] = unknown === 1 ? ['is', 'its record'] : ['are', 'their records']
  return [
    ...(made > 0
      ? [
          `${records(made)} that run ${id} deleted ${made === 1 ? 'is' : 'are'} made again, with new ids`,
        ]
      : []),
    ...(lost > 0
      ? [
          `${records(lost)} that run ${id} deleted cannot be made again: what they held was not kept (keep_before)`,
        ]
      : []),
    ...(unknown > 0
      ? [
          `${rows(unknown)} of run ${id} ${are} left: it is not known what ${they} held before, or who made ${unknown === 1 ? 'it' : 'them'}`,
        ]
      : []),
    ...(valuesKept > 0
      ? [
          `${values} that run ${id} wrote ${valuesKept === 1 ? 'was' : 'were'} changed since, and ${valuesKept === 1 ? 'is' : 'are'} left as ${valuesKept === 1 ? 'it is' : 'they are'}${kept > 0 ? `; ${rows(kept)} of them have nothing else to restore` : ''}`,
        ]
      : []),
  ]
}
