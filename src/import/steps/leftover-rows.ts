// The source of a retry: rows that another run left over, as it kept them, or as a person corrected them. They keep their
// line, and the ordinal that they had in that run.

import { createHash } from 'node:crypto'
import { writeJson } from '../../core/json.ts'
import type { RetryTask } from '../../core/domain/purpose.ts'
import type { Leftovers, Run } from '../../ledger/ledger.ts'
import type { Source, SourceRow } from '../../sources/source.ts'

export function openLeftoverRows(
  ledger: Pick<Leftovers, 'retryRows'>,
  { of, choice }: RetryTask,
  old: Pick<Run, 'sourceColumns'>,
): Source {
  const digest = createHash('sha256')
  let rows = 0
  return {
    columns: old.sourceColumns ?? [],
    async *chunks(rowsMax, signal) {
      // Bounded by the rows of that run: every pass goes beyond the last one, or ends.
      for (let after = 0; ;) {
        signal?.throwIfAborted()
        const left = await ledger.retryRows(of, choice, { after, limit: rowsMax })
        if (left.length === 0) return
        after = left.at(-1)!.ordinal
        yield left.map((row): SourceRow => {
          const { ordinal: of, line, watermark, raw: cells } = row
          rows++
          digest.update(writeJson(cells)).update('\n')
          return { ordinal: rows, line, of, ...(watermark !== undefined && { watermark }), cells }
        })
      }
    },
    summary: () => ({ rows, digest: digest.copy().digest('hex') }),
    close: async () => {},
  }
}
